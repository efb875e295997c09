// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/sieve.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/kernel_groups.h"
#include "research/baselines/density_cuts.h"
#include "research/baselines/invocation_groups.h"
#include "research/baselines/metrics.h"
#include "research/baselines/representatives.h"

namespace stemtap::research {
namespace {

constexpr Metric kMetrics[] = {Metric::kInstructions, Metric::kBlockThreads};

// Returns the most frequent CTA size of the members; on ties, the first one seen.
double DominantBlock(std::span<const std::uint64_t> members, std::span<const double> block) {
  std::map<double, std::uint64_t> counts;
  for (const std::uint64_t i : members) ++counts[block[i]];
  std::uint64_t most = 0;
  for (const auto& [size, count] : counts) most = std::max(most, count);
  for (const std::uint64_t i : members) {
    if (counts[block[i]] == most) return block[i];
  }
  return 0.0;
}

WeightedInvocation Representative(std::span<const std::uint64_t> members,
                                  std::span<const double> instructions,
                                  std::span<const double> block) {
  const double dominant = DominantBlock(members, block);
  double sum = 0.0;
  for (const std::uint64_t i : members) sum += instructions[i];
  for (const std::uint64_t i : members) {
    if (block[i] != dominant) continue;
    // A launch without instructions has no IPC; its weight is the number of members.
    const double weight =
        instructions[i] > 0.0 ? sum / instructions[i] : static_cast<double>(members.size());
    return {i, weight};
  }
  return {members.front(), static_cast<double>(members.size())};
}

// Returns the strata of one kernel, each with its members in launch order.
std::vector<std::vector<std::uint64_t>> Strata(std::span<const std::uint64_t> kernel,
                                               std::span<const double> instructions) {
  std::vector<double> sorted;
  sorted.reserve(kernel.size());
  for (const std::uint64_t i : kernel) sorted.push_back(instructions[i]);
  std::sort(sorted.begin(), sorted.end());
  CountedValues values;
  for (const double value : sorted) {
    if (values.values.empty() || values.values.back() != value) {
      values.values.push_back(value);
      values.counts.push_back(0);
    }
    ++values.counts.back();
  }
  const std::vector<std::size_t> starts = DensityCuts(values, kSieveTheta);
  std::vector<double> lower;
  for (const std::size_t start : starts) lower.push_back(values.values[start]);
  std::vector<std::vector<std::uint64_t>> strata(lower.size());
  for (const std::uint64_t i : kernel) {
    const auto above = std::upper_bound(lower.begin(), lower.end(), instructions[i]);
    strata[static_cast<std::size_t>(above - lower.begin()) - 1].push_back(i);
  }
  return strata;
}

}  // namespace

Result<std::unique_ptr<PreparedMethod>> PrepareSieve(const MethodInput& input) {
  auto metrics = LoadMetrics(input, "sieve", kMetrics);
  if (!metrics) return metrics.error();
  const std::span<const double> instructions = metrics.value().columns[0];
  const std::span<const double> block = metrics.value().columns[1];

  InvocationGroups kernels = GroupInvocations(input.groups);
  std::vector<std::uint32_t> cluster_of(input.groups.size(), model::kExcludedKernel);
  std::vector<WeightedInvocation> representatives;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (kernels.group(k).empty()) continue;
    for (const std::vector<std::uint64_t>& members : Strata(kernels.group(k), instructions)) {
      const auto cluster = static_cast<std::uint32_t>(representatives.size());
      for (const std::uint64_t i : members) cluster_of[i] = cluster;
      representatives.push_back(Representative(members, instructions, block));
    }
  }
  return MakeRepresentativeMethod(std::move(cluster_of), std::move(representatives));
}

}  // namespace stemtap::research
