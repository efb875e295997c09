// SPDX-License-Identifier: Apache-2.0
//
// Labels that distinguish kernels whose names begin alike: which parts of a name no other name of the group has.

const longPart = 24; // longer identifiers are split at underscores
const maxParts = 4; // more would not be read

// Returns the identifiers and numbers of a name, without namespaces.
export function partsOf(name: string): string[] {
  return (name.match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((part) =>
    part.length > longPart ? part.split("_").filter((p) => p !== "") : [part]);
}

// Returns how little a part informs a reader: 0 for most parts, 1 for types and library internals, 2 for numbers.
function weakness(part: string): number {
  if (/^(\d+[a-z]*|.)$/i.test(part)) return 2;
  return /^(void|const|int|long|unsigned|float|double|bool|char|half|half_t|Half|BFloat16|bfloat16_t|__half|__nv_bfloat16|lambda|instance|operator|at|c10|std|native|detail|array|Array|tuple|gpu_kernel_impl\w*|(Binary|AUnary|BUnary)Functor|\w*OffsetCalculator|\w*WithCast|\w*WithoutCast|TensorIterator(Base)?|func_wrapper_t|\w*Metadata)$/
    .test(part) ? 1 : 0;
}

interface Part {
  text: string;
  key: string; // with its number among equal parts of the name: f<1, 2> and f<1, 2, 2> differ
}

function keyedParts(name: string): Part[] {
  const seen = new Map<string, number>();
  return partsOf(name).map((text) => {
    const n = (seen.get(text) ?? 0) + 1;
    seen.set(text, n);
    return { text, key: `${text} ${n}` };
  });
}

// For each name, the fewest parts that no other name has all of, in the order of the name. If every part of a name is
// also in another one, a number is added. The results are all different. O(parts of all names), unless many names share
// all rare parts.
export function differences(names: string[]): string[] {
  const parts = names.map(keyedParts);
  const holders = new Map<string, number[]>(); // of each part, ascending
  parts.forEach((own, i) => {
    for (const { key } of own) {
      const list = holders.get(key);
      if (list) list.push(i);
      else holders.set(key, [i]);
    }
  });
  const shown = parts.map((own, i) => {
    const chosen = new Set<Part>();
    let others: number[] | null = null; // that have all chosen parts; null: all
    const candidates = own.map((part, at) => ({ part, at, weak: weakness(part.text), holders: holders.get(part.key)! }))
      .filter((c) => c.holders.length < names.length)
      .sort((a, b) => a.weak - b.weak || a.holders.length - b.holders.length || a.at - b.at);
    for (const candidate of candidates) {
      if (chosen.size === maxParts || others?.length === 0) break;
      const left: number[] = others === null ? candidate.holders.filter((j) => j !== i) : common(others, candidate.holders);
      if (others !== null && left.length === others.length) continue;
      chosen.add(candidate.part);
      others = left;
    }
    return own.filter((part) => chosen.has(part)).map((part) => part.text).join("…");
  });
  for (const group of repeated(shown)) group.forEach((i, n) => (shown[i] += `#${n + 1}`));
  return shown;
}

// Returns the numbers that both ascending lists have.
function common(one: number[], other: number[]): number[] {
  const has = new Set(other);
  return one.filter((n) => has.has(n));
}

// Returns the indexes of equal texts, for texts that occur more than once.
export function repeated(texts: string[]): number[][] {
  const groups = new Map<string, number[]>();
  texts.forEach((text, i) => {
    const list = groups.get(text);
    if (list) list.push(i);
    else groups.set(text, [i]);
  });
  return [...groups.values()].filter((group) => group.length > 1);
}
