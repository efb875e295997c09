// SPDX-License-Identifier: Apache-2.0
//
// Shows a command with a button that copies it.

import { copyButton, h, replace } from "../dom";
import { visible } from "../format";

// Returns a line that is indented if it wraps and breaks only between words.
function lineOf(text: string): HTMLElement {
  const [, indent, rest] = text.match(/^( *)(.*)$/s)!;
  return h("span", { class: "line", style: `--indent:${indent!.length}` },
    ...rest!.split(/( +)/).map((word) => (word.trim() === "" ? word : h("span", { class: "word" }, word))));
}

export function commandBox(title: string, text: () => string): { element: HTMLElement; update: () => void } {
  const code = h("code");
  const update = () => replace(code, ...visible(text()).split("⟨U+000A⟩").map(lineOf));
  update();
  const lines = h("pre", { tabindex: 0, role: "region", "aria-label": title }, code);
  return { element: h("div", { class: "command" }, lines, copyButton("Copy", text)), update };
}
