// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/noisy_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/profile.h"

namespace stemtap::test {
namespace {

constexpr double kModeRatio = 1.1;

double Normal(Rng& rng) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - rng.Uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * rng.Uniform());
}

double Between(double low, double high, Rng& rng) {
  return low + (high - low) * rng.Uniform();
}

// RunNoise is what all kernels of a run have in common.
class RunNoise {
 public:
  RunNoise(Noise noise, std::uint64_t seed) : noise_(noise), rng_(seed) {
    for (double& time : times_) time = rng_.Uniform();
    std::sort(std::begin(times_), std::end(times_));
    amount_ = rng_.Uniform();
    is_up_ = rng_.Below(2) == 1;
  }

  // Returns the factor at `time` (0 to 1). `time` does not decrease.
  double At(double time) {
    switch (noise_) {
      case Noise::kWarmUp:
        return 1.0 + (0.2 + 0.4 * amount_) * std::exp(-time / 0.03);
      case Noise::kLateStep:
        return time > 0.88 + 0.04 * amount_ ? 1.3 : 1.0;
      case Noise::kClockStep:
        return (time > times_[1]) == is_up_ ? kModeRatio : 1.0;
      case Noise::kClockSteps: {
        const auto steps = std::count_if(std::begin(times_), std::end(times_),
                                         [&](double step) { return step < time; });
        return (steps % 2 == 1) == is_up_ ? kModeRatio : 1.0;
      }
      case Noise::kWander: {
        const double kept = std::exp(-(time - last_) / 0.02);
        wander_ = kept * wander_ + std::sqrt(1.0 - kept * kept) * Normal(rng_);
        last_ = time;
        return std::exp(0.03 * wander_);
      }
      case Noise::kDrift:
        return 1.0 + 0.1 * amount_ * time;
      default:
        return 1.0;
    }
  }

 private:
  Noise noise_;
  Rng rng_;
  double times_[3];
  double amount_;
  bool is_up_;
  double wander_ = 0.0;
  double last_ = -1.0;  // long before the run
};

// KernelNoise is the noise of one kernel.
class KernelNoise {
 public:
  // `cold` is the factor of a cold start in all runs.
  KernelNoise(Noise noise, std::uint32_t launches, double cold, Rng& rng)
      : noise_(noise),
        launches_(launches),
        cold_(cold),
        state_(Normal(rng)),
        is_high_(rng.Below(2) == 1) {}

  double Next(Rng& rng) {
    const bool is_first = std::exchange(is_first_, false);
    switch (noise_) {
      case Noise::kTwoModes:
        return rng.Below(2) == 1 ? kModeRatio : 1.0;
      case Noise::kSkewed:
        return std::exp(Normal(rng));
      case Noise::kHeavyTail:
        return std::pow(1.0 - rng.Uniform(), -1.0 / 1.5);
      case Noise::kCold:
        return is_first ? cold_ * Jitter(0.3, rng) : Jitter(0.02, rng);
      case Noise::kColdest:
        return (is_first ? Between(20.0, 200.0, rng) : 1.0) * Jitter(0.02, rng);
      case Noise::kRareMode:
        return (rng.Below(100) == 0 ? 30.0 : 1.0) * Jitter(0.02, rng);
      case Noise::kTimer:
        return Jitter(0.005, rng);
      case Noise::kCorrelated: {
        const double kept = std::exp(-1.0 / 50.0);
        state_ = kept * state_ + std::sqrt(1.0 - kept * kept) * Normal(rng);
        return std::exp(0.05 * state_);
      }
      case Noise::kStretches:
        if (rng.Uniform() * launches_ < 20.0) is_high_ = !is_high_;
        return (is_high_ ? kModeRatio : 1.0) * Jitter(0.002, rng);
      default:
        return Jitter(0.02, rng);
    }
  }

 private:
  static double Jitter(double sigma, Rng& rng) { return std::exp(sigma * Normal(rng)); }

  Noise noise_;
  double launches_;
  double cold_;
  double state_;
  bool is_high_;
  bool is_first_ = true;
};

struct PlannedLaunch {
  double time;  // 0 to 1
  std::uint32_t kernel;
};

// Returns the launches of a run in order.
std::vector<PlannedLaunch> LaunchesOf(const std::vector<std::uint32_t>& counts) {
  std::vector<PlannedLaunch> launches;
  for (std::uint32_t kernel = 0; kernel < counts.size(); ++kernel) {
    for (std::uint32_t i = 0; i < counts[kernel]; ++i) {
      launches.push_back({(i + 0.5) / counts[kernel], kernel});
    }
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [](const auto& x, const auto& y) { return x.time < y.time; });
  return launches;
}

}  // namespace

analysis::ComparedRun NoisyRun(const NoisyProgram& program, std::uint64_t program_seed,
                               std::uint64_t run_seed, double slowdown) {
  const bool has_timer = program.noise == Noise::kTimer;
  Rng of_program(program_seed);
  Rng of_run(run_seed);
  model::Profile profile;
  std::vector<double> bases;
  std::vector<std::uint32_t> counts;
  std::vector<KernelNoise> noises;
  for (std::uint32_t kernel = 0; kernel < program.kernels; ++kernel) {
    profile.names.Intern(fmt::format("kernel{}", kernel));
    bases.push_back(has_timer ? Between(1e3, 3e3, of_program)
                              : 5e3 * std::pow(20.0, of_program.Uniform()));
    const double few = std::pow(0.5 * program.launches, of_program.Uniform());
    counts.push_back(program.mixed ? static_cast<std::uint32_t>(2.0 * few) : program.launches);
    const double cold = 5.0 * std::pow(10.0, of_program.Uniform());
    noises.emplace_back(program.noise, counts.back(), cold, of_run);
  }
  bases.front() *= slowdown;
  RunNoise common(program.noise, of_run.Next());
  const std::uint64_t step = has_timer ? 32 : 1;
  for (const PlannedLaunch& launch : LaunchesOf(counts)) {
    shm::KernelRecord record;
    record.name_id = launch.kernel;
    const double ns =
        bases[launch.kernel] * common.At(launch.time) * noises[launch.kernel].Next(of_run);
    record.duration_ns =
        step * static_cast<std::uint64_t>(std::llround(ns / static_cast<double>(step)));
    std::fill(std::begin(record.grid), std::end(record.grid), 1);
    std::fill(std::begin(record.block), std::end(record.block), std::uint16_t{1});
    profile.records.push_back(record);
  }
  const auto reader = model::ReadProfile(profile);
  return analysis::ComparedProfile(*reader, "run").value();
}

}  // namespace stemtap::test
