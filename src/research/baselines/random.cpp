// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/random.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/kernel_groups.h"

namespace stemtap::research {
namespace {

class RandomMethod : public PreparedMethod {
 public:
  RandomMethod(std::vector<std::uint32_t> cluster_of, double share)
      : cluster_of_(std::move(cluster_of)), share_(share) {
    for (const std::uint32_t cluster : cluster_of_)
      any_ = any_ || cluster != model::kExcludedKernel;
  }

  MethodSample Draw(std::uint64_t seed) const override {
    Rng rng(seed);
    MethodSample sample;
    for (std::size_t i = 0; i < cluster_of_.size(); ++i) {
      if (cluster_of_[i] == model::kExcludedKernel) continue;
      if (rng.Uniform() < share_) sample.invocations.push_back({i, 1.0 / share_});
    }
    return sample;
  }

  std::span<const std::uint32_t> clusters() const override { return cluster_of_; }
  std::uint64_t cluster_count() const override { return any_ ? 1 : 0; }
  double bound() const override { return std::numeric_limits<double>::quiet_NaN(); }
  bool deterministic() const override { return !any_ || share_ >= 1.0; }

 private:
  std::vector<std::uint32_t> cluster_of_;
  double share_;
  bool any_ = false;
};

}  // namespace

Result<std::unique_ptr<PreparedMethod>> PrepareRandom(const MethodInput& input) {
  return MakeRandom(input, kRandomSampledShare);
}

std::unique_ptr<PreparedMethod> MakeRandom(const MethodInput& input, double sampled_share) {
  std::vector<std::uint32_t> cluster_of(input.groups.begin(), input.groups.end());
  for (std::uint32_t& cluster : cluster_of) {
    if (cluster != model::kExcludedKernel) cluster = 0;
  }
  return std::make_unique<RandomMethod>(std::move(cluster_of), sampled_share);
}

}  // namespace stemtap::research
