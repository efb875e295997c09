// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/representatives.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stemtap::research {
namespace {

class RepresentativeMethod : public PreparedMethod {
 public:
  RepresentativeMethod(std::vector<std::uint32_t> cluster_of,
                       std::vector<WeightedInvocation> representatives)
      : cluster_of_(std::move(cluster_of)), cluster_count_(representatives.size()) {
    std::sort(representatives.begin(), representatives.end(),
              [](const auto& a, const auto& b) { return a.index < b.index; });
    sample_.invocations = std::move(representatives);
  }

  MethodSample Draw(std::uint64_t /*seed*/) const override { return sample_; }
  std::span<const std::uint32_t> clusters() const override { return cluster_of_; }
  std::uint64_t cluster_count() const override { return cluster_count_; }
  double bound() const override { return std::numeric_limits<double>::quiet_NaN(); }
  bool deterministic() const override { return true; }

 private:
  std::vector<std::uint32_t> cluster_of_;
  std::uint64_t cluster_count_;
  MethodSample sample_;
};

}  // namespace

std::unique_ptr<PreparedMethod> MakeRepresentativeMethod(
    std::vector<std::uint32_t> cluster_of, std::vector<WeightedInvocation> representatives) {
  return std::make_unique<RepresentativeMethod>(std::move(cluster_of), std::move(representatives));
}

}  // namespace stemtap::research
