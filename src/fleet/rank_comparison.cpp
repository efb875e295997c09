// SPDX-License-Identifier: Apache-2.0
#include "fleet/rank_comparison.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/kernel_category.h"

namespace stemtap::fleet {
namespace {

// Makes the median of absolute deviations comparable to a standard deviation.
constexpr double kPerMad = 1.4826;
constexpr double kZ95 = 1.959964;
// Launches of a kernel in a run below which its mean says little.
constexpr std::uint64_t kMinLaunches = 50;
// A slow GPU slows all launches, and so moves these quantiles. Longer requests move the mean of a
// kernel, and hardly its short launches.
constexpr std::array<double, 2> kQuantiles = {0.1, 0.5};
// Error of a quantile that is read from a sketch, as a share of it.
constexpr double kQuantileError = 0.002;

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
  double time_ns = 0.0;               // of all runs
  double scatter = 0.0;               // s(k) of the means
  std::vector<Deviation> deviations;  // of the means
  std::vector<bool> is_slow;          // like `deviations`
};

// Returns a duration such that a share of `fraction` of the launches is not longer.
double Quantile(const stats::LogSketch& sketch, double fraction) {
  const double rank = fraction * static_cast<double>(sketch.count());
  double before = 0.0;
  std::uint32_t bin = sketch.first_bin();
  for (const stats::LogSketch::Bin& content : sketch.bins()) {
    const auto count = static_cast<double>(content.count);
    const auto lower = static_cast<double>(stats::LogSketch::LowerEdge(bin));
    const auto upper = static_cast<double>(stats::LogSketch::LowerEdge(++bin));
    if (count > 0.0 && before + count >= rank) {
      return lower + (upper - lower) * std::max(rank - before, 0.0) / count;
    }
    before += count;
  }
  return 0.0;
}

// Subtracts the median from `logs`, and returns the scatter, at least `least`.
double Center(std::vector<double>& logs, double least) {
  const double middle = Median(logs);
  std::vector<double> absolute;
  for (double& log : logs) {
    log -= middle;
    absolute.push_back(std::fabs(log));
  }
  return std::max(kPerMad * Median(std::move(absolute)), least);
}

bool IsFar(double deviation, double scatter) {
  return deviation >= RankComparison::kMinSlower &&
         deviation >= RankComparison::kMinDeviations * scatter;
}

// Sets the deviations of a kernel. Returns false if too few runs have enough launches.
bool Compare(std::span<const RunState> runs, std::uint64_t key, Compared& kernel) {
  std::vector<double> means;
  std::vector<double> errors;
  std::array<std::vector<double>, kQuantiles.size()> quantiles;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto sketch = runs[i].sketches.find(key);
    if (sketch == runs[i].sketches.end()) continue;
    kernel.time_ns += static_cast<double>(sketch->second.total_duration());
    const stats::Moments all = sketch->second.All();
    if (all.count() < kMinLaunches || !(all.mean() > 0.0)) continue;
    means.push_back(std::log(all.mean()));
    errors.push_back(all.stddev() / (all.mean() * std::sqrt(static_cast<double>(all.count()))));
    for (std::size_t q = 0; q < kQuantiles.size(); ++q) {
      quantiles[q].push_back(std::log(std::max(1.0, Quantile(sketch->second, kQuantiles[q]))));
    }
    kernel.deviations.push_back({i, 0.0});
  }
  if (means.size() < RankComparison::kMinRuns || 2 * means.size() < runs.size()) return false;
  kernel.scatter = Center(means, Median(std::move(errors)));
  for (std::size_t i = 0; i < means.size(); ++i) {
    kernel.deviations[i].value = means[i];
    kernel.is_slow.push_back(IsFar(means[i], kernel.scatter));
  }
  for (std::vector<double>& of_quantile : quantiles) {
    const double scatter = Center(of_quantile, kQuantileError);
    for (std::size_t i = 0; i < of_quantile.size(); ++i) {
      kernel.is_slow[i] = kernel.is_slow[i] && IsFar(of_quantile[i], scatter);
    }
  }
  return true;
}

// Returns the runs that have made at least half as many launches as the median of all.
std::vector<const RunState*> Advanced(std::span<const RunState> runs) {
  std::vector<double> launches;
  for (const RunState& run : runs) {
    launches.push_back(0.0);
    for (const auto& [key, sketch] : run.sketches) {
      launches.back() += static_cast<double>(sketch.count());
    }
  }
  if (launches.empty()) return {};
  const double least = 0.5 * Median(launches);
  std::vector<const RunState*> advanced;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (launches[i] >= least) advanced.push_back(&runs[i]);
  }
  return advanced;
}

// Sets the kernels that are not the same on all ranks.
void FindDiffering(std::span<const RunState> runs,
                   const std::map<std::uint64_t, model::KernelId>& kernels,
                   RankComparison& comparison) {
  const std::vector<const RunState*> advanced = Advanced(runs);
  std::vector<std::pair<double, const std::string*>> apart;
  std::vector<std::pair<double, const std::string*>> of_some;
  double all_ns = 0.0;
  for (const auto& [key, id] : kernels) {
    double time_ns = 0.0;
    double least_high = INFINITY;
    double greatest_low = 0.0;
    std::size_t with = 0;
    std::size_t without = 0;
    for (const RunState* run : advanced) {
      const auto known = run->sketches.find(key);
      if (known == run->sketches.end()) {
        ++without;
        continue;
      }
      const stats::LogSketch& sketch = known->second;
      time_ns += static_cast<double>(sketch.total_duration());
      if (sketch.count() < kMinLaunches) continue;
      ++with;
      least_high = std::min(least_high, Quantile(sketch, 0.9));
      greatest_low = std::max(greatest_low, Quantile(sketch, 0.1));
    }
    all_ns += time_ns;
    const bool communicates = model::CategoryOf(id.name) == model::KernelCategory::kCommunication;
    if (with > 0 && without > 0) {
      of_some.emplace_back(time_ns, &id.name);
    } else if (!communicates && greatest_low > RankComparison::kApart * least_high) {
      apart.emplace_back(time_ns, &id.name);
    }
  }
  const auto describe = [all_ns](auto& found, RankComparison::Differing& differing) {
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : *a.second < *b.second;
    });
    for (const auto& [time_ns, name] : found) {
      differing.kernels.push_back(*name);
      differing.share += time_ns / std::max(all_ns, 1.0);
    }
  };
  describe(apart, comparison.apart);
  describe(of_some, comparison.of_some);
}

}  // namespace

RankComparison CompareRanks(std::span<const RunState> runs,
                            const std::map<std::uint64_t, model::KernelId>& kernels) {
  RankComparison comparison;
  for (const RunState& run : runs) {
    RankRow& row = comparison.ranks.emplace_back();
    row.run = run.run;
    row.captures = run.captures.size();
    for (const auto& [key, capture] : run.captures) {
      row.captured_ns += capture.sample.record.duration_ns;
    }
  }
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
  FindDiffering(runs, kernels, comparison);
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
    for (std::size_t i = 0; i < kernel.deviations.size(); ++i) {
      if (!kernel.is_slow[i]) continue;
      const Deviation& deviation = kernel.deviations[i];
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
