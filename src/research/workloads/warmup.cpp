// SPDX-License-Identifier: Apache-2.0
//
// warmup: a solver on a GPU that warms up slowly. Its kernels start 10 to 40 % slower and recover
// with a half-life of 25,600 launches; from launch 250,000 on, the clock changes in steps.
#include <array>
#include <memory>

#include "base/rng.h"
#include "research/workloads/generators.h"
#include "research/workloads/playback.h"
#include "research/workloads/solver_loop.h"

namespace stemtap::research {
namespace {

constexpr std::uint64_t kHalfLife = 25'600;  // a multiple of kHalfLifeParts
constexpr std::uint64_t kHalfLifeParts = 1'024;
constexpr std::uint64_t kStepsFrom = 250'000;
constexpr std::uint64_t kSpeeds[] = {100, 104, 108, 115, 96};  // percent of the normal duration

// Initial slowdown of each kernel, in percent; kernels that draw more power slow down more.
constexpr std::array<std::uint64_t, SolverLoop::kKernels> kColdPercent = {25, 20, 10, 20,
                                                                          40, 30, 15, 10};

class Script : public SolverLoop {
 public:
  Script() {
    for (std::uint64_t i = 0; i < kHalfLifeParts; ++i) {
      const double half_lives = static_cast<double>(i) / static_cast<double>(kHalfLifeParts);
      decay_[i] = static_cast<std::uint32_t>(
          PortableExp(-0.6931471805599453 * half_lives) * static_cast<double>(kOne) + 0.5);
    }
  }

  // The clock steps are part of the noise: a second run has different ones. They use separate
  // draws.
  std::uint64_t Duration(std::uint64_t noisy, std::uint64_t, std::uint64_t launched, Rng& noise) {
    if (launched >= kStepsFrom) {
      if (launched >= step_ends_) {
        step_ends_ = launched + 50'000 + noise.Below(100'000);
        percent_ = kSpeeds[noise.Below(std::size(kSpeeds))];
      }
      noisy = noisy * percent_ / 100;
    }
    const std::uint64_t part = launched / (kHalfLife / kHalfLifeParts);
    const std::uint64_t octave = part / kHalfLifeParts;
    if (octave < 16) {
      const std::uint64_t left = decay_[part % kHalfLifeParts] >> octave;
      noisy += noisy / 100 * kColdPercent[launch().kernel] / kOne * left;
    }
    return Rounded(noisy);
  }

 private:
  std::array<std::uint32_t, kHalfLifeParts> decay_{};
  std::uint64_t step_ends_ = 0;
  std::uint64_t percent_ = 100;
};

}  // namespace

std::unique_ptr<model::ProfileReader> MakeWarmup(const WorkloadOptions& options) {
  return std::make_unique<Playback<Script>>(options, Script());
}

}  // namespace stemtap::research
