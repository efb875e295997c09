// SPDX-License-Identifier: Apache-2.0

import type { Context } from "../context";
import { kernelsCsv, samplesCsv } from "../csv";
import { copyButton, download, h } from "../dom";
import { count, duration, durationsUpTo, none, number, percent, tidy, visible } from "../format";
import { makeGrid } from "../grid";
import { rangeOf, search, type Kernel, type Model, type SampleRow } from "../model";
import { memberText, unpack } from "../payload";
import type { Triple } from "../types";

const csvType = "text/csv;charset=utf-8";

// Returns the unchanged bytes of plan.json from the data of the page.
async function planText(): Promise<string> {
  const text = await unpack(document.getElementById("stemtap-data")!.textContent ?? "");
  return memberText(text, "plan") ?? "null";
}

export function kernelTable(context: Context): HTMLElement {
  const { model } = context;
  const maxShare = model.byTime[0]?.share || 1;
  const time = durationsUpTo(model.byTime[0]?.duration ?? 0);
  const mean = durationsUpTo(rangeOf(model.kernels.map((k) => k.mean ?? 0))[1]);
  const grid = makeGrid<Kernel>("Kernels", model.kernels, [
    { name: "Kernel", width: 300, isName: true, text: (k) => k.short, title: (k) => k.label, value: (k) => k.label },
    { name: "Category", width: 118, left: true, text: (k) => k.category, value: (k) => k.category },
    { name: "Share", width: 78, text: (k) => percent(k.share), value: (k) => k.duration, bar: (k) => k.share / maxShare },
    { name: "Time", width: 84, text: (k) => time(k.duration), value: (k) => k.duration },
    { name: "Launches", width: 92, text: (k) => count(k.invocations), value: (k) => k.invocations },
    { name: "Mean", width: 82, text: (k) => mean(k.mean), value: (k) => k.mean ?? -1 },
    { name: "cv", width: 68, text: (k) => percent(k.cv), value: (k) => k.cv ?? -1 },
    { name: "Clusters", width: 80, text: (k) => count(k.clusters.length), value: (k) => k.clusters.length },
    { name: "Samples", width: 84, text: (k) => count(k.captured), value: (k) => k.captured },
    { name: "Target", width: 72, text: (k) => count(k.target), value: (k) => k.target },
    { name: "Uncovered", width: 94, text: (k) => (k.uncovered > 0 ? duration(k.uncovered) : none),
      value: (k) => k.uncovered },
  ], "Time", false, (kernel) => context.choose(kernel));
  const found = h("output", { for: "kernels-search", class: "quiet" });
  const input = h("input", { id: "kernels-search", type: "search", placeholder: "Words in the name", spellcheck: "false",
    autocomplete: "off", input: () => show() });
  const show = () => {
    const rows = search(model.kernels, input.value);
    grid.show(rows);
    found.textContent = `${count(rows.length)} of ${count(model.kernels.length)} kernels`;
  };
  show();
  grid.choose(context.chosen, false);
  context.onChoose((kernel) => grid.choose(kernel, true));
  const text = () => kernelsCsv(grid.rows());
  return h("div", { class: "panel" }, h("h3", null, "All kernels"), h("div", { class: "tools" },
    h("label", { for: "kernels-search", class: "unseen" }, "Search kernels"), input, found,
    copyButton("Copy CSV", text), h("button", { type: "button", class: "small", id: "download-kernels",
      click: () => download("kernels.csv", csvType, [text()]) }, "kernels.csv")), grid.element);
}

