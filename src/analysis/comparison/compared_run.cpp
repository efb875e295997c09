// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/compared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/saturating.h"
#include "base/text.h"
#include "shm/context_key.h"
#include "stats/moments.h"

namespace stemtap::analysis {
namespace {

// The step of the clock of a profiler if nothing shows it: the coarsest clock of the GPUs whose
// steps are known (docs/math/diff.md). Used if all durations of a kernel of a session or plan are
// equal.
constexpr double kUnknownStepNs = 32.0;

// Returns the shape of a launch or of a kernel, or 0 if it is not known.
std::uint64_t ShapeOf(const shm::LaunchConfig& config) {
  return config.grid[0] == shm::kUnknownExtent ? 0 : shm::ConfigKey(0, config);
}
std::uint64_t ShapeOf(const shm::KernelRecord& record) {
  return ShapeOf(shm::LaunchConfig{{record.grid[0], record.grid[1], record.grid[2]},
                                   {record.block[0], record.block[1], record.block[2]}});
}

void AddTo(std::uint64_t launches, std::uint64_t duration_ns, ShapeTotals& totals) {
  AddSaturated(launches, totals.launches);
  AddSaturated(duration_ns, totals.duration_ns);
}

// Smaller errors of a mean by rounding, in steps of the clock, are not counted: other errors are
// larger, and every interval would change in its last digits.
constexpr double kMinRoundingError = 1e-3;

// KernelLaunches collects the launches of a kernel of a profile.
class KernelLaunches {
 public:
  void Add(const shm::KernelRecord& record, std::uint32_t slice) {
    batches_.Add(slice, ShapeOf(record), record.duration_ns);
    shortest_ = std::min(shortest_, record.duration_ns);
    longest_ = std::max(longest_, record.duration_ns);
    durations_.Add(static_cast<double>(record.duration_ns));
  }
  void MergeSlices() { batches_.MergeSlices(); }

  // `step_ns` is the step of the profiler's clock.
  ComparedKernel Kernel(const std::string& name, std::uint64_t step_ns) && {
    ComparedKernel kernel;
    kernel.name = name;
    for (const LaunchBatch& batch : batches_.batches()) {
      kernel.launches += batch.launches;
      kernel.duration_ns += batch.duration_ns;
      kernel.batches.push_back(batch);
      AddTo(batch.launches, batch.duration_ns, kernel.shapes[batch.shape]);
    }
    if (kernel.shapes.contains(0)) kernel.shapes.clear();
    kernel.step_ns = static_cast<double>(step_ns);
    kernel.rounding_ns = RoundingError(static_cast<double>(step_ns));
    return kernel;
  }

 private:
  // Returns the largest error of the mean that rounding to steps can cause.
  // SOURCE: docs/math/diff.md.
  double RoundingError(double step_ns) const {
    const double half_step = 0.5 * step_ns;
    if (static_cast<double>(longest_ - shortest_) <= step_ns) return half_step;
    const double steps = durations_.variance() / (step_ns * step_ns);
    const double of_normal =
        step_ns * std::numbers::inv_pi *
        std::exp(-2.0 * std::numbers::pi * std::numbers::pi * (steps - 1.0 / 12.0));
    return of_normal < kMinRoundingError * step_ns ? 0.0 : std::min(half_step, of_normal);
  }

