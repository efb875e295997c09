// SPDX-License-Identifier: Apache-2.0
//
// Synthetic profiles for tests of the methods.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/kernel_groups.h"
#include "research/baselines/method.h"

namespace stemtap::test {

struct MadeProfile {
  model::Profile profile;
  std::vector<std::uint32_t> groups;
  sampling::SamplingOptions options;

  // Adds one launch. Its group is the kernel name.
  void Add(std::string_view name, std::uint64_t duration_ns, std::uint32_t block_x = 128,
           std::uint32_t grid_x = 1) {
    shm::KernelRecord r;
    r.name_id = profile.names.Intern(name);
    r.duration_ns = duration_ns;
    r.grid[0] = grid_x;
    r.grid[1] = r.grid[2] = 1;
    r.block[0] = static_cast<std::uint16_t>(block_x);
    r.block[1] = r.block[2] = 1;
    groups.push_back(r.name_id);
    profile.records.push_back(r);
  }

  void AddMetric(std::string name, std::vector<double> cells) {
    profile.metric_names.push_back(std::move(name));
    profile.metrics.push_back(std::move(cells));
  }

  // Excludes `name` from sampling.
  void Exclude(std::string_view name) {
    const std::uint32_t id = profile.names.Intern(name);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (profile.records[i].name_id == id) groups[i] = model::kExcludedKernel;
    }
  }

  research::MethodInput input() const { return {profile, groups, options}; }

  double total() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] != model::kExcludedKernel)
        sum += static_cast<double>(profile.records[i].duration_ns);
    }
    return sum;
  }

  double Estimate(const research::MethodSample& sample) const {
    double sum = 0.0;
    for (const research::WeightedInvocation& s : sample.invocations) {
      sum += s.weight * static_cast<double>(profile.records[s.index].duration_ns);
    }
    return sum;
  }
};

inline std::vector<std::uint64_t> Indices(const research::MethodSample& sample) {
  std::vector<std::uint64_t> indices;
  for (const research::WeightedInvocation& s : sample.invocations) indices.push_back(s.index);
  return indices;
}

inline std::vector<double> WeightsOf(const research::MethodSample& sample) {
  std::vector<double> weights;
  for (const research::WeightedInvocation& s : sample.invocations) weights.push_back(s.weight);
  return weights;
}

inline std::vector<std::uint32_t> ClustersOf(const research::PreparedMethod& method) {
  return {method.clusters().begin(), method.clusters().end()};
}

}  // namespace stemtap::test
