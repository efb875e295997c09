// SPDX-License-Identifier: Apache-2.0
//
// The part of an axis that a chart shows. Buttons change it; so does, with a mouse, the wheel with Ctrl (as the pinch of
// a touchpad), dragging, and a double click for all. A wheel without Ctrl scrolls the page, as everywhere in it.

import { h } from "./dom";

export interface View {
  from: number; // shares of the axis
  to: number;
}

export const whole: View = { from: 0, to: 1 };

const least = 1 / 200; // a part that is smaller shows a point or two

// What is between, moved so that it lies within the axis.
function within(from: number, width: number): View {
  const size = Math.min(1, Math.max(least, width));
  const begin = Math.min(1 - size, Math.max(0, from));
  return { from: begin, to: begin + size };
}

// `factor` times as wide; what stands at `at`, a share of the part, stays where it is.
export function scaled({ from, to }: View, factor: number, at: number): View {
  const width = Math.min(1, Math.max(least, (to - from) * factor));
  return within(from + (to - from - width) * at, width);
}

// Later by `by` of the part.
export function moved({ from, to }: View, by: number): View {
  return within(from + (to - from) * by, to - from);
}

// What of `points` a line between `from` and `to` takes: those within, and the next on either side.
export function drawnPoints<Point>(points: Point[], x: (point: Point) => number, from: number, to: number): Point[] {
  const first = points.findIndex((point) => x(point) >= from);
  const after = points.findIndex((point) => x(point) > to);
  return first < 0 ? points.slice(-1) : points.slice(Math.max(0, first - 1), after < 0 ? undefined : after + 1);
}

export interface ZoomControls {
  element: HTMLElement;
  showAll(): void;
}

// The buttons, and what `box` does with a mouse. The chart's plot lies `left` and `right` px within it.
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
