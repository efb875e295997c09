// SPDX-License-Identifier: Apache-2.0
//
// A figure has a title, an explanation, a chart, and a table of the same numbers. Charts are drawn when they come near
// the visible part of the page. `charts` gives tests the option of each chart, drawn or not.

import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, MarkAreaComponent, MarkLineComponent, TitleComponent, TooltipComponent } from "echarts/components";
import { init, use, type EChartsCoreOption, type ECharts } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { plotLeft, plotRight } from "./charts/common";
import { h, replace, type Child } from "./dom";
import { none } from "./format";
import { dark, light, type Theme } from "./theme";
import { whole, zoomControls, type View } from "./zoom";

use([BarChart, CustomChart, LineChart, ScatterChart, GridComponent, MarkAreaComponent, MarkLineComponent,
  TitleComponent, TooltipComponent, SVGRenderer]);

export interface Chart {
  readonly option: EChartsCoreOption;
  draw(): void;
}

export const charts: Record<string, Chart> = {};

const paperWidth = 700; // px; fits A4 and Letter within their margins

let theme: Theme = light;
let printing = false;
const drawn = new Set<() => void>();
const current = () => (printing ? light : theme);

export function setTheme(isDark: boolean): void {
  theme = isDark ? dark : light;
  for (const redraw of drawn) redraw();
}

// Draws all charts in the light theme and at paper width, including charts that are not drawn yet. The browser computes
// the layout of the printed page after the charts are drawn.
export function drawForPrint(on: boolean): void {
  printing = on;
  for (const name of Object.keys(charts)) charts[name]!.draw();
  for (const redraw of drawn) redraw();
}

export interface TableView {
  head: string[];
  rows: Child[][];
  note?: string;
}

export interface FigureSpec {
  name: string;
  title: string;
  how: string;
  height: string; // of the chart, CSS
  label: () => string; // description for screen readers
  option: (theme: Theme, width: number, view: View) => EChartsCoreOption;
  missing?: () => string | null; // why the chart cannot be drawn for what is selected, or null
  table: () => TableView;
  click?: (data: { kernel?: number | null }, seriesIndex: number) => void;
  tools?: Child[];
  zoom?: (view: View) => string; // describes the visible part of the axis; absent if there is no zoom
}

export interface Figure {
  element: HTMLElement;
  update(): void;
  showAll(): void; // resets the zoom for a new axis
}

const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    observer.unobserve(entry.target);
    waiting.get(entry.target)?.();
    waiting.delete(entry.target);
  }
}, { rootMargin: "300px" });
const waiting = new Map<Element, () => void>();

const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) sizes.get(target)?.();
});
const sizes = new Map<Element, () => void>();

// Numbers are right-aligned. Words are left-aligned and may wrap.
const isWords = (cell: Child): boolean => typeof cell === "string" && !/^([\d<>+−–]|$)/.test(cell);

function isEmpty(cell: Child): boolean {
  const text = cell instanceof Node ? cell.textContent : cell;
  return text === null || text === undefined || text === false || text === "" || text === none;
}

// Returns the table without the columns in which every cell is empty or unknown.
function withoutEmptyColumns({ head, rows, ...rest }: TableView): TableView {
  const isShown = head.map((_, i) => rows.length === 0 || rows.some((row) => !isEmpty(row[i])));
  return { head: head.filter((_, i) => isShown[i]), rows: rows.map((row) => row.filter((_, i) => isShown[i])), ...rest };
}

export function plainTable(whole: TableView): HTMLElement {
  const view = withoutEmptyColumns(whole);
  const words = view.head.map((_, i) => view.rows.some((row) => isWords(row[i]) ||
    (row[i] instanceof HTMLElement && row[i].tagName === "BDI")));
  const kind = (i: number) => (words[i] ? "words" : null);
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `Table: ${view.head.join(", ")}` },
    h("table", { class: "plain" },
      h("thead", null, h("tr", null, ...view.head.map((name, i) => h("th", { scope: "col", class: kind(i) }, name)))),
      h("tbody", null, ...view.rows.map((row) => h("tr", null, ...row.map((cell, i) => h("td", { class: kind(i) }, cell)))))),
    view.note && h("p", { class: "quiet" }, view.note));
}

export function makeFigure(spec: FigureSpec): Figure {
  let chart: ECharts | null = null;
  let view = whole;
  const whyMissing = () => spec.missing?.() ?? null;
  const box = h("div", { class: "chart", role: "img", style: `height:${spec.height}` });
  const lacks = h("p", { class: "lacks" });
  const table = h("div");
  const fillTable = () => {
    if (asTable.open && whyMissing() === null) replace(table, plainTable(spec.table()));
  };
  const asTable = h("details", { class: "as-table", toggle: fillTable }, h("summary", null, "Show as a table"), table);
  // Resizes the chart to its box. Returns whether the size changed.
  const fit = (): boolean => {
    const width = printing ? Math.min(box.clientWidth, paperWidth) : box.clientWidth;
    const height = box.clientHeight;
    if (!chart || width === 0 || (width === chart.getWidth() && height === chart.getHeight())) return false;
    chart.resize({ width, height });
    return true;
  };
  const redraw = () => {
    if (!chart || whyMissing() !== null) return;
    fit();
    chart.setOption(spec.option(current(), chart.getWidth(), view), { notMerge: true });
  };
  const draw = () => {
    if (whyMissing() !== null || chart) return;
    observer.unobserve(box);
    chart = init(box, null, { renderer: "svg", width: box.clientWidth || 640,
      height: box.clientHeight || 320 });
    if (spec.click) {
      chart.on("click", (event) => spec.click!((event.data ?? {}) as { kernel?: number }, event.seriesIndex ?? 0));
    }
    drawn.add(redraw);
    redraw();
    sizes.set(box, () => {
      if (fit()) redraw();
    });
    resized.observe(box);
  };
  const update = () => {
    const missing = whyMissing();
    box.hidden = missing !== null;
    asTable.hidden = missing !== null;
    tools.hidden = missing !== null;
    lacks.hidden = missing === null;
    lacks.textContent = missing ?? "";
    box.setAttribute("aria-label", spec.label());
    fillTable();
    redraw();
  };
  let waits = false;
  const show = (next: View) => {
    view = next;
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      redraw();
    });
  };
  const zoom = spec.zoom ? zoomControls(box, plotLeft, plotRight, () => view, show, spec.zoom) : null;
  const tools = h("div", { class: "figure-tools" }, ...(spec.tools ?? []), zoom?.element);
  const how = h("details", { class: "how" }, h("summary", null, "How to read this"), h("p", null, spec.how,
    spec.zoom && " Use the buttons, Ctrl and the wheel, or dragging to zoom and move the view."));
  const element = h("figure", { id: `figure-${spec.name}`, "aria-labelledby": `title-${spec.name}` },
    h("div", { class: "figure-head" }, h("h3", { id: `title-${spec.name}` }, spec.title), tools),
    how, lacks, box, asTable);
  charts[spec.name] = { get option() { return spec.option(current(), chart?.getWidth() ?? 640, view); }, draw };
  waiting.set(box, draw);
  observer.observe(box);
  update();
  return { element, update, showAll: () => zoom?.showAll() };
}
