// SPDX-License-Identifier: Apache-2.0
//
// Whether kernels got slower or faster on the way: the mean of each slice of time over the mean of all.

import type { EChartsCoreOption } from "echarts/core";
import { duration, tidy, times } from "../format";
import { driftOf, type Kernel, type Model } from "../model";
import { colourOf, type Theme } from "../theme";
import { axis, base, cutText, tip, type Any } from "./common";

const driftLines = 6;

export function driftKernels(model: Model, chosen: Kernel | null): Kernel[] {
  const top = model.byTime.slice(0, driftLines);
  return chosen && !top.includes(chosen) ? [...top, chosen] : top;
}

export function driftOption(model: Model, chosen: Kernel | null, theme: Theme): EChartsCoreOption {
  const slices = model.slices ?? { width: 1, count: 0 };
  const kernels = driftKernels(model, chosen);
  const at = (slice: number) => ((slice + 0.5) * slices.width);
  return { ...base(theme),
    tooltip: { ...base(theme).tooltip, trigger: "axis", formatter: (list: Any) => {
      const slice = list[0]?.dataIndex ?? 0;
      return tip(`${duration(slice * slices.width)} to ${duration((slice + 1) * slices.width)}`,
        (list as Any[]).map((p): [string, string] => [cutText(kernels[p.seriesIndex]?.short ?? "", 60),
          times(p.value[1])]));
    } },
    grid: { left: 64, right: 18, top: 22, bottom: 44, outerBoundsMode: "none" },
    xAxis: axis(theme, { type: "value", min: 0, max: slices.width * slices.count || 1, splitLine: { show: false },
      name: "time since the first launch", nameLocation: "middle", nameGap: 26,
      axisLabel: { showMaxLabel: false, formatter: (ns: number) => (ns === 0 ? "0" : tidy(duration(ns))) } }),
    yAxis: axis(theme, { type: "value", scale: true, name: "mean of slice / mean", nameLocation: "end", nameGap: 8,
      nameTextStyle: { color: theme.quiet, fontSize: 12, align: "left", padding: [0, 0, 0, -56] },
      axisLabel: { formatter: (v: number) => tidy(times(v)) } }),
    series: kernels.map((kernel) => {
      const colour = colourOf(theme, kernel.rank);
      const isChosen = kernel === chosen;
      return { name: `kernel ${kernel.id}`, kernel: kernel.id, type: "line", showSymbol: false, z: isChosen ? 5 : 2,
        lineStyle: { width: isChosen ? 3 : 1.25, color: isChosen && kernel.rank >= theme.series.length ? theme.ink : colour,
          opacity: isChosen ? 1 : 0.75 }, itemStyle: { color: colour },
        data: driftOf(kernel, slices.count).map((ratio, slice) => [at(slice), ratio]),
        markLine: kernel === kernels[0] ? { silent: true, symbol: "none", animation: false, label: { show: false },
          lineStyle: { color: theme.axis, type: "solid" }, data: [{ yAxis: 1 }] } : undefined };
    }) };
}