function sampleTable(context: Context): HTMLElement {
  const { model } = context;
  const grid = makeGrid<SampleRow>("Samples", model.samples, [
    { name: "Launch", width: 92, text: (s) => count(s.sample.index), value: (s) => s.sample.index },
    { name: "Kernel", width: 300, isName: true, text: (s) => s.short, title: (s) => s.label,
      value: (s) => s.label },
    { name: "Cluster", width: 80, text: (s) => count(s.cluster + 1), value: (s) => s.cluster },
    { name: "Occurrence", width: 100, text: (s) => count(s.sample.occurrence), value: (s) => s.sample.occurrence },
    { name: "Duration", width: 100, text: (s) => duration(s.sample.duration_ns) + (s.sample.imputed ? " *" : ""),
      title: (s) => (s.sample.imputed ? "Imputed with the mean of its context, because the launch was perturbed" : ""), value: (s) => s.sample.duration_ns },
    { name: "Weight", width: 84, text: (s) => tidy(number(s.sample.weight, 5)), value: (s) => s.sample.weight },
    { name: "Grid", width: 104, text: (s) => shownTriple(s.sample.grid), value: (s) => product(s.sample.grid) },
    { name: "Block", width: 104, text: (s) => shownTriple(s.sample.block), value: (s) => product(s.sample.block) },
    { name: "Device", width: 72, text: (s) => String(s.sample.device ?? none), value: (s) => s.sample.device ?? -1 },
    { name: "Stream", width: 74, text: (s) => String(s.sample.stream ?? none), value: (s) => s.sample.stream ?? -1 },
    { name: "Range", width: 150, left: true, text: (s) => visible(s.sample.range ?? none),
      title: (s) => visible(s.sample.range ?? ""), value: (s) => s.sample.range ?? "" },
    { name: "Step", width: 70, text: (s) => String(s.sample.step ?? none), value: (s) => s.sample.step ?? -1 },
  ], "Launch", true, (sample) => context.choose(sample.kernel));
  const found = h("output", { for: "samples-search", class: "quiet" });
  const only = h("input", { id: "samples-only", type: "checkbox", change: () => show() });
  const input = h("input", { id: "samples-search", type: "search", placeholder: "Words in the kernel name",
    spellcheck: "false", autocomplete: "off", input: () => show() });
  const show = () => {
    const kernels = new Set(search(only.checked && context.chosen ? [context.chosen] : model.kernels, input.value));
    const rows = kernels.size === model.kernels.length ? model.samples : model.samples.filter((s) => kernels.has(s.kernel));
    grid.show(rows);
    found.textContent = `${count(rows.length)} of ${count(model.samples.length)} samples`;
  };
  show();
  context.onChoose(() => only.checked && show());
  const text = () => samplesCsv(grid.rows());
  return h("div", { class: "panel" }, h("h3", null, "All samples"), h("div", { class: "tools" },
    h("label", { for: "samples-search", class: "unseen" }, "Search samples"), input,
    h("label", { class: "check" }, only, "selected kernel only"), found, copyButton("Copy CSV", text),
    h("button", { type: "button", class: "small", id: "download-samples",
      click: () => download("samples.csv", csvType, [text()]) }, "samples.csv")), grid.element);
}

const shownTriple = (t: Triple | null) => (t ? t.join("×") : none);

const product = (t: Triple | null) => (t ? t[0] * t[1] * t[2] : -1);

export function tablesSection(context: Context): HTMLElement {
  const { model } = context;
  return h("section", { id: "tables", "aria-labelledby": "h-tables" },
    h("div", { class: "section-head" }, h("h2", { id: "h-tables" }, "Tables"), planButton(model)),
    h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null, "Click a column name to sort. " +
      "Click a row to select its kernel; on the keyboard, arrow keys move between rows and Enter selects. CSV " +
      "contains the rows that are shown, in their order, with durations in ns and a ' before names that a spreadsheet would " +
      "evaluate as formulas. * marks an imputed sample.")),
    kernelTable(context), model.samples.length > 0 && sampleTable(context));
}

function planButton(model: Model): HTMLElement | null {
  return model.data.plan ? h("button", { type: "button", class: "small", id: "download-plan",
    click: async () => download("plan.json", "application/json", [await planText()]) }, "plan.json") : null;
}
