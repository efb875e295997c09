// SPDX-License-Identifier: Apache-2.0
#include "fleet/rank_comparison.h"

#include <algorithm>
#include <utility>

#include "model/kernel_category.h"

namespace stemtap::fleet {
namespace {

// Makes the median of absolute deviations comparable to a standard deviation.
constexpr double kPerMad = 1.4826;
constexpr double kZ95 = 1.959964;
// Launches of a kernel in a run below which its mean says little.
constexpr std::uint64_t kMinLaunches = 50;

// Deviation is what one run has of one kernel.
struct Deviation {
  std::size_t run = 0;
  double value = 0.0;  // d(r, k)
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

// Compared is a kernel with its deviations.
struct Compared {
  std::string name;
  double time_ns = 0.0;  // of all runs
  double scatter = 0.0;  // s(k)
  std::vector<Deviation> deviations;
};

// Sets the deviations of a kernel. Returns false if too few runs have enough launches.
bool Compare(std::span<const RunState> runs, std::uint64_t key, Compared& kernel) {
  std::vector<double> logs;
  std::vector<double> errors;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto sketch = runs[i].sketches.find(key);
    if (sketch == runs[i].sketches.end()) continue;
    kernel.time_ns += static_cast<double>(sketch->second.total_duration());
    const stats::Moments all = sketch->second.All();
    if (all.count() < kMinLaunches || !(all.mean() > 0.0)) continue;
    logs.push_back(std::log(all.mean()));
    errors.push_back(all.stddev() / (all.mean() * std::sqrt(static_cast<double>(all.count()))));
    kernel.deviations.push_back({i, logs.back()});
  }
  if (logs.size() < RankComparison::kMinRuns || 2 * logs.size() < runs.size()) return false;
  const double middle = Median(logs);
  std::vector<double> absolute;
  for (Deviation& deviation : kernel.deviations) {
    deviation.value -= middle;
    absolute.push_back(std::fabs(deviation.value));
  }
  kernel.scatter = std::max(kPerMad * Median(std::move(absolute)), Median(std::move(errors)));
  return true;
}

}  // namespace

RankComparison CompareRanks(std::span<const RunState> runs,
                            const std::map<std::uint64_t, model::KernelId>& kernels) {
  RankComparison comparison;
  for (const RunState& run : runs) comparison.ranks.push_back({run.run, {}});
  std::vector<Compared> compared;
  double communication_ns = 0.0;
  double compared_ns = 0.0;
  double all_ns = 0.0;
  for (const auto& [key, id] : kernels) {
    Compared kernel;
    kernel.name = id.name;
    const bool is_comparable = Compare(runs, key, kernel);
    all_ns += kernel.time_ns;
    if (model::CategoryOf(id.name) == model::KernelCategory::kCommunication) {
      communication_ns += kernel.time_ns;
    } else if (is_comparable) {
      compared_ns += kernel.time_ns;
      compared.push_back(std::move(kernel));
    }
  }
  comparison.kernels = compared.size();
  if (all_ns > 0.0) comparison.communication_share = communication_ns / all_ns;
  std::sort(compared.begin(), compared.end(), [](const Compared& a, const Compared& b) {
    return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.name < b.name;
  });
  // Sums over the slow kernels of each run, weighted by time.
  struct Sums {
    double share = 0.0;
    double slower = 0.0;
    double variance = 0.0;
    std::vector<std::string> names;
  };
  std::vector<Sums> sums(runs.size());
  for (const Compared& kernel : compared) {
    const double share = kernel.time_ns / compared_ns;
    for (const Deviation& deviation : kernel.deviations) {
      if (deviation.value < RankComparison::kMinSlower ||
          deviation.value < RankComparison::kMinDeviations * kernel.scatter) {
        continue;
      }
      Sums& sum = sums[deviation.run];
      sum.share += share;
      sum.slower += share * deviation.value;
      sum.variance += share * share * kernel.scatter * kernel.scatter;
      sum.names.push_back(kernel.name);
    }
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (sums[i].share < RankComparison::kMinShare) continue;
    RankRow& row = comparison.ranks[i];
    row.slow_kernels = std::move(sums[i].names);
    row.slow_share = sums[i].share;
    const double mean = sums[i].slower / sums[i].share;
    const double error = kZ95 * std::sqrt(sums[i].variance) / sums[i].share;
    row.slower = std::expm1(mean);
    row.low = std::expm1(mean - error);
    row.high = std::expm1(mean + error);
  }
  return comparison;
}

}  // namespace stemtap::fleet
