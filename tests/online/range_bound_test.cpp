// SPDX-License-Identifier: Apache-2.0
//
// Measures the bounds of ranges on generated runs of an LLM server: requests arrive, each with a
// prefill and a number of decode steps that share most of their kernels, and a sampling step. How
// often the bound of each range holds, how often it is as asked, and what it costs.
//
// The short test runs 24 seeds. The full test prints the table of docs/math/bursts.md:
//   STEMTAP_RANGE_SEEDS=500 range_bound_test --no-skip --test-case='*full*'
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "model/plan.h"
#include "online/bound_harness.h"
#include "sampling/sampling_options.h"

namespace stemtap::test {
namespace {

constexpr double kAsked = 0.05;
constexpr double kSlack = 1e-9;

enum Range : std::uint16_t { kNone, kPrefill, kDecode, kSampling };

// The kernels: six of a layer, in prefill and decode, two of the sampling step, and a copy outside
// of all ranges.
constexpr std::uint32_t kLayerKernels = 6;
constexpr std::uint32_t kTopK = kLayerKernels;
constexpr std::uint32_t kSoftmax = kLayerKernels + 1;
constexpr std::uint32_t kCopy = kLayerKernels + 2;

// Generates at least `launches` launches of a server.
class Server {
 public:
  explicit Server(std::uint64_t seed) : random_(seed) {
    stream_.kernels = kLayerKernels + 3;
    stream_.ranges = {"", "prefill", "decode", "sampling"};
  }

  LaunchStream Make(std::size_t launches) {
    while (stream_.launches.size() < launches) Request();
    return std::move(stream_);
  }

 private:
  static constexpr int kLayers = 16;

