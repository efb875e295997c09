// SPDX-License-Identifier: Apache-2.0
//
// A table of any length. Only rows near the visible part have elements. All rows have the same height, so a division
// gives the visible part. Sorting and searching reorder an array of rows.

import { h, replace } from "./dom";
import { none } from "./format";
import { cutNames } from "./labels";

export interface Column<Row> {
  name: string;
  width: number; // px; for the name, the minimum
  text: (row: Row) => string;
  value: (row: Row) => number | string; // to sort by
  title?: (row: Row) => string;
  isName?: boolean; // gets the keyboard focus and the remaining width; left-aligned; its text is cut
  left?: boolean;
  bar?: (row: Row) => number; // 0..1, drawn below the number
}

export interface Grid<Row> {
  element: HTMLElement;
  show(rows: Row[]): void;
  rows(): Row[]; // filtered and sorted
  choose(row: Row | null, scroll: boolean): void;
}

const rowHeight = 26; // px, as in style.css
const maxSortedAtStart = 3000; // larger tables are sorted when they come near the visible part
const around = 12; // extra rows on each side of the visible part, for fast scrolling
const glyph = 7.3; // px per character of a name, rounded up: 12 px in a monospaced font
const padding = 20; // px of a cell, both sides together, as in style.css
const minCharacters = 16; // of a name; fewer characters do not show the difference

const classOf = <Row>(column: Column<Row>) => (column.isName ? "left pinned" : column.left ? "left" : null);

