// SPDX-License-Identifier: Apache-2.0

import { methodPoints, methodsOption } from "../charts/methods";
import type { Context } from "../context";
import { h, replace } from "../dom";
import { makeFigure, plainTable } from "../figure";
import { count, number, percent, tidy, times, visible } from "../format";

export function methodsSection({ model }: Context): HTMLElement {
  const evaluation = model.data.evaluation;
  const section = h("section", { id: "methods", "aria-labelledby": "h-methods" },
    h("h2", { id: "h-methods" }, "Methods compared"));
  if (!evaluation) return section;
  if (evaluation.equal_error) {
    const equal = evaluation.equal_error;
    section.append(h("p", null, `How much less there is to trace with ${visible(equal.one)} than with ` +
      `${visible(equal.other)} at equal p95 errors, for a bound of ${percent(equal.error_bound)}.`),
    h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null, `Above 1×, ${visible(equal.one)} ` +
      "needs less time for the same error. \"At least\" and \"At most\" are the limits that follow from the noise of the errors and " +
      "from whole numbers of samples.")),
    plainTable({ head: ["Workload", "Ratio", "At least", "At most"], rows: equal.rows.map((r) =>
      [h("bdi", null, visible(r.name)), times(r.ratio), times(r.ratio_low), times(r.ratio_high)]) }));
    return section;
  }
  const workloads = [...new Set((evaluation.rows ?? []).map((r) => r.workload))];
  let workload: string | null = workloads.length > 1 && (evaluation.summary ?? []).length > 0 ? null : (workloads[0] ?? null);
  const points = () => methodPoints(evaluation, workload);
  const select = h("select", { id: "workload", change: () => {
    workload = select.value === "all" ? null : (workloads[Number(select.value)] ?? null);
    update();
  } }, workloads.length > 1 && h("option", { value: "all" }, "all workloads"),
  ...workloads.map((name, i) => h("option", { value: i }, visible(name))));
  const figure = makeFigure({ name: "methods", title: "Error, and how much less to trace", height: "clamp(300px, 44vh, 520px)",
    how: "Methods on the right leave less to trace: the kernel time of the run divided by the kernel time of the samples. Methods at the bottom are more accurate. The dot is the mean error over " +
      "many seeds. The line above it ends at the error that 95 % of the runs do not exceed (for all workloads together: " +
      "at the maximum). Both axes are logarithmic; an error of 0 is drawn at the bottom. The dashed line is the requested error " +
      "bound.",
    label: () => "Methods: " + points().map((p) => `${visible(p.method)} ${times(p.speedup)} at ${percent(p.mean)} error`).join(", "),
    missing: () => (points().some((p) => p.speedup !== null && p.mean !== null) ? null : "The evaluation has no rows for this workload."),
    option: (theme, width) => methodsOption(points(), theme, workload === null, width),
    table: () => ({ head: ["Method", "Less to trace", "Mean error"], rows: points().map((p) =>
      [visible(p.method), times(p.speedup), percent(p.mean)]) }),
    tools: workloads.length > 0 ? [h("label", { for: "workload", class: "unseen" }, "Workload"), select] : [] });
  const table = h("div");
  const update = () => {
    const all = workload === null;
    const own = all ? [] : ["Stated bound", "Samples"];
    replace(table, plainTable({ head: ["Method", "Asked", "Less to trace", "Mean error", all ? "Maximum error" : "p95 error",
      "Coverage", "p95 / bound", ...own], rows: points().map((p) => [h("bdi", null, visible(p.method)), percent(p.asked),
      times(p.speedup), percent(p.mean), percent(p.high), percent(p.coverage), number(p.overBound, 3),
      ...(all ? [] : [percent(p.bound), tidy(number(p.samples))])]) }));
    figure.update();
  };
  update();
  const leftOut = evaluation.left_out ?? [];
  section.append(h("div", { class: "two" }, figure.element, h("div", { class: "panel" }, h("h3", null, "Figures"),
    h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null, "Coverage is the share of runs whose " +
      "error is within the stated bound; it should not be below the confidence. " +
      "p95 / bound is the used part of the bound (for all workloads: the median); above 1 the bound is too small. Methods " +
      "without these figures state no bound.")), table,
    leftOut.length > 0 && h("details", { class: "how" }, h("summary", null, `${count(leftOut.length)} not evaluated`),
      h("ul", null, ...leftOut.map((l) => h("li", null, h("bdi", null,
        `${visible(l.method)} on ${visible(l.workload)}: ${visible(l.reason)}`))))))));
  return section;
}
