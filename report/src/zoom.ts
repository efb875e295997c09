// SPDX-License-Identifier: Apache-2.0
//
// The visible part of a chart's axis. Buttons and the mouse change it: Ctrl and the wheel (or a pinch on a touchpad),
// dragging, and a double click, which shows everything. The wheel without Ctrl scrolls the page.

import { h } from "./dom";

export interface View {
  from: number; // shares of the axis
  to: number;
}

export const whole: View = { from: 0, to: 1 };

const minWidth = 1 / 200; // a smaller part contains only one or two points

// Returns a part of the given width, moved to be within the axis.
function within(from: number, width: number): View {
  const size = Math.min(1, Math.max(minWidth, width));
  const begin = Math.min(1 - size, Math.max(0, from));
  return { from: begin, to: begin + size };
}

// Makes the part `factor` times as wide. The point at `at`, a fraction of the part, keeps its position.
export function scaled({ from, to }: View, factor: number, at: number): View {
  const width = Math.min(1, Math.max(minWidth, (to - from) * factor));
  return within(from + (to - from - width) * at, width);
}

// Moves the part later by the fraction `by` of its width.
export function moved({ from, to }: View, by: number): View {
  return within(from + (to - from) * by, to - from);
}

// Returns the points that a line from `from` to `to` needs: the points in this range and the next point on each side.
export function drawnPoints<Point>(points: Point[], x: (point: Point) => number, from: number, to: number): Point[] {
  const first = points.findIndex((point) => x(point) >= from);
  const after = points.findIndex((point) => x(point) > to);
  return first < 0 ? points.slice(-1) : points.slice(Math.max(0, first - 1), after < 0 ? undefined : after + 1);
}

export interface ZoomControls {
  element: HTMLElement;
  showAll(): void;
}

// Adds buttons and mouse handlers to `box`. The plot area is inset by `left` and `right` px.
export function zoomControls(box: HTMLElement, left: number, right: number, now: () => View,
    show: (view: View) => void, words: (view: View) => string): ZoomControls {
  const part = h("output", { class: "quiet" });
  const change = (view: View) => {
    show(view);
    part.textContent = view.to - view.from < 1 ? words(view) : "";
  };
  const button = (text: string, name: string, next: () => View) => h("button", { type: "button", class: "small",
    "aria-label": name, title: name, click: () => change(next()) }, text);
  const width = () => Math.max(1, box.clientWidth - left - right);

  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = (event.clientX - box.getBoundingClientRect().left - left) / width();
    change(scaled(now(), Math.exp(Math.sign(event.deltaY) * Math.min(0.4, Math.abs(event.deltaY) / 200)),
      Math.min(1, Math.max(0, at))));
  }, { passive: false });
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType !== "mouse" || now().to - now().from === 1) return;
    event.preventDefault();
    box.setPointerCapture(event.pointerId);
    const begin = { x: event.clientX, view: now() };
    const move = (e: PointerEvent) => change(moved(begin.view, (begin.x - e.clientX) / width()));
    box.addEventListener("pointermove", move);
    box.addEventListener("lostpointercapture", () => box.removeEventListener("pointermove", move), { once: true });
  });
  box.addEventListener("dblclick", () => change(whole));

  const element = h("div", { class: "zoom", role: "group", "aria-label": "Zoom" }, part,
    button("‹", "Earlier", () => moved(now(), -0.5)), button("›", "Later", () => moved(now(), 0.5)),
    button("−", "Zoom out", () => scaled(now(), 2, 0.5)), button("+", "Zoom in", () => scaled(now(), 0.5, 0.5)),
    button("All", "Show all", () => whole));
  return { element, showAll: () => change(whole) };
}
