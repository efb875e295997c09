// SPDX-License-Identifier: Apache-2.0
//
// KernelResults is what a simulator or counter tool says of the kernels it ran: one row per kernel,
// one value per metric. Ids are the consumer's own; match.h finds the plan's samples.
//
// UNITS: those of the consumer; a value that it did not give is NaN.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "shm/context_key.h"

namespace stemtap {

enum class ResultsSource { kAccelsim, kMacsim, kNcu, kCsv };

// "accelsim", "macsim", "ncu", "csv".
inline const char* NameOf(ResultsSource source) {
  constexpr std::array<const char*, 4> kNames = {"accelsim", "macsim", "ncu", "csv"};
  return kNames[static_cast<std::size_t>(source)];
}

// How a metric of single kernels becomes one of the run.
enum class MetricKind {
  kSum,   // additive: cycles, instructions, bytes
  kMean,  // a share, rate or setting: averaged over native time
};

struct ResultMetric {
  std::string name;
  std::string unit;  // empty: unknown
  MetricKind kind = MetricKind::kSum;
};

// A metric that is one total by another, as instructions by cycles.
struct ResultRatio {
  std::string name;
  std::string numerator;
  std::string denominator;
};

struct KernelResult {
  std::uint64_t id = 0;
  std::string name;               // empty: not told
  shm::LaunchConfig config = {};  // grid and block 0: not told
  std::string where;              // file:line
  std::vector<double> values;     // of the metrics; shorter: the rest is NaN
};

struct KernelResults {
  ResultsSource source = ResultsSource::kCsv;
  std::vector<ResultMetric> metrics;
  std::vector<ResultRatio> ratios;  // that go without saying for the source
  std::vector<KernelResult> rows;   // in the order of the source
  std::vector<std::string> warnings;
};

}  // namespace stemtap
