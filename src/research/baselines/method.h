// SPDX-License-Identifier: Apache-2.0
//
// A method chooses, from a finished profile, which invocations stand for the rest and with what
// weight. Every method that stemtap compares itself with stands behind this one interface, and so
// do its own; `plan` and `evaluate` know no other.
//
//   Prepare   once per profile: whatever does not depend on the seed (clusters, sizes)
//   Draw      once per seed: the invocations; deterministic methods give the same for every seed
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

namespace stemtap {

struct BasicBlockVectors;  // baselines/basic_block_vectors.h

struct MethodInput {
  const Profile& profile;
  // The kernel group of each invocation (KernelGroups); kExcludedKernel: is not to be sampled and
  // its time is no part of the total.
  std::span<const std::uint32_t> groups;
  const SamplingOptions& options;
  const BasicBlockVectors* vectors = nullptr;  // none given
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

  // By invocation: the cluster it belongs to, dense from 0; kExcludedKernel for those excluded.
  virtual std::span<const std::uint32_t> clusters() const = 0;
  virtual std::uint64_t cluster_count() const = 0;
  // The relative error bound that the method states at options.confidence; NaN when it states none.
  virtual double bound() const = 0;
  // Whether every seed gives the same sample.
  virtual bool deterministic() const = 0;
};

struct MethodEntry {
  const char* name;
  const char* help;
  // An error names the input that is missing ("pka needs the metric columns ..., missing: ...").
  Result<std::unique_ptr<PreparedMethod>> (*prepare)(const MethodInput& input);
};

// Every method, stemtap's own first.
std::span<const MethodEntry> Methods();

}  // namespace stemtap
