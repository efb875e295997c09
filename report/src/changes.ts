// SPDX-License-Identifier: Apache-2.0
//
// The comparison of a baseline (A) with this session (B), computed by `stemtap diff` (docs/math/diff.md).

import { durationChange, percentChange, visible } from "./format";
import { distinguish, shortOf, type Kernel, type Model, type Names } from "./model";
import type { Diff, DiffKernel, DiffTotal } from "./types";

export const verdicts = ["slower", "faster", "new", "gone", "unclear", "same"] as const;

const maxNamed = 3; // kernels in the first sentence

export interface Change extends Names {
  diff: DiffKernel;
  time: number; // ns, B - A
  kernel: Kernel | null; // in this session; if several kernels have this name, the kernel with the most time
}

export const isDecided = ({ diff }: Change) => diff.verdict === "slower" || diff.verdict === "faster";

// Mean durations whose ratio is the change: at equal shapes if they are known. Otherwise a kernel might be slower with a
// smaller mean.
export const meanA = (kernel: DiffKernel) => kernel.equal_mean_a_ns ?? kernel.mean_a_ns;
export const meanB = (kernel: DiffKernel) => kernel.equal_mean_b_ns ?? kernel.mean_b_ns;

// Returns the sentence that a comparison opens with: the kernels that changed most, or that none did.
export function leadText(changes: Change[]): string {
  const changed = changes.filter((c) => isDecided(c) || c.diff.verdict === "new" || c.diff.verdict === "gone")
    .sort((x, y) => Math.abs(y.time) - Math.abs(x.time));
  if (changed.length === 0) return "No kernel is shown to have changed.";
  const named = changed.slice(0, maxNamed).map((c) => `${c.short} ${verdictText(c)}` +
    `${isDecided(c) && c.diff.basis !== "most launches" ? ` ${percentChange(c.diff.change)}` : ""} (${durationChange(c.time)})`);
  return `Changed most: ${named.join("; ")}${changed.length > maxNamed ? `; ${changed.length - maxNamed} more below` : ""}.`;
}

export const differenceOf = (diff: Diff) => diff.b.duration_ns - diff.a.duration_ns;

// If the runs have no shapes, the comparison has no part by shapes. Less than half a ns is a rounding error.
export const hasShapePart = (kernel: DiffKernel) => Math.abs(kernel.by_shapes_ns) >= 0.5;
export const hasShapes = (diff: Diff) => diff.kernels.some(hasShapePart);

// Returns the kernels in the order of `stemtap diff`.
export function changesOf(model: Model, diff: Diff): Change[] {
  const kernels = new Map<string, Kernel>();
  for (const kernel of model.byTime) {
    if (!kernels.has(kernel.name)) kernels.set(kernel.name, kernel);
  }
  const changes = diff.kernels.map((k): Change => ({ diff: k, name: k.name, label: visible(k.name) || "(no name)",
    short: shortOf({ name: k.name, invocations: 0 }, model.data.brief_names?.[k.name]),
    time: k.duration_b_ns - k.duration_a_ns, kernel: kernels.get(k.name) ?? null }));
  distinguish(changes);
  return changes;
}

// Returns the kernels that a chart shows, in the same order. If there are enough, at least half are slower or faster. The
// other kernels have the largest differences.
export function largestChanges(changes: Change[], max: number): Change[] {
  const by = (size: (change: Change) => number) => [...changes].sort((x, y) => Math.abs(size(y)) - Math.abs(size(x)));
  const chosen = new Set(by((c) => c.diff.by_duration_ns).filter(isDecided).slice(0, max / 2));
  for (const change of by((c) => c.time)) {
    if (chosen.size < max) chosen.add(change);
  }
  return changes.filter((change) => chosen.has(change));
}

// Returns the verdict and, if it is unclear, the reason, or if it is not about the mean, what it is about.
export function verdictText({ diff }: Change): string {
  const detail = diff.reason ?? (diff.basis === "most launches" ? diff.basis : null);
  return diff.verdict + (detail ? `: ${detail}` : "");
}

function rangeText(lower: number | null, upper: number | null): string {
  if (lower === null || upper === null) return "–";
  const bound = (ratio: number) => percentChange(ratio).replace(" %", "");
  return `${bound(lower)} to ${bound(upper)} %`;
}

// Returns the interval of the change in percent.
export const intervalText = ({ diff }: Change) => rangeText(diff.lower, diff.upper);

// Returns the verdict about the GPU time of the whole run, with its interval if it is known.
export function totalText(total: DiffTotal): string {
  const interval = rangeText(total.lower, total.upper);
  return total.verdict + (total.reason ? `: ${total.reason}` : "") + (interval === "–" ? "" : ` (${interval})`);
}

// Returns the kernels whose verdict is about most launches, with the change of the median launch.
export const shiftTexts = (changes: Change[]) => changes
  .filter(({ diff }) => diff.basis === "most launches" || diff.reason === "mixed")
  .map(({ short, diff }) => `Most launches of ${short} changed by ${percentChange(diff.shift)} ` +
    `(${rangeText(diff.shift_lower, diff.shift_upper)}), but its mean ` +
    `${diff.reason === "mixed" ? "changed in the other direction" : "is uncertain"}.`);

// Returns where the difference comes from, in words.
export function partsText(diff: Diff): string {
  const parts = [`${durationChange(diff.by_duration_ns)} from durations`,
    `${durationChange(diff.by_launches_ns)} from numbers of launches`,
    ...(hasShapes(diff) ? [`${durationChange(diff.by_shapes_ns)} from shapes`] : [])];
  return parts.join(", ");
}

export const countsText = (diff: Diff) => verdicts.map((verdict) => `${diff.verdicts[verdict]} ${verdict}`);
