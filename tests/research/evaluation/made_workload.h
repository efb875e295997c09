// SPDX-License-Identifier: Apache-2.0
//
// Synthetic workloads and methods with known errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "research/baselines/method.h"
#include "research/evaluation/evaluated_run.h"
#include "sampling/selection.h"

namespace stemtap::test {

struct MadeLaunch {
  std::string_view name;
  std::uint64_t duration_ns = 0;
  std::uint32_t grid_x = 1;
};

inline model::Profile MakeProfile(const std::vector<MadeLaunch>& launches) {
  model::Profile profile;
  for (const MadeLaunch& l : launches) {
    shm::KernelRecord r;
    r.name_id = profile.names.Intern(l.name);
    r.duration_ns = l.duration_ns;
    r.grid[0] = l.grid_x;
    r.grid[1] = r.grid[2] = 1;
    r.block[0] = 128;
    r.block[1] = r.block[2] = 1;
    profile.records.push_back(r);
  }
  return profile;
}

inline research::EvaluatedRun MakeTestWorkload(const std::vector<MadeLaunch>& launches,
                                               const sampling::SamplingOptions& options = {}) {
  return research::MakeEvaluatedRun("made", MakeProfile(launches), options).value();
}

// Returns one kernel with these durations in launch order.
inline research::EvaluatedRun OneKernel(std::initializer_list<std::uint64_t> durations) {
  std::vector<MadeLaunch> launches;
  for (const std::uint64_t d : durations) launches.push_back({"k", d});
  return MakeTestWorkload(launches);
}

// DrawSome draws `size` launches of each kernel group at random and states the error bound `bound`.
class DrawSome : public research::PreparedMethod {
 public:
  DrawSome(const research::MethodInput& input, std::uint64_t size, double bound,
           sampling::Selection selection)
      : groups_(input.groups.begin(), input.groups.end()),
        size_(size),
        bound_(bound),
        selection_(selection) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i] == model::kExcludedKernel) continue;
      if (groups_[i] >= members_.size()) members_.resize(groups_[i] + 1);
      members_[groups_[i]].push_back(i);
    }
  }

  research::MethodSample Draw(std::uint64_t seed) const override {
    Rng rng(seed);
    research::MethodSample sample;
    for (const std::vector<std::uint64_t>& group : members_) {
      const auto ranks = sampling::DrawRanks(selection_, group.size(), size_, rng);
      const double weight = static_cast<double>(group.size()) / static_cast<double>(ranks.size());
      for (const std::uint64_t rank : ranks) sample.invocations.push_back({group[rank], weight});
    }
    std::sort(sample.invocations.begin(), sample.invocations.end(),
              [](const auto& a, const auto& b) { return a.index < b.index; });
    return sample;
  }
  std::span<const std::uint32_t> clusters() const override { return groups_; }
  std::uint64_t cluster_count() const override { return members_.size(); }
  double bound() const override { return bound_; }
  bool deterministic() const override { return selection_ == sampling::Selection::kFirst; }

 private:
  std::vector<std::uint32_t> groups_;
  std::uint64_t size_;
  double bound_;
  sampling::Selection selection_;
  std::vector<std::vector<std::uint64_t>> members_;
};

// Draws options.min_samples of each kernel and states the bound options.error_bound.
inline constexpr research::MethodEntry kSome = {
    "some", "min_samples of each kernel at random",
    [](const research::MethodInput& input) -> Result<std::unique_ptr<research::PreparedMethod>> {
      return std::unique_ptr<research::PreparedMethod>(std::make_unique<DrawSome>(
          input, input.options.min_samples, input.options.error_bound, input.options.selection));
    }};

// A method whose input is never available.
inline constexpr research::MethodEntry kLacking = {
    "lacking", "needs what nobody has",
    [](const research::MethodInput&) -> Result<std::unique_ptr<research::PreparedMethod>> {
      return Error{"lacking needs the metric column 'luck', missing: luck"};
    }};

}  // namespace stemtap::test
