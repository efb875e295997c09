// SPDX-License-Identifier: Apache-2.0
//
// Assembles the page. window.stemtapReport is for tests: `ready` resolves when the page can be used, `data` is the unpacked
// data, and `charts` has the option of each chart and a draw() that does not wait for scrolling.

import { replayCommand } from "./commands";
import { makeContext } from "./context";
import { h, replace } from "./dom";
import { charts, drawForPrint, setTheme } from "./figure";
import { moment, shellWord, visible } from "./format";
import { missingText } from "./missing";
import { isPlanAlone, makeModel, type Model } from "./model";
import { parse, unpack } from "./payload";
import { sectionsOf, type Section } from "./sections/all";
import { commandBox } from "./sections/command_box";
import { headFigures, titleOf } from "./title";
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
  const folder = visible(model.folder) || "stemtap report";
  return h("header", { class: "top" }, h("p", { class: "folder", title: folder }, h("bdi", null, folder)),
  h("nav", { "aria-label": "Sections" }, h("ul", null, ...shown.map(({ id, name }) =>
    h("li", null, h("a", { href: `#${id}` }, name))))), themeButton());
}

// The title, what ran, and the figures that readers need first.
function head(model: Model): HTMLElement {
  const title = titleOf(model).map((part) => (typeof part === "string" ? part : h("code", null, h("bdi", null, part.name))));
  const command = model.command.length > 0 ? visible(model.command.map(shellWord).join(" "))
    : visible(model.data.plan?.source ?? "");
  const ran = [visible(model.mode), command].filter(Boolean).join(" · ");
  const figures = headFigures(model).map(({ value, label }) => h("li", null, h("strong", null, value), ` ${label}`));
  return h("div", { class: "head" }, h("h1", null, ...title),
    ran !== "" && h("p", { class: "quiet ran", title: command }, h("bdi", null, ran)),
    figures.length > 0 && h("ul", { class: "figures", "aria-label": model.data.diff ? "This run (B)" : "The run" },
      model.data.diff && h("li", { class: "quiet" }, "This run (B):"), ...figures));
}

// Lists what the page lacks, and for a recorded run, the command that makes a session with it.
function missingLine(model: Model): HTMLElement | null {
  const text = missingText(model);
  if (text === "") return null;
  const command = replayCommand(model);
  const hint = !isPlanAlone(model) ? "" : command === "" ? " stemtap replay makes a session of a recorded run." : " This command makes one:";
  return h("div", { id: "missing" }, h("p", { class: "quiet" }, text + hint),
    command !== "" && commandBox("Replay command", () => command).element);
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
    document.title = `${titleOf(model).map((part) => (typeof part === "string" ? part : part.name)).join("")} – stemtap report`;
    replace(page, h("a", { class: "skip", href: "#main" }, "Skip to the content"), header(model, shown),
      h("main", { id: "main", tabindex: -1 }, head(model), ...shown.map((section) => section.make(context)), missingLine(model)),
      footer(model));
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
