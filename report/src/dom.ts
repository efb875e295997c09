// SPDX-License-Identifier: Apache-2.0
//
// Creates elements without markup. Data becomes text nodes or attribute values, never HTML.

export type Child = Node | string | number | null | undefined | false;
type Props = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

export function fill(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// Props that are functions become listeners. true sets an attribute without a value; false omits the attribute.
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props | null = null,
    ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  fill(element, children);
  return element;
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  fill(element, children);
}

export function download(name: string, type: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// The clipboard API may be unavailable in a file opened from disk. The deprecated execCommand works there.
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    const before = document.activeElement as HTMLElement | null;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus();
    return done;
  }
}

let status: HTMLElement | null = null;

// Announces a message to screen readers.
export function announce(message: string): void {
  if (!status) document.body.append((status = h("div", { role: "status", class: "unseen" })));
  status.textContent = message;
}

export function copyButton(label: string, text: () => string): HTMLButtonElement {
  const button = h("button", { type: "button", class: "small", click: async () => {
    const done = await copy(text());
    button.textContent = done ? "Copied" : "Could not copy";
    announce(button.textContent);
    setTimeout(() => (button.textContent = label), 1500);
  } }, label);
  return button;
}
