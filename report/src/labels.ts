// SPDX-License-Identifier: Apache-2.0
//
// Cuts kernel names so that they stay distinct: names from a library often start the same, and only an inner part
// distinguishes them. src/model/brief_name.cpp cuts names on terminals in the same way. tests/data/cut_names.json has
// examples for both.

const maxIdentifier = 24; // characters; longer identifiers are split at underscores
const minHead = 6; // characters of the first part that remain readable
const maxTried = 64; // parts tried for a name; more parts rarely fit

// Part is an identifier or number in a name, a word of a long identifier, or a launch configuration.
interface Part {
  from: number;
  to: number;
  weak: number;
  holders: number[]; // names that have the part, ascending
}

// Returns how uninformative a word is: 0 for most words, 1 for types and library internals, 2 for numbers and launch
// configurations.
function weakness(word: string): number {
  if (/^(\d+[ul]*|.|<<<.*)$/us.test(word)) return 2;
  return /^(AUnaryFunctor|Array|BFloat16|BUnaryFunctor|BinaryFunctor|Half|TensorIterator(Base)?|__half|__nv_bfloat16|anonymous|array|at|bfloat16_t|binary_internal|bool|c10|char|const|cuda|detail|double|float|func_wrapper_t|gpu|half|half_t|impl|instance|int|kernel|lambda|long|namespace|native|nocast|operator|std|tuple|uint|unnamed|unsigned|void|.*gpu_kernel_impl.*|.*OffsetCalculator|.*WithCast|.*WithoutCast|.*Metadata)$/s
    .test(word) ? 1 : 0;
}

// Returns the positions of the parts of a name. Identifiers of more than `longest` characters are split at underscores.
function placesOf(name: string, longest: number): [number, number][] {
  return [...name.matchAll(/<<<.*>>>|[\p{L}\p{N}_]+/gsu)].flatMap(({ 0: text, index }) =>
    text.length <= longest || text.startsWith("<<<") ? [[index, index + text.length]]
      : [...text.matchAll(/[^_]+/g)].map((word) => [index + word.index, index + word.index + word[0].length])) as [number, number][];
}

function partsOf(names: string[], longest: number): Part[][] {
  const holders = new Map<string, number[]>();
  return names.map((name, i) => {
    const seen = new Map<string, number>();
    return placesOf(name, longest).map(([from, to]) => {
      const word = name.slice(from, to);
      const repeats = seen.get(word) ?? 0;
      seen.set(word, repeats + 1);
      const key = `${word} ${repeats}`;
      const list = holders.get(key) ?? [];
      holders.set(key, list);
      list.push(i);
      // Readers do not count repeated words, so these distinguish names only if nothing else does.
      return { from, to, weak: weakness(word) + (repeats > 0 ? 3 : 0), holders: list };
    });
  });
}

// Returns the numbers that occur in both ascending lists.
function common(one: number[], other: number[]): number[] {
  let at = 0;
  return one.filter((n) => {
    while (at < other.length && other[at]! < n) ++at;
    return other[at] === n;
  });
}

// Returns the parts that distinguish a name from all other names, and its remaining parts. In both lists, parts that are
// more informative and occur in fewer names are first. `given` is the number of parts that are always shown.
function ranked(parts: Part[], given: number): [needed: number[], others: number[]] {
  const order = parts.map((_, at) => at).slice(given).sort((a, b) =>
    parts[a]!.weak - parts[b]!.weak || parts[a]!.holders.length - parts[b]!.holders.length);
  let like = given > 0 ? parts[0]!.holders : null; // names with all parts so far; null for all names
  const [needed, others]: [number[], number[]] = [[], []];
  for (const at of order) {
    const { holders } = parts[at]!;
    const left: number[] = like === null ? holders : like.length > 1 ? common(like, holders) : like;
    if (like === null || left.length < like.length) {
      like = left;
      needed.push(at);
    } else if (others.length < maxTried) {
      others.push(at);
    }
  }
  return [needed, others];
}

const columns = (text: string) => [...text].length;
const headOf = (text: string, wanted: number) => [...text].slice(0, wanted).join("");

// Returns the first `head` characters of the name and the parts `shown`, which are ascending.
function textOf(name: string, parts: Part[], head: number, shown: number[]): string {
  let text = name.slice(0, head);
  let [last, end] = [0, head];
  for (const at of shown) {
    const follows = at === last + 1 && end === parts[last]!.to;
    text += (follows ? "" : "…") + name.slice(follows ? end : parts[at]!.from, parts[at]!.to);
    [last, end] = [at, parts[at]!.to];
  }
  return text + (last + 1 === parts.length && end === parts[last]!.to ? name.slice(end) : "…");
}

function cut(name: string, parts: Part[], max: number): string {
  const start = headOf(parts.length > 0 ? name.slice(0, parts[0]!.to) : name, max - 1);
  if (parts.length === 0) return `${start}…`;
  let head = start.length;
  let shown: number[] = [];
  const add = (part: number, mayCutHead: boolean) => {
    const wider = [...shown, part].sort((a, b) => a - b);
    let shorter = head;
    const fits = () => columns(textOf(name, parts, shorter, wider)) <= max;
    while (mayCutHead && !fits() && columns(name.slice(0, shorter)) > minHead) {
      shorter = headOf(name, columns(name.slice(0, shorter)) - 1).length;
    }
    if (fits()) [head, shown] = [shorter, wider];
  };
  const [needed, others] = ranked(parts, 1);
  for (const part of needed) add(part, true);
  for (const part of others) add(part, false);
  return textOf(name, parts, head, shown);
}

// Returns names of at most `max` characters, which is at least 16. Different names stay different: they are numbered if no
// part that differs fits.
export function cutNames(names: string[], max: number): string[] {
  const distinct = [...new Set(names)];
  const parts = partsOf(distinct, Math.min(maxIdentifier, max - minHead - 2));
  const short = distinct.map((name, i) => (columns(name) <= max ? name : cut(name, parts[i]!, max)));
  let number = 0;
  for (const group of repeated(short)) {
    for (const i of group) {
      if (short[i] === distinct[i]) continue;
      const suffix = ` (${++number})`;
      short[i] = `${headOf(short[i]!, max - suffix.length - 1)}…${suffix}`;
    }
  }
  const of = new Map(distinct.map((name, i) => [name, short[i]!]));
  return names.map((name) => of.get(name)!);
}

// Returns, for each name, the parts that distinguish it from the other names, in order. All results are different.
export function differences(names: string[]): string[] {
  const parts = partsOf(names, maxIdentifier);
  const shown = names.map((name, i) => ranked(parts[i]!, 0)[0].filter((at) => parts[i]![at]!.holders.length < names.length)
    .sort((a, b) => a - b).map((at) => name.slice(parts[i]![at]!.from, parts[i]![at]!.to)).join("…"));
  for (const group of repeated(shown)) group.forEach((i, n) => (shown[i] += `#${n + 1}`));
  return shown;
}

// Returns the indexes of each text that occurs more than once.
export function repeated(texts: string[]): number[][] {
  const groups = new Map<string, number[]>();
  texts.forEach((text, i) => {
    const list = groups.get(text);
    if (list) list.push(i);
    else groups.set(text, [i]);
  });
  return [...groups.values()].filter((group) => group.length > 1);
}
