// SPDX-License-Identifier: Apache-2.0
//
// Formats values for readers. Durations are in ns; fractions and bounds are ratios. A missing value is an en dash.

export const none = "–";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const digits = Array.from({ length: 7 }, (_, n) => new Intl.NumberFormat("en-US",
  { minimumFractionDigits: n, maximumFractionDigits: n }));

type Maybe = number | null | undefined;

function known(value: Maybe): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

// Returns at most four significant digits, and at most six after the decimal point.
function significant(value: number, wanted = 4): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  const before = Math.floor(Math.log10(Number(size.toPrecision(wanted)))) + 1;
  return digits[Math.min(6, Math.max(0, wanted - before))]!.format(value);
}

export function count(value: Maybe): string {
  return known(value) ? whole.format(value) : none;
}

export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function number(value: Maybe, wanted = 4): string {
  return known(value) ? significant(value, wanted) : none;
}

export function duration(ns: Maybe, wanted = 4): string {
  if (!known(ns)) return none;
  const size = Math.abs(ns);
  if (size === 0) return "0 ns";
  if (size < 999.5 && Number.isInteger(ns)) return `${ns} ns`;
  const [unit, name] = units.find(([, , limit]) => size < limit)!;
  return `${significant(ns / unit, wanted)} ${name}`;
}

const units: [ns: number, name: string, limit: number][] = [[1, "ns", 999.5], [1e3, "us", 999.95e3], [1e6, "ms", 999.95e6], [1e9, "s", Infinity]];

// Returns a format for the durations of a column. So that readers can compare them, they have the unit of the largest
// duration and at most three digits after the decimal point. Durations below a hundredth of the unit have their own unit.
export function durationsUpTo(largest: number): (ns: Maybe) => string {
  const [size, name] = units.find(([, , limit]) => Math.abs(largest) < limit) ?? units[3]!;
  return (ns) => (known(ns) && (ns === 0 || Math.abs(ns / size) >= 0.01)
    ? `${significant(ns / size, Math.abs(ns / size) < 0.1 ? 2 : Math.abs(ns / size) < 1 ? 3 : 4)} ${name}` : duration(ns));
}

export function percent(ratio: Maybe): string {
  if (!known(ratio)) return none;
  const value = ratio * 100;
  const size = Math.abs(value);
  if (size === 0) return "0 %";
  if (Math.abs(ratio) < 1e-6) return value < 0 ? "> −0.0001 %" : "< 0.0001 %"; // below the minimum error bound
  return `${significant(value, size < 0.995 ? 2 : 3)} %`;
}

// Differences except 0 have a sign.
const sign = (value: number) => (value > 0 ? "+" : value < 0 ? "−" : "");

export function durationChange(ns: Maybe, shown: (ns: Maybe) => string = duration): string {
  if (!known(ns)) return none;
  const size = Math.round(Math.abs(ns)); // parts of a difference have rounding errors below 1 ns
  return size === 0 ? shown(0) : sign(ns) + shown(size);
}

// Returns at most two digits after the decimal point.
export function percentChange(ratio: Maybe): string {
  if (!known(ratio)) return none;
  const size = Math.abs(ratio * 100);
  return size < 0.005 ? "0 %" : `${sign(ratio)}${size < 10 ? digits[2]!.format(size) : significant(size)} %`;
}

// Removes trailing zeros from options and axis labels, which are not measurements.
export function tidy(text: string): string {
  return text.replace(/(\.\d*?)0+(?!\d)/, (_, kept: string) => (kept === "." ? "" : kept));
}

export function times(ratio: Maybe): string {
  if (!known(ratio)) return none;
  return `${Math.abs(ratio) >= 1000 ? count(ratio) : significant(ratio)}×`;
}

export function moment(unixMs: Maybe): string {
  if (!known(unixMs) || unixMs <= 0) return none;
  const date = new Date(unixMs);
  return Number.isNaN(date.getTime()) ? none : date.toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

// Control characters, bidirectional marks, invisible characters and lone surrogates are shown as code points, so they
// cannot affect the page or be hidden in a name. src/base/text.cpp has the same characters.
const unseen = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff0-\ufffb]/gu;

export function visible(text: string): string {
  const code = (c: string) => `⟨U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  // The joiner between two emoji and the variation selector after an emoji are valid.
  return text.replace(unseen, (c, at: number, all: string) =>
    (c === "\u200d" || c === "\ufe0f") && /\p{Extended_Pictographic}\ufe0f?$/u.test(all.slice(Math.max(0, at - 4), at))
      ? c : code(c));
}

// Returns a text as one word of a shell command: unchanged if it has no special characters, in single quotes, or, if it
// contains characters that visible() shows as code points or "!", as $'...' (bash, zsh, ksh), which needs none of them: a
// terminal would interpret them when the command is pasted. ShellWord in src/base/quoting.cpp does the same.
export function shellWord(word: string): string {
  if (/^[A-Za-z0-9_./:@%+,-]+$/.test(word)) return word;
  if (!word.includes("!") && word.search(unseen) < 0) return `'${word.replaceAll("'", "'\\''")}'`;
  const octal = (c: string) => [...new TextEncoder().encode(c)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  return `$'${word.replace(/[\\']/g, "\\$&").replace(unseen, octal).replaceAll("!", octal)}'`;
}

// Returns a path that cannot be parsed as an option.
export function shellPath(path: string): string {
  return shellWord(path.startsWith("-") ? `./${path}` : path);
}
