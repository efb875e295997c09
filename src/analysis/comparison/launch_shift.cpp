// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/launch_shift.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/comparison/change_test.h"
#include "stats/moments.h"

namespace stemtap::analysis {
namespace {

// Numbers of groups that a run is divided into, as for the mean. 32 groups of the at most 256
// slices would have quartiles of 4 to 8 launches.
constexpr std::size_t kShiftGroupCounts[] = {4, 8, 16};

// A group has at least this many launches per run. With fewer, its upper quartile contains a launch
// of a rare mode too often: with 8 and a mode of 1 % of the launches, in 0.3 % of the groups.
constexpr std::size_t kMinGroupLaunches = 8;

// Logarithms of the durations of the drawn launches of a group.
using GroupLaunches = std::vector<double>;

// ShapeMeans are the mean logarithms of the drawn durations of each shape. Both runs count equally,
// so that their difference does not depend on how many launches each has.
class ShapeMeans {
 public:
  ShapeMeans(const ComparedKernel& a, const ComparedKernel& b) {
    for (const LaunchBatch& batch : a.batches) Add(batch, means_[batch.shape].in_a);
    for (const LaunchBatch& batch : b.batches) Add(batch, means_[batch.shape].in_b);
  }

  // Returns the logarithm of the drawn duration relative to its shape, or NaN if a run does not
  // have the shape or the duration is 0.
  double Relative(const LaunchBatch& batch) const {
    const Sums& sums = means_.at(batch.shape);
    if (sums.in_a.count == 0.0 || sums.in_b.count == 0.0 || batch.drawn_ns == 0) return NAN;
    return std::log(static_cast<double>(batch.drawn_ns)) -
           0.5 * (sums.in_a.logs / sums.in_a.count + sums.in_b.logs / sums.in_b.count);
  }

 private:
  struct Sum {
    double logs = 0.0;
    double count = 0.0;
  };
  struct Sums {
    Sum in_a;
    Sum in_b;
  };

  static void Add(const LaunchBatch& batch, Sum& sum) {
    if (batch.drawn_ns == 0) return;
    sum.logs += std::log(static_cast<double>(batch.drawn_ns));
    sum.count += 1.0;
  }

  std::unordered_map<std::uint64_t, Sums> means_;
};

// Returns the drawn launches by slice, in order.
std::vector<GroupLaunches> SlicesOf(const ComparedKernel& kernel, const ShapeMeans& means) {
  std::vector<GroupLaunches> slices;
  for (std::size_t i = 0; i < kernel.batches.size(); ++i) {
    const LaunchBatch& batch = kernel.batches[i];
    if (i == 0 || batch.slice != kernel.batches[i - 1].slice) slices.emplace_back();
    const double duration = means.Relative(batch);
    if (!std::isnan(duration)) slices.back().push_back(duration);
  }
  return slices;
}

// Returns the launches of groups of equally many slices.
std::vector<GroupLaunches> GroupsOf(const std::vector<GroupLaunches>& slices, std::size_t count) {
  std::vector<GroupLaunches> groups(count);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    GroupLaunches& group = groups[i * count / slices.size()];
    group.insert(group.end(), slices[i].begin(), slices[i].end());
  }
  for (GroupLaunches& group : groups) std::sort(group.begin(), group.end());
  return groups;
}

// Returns the value below which `share` of the sorted values are, interpolated between neighbors.
double Quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// Adds the changes of the groups to `test`, which keeps the change of the largest number of groups.
void Add(std::vector<double> changes, ChangeTest& test) {
  stats::Moments moments;
  for (const double change : changes) moments.Add(change);
  const auto count = static_cast<double>(changes.size());
  test.change = moments.mean();
  test.spreads.push_back({moments.m2() / (count * (count - 1.0)), count - 1.0});
  const std::vector<double> in_order = changes;
  std::sort(changes.begin(), changes.end());
  if (FewRunsP(in_order, Quantile(changes, 0.5)) > kMaxFewRunsP) return;
  test.systematic = kRangesBeyond * (changes.back() - changes.front());
}

// Returns the relative error of a quartile that rounding can cause: half a step of the clock.
// Unlike a mean, a quartile does not average rounding out.
double RoundingError(const ComparedKernel& kernel) {
  std::vector<double> drawn;
  for (const LaunchBatch& batch : kernel.batches) {
    if (batch.drawn_ns != 0) drawn.push_back(static_cast<double>(batch.drawn_ns));
  }
  std::sort(drawn.begin(), drawn.end());
  return 0.5 * kernel.step_ns / Quantile(drawn, 0.25);
}

}  // namespace

double LaunchShift::P(double threshold) const {
  if (std::isnan(relative)) return NAN;
  double largest = 0.0;
  for (const ChangeTest& quartile : quartiles) {
    if (quartile.change * relative <= 0.0) return 1.0;
    largest = std::max(largest, quartile.P(threshold));
  }
  return largest;
}

LaunchShift CompareLaunches(const ComparedKernel& a, const ComparedKernel& b, double confidence) {
  LaunchShift shift;
  if (a.step_ns == 0.0 || b.step_ns == 0.0 || a.shapes.empty() || b.shapes.empty()) return shift;
  const ShapeMeans means(a, b);
  const std::vector<GroupLaunches> slices_a = SlicesOf(a, means);
  const std::vector<GroupLaunches> slices_b = SlicesOf(b, means);
  for (const std::size_t count : kShiftGroupCounts) {
    const std::vector<GroupLaunches> groups_a = GroupsOf(slices_a, count);
    const std::vector<GroupLaunches> groups_b = GroupsOf(slices_b, count);
    const auto is_small = [](const GroupLaunches& group) {
      return group.size() < kMinGroupLaunches;
    };
    if (std::any_of(groups_a.begin(), groups_a.end(), is_small) ||
        std::any_of(groups_b.begin(), groups_b.end(), is_small)) {
      break;
    }
    for (std::size_t i = 0; i < shift.quartiles.size(); ++i) {
      const double share = 0.25 * static_cast<double>(i + 1);
      std::vector<double> changes;
      for (std::size_t j = 0; j < count; ++j) {
        changes.push_back(Quantile(groups_b[j], share) - Quantile(groups_a[j], share));
      }
      Add(std::move(changes), shift.quartiles[i]);
    }
  }
  const ChangeTest& median = shift.quartiles[1];
  if (median.spreads.empty()) return shift;
  const double rounding = RoundingError(a) + RoundingError(b);
  for (ChangeTest& quartile : shift.quartiles) quartile.systematic += rounding;
  const auto [lower, upper] = median.Interval(confidence);
  shift.relative = std::expm1(median.change);
  shift.lower = std::expm1(lower);
  shift.upper = std::expm1(upper);
  return shift;
}

}  // namespace stemtap::analysis