  LaunchBatches batches_;
  stats::Moments durations_;
  std::uint64_t shortest_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t longest_ = 0;
};

// KernelSlices are the time slices of a kernel name, summed over processes and launch
// configurations of one shape.
struct KernelSlices {
  std::map<std::pair<std::uint32_t, std::uint64_t>, ShapeTotals> slices;  // by slice and shape
  // Of all launches of the name: 0 if they have several shapes, or if it is not known.
  std::optional<std::uint64_t> shape;
};

std::unordered_map<std::string_view, KernelSlices> SlicesOf(const model::Overview& overview) {
  std::unordered_map<std::string_view, KernelSlices> all;
  for (const model::OverviewKernel& kernel : overview.kernels) {
    KernelSlices& of_name = all[kernel.name];
    const std::uint64_t own = ShapeOf(kernel.config);
    const std::uint64_t shape = own != 0 ? own : ShapeOf(kernel.launched_config);
    of_name.shape = of_name.shape.value_or(shape) == shape ? shape : 0;
    for (const model::KernelSlice& slice : kernel.slices) {
      AddTo(slice.invocations, slice.duration_ns, of_name.slices[{slice.slice, shape}]);
    }
  }
  return all;
}

// Sets the batches of `kernel` if the slices contain most of its launches.
void SetBatches(const KernelSlices& of_name, ComparedKernel& kernel) {
  std::uint64_t launches = 0;
  for (const auto& [key, totals] : of_name.slices) AddSaturated(totals.launches, launches);
  if (launches < kernel.launches - kernel.launches / 4) return;
  for (const auto& [key, totals] : of_name.slices) {
    kernel.batches.push_back({key.second, totals.launches, totals.duration_ns, key.first});
  }
}

}  // namespace

Result<ComparedRun> ComparedProfile(model::ProfileReader& reader, const std::string& source) {
  ComparedRun run{source};
  run.is_profile = true;
  std::vector<KernelLaunches> kernels;
  std::uint64_t step = 0;   // of the profiler's clock: it divides all durations
  std::uint32_t shift = 0;  // a slice has 2^shift launches
  STEMTAP_TRY(model::ForEachLaunch(reader, [&](const shm::KernelRecord& record) {
    if (run.launches >> shift == LaunchBatches::kMaxSlices) {
      for (KernelLaunches& kernel : kernels) kernel.MergeSlices();
      ++shift;
    }
    if (record.name_id >= kernels.size()) kernels.resize(reader.names().size());
    kernels[record.name_id].Add(record, static_cast<std::uint32_t>(run.launches >> shift));
    run.duration_ns += record.duration_ns;
    if (step != 1) step = std::gcd(step, record.duration_ns);
    ++run.launches;
  }));
  kernels.resize(reader.names().size());
  for (std::uint32_t id = 0; id < kernels.size(); ++id) {
    run.kernels.push_back(std::move(kernels[id]).Kernel(reader.names().name(id), step));
  }
  return run;
}

Result<ComparedRun> ComparedPlan(const model::FinishedSession& run, const std::string& source) {
  if (model::HasPool(run.plan)) {
    return Error{fmt::format("{}: {}", EscapeForTerminal(source), model::kHasPool)};
  }
  ComparedRun compared{source};
  std::unordered_map<std::string_view, std::size_t> at;  // by name
  std::vector<stats::Moments> moments;
  for (const model::PlanKernel& kernel : run.plan.kernels) {
    const auto [found, added] = at.emplace(kernel.name, compared.kernels.size());
    if (added) {
      compared.kernels.push_back({kernel.name});
      moments.emplace_back();
    }
    ComparedKernel& sum = compared.kernels[found->second];
    sum.launches += kernel.invocations;
    sum.duration_ns += kernel.duration_ns;
    AddTo(kernel.invocations, kernel.duration_ns, sum.shapes[ShapeOf(kernel.config)]);
    for (const model::PlanCluster& cluster : kernel.clusters) {
      const double m2 = cluster.stddev_ns * cluster.stddev_ns * static_cast<double>(cluster.count);
      moments[found->second].Merge({cluster.count, cluster.mean_ns, m2});
    }
  }
  const auto slices =
      run.overview ? SlicesOf(*run.overview) : std::unordered_map<std::string_view, KernelSlices>();
  for (std::size_t i = 0; i < moments.size(); ++i) {
    ComparedKernel& kernel = compared.kernels[i];
    kernel.stddev_ns = moments[i].stddev();
    if (kernel.stddev_ns == 0.0) kernel.rounding_ns = 0.5 * kUnknownStepNs;
    const auto found = slices.find(kernel.name);
    if (found != slices.end()) SetBatches(found->second, kernel);
    if (!kernel.shapes.contains(0)) continue;
    kernel.shapes.clear();
    if (found == slices.end() || found->second.shape == 0) continue;
    kernel.shapes[*found->second.shape] = {kernel.launches, kernel.duration_ns};
  }
  compared.launches = run.plan.totals.invocations;
  compared.duration_ns = run.plan.totals.duration_ns;
  return compared;
}

}  // namespace stemtap::analysis
