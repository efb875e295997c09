// SPDX-License-Identifier: Apache-2.0
#include "session/flags/capture_cost.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/decimal.h"
#include "base/text.h"

namespace stemtap::session {
namespace {

// Tool is a tool whose cost is known well enough. Only the ratio of the two numbers matters, and
// only its order of magnitude: the fixed cost of a profiler equals the durations of 100 to 100,000
// kernels.
struct Tool {
  const char* name;
  sampling::CapturePrice price;
  const char* why;
};

constexpr double kMs = 1e6;

// ncu: NVIDIA's Kernel Profiling Guide, "Replay" and "Overhead": each pass restores the memory that
// the kernel writes, flushes caches and locks clocks, and a set of metrics takes several to dozens
// of passes. The figures are orders of magnitude. Simulators: plan.h.
constexpr Tool kTools[] = {
    {"ncu", {100 * kMs, 10.0}, "100ms+10: replays each captured kernel several times"},
    {"accel-sim", {0.0, 1e6}, "0+1000000: simulates a million times slower than the GPU"},
    {"macsim", {0.0, 1e6}, "0+1000000: likewise"},
};

constexpr const char* kPriceSyntax =
    "a time such as 100ms, optionally with a multiple of the duration (100ms+10), or ncu, accel-sim "
    "or macsim";

// Parses a number of at least 0 with a unit of time; 0 needs no unit. Returns ns.
std::optional<double> ParseTime(std::string_view text) {
  std::size_t digits = 0;
  const auto is_part = [](char c) { return c == '.' || (c >= '0' && c <= '9'); };
  while (digits < text.size() && is_part(text[digits])) ++digits;
  const std::optional<double> number = CellNumber(text.substr(0, digits));
  if (!number || !(*number >= 0.0)) return {};
  const std::string_view unit = text.substr(digits);
  if (unit.empty()) return *number == 0.0 ? number : std::nullopt;
  const std::optional<int> exponent = TimeExponent(unit);
  if (!exponent) return {};
  return *number * std::pow(10.0, *exponent);
}

}  // namespace

Result<sampling::CapturePrice> ParseCaptureCost(std::string_view text) {
  for (const Tool& tool : kTools) {
    if (text == tool.name) return tool.price;
  }
  const std::size_t plus = text.find('+');
  const std::optional<double> fixed_ns = ParseTime(text.substr(0, plus));
  std::optional<double> factor = 1.0;
  if (plus != std::string_view::npos) factor = CellNumber(text.substr(plus + 1));
  if (!fixed_ns || !factor || !(*factor > 0.0)) return Error{kPriceSyntax};
  return sampling::CapturePrice{*fixed_ns, *factor};
}

std::string CaptureCostError(std::string& value) {
  const Result<sampling::CapturePrice> price = ParseCaptureCost(value);
  if (price.ok()) return {};
  return fmt::format("expected {}, found '{}'", price.error().message, ShownCell(value));
}

std::string CaptureCostHelp() {
  std::string help =
      "what a captured launch costs, which plans minimize: a time, optionally plus a multiple of "
      "the duration (100ms+10), or a tool:";
  for (const Tool& tool : kTools) help += fmt::format("\n{}: {}", tool.name, tool.why);
  return help;
}

}  // namespace stemtap::session
