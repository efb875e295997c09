// SPDX-License-Identifier: Apache-2.0
//
// outliers: a solver in which one launch in 200 has a duration from a Pareto tail and one launch
// per million is a giant.
#include <algorithm>
#include <memory>

#include "base/rng.h"
#include "research/workloads/generators.h"
#include "research/workloads/playback.h"
#include "research/workloads/solver_loop.h"

namespace stemtap::research {
namespace {

constexpr std::uint64_t kOutlierBelow = (std::uint64_t{1} << 19) / 200;  // of 19 bits of the draw
constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::uint64_t kMaxFactor = 10'000;  // a longer launch would be a second giant
constexpr std::uint64_t kGiantNs = 2'000'000'000;

class Script : public SolverLoop {
 public:
  explicit Script(const WorkloadOptions& options)
      : rng_(options.seed), giant_at_(rng_.Below(std::min(kMillion, options.launches))) {}

  // Bits 32 to 50 of the draw decide whether the launch is an outlier. Its factor uses a separate
  // draw. The giant belongs to the script and occurs in every run, like a library that loads late.
  std::uint64_t Duration(std::uint64_t noisy, std::uint64_t draw, std::uint64_t launched,
                         Rng& noise) {
    if (launched % kMillion == 0 && launched > 0) {
      giant_at_ = launched + rng_.Below(kMillion);
    }
    if (launched == giant_at_) return kGiantNs;
    const std::uint64_t duration = Rounded(noisy);
    if ((draw >> 32) % (std::uint64_t{1} << 19) >= kOutlierBelow) return duration;
    const std::uint64_t factor =
        std::min(4 * Pareto(static_cast<std::uint32_t>(noise.Next() >> 32)), kMaxFactor * kOne);
    return duration * factor / kOne;
  }

 private:
  Rng rng_;
  std::uint64_t giant_at_;
};

}  // namespace

std::unique_ptr<model::ProfileReader> MakeOutliers(const WorkloadOptions& options) {
  return std::make_unique<Playback<Script>>(options, Script(options));
}

}  // namespace stemtap::research
