// SPDX-License-Identifier: Apache-2.0
//
// Assembles the page. window.stemtapReport is for tests: `ready` resolves when the page can be used, `data` is the unpacked
// data, and `charts` has the option of each chart and a draw() that does not wait for scrolling.

import { makeContext } from "./context";
import { h, replace } from "./dom";
import { charts, drawForPrint, setTheme } from "./figure";
import { moment, shellWord, visible } from "./format";
import { makeModel, type Model } from "./model";
import { parse, unpack } from "./payload";
import { sectionsOf, type Section } from "./sections/all";
import type { Payload } from "./types";

const report: { ready: Promise<void>; data: Payload | null; charts: typeof charts } =
  { ready: Promise.resolve(), data: null, charts };

// The theme follows the system setting until the button is pressed. The choice is not kept across reloads.
function themeButton(): HTMLElement {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let isDark = system.matches;
  let own = false;
  const button = h("button", { type: "button", class: "small", id: "theme", click: () => {
    own = true;
    isDark = !isDark;
    apply();
  } });
  const apply = () => {
    document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
    button.textContent = isDark ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark ? "Use the light theme" : "Use the dark theme");
    setTheme(isDark);
  };
  system.addEventListener("change", () => {
    if (own) return;
    isDark = system.matches;
    apply();
  });
  apply();
  return button;
}

function header(model: Model, shown: Section[]): HTMLElement {
  const command = model.command.length > 0 ? visible(model.command.map(shellWord).join(" "))
    : visible(model.data.plan?.source ?? "");
  return h("header", { class: "top" }, h("div", { class: "title" },
    h("h1", null, h("bdi", null, visible(model.folder) || "stemtap report")),
    h("p", { class: "quiet", title: command }, h("bdi", null, [visible(model.mode), command].filter(Boolean).join(" · ")))),
  h("nav", { "aria-label": "Sections" }, h("ul", null, ...shown.map(({ id, name }) =>
    h("li", null, h("a", { href: `#${id}` }, name))))), themeButton());
}

function footer(model: Model): HTMLElement {
  const notice = h("pre", { tabindex: 0 });
  const details = h("details", { toggle: () => {
    notice.textContent = document.getElementById("licenses")?.textContent ?? "";
  } }, h("summary", null, "Licenses of the software in this page"), notice);
  return h("footer", null, h("p", null, `Created by ${visible(model.data.tool ?? "stemtap")}, ` +
    `${moment(model.data.made_unix_ms)}. This page loads nothing: it contains all of its data.`), details);
}

// Highlights the link of the visible section.
function followSections(shown: Section[]): void {
  const seen = new Set<string>();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) seen.add(target.id);
      else seen.delete(target.id);
    }
    const now = shown.find(({ id }) => seen.has(id))?.id;
    for (const { id } of shown) {
      const link = document.querySelector(`nav a[href="#${id}"]`);
      if (id === now) link?.setAttribute("aria-current", "true");
      else link?.removeAttribute("aria-current");
    }
  }, { rootMargin: "-15% 0px -70% 0px" });
  for (const section of document.querySelectorAll("section")) observer.observe(section);
}

async function start(): Promise<void> {
  const page = document.getElementById("page")!;
  try {
    report.data = parse(await unpack(document.getElementById("stemtap-data")!.textContent ?? ""));
    const model = makeModel(report.data);
    const context = makeContext(model);
    const shown = sectionsOf(model);
    document.title = `${visible(model.folder) || "session"} – stemtap report`;
    replace(page, h("a", { class: "skip", href: "#main" }, "Skip to the answer"), header(model, shown),
      h("main", { id: "main", tabindex: -1 }, ...shown.map((section) => section.make(context))), footer(model));
    followSections(shown);
    addEventListener("beforeprint", () => drawForPrint(true));
    addEventListener("afterprint", () => drawForPrint(false));
  } catch (error) {
    page.replaceChildren(h("main", { class: "failed", role: "alert" }, h("h1", null, "This report cannot be shown"),
      h("p", null, (error as Error).message)));
    throw error;
  }
}

(window as unknown as { stemtapReport: typeof report }).stemtapReport = report;
report.ready = start();