// `all` are the rows that the table may show. Columns in which they have only empty or unknown cells are left out. The
// table is first sorted by the column named `sortedBy`.
export function makeGrid<Row>(label: string, all: Row[], every: Column<Row>[], sortedBy: string, rising: boolean,
    pick: ((row: Row) => void) | null, canPick: (row: Row) => boolean = () => true): Grid<Row> {
  const columns = every.filter(({ text, name }) => all.length === 0 || name === sortedBy ||
    all.some((row) => !["", none].includes(text(row))));
  let sortBy = columns.findIndex(({ name }) => name === sortedBy);
  let given: Row[] = [];
  let shown: Row[] = [];
  let chosen: Row | null = null;
  let first = -1;
  let last = -1;
  const body = h("tbody");
  const above = h("tr", { "aria-hidden": "true" }, h("td", { colspan: columns.length, class: "spacer" }));
  const below = h("tr", { "aria-hidden": "true" }, h("td", { colspan: columns.length, class: "spacer" }));
  const spacer = (row: HTMLElement, rows: number) =>
    ((row.firstElementChild as HTMLElement).style.height = `${rows * rowHeight}px`);

  const heads = columns.map((column, i) => {
    const arrow = h("span", { class: "arrow", "aria-hidden": "true" });
    return h("th", { scope: "col", class: classOf(column) },
      h("button", { type: "button", click: () => sort(i) }, column.name, arrow));
  });
  const head = h("thead", null, h("tr", { "aria-rowindex": 1 }, ...heads));
  const table = h("table", { "aria-label": label },
    h("colgroup", null, ...columns.map((c) => h("col", { style: c.isName ? null : `width:${c.width}px` }))), head, body);
  table.style.minWidth = `${columns.reduce((sum, column) => sum + column.width, 0)}px`;
  const box = h("div", { class: "grid", tabindex: 0, role: "region", "aria-label": `${label}: arrow keys move through the rows` }, table);

  const nameAt = columns.findIndex((column) => column.isName);
  // Returns the names of rows, cut to fit their column.
  const namesOf = (rows: Row[]): string[] => {
    const width = heads[nameAt]!.clientWidth || columns[nameAt]!.width; // 0 before the layout
    return cutNames(rows.map(columns[nameAt]!.text), Math.max(minCharacters, Math.floor((width - padding) / glyph)));
  };

  const makeRow = (at: number, name: string) => {
    const row = shown[at]!;
    const line = h("tr", { "aria-rowindex": at + 2, class: row === chosen ? "chosen" : null });
    for (const column of columns) {
      const text = column.isName ? name : column.text(row);
      const cell = h("td", { class: classOf(column) });
      if (column.isName) {
        cell.title = (column.title ?? column.text)(row);
        cell.append(pick ? h("button", { type: "button", class: "name", "data-at": at, tabindex: -1,
          "aria-pressed": row === chosen ? "true" : "false", "aria-disabled": !canPick(row) && "true",
          click: () => canPick(row) && pick(row) }, h("bdi", null, text))
          : h("bdi", { class: "name" }, text));
      } else {
        if (column.bar) {
          const part = Math.max(0, Math.min(1, column.bar(row)));
          cell.append(h("span", { class: "bar", style: `width:${(part * 100).toFixed(2)}%` }));
        }
        cell.append(h("span", { class: "text" }, text));
        if (column.title) cell.title = column.title(row);
      }
      line.append(cell);
    }
    return line;
  };

  const render = (force: boolean) => {
    const height = box.clientHeight || 480;
    const from = Math.max(0, Math.floor(box.scrollTop / rowHeight) - around);
    const to = Math.min(shown.length, Math.ceil((box.scrollTop + height) / rowHeight) + around);
    if (!force && from === first && to === last) return;
    const focused = (document.activeElement as HTMLElement | null)?.closest(".grid") === box
      ? (document.activeElement as HTMLElement).dataset["at"] : undefined;
    first = from;
    last = to;
    spacer(above, from);
    spacer(below, shown.length - to);
    const lines: HTMLElement[] = [];
    const names = namesOf(shown.slice(from, to));
    for (let at = from; at < to; ++at) lines.push(makeRow(at, names[at - from]!));
    replace(body, above, ...lines, below);
    if (focused !== undefined) focus(Number(focused), true);
  };

  const focus = (at: number, quietly: boolean) => {
    const button = body.querySelector<HTMLElement>(`[data-at="${at}"]`);
    if (button) button.focus({ preventScroll: true });
    else if (quietly) box.focus({ preventScroll: true });
  };

  const reveal = (at: number) => {
    const headHeight = head.offsetHeight;
    const top = at * rowHeight;
    const seen = box.clientHeight - headHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + rowHeight > box.scrollTop + seen) box.scrollTop = top + rowHeight - seen;
    render(false);
  };

  // Large tables far from the visible part are sorted later.
  let waits = false;
  let near = false;
  const arrange = () => {
    box.style.setProperty("--rows", String(given.length));
    waits = !near && given.length > maxSortedAtStart;
    if (!waits) order();
  };
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    near = true;
    if (waits) arrange();
  }, { rootMargin: "600px" }).observe(box);

  const order = () => {
    waits = false;
    const { value } = columns[sortBy]!;
    const keyed = given.map((row, i) => ({ row, key: value(row), i }));
    keyed.sort((a, b) => {
      const order = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key
        : String(a.key) < String(b.key) ? -1 : String(a.key) > String(b.key) ? 1 : 0;
      return (rising ? order : -order) || a.i - b.i;
    });
    shown = keyed.map((k) => k.row);
    table.setAttribute("aria-rowcount", String(shown.length + 1));
    heads.forEach((cell, i) => {
      if (i === sortBy) cell.setAttribute("aria-sort", rising ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
      cell.querySelector(".arrow")!.textContent = i === sortBy ? (rising ? "▲" : "▼") : "";
    });
    render(true);
  };

  const sort = (column: number) => {
    rising = column === sortBy ? !rising : columns[column]!.isName === true || columns[column]!.left === true;
    sortBy = column;
    box.scrollTop = 0;
    arrange();
  };

  box.addEventListener("scroll", () => render(false), { passive: true });
  let width = 0;
  new ResizeObserver(() => {
    const isSame = width === box.clientWidth;
    width = box.clientWidth;
    render(!isSame); // cuts the names to fit their column
  }).observe(box);
  // Tab focuses the table once. Arrow keys move between its rows.
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity }[event.key];
    const active = (event.target as HTMLElement).dataset["at"];
    if (!pick || step === undefined || shown.length === 0 || (active === undefined && event.target !== box)) return;
    event.preventDefault();
    const from = active !== undefined ? Number(active) : Math.ceil(box.scrollTop / rowHeight) - (step === 1 ? 1 : 0);
    const at = Math.max(0, Math.min(shown.length - 1, from + step));
    reveal(at);
    focus(at, true);
  });

  return { element: box,
    show(rows) {
      given = rows;
      box.scrollTop = 0;
      arrange();
    },
    rows() {
      if (waits) order();
      return shown;
    },
    choose(row, scroll) {
      chosen = row;
      if (waits) return;
      const at = row === null ? -1 : shown.indexOf(row);
      if (scroll && at >= 0) reveal(at);
      render(true);
    } };
}
