// SPDX-License-Identifier: Apache-2.0
//
// phases: a solver whose kernels change their durations by large factors between phases while
// names, grids and blocks stay the same.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "base/rng.h"
#include "research/workloads/generators.h"
#include "research/workloads/playback.h"
#include "research/workloads/solver_loop.h"

namespace stemtap::research {
namespace {

// Factors of the kernels in phases A, B and C, in quarters.
constexpr std::array<std::array<std::uint64_t, SolverLoop::kKernels>, 3> kQuarters = {{
    {4, 4, 4, 4, 4, 4, 4, 4},
    {16, 4, 4, 20, 2, 12, 8, 4},
    {4, 12, 4, 2, 32, 4, 40, 4},
}};

class Script : public SolverLoop {
 public:
  explicit Script(std::uint64_t seed) : rng_(seed) {
    for (std::size_t i = 0; i < kPerIteration; ++i) base_ns_[i] = launches()[i].median_ns;
    NextPhase();
  }

  void Advance() {
    SolverLoop::Advance();
    if (begins_iteration() && --iterations_left_ == 0) NextPhase();
  }

  std::uint64_t Duration(std::uint64_t noisy, std::uint64_t, std::uint64_t, Rng&) const {
    return Rounded(noisy);
  }

 private:
  // A and B alternate; each is followed by a C with probability one fifth.
  void NextPhase() {
    const bool c = started_ && phase_ != 2 && rng_.Below(5) == 0;
    if (c) {
      phase_ = 2;
    } else {
      phase_ = turn_;
      turn_ = 1 - turn_;
    }
    started_ = true;
    const std::uint64_t least = std::uint64_t{32} << rng_.Below(7);  // 32 to 2048
    iterations_left_ = least + rng_.Below(least);
    for (std::size_t i = 0; i < kPerIteration; ++i) {
      launches()[i].median_ns = base_ns_[i] * kQuarters[phase_][launches()[i].kernel] / 4;
    }
  }

  Rng rng_;
  std::array<std::uint64_t, kPerIteration> base_ns_{};
  std::size_t phase_ = 0;
  std::size_t turn_ = 0;  // whether A or B is next
  bool started_ = false;
  std::uint64_t iterations_left_ = 0;
};

}  // namespace

std::unique_ptr<model::ProfileReader> MakePhases(const WorkloadOptions& options) {
  return std::make_unique<Playback<Script>>(options, Script(options.seed));
}

}  // namespace stemtap::research