  double Lognormal(double median, double sigma) {
    return median * std::exp(sigma * normal_(random_));
  }
  void Launch(std::uint32_t kernel, Range range, double duration_ns) {
    const double noise = 1.0 + 0.02 * normal_(random_);
    stream_.launches.push_back(
        {kernel, 1, static_cast<std::uint64_t>(std::max(200.0, duration_ns * noise)), 0, range});
  }
  void Layers(Range range, double tokens, double context) {
    for (int layer = 0; layer < kLayers; ++layer) {
      Launch(0, range, 1'500.0 + 2.0 * tokens);                             // norm
      Launch(1, range, 9'000.0 + 160.0 * tokens);                           // qkv
      Launch(2, range, 2'500.0 + 0.02 * tokens * context + 1.5 * context);  // attention
      Launch(3, range, 5'000.0 + 70.0 * tokens);                            // projection
      Launch(4, range, 12'000.0 + 320.0 * tokens);                          // up
      Launch(5, range, 7'000.0 + 180.0 * tokens);                           // down
    }
  }
  void Request() {
    const double prompt = std::clamp(Lognormal(600.0, 0.9), 16.0, 8'000.0);
    const int steps = static_cast<int>(std::clamp(Lognormal(24.0, 0.7), 1.0, 400.0));
    Launch(kCopy, kNone, 800.0 + 0.5 * prompt);
    Layers(kPrefill, prompt, prompt);
    for (int step = 0; step < steps; ++step) {
      Layers(kDecode, 1.0, prompt + step);
      Launch(kTopK, kSampling, 21'000.0);
      Launch(kSoftmax, kSampling, Lognormal(6'000.0, 0.3));
    }
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  LaunchStream stream_;
};

struct RangeTally {
  std::uint64_t runs = 0;
  std::uint64_t covered = 0;
  std::uint64_t met = 0;  // the bound is as asked
  double bound = 0.0;     // sums over runs, like the following fields
  double error = 0.0;
  double sampled = 0.0;  // share of the time of the range

  double Share(std::uint64_t count) const {
    return static_cast<double>(count) / static_cast<double>(runs);
  }
};

using Tallies = std::map<std::string, RangeTally>;

void Add(const model::Plan& plan, Tallies& tallies) {
  for (const model::PlanRange& range : plan.ranges) {
    RangeTally& tally = tallies[range.range.empty() ? "(none)" : range.range];
    const auto truth = static_cast<double>(range.duration_ns);
    const double error = std::fabs(range.plain_estimate_ns - truth) / truth;
    ++tally.runs;
    tally.covered += error <= range.certified_bound + kSlack;
    tally.met += range.certified_bound <= kAsked;
    tally.bound += range.certified_bound;
    tally.error += error;
    tally.sampled += static_cast<double>(range.sampled_duration_ns) / truth;
  }
}

sampling::SamplingOptions OptionsFor(sampling::BoundScope scope, std::uint64_t seed) {
  sampling::SamplingOptions options;
  options.error_bound = kAsked;
  options.bound = scope;
  options.launches.by_range = true;
  options.seed = seed;
  return options;
}

enum class Way { kOnline, kTwoPass };

Tallies Measure(sampling::BoundScope scope, Way way, std::size_t launches, std::uint64_t seeds) {
  Tallies tallies;
  std::mutex mutex;
  RunInParallel(seeds, [&](std::size_t i) {
    const LaunchStream stream = Server(1'000 + i).Make(launches);
    const sampling::SamplingOptions options = OptionsFor(scope, 50'000 + i);
    model::Plan plan;
    if (way == Way::kOnline) {
      RunStream(stream, options, 2'000, &plan);
    } else {
      PlanStream(stream, options, &plan);
    }
    const std::lock_guard lock(mutex);
    Add(plan, tallies);
  });
  return tallies;
}

void Print(const char* what, const Tallies& tallies) {
  for (const auto& [range, t] : tallies) {
    const auto mean = [&](double sum) { return 100.0 * sum / static_cast<double>(t.runs); };
    fmt::print("{:<28} {:<9} {:>5} {:>8.1f} {:>8.1f} {:>8.2f} {:>8.2f} {:>9.3f}\n", what, range,
               t.runs, 100.0 * t.Share(t.covered), 100.0 * t.Share(t.met), mean(t.bound),
               mean(t.error), mean(t.sampled));
  }
}

void PrintHeader() {
  fmt::print("{:<28} {:<9} {:>5} {:>8} {:>8} {:>8} {:>8} {:>9}\n", "", "range", "runs", "covered",
             "as asked", "bound %", "error %", "sampled %");
}

TEST_CASE("with --bound range, each range has its own bound, and it holds") {
  const std::uint64_t seeds = kSlowBuild ? 6 : 24;
  const Tallies tallies = Measure(sampling::BoundScope::kRange, Way::kOnline, 400'000, seeds);
  REQUIRE(tallies.size() == 4);
  for (const auto& [range, tally] : tallies) {
    CAPTURE(range);
    CHECK(tally.runs == seeds);
    // With a true coverage of 95 %, fewer than 19 of 24 occur once in 3,600 runs.
    CHECK(tally.covered + (kSlowBuild ? 3 : 5) >= seeds);
  }
  for (const char* range : {"prefill", "decode", "sampling"}) {
    CAPTURE(range);
    // Measured over 500 seeds: 81 to 100 %.
    CHECK(tallies.at(range).Share(tallies.at(range).met) >= 0.5);
  }
  const Tallies planned = Measure(sampling::BoundScope::kRange, Way::kTwoPass, 60'000, 4);
  for (const auto& [range, tally] : planned) {
    CAPTURE(range);
    CHECK(tally.met == tally.runs);
  }
}

TEST_CASE("the bounds of ranges, full" * doctest::skip()) {
  const char* const text = std::getenv("STEMTAP_RANGE_SEEDS");
  const std::uint64_t seeds = text == nullptr ? 40 : std::strtoull(text, nullptr, 10);
  PrintHeader();
  for (const auto& [scope, name] : {std::pair(sampling::BoundScope::kRange, "range"),
                                    std::pair(sampling::BoundScope::kWorkload, "workload")}) {
    for (const std::size_t launches : {60'000, 400'000}) {
      const Tallies tallies = Measure(scope, Way::kOnline, launches, seeds);
      Print(fmt::format("{}, {} launches", name, launches).c_str(), tallies);
      for (const auto& [range, tally] : tallies) {
        CAPTURE(range);
        CHECK(tally.Share(tally.covered) >= 0.95);
      }
    }
    Print(fmt::format("{}, two passes", name).c_str(),
          Measure(scope, Way::kTwoPass, 60'000, std::min<std::uint64_t>(seeds, 40)));
  }
}

}  // namespace
}  // namespace stemtap::test
