// SPDX-License-Identifier: Apache-2.0
//
// A method chooses representative launches from a finished profile and assigns their weights.
// stemtap's own methods and all baselines implement this interface; `plan` and `evaluate` use no
// other.
//
//   Prepare   once per profile: everything that does not depend on the seed (clusters, sizes)
//   Draw      once per seed: the samples; deterministic methods return the same for every seed
//
// UNITS: ns.  THREADS: Draw may be called from several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "sampling/sampling_options.h"

namespace stemtap::research {

struct BasicBlockVectors;  // research/baselines/basic_block_vectors.h

struct MethodInput {
  const model::Profile& profile;
  // The kernel group of each launch (KernelGroups). kExcludedKernel: the launch is not sampled and
  // its time is not part of the total.
  std::span<const std::uint32_t> groups;
  const sampling::SamplingOptions& options;
  const BasicBlockVectors* vectors = nullptr;  // nullptr if none
};

struct WeightedInvocation {
  std::uint64_t index = 0;  // into Profile::records
  double weight = 0.0;      // plain: the estimate of a metric's total is the sum of weight * metric
};

struct MethodSample {
  std::vector<WeightedInvocation> invocations;  // ascending by index, each at most once
};

class PreparedMethod {
 public:
  virtual ~PreparedMethod() = default;
  virtual MethodSample Draw(std::uint64_t seed) const = 0;

  // The cluster of each launch, dense from 0; kExcludedKernel for excluded launches.
  virtual std::span<const std::uint32_t> clusters() const = 0;
  virtual std::uint64_t cluster_count() const = 0;
  // The relative error bound that the method states at options.confidence; NaN if it states none.
  virtual double bound() const = 0;
  // Whether every seed gives the same sample.
  virtual bool deterministic() const = 0;
};

struct MethodEntry {
  const char* name;
  const char* help;
  // An error lists the missing input ("pka needs the metric columns ..., missing: ...").
  Result<std::unique_ptr<PreparedMethod>> (*prepare)(const MethodInput& input);
};

// Returns every method, stemtap's own first.
std::span<const MethodEntry> Methods();

}  // namespace stemtap::research
