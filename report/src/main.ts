// SPDX-License-Identifier: Apache-2.0
import { parse, unpack } from "./payload";

async function start(): Promise<void> {
  const text = document.getElementById("stemtap-data")!.textContent ?? "";
  const page = document.getElementById("page")!;
  try {
    const data = parse(await unpack(text));
    report.data = data;
    const totals = data.plan?.totals;
    const main = document.createElement("main");
    const heading = document.createElement("h1");
    heading.textContent = `stemtap report: ${data.folder ?? ""}`;
    const line = document.createElement("p");
    line.textContent = `speedup ${totals?.speedup}, bound ${totals?.bound}`;
    main.append(heading, line);
    page.append(main);
  } catch (error) {
    page.textContent = (error as Error).message;
    page.setAttribute("role", "alert");
    throw error;
  }
}

const report = { ready: Promise.resolve(), data: null as unknown, charts: {} as Record<string, { option: unknown }> };
(window as unknown as { stemtapReport: typeof report }).stemtapReport = report;
report.ready = start();
