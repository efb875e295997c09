// SPDX-License-Identifier: Apache-2.0
//
// rare-kernels: a solver and thousands of other kernels that occur once or a few times, spread over
// the run, followed by 16 more as the very last launches.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/rng.h"
#include "research/workloads/generators.h"
#include "research/workloads/playback.h"
#include "research/workloads/solver_loop.h"

namespace stemtap::research {
namespace {

constexpr std::uint64_t kMaxRare = 4'000;  // kernels
constexpr std::uint64_t kLast = 16;        // kernels
// Of seven rare launches, four introduce a new kernel and three repeat an earlier one.
constexpr std::uint64_t kNewOf = 4;
constexpr std::uint64_t kOf = 7;

// Returns 4,000 names for 100,000 launches or more, else 1/25 of the launches, rounded down to a
// multiple of kNewOf.
std::uint64_t RareNames(std::uint64_t launches) {
  return std::min(kMaxRare, launches / 25) / kNewOf * kNewOf;
}

class Script {
 public:
  explicit Script(const WorkloadOptions& options)
      : rng_(options.seed),
        salt_(options.seed),
        names_(RareNames(options.launches)),
        last_from_(options.launches > 10 * kLast ? options.launches - kLast : options.launches) {
    rare_ = names_ / kNewOf * kOf;
    if (rare_ > 0) stride_ = last_from_ / rare_;
    next_rare_ = rare_ > 0 ? rng_.Below(stride_) : last_from_;
    Choose();
  }

  const Launch& launch() const { return hot_ ? loop_.launch() : rare_launch_; }
  void Advance() {
    if (hot_) loop_.Advance();
    ++launched_;
    Choose();
  }
  std::string Name(std::uint32_t kernel) const {
    if (kernel < SolverLoop::kKernels) return std::string(SolverLoop::Name(kernel));
    const std::uint64_t rare = kernel - SolverLoop::kKernels;
    if (rare < names_) {
      return fmt::format("void shale::fused::pointwise_{:04}_kernel<float, {}>(float*, int)", rare,
                         1 << Hash(rare) % 4);
    }
    return fmt::format("void shale::finish::write_field_{:02}_kernel(float*, int)", rare - names_);
  }
  std::uint64_t Gap(std::uint64_t gap_draw) const { return hot_ ? loop_.Gap(gap_draw) : 0; }
  std::uint64_t Duration(std::uint64_t noisy, std::uint64_t, std::uint64_t, Rng&) const {
    return Rounded(noisy);
  }

 private:
  // Chooses the next kernel. A rare kernel lasts 2 us to 2 ms, each power of two equally likely;
  // the last kernels last ten times as long.
  void Choose() {
    hot_ = launched_ < next_rare_ && launched_ < last_from_;
    if (hot_) return;
    std::uint64_t rare = 0;
    if (launched_ >= last_from_) {
      rare = names_ + (launched_ - last_from_) % kLast;
    } else {
      const std::uint64_t group = chosen_ / kOf;
      const std::uint64_t in_group = chosen_ % kOf;
      rare = in_group < kNewOf ? group * kNewOf + in_group : rng_.Below((group + 1) * kNewOf);
      ++chosen_;
      next_rare_ = chosen_ < rare_ ? chosen_ * stride_ + rng_.Below(stride_) : last_from_;
    }
    const std::uint64_t hash = Hash(rare);
    const std::uint64_t octave = hash / 4 % 10;
    std::uint64_t median_ns = (2'000 + hash / 64 % 2'000) << octave;
    if (rare >= names_) median_ns *= 10;
    Kernel kernel{"",
                  kComputeStream,
                  {256, 1, 1},
                  0,
                  3,
                  octave < 2 ? Bound::kLatency : hash % 3 == 0 ? Bound::kCompute : Bound::kMemory};
    rare_launch_ = MakeLaunch(kernel, static_cast<std::uint32_t>(SolverLoop::kKernels + rare),
                              {1 + hash / 64 % 2'000, 1, 1}, median_ns);
  }

  std::uint64_t Hash(std::uint64_t rare) const { return Rng(salt_ ^ (rare + 1) << 32).Next() >> 8; }

  SolverLoop loop_;
  Rng rng_;
  const std::uint64_t salt_;
  const std::uint64_t names_;      // number of rare kernels without the last ones
  const std::uint64_t last_from_;  // first launch of the last kernels
  std::uint64_t rare_ = 0;         // launches of rare kernels, one per stride
  std::uint64_t stride_ = 1;
  std::uint64_t chosen_ = 0;  // rare launches so far
  std::uint64_t next_rare_ = 0;
  std::uint64_t launched_ = 0;
  bool hot_ = true;
  Launch rare_launch_;
};

}  // namespace

std::unique_ptr<model::ProfileReader> MakeRareKernels(const WorkloadOptions& options) {
  return std::make_unique<Playback<Script>>(options, Script(options));
}

}  // namespace stemtap::research
