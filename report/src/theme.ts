// SPDX-License-Identifier: Apache-2.0
//
// Colors of the charts in both themes. style.css has the colors of the rest of the page. The contrast of text and marks to
// their background is at least 4.5 to 1, which test/charts.test.ts checks.

export interface Theme {
  dark: boolean;
  surface: string;
  ink: string;
  quiet: string;
  line: string;
  axis: string;
  accent: string;
  second: string; // alternates with accent
  bad: string;
  care: string;
  on: string; // text on `series` and `rest`
  series: string[];
  rest: string;
  band: string;
  focus: string;
}

export const light: Theme = { dark: false, surface: "#ffffff", ink: "#1b1f24", quiet: "#525c69", line: "#e3e7ec",
  axis: "#7a8594", accent: "#1f5fbf", second: "#0f7681", bad: "#b3261e", care: "#8a5a00", on: "#ffffff",
  series: ["#1f5fbf", "#b0470c", "#177245", "#8036ad", "#b0215e", "#0b7180", "#765a00", "#4d58a8"],
  rest: "#646d79", band: "#f3f5f8", focus: "#000000" };

export const dark: Theme = { dark: true, surface: "#171b20", ink: "#e7eaee", quiet: "#a9b2bd", line: "#2a3038",
  axis: "#6d7784", accent: "#6ea8fe", second: "#4fc9c0", bad: "#ff8a80", care: "#e3b341", on: "#101316",
  series: ["#6ea8fe", "#ffa15c", "#5ecf8b", "#c99bf5", "#ff8fb8", "#4fc9d9", "#e0c04c", "#a3b1ff"],
  rest: "#8f99a6", band: "#1c2127", focus: "#ffffff" };

export function luminance(color: string): number {
  const channel = (at: number) => {
    const c = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

export function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

// Returns the color between two colors.
export function mixed(one: string, other: string, part: number): string {
  const channel = (color: string, at: number) => Number.parseInt(color.slice(at, at + 2), 16);
  return "#" + [1, 3, 5].map((at) => Math.round(channel(one, at) + part * (channel(other, at) - channel(one, at)))
    .toString(16).padStart(2, "0")).join("");
}

// Each of the kernels with the most time has its own color.
export function colorOf(theme: Theme, rank: number | null): string {
  return rank === null ? theme.rest : (theme.series[rank] ?? theme.rest);
}

// Categories have the colors of the series, in the order of src/model/kernel_category.h; the last, "other", is gray.
export function categoryColor(theme: Theme, category: number): string {
  return theme.series[category] ?? theme.rest;
}
