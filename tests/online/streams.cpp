// SPDX-License-Identifier: Apache-2.0
#include "online/streams.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/rng.h"
#include "support/random_draws.h"

namespace stemtap::test {
namespace {

// Launch is a kernel and the median duration of one of its launches.
struct Launch {
  std::uint32_t kernel = 0;
  double median_ns = 0.0;
  double noise = 0.05;  // sigma of the log of the duration
  std::uint32_t grid = 1;
};

// Place is where in the run a launch is.
struct Place {
  std::uint64_t index = 0;
  double progress = 0.0;  // in [0, 1)
  Rng* rng = nullptr;
};

LaunchStream MakeStream(std::uint32_t kernels, std::uint64_t launches, std::uint64_t seed,
                        const std::function<Launch(const Place&)>& next) {
  Rng rng(seed ^ 0x57EA4D5EEDu);
  LaunchStream stream;
  stream.kernels = kernels;
  stream.launches.reserve(launches);
  for (std::uint64_t i = 0; i < launches; ++i) {
    const Place place{i, static_cast<double>(i) / static_cast<double>(launches), &rng};
    const Launch launch = next(place);
    const double duration = launch.median_ns * std::exp(launch.noise * Normal(rng));
    StreamLaunch& made = stream.launches.emplace_back();
    made.kernel = launch.kernel;
    made.grid = launch.grid;
    made.duration_ns = static_cast<std::uint64_t>(std::max(1.0, duration));
  }
  return stream;
}

// Returns a fixed median duration of a kernel, from 2 us to 2 ms.
double MedianOf(std::uint32_t kernel) {
  Rng rng(0xBA5Eu + kernel);
  return 2'000.0 * std::pow(1'000.0, rng.Uniform());
}

LaunchStream MakeIid(std::uint64_t launches, std::uint64_t seed) {
  return MakeStream(8, launches, seed, [](const Place& at) {
    const auto kernel = static_cast<std::uint32_t>(at.rng->Below(8));
    return Launch{kernel, MedianOf(kernel), 0.3};
  });
}

// 300 kernels; one launch in seven takes up to a thousand times as long, and nothing predicts it.
LaunchStream MakeMixture(std::uint64_t launches, std::uint64_t seed) {
  return MakeStream(300, launches, seed, [](const Place& at) {
    const auto kernel = static_cast<std::uint32_t>(at.rng->Below(300));
    if (at.rng->Below(7) != 0) return Launch{kernel, 1'000.0 + 3'000.0 * at.rng->Uniform(), 0.0};
    return Launch{kernel, 5e6 * at.rng->Uniform(), 0.0};
  });
}

// A step of 12 kernels; `drifting` of them take twice as long at the end of the run.
LaunchStream MakeSteps(std::uint64_t launches, std::uint64_t seed, std::uint32_t kernels,
                       std::uint32_t drifting) {
  return MakeStream(kernels, launches, seed, [=](const Place& at) {
    const auto kernel = static_cast<std::uint32_t>(at.index % kernels);
    const double growth = kernel < drifting ? 1.0 + at.progress : 1.0;
    return Launch{kernel, growth * MedianOf(kernel), 0.1};
  });
}

LaunchStream MakeDrift(std::uint64_t launches, std::uint64_t seed) {
  return MakeSteps(launches, seed, 12, 3);
}

LaunchStream MakeDriftInMany(std::uint64_t launches, std::uint64_t seed) {
  return MakeSteps(launches, seed, 100, 100);
}

LaunchStream MakeWarmUp(std::uint64_t launches, std::uint64_t seed) {
  return MakeStream(20, launches, seed, [](const Place& at) {
    const auto kernel = static_cast<std::uint32_t>(at.index % 20);
    const double cold = 1.0 + std::exp(-at.progress / 0.03);
    return Launch{kernel, cold * MedianOf(kernel), 0.1};
  });
}

// The last quarter runs other kernels, and the kernels that go on take three times as long.
LaunchStream MakeLatePhase(std::uint64_t launches, std::uint64_t seed) {
  return MakeStream(20, launches, seed, [](const Place& at) {
    const bool late = at.progress >= 0.75;
    const auto kernel = static_cast<std::uint32_t>(at.index % 10 + (late ? 5 : 0));
    return Launch{kernel, (late ? 3.0 : 1.0) * MedianOf(kernel), 0.1};
  });
}

// Durations follow a slow random walk that returns to its mean: AR(0.999) of the log.
LaunchStream MakeAutoregressive(std::uint64_t launches, std::uint64_t seed) {
  std::vector<double> level(6, 0.0);
  return MakeStream(6, launches, seed, [&](const Place& at) {
    const auto kernel = static_cast<std::uint32_t>(at.index % 6);
    level[kernel] = 0.999 * level[kernel] + std::sqrt(1.0 - 0.999 * 0.999) * 0.4 * Normal(*at.rng);
    return Launch{kernel, std::exp(level[kernel]) * MedianOf(kernel), 0.05};
  });
}

// The duration depends on the position in a period of 1,000 launches, which divides every lag.
LaunchStream MakePeriodic(std::uint64_t launches, std::uint64_t seed) {
  return MakeStream(5, launches, seed, [](const Place& at) {
    const auto kernel = static_cast<std::uint32_t>(at.index % 5);
    const double phase = static_cast<double>(at.index % 1'000) / 1'000.0;
    return Launch{kernel, (1.0 + 0.8 * std::sin(6.283185307179586 * phase)) * MedianOf(kernel),
                  0.05};
  });
}

// 3,000 kernels, the k-th launched in proportion to 1/k.
LaunchStream MakeZipf(std::uint64_t launches, std::uint64_t seed) {
  const double all = std::log(3'000.0 + 1.0);
  return MakeStream(3'000, launches, seed, [=](const Place& at) {
    const double rank = std::exp(all * at.rng->Uniform());
    const auto kernel = std::min<std::uint32_t>(2'999, static_cast<std::uint32_t>(rank) - 1);
    return Launch{kernel, MedianOf(kernel), 0.2};
  });
}

// Each kernel takes 1 or 4 times its median at random.
LaunchStream MakeTwoModes(std::uint64_t launches, std::uint64_t seed) {
  return MakeStream(10, launches, seed, [](const Place& at) {
    const auto kernel = static_cast<std::uint32_t>(at.index % 10);
    const double mode = at.rng->Below(2) == 0 ? 1.0 : 4.0;
    return Launch{kernel, mode * MedianOf(kernel), 0.05};
  });
}

// One launch in a thousand takes a hundred times as long, and nothing predicts it.
LaunchStream MakeRareSlow(std::uint64_t launches, std::uint64_t seed) {
  return MakeStream(10, launches, seed, [](const Place& at) {
    const auto kernel = static_cast<std::uint32_t>(at.index % 10);
    const double mode = at.rng->Below(1'000) == 0 ? 100.0 : 1.0;
    return Launch{kernel, mode * MedianOf(kernel), 0.05};
  });
}

// Steps of 12 layers of 14 kernels. The attention kernels take longer with each token of a request;
// a request has 50 to 2,000 tokens.
LaunchStream MakeDecode(std::uint64_t launches, std::uint64_t seed) {
  std::uint64_t tokens = 0;
  std::uint64_t length = 500;
  return MakeStream(14, launches, seed, [&](const Place& at) {
    const auto kernel = static_cast<std::uint32_t>(at.index % 14);
    if (at.index % (12 * 14) == 0 && ++tokens >= length) {
      tokens = 0;
      length = 50 + at.rng->Below(1'951);
    }
    const bool attends = kernel == 5 || kernel == 6;
    const double context = attends ? 1.0 + static_cast<double>(tokens) / 400.0 : 1.0;
    const auto grid = attends ? 1 + static_cast<std::uint32_t>(tokens / 256) : 1;
    return Launch{kernel, context * MedianOf(kernel), 0.03, grid};
  });
}

constexpr StreamKind kStreams[] = {
    {"iid", true, MakeIid},
    {"mixture of 300", true, MakeMixture},
    {"drift", false, MakeDrift},
    {"drift in many", false, MakeDriftInMany},
    {"warm-up", false, MakeWarmUp},
    {"late phase", false, MakeLatePhase},
    {"AR(0.999)", true, MakeAutoregressive},
    {"periodic", true, MakePeriodic},
    {"zipf of 3000", true, MakeZipf},
    {"two modes", true, MakeTwoModes},
    {"rare slow mode", true, MakeRareSlow},
    {"LLM decode", true, MakeDecode},
};

}  // namespace

std::span<const StreamKind> StreamKinds() {
  return kStreams;
}

}  // namespace stemtap::test
