// SPDX-License-Identifier: Apache-2.0
//
// KernelResults contains what a simulator or counter tool reports about the kernels it ran: one row
// per kernel, one value per metric. Ids are the consumer's own; match.h finds the plan's samples.
//
// UNITS: the consumer's units; a missing value is NaN.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "shm/context_key.h"

namespace stemtap::formats {

enum class ResultsSource { kAccelsim, kMacsim, kNcu, kCsv };

// Returns "accelsim", "macsim", "ncu" or "csv".
constexpr const char* NameOf(ResultsSource source) {
  constexpr std::array<const char*, 4> kNames = {"accelsim", "macsim", "ncu", "csv"};
  return kNames[static_cast<std::size_t>(source)];
}

// How the values of a metric for single kernels combine into a value for the run.
enum class MetricKind {
  kSum,   // additive: cycles, instructions, bytes
  kMean,  // a share, rate or setting: averaged over native time
};

struct ResultMetric {
  std::string name;
  std::string unit;  // empty if unknown
  MetricKind kind = MetricKind::kSum;
};

// A metric that is the ratio of two totals, for example instructions per cycle.
struct ResultRatio {
  std::string name;
  std::string numerator;
  std::string denominator;
};

struct KernelResult {
  std::uint64_t id = 0;
  std::string name;               // empty if not reported
  shm::LaunchConfig config = {};  // grid and block are 0 if not reported
  std::string where;              // file:line
  std::vector<double> values;     // by metric; missing trailing values are NaN
};

struct KernelResults {
  ResultsSource source = ResultsSource::kCsv;
  std::vector<ResultMetric> metrics;
  std::vector<ResultRatio> ratios;  // implied by the source
  std::vector<KernelResult> rows;   // in source order
  std::vector<std::string> warnings;
};

}  // namespace stemtap::formats
