// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/compared_run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/saturating.h"
#include "shm/context_key.h"
#include "stats/moments.h"

namespace stemtap::analysis {
namespace {

constexpr std::size_t kBatch = 16384;

// Returns the time slices of each kernel name, summed over processes and launch configurations.
std::unordered_map<std::string_view, std::map<std::uint32_t, LaunchBatch>> SlicesOf(
    const model::Overview& overview) {
  std::unordered_map<std::string_view, std::map<std::uint32_t, LaunchBatch>> slices;
  for (const model::OverviewKernel& kernel : overview.kernels) {
    for (const model::KernelSlice& slice : kernel.slices) {
      LaunchBatch& batch = slices[kernel.name][slice.slice];
      AddSaturated(slice.invocations, batch.launches);
      AddSaturated(slice.duration_ns, batch.duration_ns);
    }
  }
  return slices;
}

// Sets the batches of `kernel` if the slices contain most of its launches.
void SetBatches(const std::map<std::uint32_t, LaunchBatch>& slices, ComparedKernel& kernel) {
  std::uint64_t launches = 0;
  for (const auto& [number, batch] : slices) AddSaturated(batch.launches, launches);
  if (launches < kernel.launches - kernel.launches / 4) return;
  for (const auto& [number, batch] : slices) kernel.batches.push_back(batch);
}

void AddShape(const shm::KernelRecord& record, ShapeTable& shapes) {
  if (record.grid[0] == shm::kUnknownExtent) return;
  const shm::LaunchConfig config = {{record.grid[0], record.grid[1], record.grid[2]},
                                    {record.block[0], record.block[1], record.block[2]}};
  ShapeTotals& totals = shapes[shm::ConfigKey(0, config)];
  ++totals.launches;
  totals.duration_ns += record.duration_ns;
}

// KernelLaunches collects the launches of a kernel of a profile.
class KernelLaunches {
 public:
  void Add(const shm::KernelRecord& record) {
    batches_.Add(record.duration_ns);
    AddShape(record, shapes_);
    shortest_ = std::min(shortest_, record.duration_ns);
    longest_ = std::max(longest_, record.duration_ns);
  }

  // `step_ns` is the step of the profiler's clock.
  ComparedKernel Kernel(const std::string& name, std::uint64_t step_ns) && {
    ComparedKernel kernel;
    kernel.name = name;
    for (const LaunchBatch& batch : batches_.batches()) {
      kernel.launches += batch.launches;
      kernel.duration_ns += batch.duration_ns;
      kernel.batches.push_back(batch);
    }
    kernel.shapes = std::move(shapes_);
    if (longest_ - shortest_ <= step_ns) kernel.rounding_ns = 0.5 * static_cast<double>(step_ns);
    return kernel;
  }

 private:
  LaunchBatches batches_;
  ShapeTable shapes_;
  std::uint64_t shortest_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t longest_ = 0;
};

}  // namespace

Result<ComparedRun> ComparedProfile(model::ProfileReader& reader, const std::string& source) {
  ComparedRun run{source};
  std::vector<KernelLaunches> kernels;
  std::uint64_t step = 0;  // of the profiler's clock: it divides all durations
  for (model::ProfileBatch batch;;) {
    const std::size_t read = STEMTAP_TRY(reader.Read(batch, kBatch));
    if (read == 0) break;
    kernels.resize(reader.names().size());
    for (const shm::KernelRecord& record : batch.records) {
      kernels[record.name_id].Add(record);
      run.duration_ns += record.duration_ns;
      if (step != 1) step = std::gcd(step, record.duration_ns);
    }
    run.launches += read;
  }
  for (std::uint32_t id = 0; id < kernels.size(); ++id) {
    run.kernels.push_back(std::move(kernels[id]).Kernel(reader.names().name(id), step));
  }
  return run;
}

ComparedRun ComparedPlan(const SampledRun& run, const std::string& source) {
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
    for (const model::PlanCluster& cluster : kernel.clusters) {
      const double m2 = cluster.stddev_ns * cluster.stddev_ns * static_cast<double>(cluster.count);
      moments[found->second].Merge({cluster.count, cluster.mean_ns, m2});
    }
  }
  for (std::size_t i = 0; i < moments.size(); ++i) {
    compared.kernels[i].stddev_ns = moments[i].stddev();
  }
  if (run.overview) {
    for (const auto& [name, slices] : SlicesOf(*run.overview)) {
      const auto found = at.find(name);
      if (found != at.end()) SetBatches(slices, compared.kernels[found->second]);
    }
  }
  compared.launches = run.plan.totals.invocations;
  compared.duration_ns = run.plan.totals.duration_ns;
  return compared;
}

}  // namespace stemtap::analysis
