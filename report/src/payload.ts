// SPDX-License-Identifier: Apache-2.0
//
// The data in the page: JSON, compressed with gzip and encoded as base64, in a script element that browsers do not run. To
// save memory, the text is not kept, but is unpacked again when the original plan is downloaded.

import type { Payload } from "./types";

export class PayloadError extends Error {}

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function unpack(base64: string): Promise<string> {
  const packed = base64.trim();
  if (packed === "" || packed.startsWith("@")) {
    throw new PayloadError("This page is empty: stemtap report did not add a session.");
  }
  if (typeof DecompressionStream === "undefined") {
    throw new PayloadError("This browser cannot unpack the data; it is older than May 2024.");
  }
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = bytesOfBase64(packed);
  } catch {
    throw new PayloadError("The data in this page is damaged: it is not base64.");
  }
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return await new Response(stream).text();
  } catch {
    throw new PayloadError("The data in this page is damaged or truncated: it cannot be unpacked.");
  }
}

export function parse(text: string): Payload {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PayloadError(`The data in this page is not JSON: ${(error as Error).message}`);
  }
  const schema = (value as Payload | null)?.schema;
  if (schema !== "stemtap.report/1") {
    throw new PayloadError(`The data in this page has the schema ${JSON.stringify(schema) ?? "none"}, ` +
      "but this page needs stemtap.report/1.");
  }
  return value as Payload;
}

// Returns the text of a member of a JSON object, or null. The text is everything between the colon and the next comma: the
// original file with its final line feed. JSON.parse would round integers that do not fit a double.
export function memberText(text: string, member: string): string | null {
  let i = 0;
  const space = () => {
    while (i < text.length && " \t\r\n".includes(text[i]!)) ++i;
  };
  const string = () => {
    const start = i++;
    while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
    return text.slice(start, ++i);
  };
  const value = () => {
    let depth = 0;
    const start = i;
    for (; i < text.length; ++i) {
      const c = text[i];
      if (c === '"') {
        string();
        --i;
      } else if (c === "{" || c === "[") {
        ++depth;
      } else if (c === "}" || c === "]") {
        if (depth-- === 0) break;
      } else if (c === "," && depth === 0) {
        break;
      }
    }
    return text.slice(start, i);
  };
  space();
  if (text[i++] !== "{") return null;
  for (;;) {
    space();
    if (text[i] !== '"') return null;
    const key = JSON.parse(string()) as string;
    space();
    if (text[i++] !== ":") return null;
    const found = value();
    if (key === member) return found;
    if (text[i++] !== ",") return null;
  }
}
