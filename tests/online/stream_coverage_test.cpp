// SPDX-License-Identifier: Apache-2.0
//
// Measures online sampling on twelve streams: how often the bound holds for one stream over seeds
// of the sampler and for new streams, how the captures are spread over the run, whether a metric
// that rises during the run is estimated well, and what is paid.
//
// The short test checks four streams. The full test prints the figures of all streams and lags:
//   STEMTAP_STREAM_SEEDS=200 stream_coverage_test --no-skip --test-case='*full*'
//   STEMTAP_STREAM_FIXED_NS=10000000 stream_coverage_test --no-skip --test-case='*full*'
//   STEMTAP_STREAM=drift stream_coverage_test --no-skip --test-case='*full*'
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/plan.h"
#include "online/bound_harness.h"
#include "online/metric_coverage.h"
#include "online/streams.h"
#include "sampling/sampling_options.h"

namespace stemtap::online {
namespace {

using test::BoundOutcome;
using test::LaunchStream;
using test::StreamKind;

constexpr double kAsked = 0.05;
constexpr double kRise = 0.2;
constexpr std::uint64_t kFirstSeed = 70'001;
constexpr std::uint64_t kLaunches = 400'000;
constexpr std::array<std::uint64_t, 3> kLags = {1'000, 10'000, 100'000};

std::uint64_t NumberFrom(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[values.size() / 2];
}

struct RunOutcome {
  BoundOutcome time;
  std::array<double, 10> tenths{};      // share of the weights, by position in the run
  std::vector<std::uint64_t> captured;  // launches, ascending
  test::IntervalOutcome rising;         // of a metric that rises by kRise during the run
};

// Sets the fields of `outcome` that depend on the samples of the plan.
void CountSamples(const LaunchStream& stream, const model::Plan& plan, RunOutcome& outcome) {
  double weights = 0.0;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) {
        outcome.tenths[10 * sample.index / stream.launches.size()] += sample.weight;
        weights += sample.weight;
        outcome.captured.push_back(sample.index);
      }
    }
  }
  for (double& tenth : outcome.tenths) tenth /= weights;
}

// The fixed price of a capture is 0 unless the variable STEMTAP_STREAM_FIXED_NS sets it.
sampling::SamplingOptions OptionsFor(std::uint64_t seed) {
  sampling::SamplingOptions options;
  options.error_bound = kAsked;
  options.seed = seed;
  options.price.fixed_ns = static_cast<double>(NumberFrom("STEMTAP_STREAM_FIXED_NS", 0));
  options.max_uncovered = options.price.fixed_ns > 0.0 ? 1.0 : 0.0;
  return options;
}

RunOutcome Run(const LaunchStream& stream, std::uint64_t lag, std::uint64_t seed) {
  const sampling::SamplingOptions options = OptionsFor(seed);
  model::Plan plan;
  RunOutcome outcome;
  outcome.time = test::RunStream(stream, options, lag, &plan);
  CountSamples(stream, plan, outcome);
  std::vector<double> rising;
  rising.reserve(stream.launches.size());
  for (std::size_t i = 0; i < stream.launches.size(); ++i) {
    const double progress = static_cast<double>(i) / static_cast<double>(stream.launches.size());
    const auto duration_ns = static_cast<double>(stream.launches[i].duration_ns);
    rising.push_back(duration_ns * (1.0 + kRise * progress));
  }
  outcome.rising = test::ExtrapolateMetric(plan, rising).calibrated;
  return outcome;
}

struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t covered = 0;
  std::uint64_t exceeded = 0;  // the bound is more than asked
  double error = 0.0;          // sum over runs, like the following fields
  std::array<double, 10> tenths{};
  std::uint64_t rising_covered = 0;
  double rising_error = 0.0;
  double rising_width = 0.0;
  std::vector<double> bounds;
  std::vector<double> captured_share;
  std::vector<double> captured;

  void Add(const RunOutcome& run) {
    ++runs;
    covered += !run.time.missed();
    exceeded += run.time.bound > kAsked;
    error += run.time.error;
    for (std::size_t i = 0; i < tenths.size(); ++i) tenths[i] += run.tenths[i];
    rising_covered += run.rising.covered_scaled;
    rising_error += run.rising.error;
    rising_width += run.rising.relative_width;
    bounds.push_back(run.time.bound);
    captured_share.push_back(run.time.captured_share);
    captured.push_back(static_cast<double>(run.time.captured));
  }
  // Returns the mean over runs of a sum.
  double Mean(double sum) const { return sum / static_cast<double>(runs); }
  double LargestTenth() const { return Mean(*std::max_element(tenths.begin(), tenths.end())); }

  std::string Row(const BoundOutcome& two_pass) const {
    const auto percent = [this](std::uint64_t count) {
      return 100.0 * Mean(static_cast<double>(count));
    };
    return fmt::format(
        "{:>6.1f} {:>6.1f} {:>7.2f} {:>6.2f} {:>9.4f} {:>6.2f} {:>7.0f}/{:<6} {:>6.1f} {:>6.1f} "
        "{:>6.2f} {:>6.2f}",
        percent(covered), percent(exceeded), 100.0 * Mean(error), 100.0 * Median(bounds),
        100.0 * Median(captured_share), Median(captured_share) / two_pass.captured_share,
        Median(captured), two_pass.captured, 100.0 * LargestTenth(), percent(rising_covered),
        100.0 * Mean(rising_error), 100.0 * Mean(rising_width));
  }
  static std::string Header() {
    return fmt::format("{:>6} {:>6} {:>7} {:>6} {:>9} {:>6} {:>14} {:>6} {:>6} {:>6} {:>6}",
                       "cover", "above", "error", "bound", "captured", "ratio", "captures", "tenth",
                       "rising", "error", "width");
  }
};

// Returns the share of the samples of a run that are also samples of the run before.
double SameSamples(const std::vector<RunOutcome>& runs) {
  double same = 0.0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const std::set<std::uint64_t> before(runs[i - 1].captured.begin(), runs[i - 1].captured.end());
    std::size_t again = 0;
    for (const std::uint64_t index : runs[i].captured) again += before.count(index);
    same += static_cast<double>(again) / static_cast<double>(runs[i].captured.size());
  }
  return same / static_cast<double>(runs.size() - 1);
}

// StreamTally is the outcome of one stream over seeds of the sampler, and of as many new streams.
struct StreamTally {
  Tally fixed;
  Tally anew;
  double same_samples = 0.0;
};

StreamTally Measure(const StreamKind& kind, const LaunchStream& stream, std::uint64_t lag,
                    std::uint64_t seeds) {
  std::vector<RunOutcome> fixed(seeds);
  std::vector<RunOutcome> anew(seeds);
  test::RunInParallel(2 * seeds, [&](std::size_t i) {
    const std::uint64_t seed = kFirstSeed + i;
    if (i < seeds) {
      fixed[i] = Run(stream, lag, seed);
    } else {
      anew[i - seeds] = Run(kind.make(stream.launches.size(), seed), lag, seed);
    }
  });
  StreamTally tally;
  for (const RunOutcome& run : fixed) tally.fixed.Add(run);
  for (const RunOutcome& run : anew) tally.anew.Add(run);
  tally.same_samples = SameSamples(fixed);
  return tally;
}

TEST_CASE("captures are draws that are spread over the run, and the bound holds") {
  const std::uint64_t seeds = test::kSlowBuild ? 2 : 12;
  // Mean errors of few runs are larger by chance.
  const double chance = std::sqrt(12.0 / static_cast<double>(seeds));
  std::uint64_t covered = 0;
  std::uint64_t runs = 0;
  for (const StreamKind& kind : test::StreamKinds()) {
    const std::string_view name = kind.name;
    if (name != "iid" && name != "drift in many" && name != "two modes" && name != "LLM decode") {
      continue;
    }
    CAPTURE(name);
    const LaunchStream stream = kind.make(100'000, kFirstSeed);
    const StreamTally tally = Measure(kind, stream, 1'000, seeds);
    covered += tally.fixed.covered + tally.anew.covered;
    runs += tally.fixed.runs + tally.anew.runs;
    CHECK(tally.same_samples < 0.5);
    // With few runs of few captures, a tenth may have twice its share by chance.
    if (!test::kSlowBuild) CHECK(tally.anew.LargestTenth() < 0.4);
    CHECK(std::fabs(tally.anew.Mean(tally.anew.rising_error)) < 0.035 * chance);
    if (kind.stationary) CHECK(std::fabs(tally.anew.Mean(tally.anew.error)) < 0.02 * chance);
  }
  // Three standard deviations below a coverage of 95 %: 85 of 96 runs, 13 of 16 in slow builds.
  const auto all = static_cast<double>(runs);
  CHECK(static_cast<double>(covered) >= 0.95 * all - 3.0 * std::sqrt(0.95 * 0.05 * all));
}

// A request begins late in the run, and its attention takes longer with each token. The only
// capture of these launches is made when it begins: the feedback takes a quarter of the run.
TEST_CASE("the bound holds if a capture is early in a period in which durations rise") {
  for (const StreamKind& kind : test::StreamKinds()) {
    if (std::string_view(kind.name) != "LLM decode") continue;
    const LaunchStream stream = kind.make(kLaunches, kFirstSeed);
    const std::uint64_t seeds = test::kSlowBuild ? 4 : 40;
    std::vector<RunOutcome> runs(seeds);
    test::RunInParallel(seeds,
                        [&](std::size_t i) { runs[i] = Run(stream, 100'000, kFirstSeed + i); });
    Tally tally;
    for (const RunOutcome& run : runs) tally.Add(run);
    // 95 %, minus one for chance.
    CHECK(tally.covered + 1 >= seeds - seeds / 20);
  }
}

// Here one degree of freedom shows the trend of the metric, and fits of curves and trend in turn
// lead away from the truth: the errors were 6 to 76 %.
TEST_CASE("a trend that cannot be told from the curves is not removed") {
  for (const StreamKind& kind : test::StreamKinds()) {
    if (std::string_view(kind.name) != "two modes") continue;
    for (const std::uint64_t seed : {70'022u, 70'038u, 70'039u}) {
      const RunOutcome run = Run(kind.make(kLaunches, seed), 10'000, seed);
      CHECK(std::fabs(run.rising.error) < 0.02);
      CHECK(run.rising.covered_scaled);
    }
  }
}

TEST_CASE("full: the bound holds in all streams at all lags" * doctest::skip()) {
  const std::uint64_t seeds = NumberFrom("STEMTAP_STREAM_SEEDS", 40);
  const std::uint64_t launches = NumberFrom("STEMTAP_STREAM_LAUNCHES", kLaunches);
  const char* const only = std::getenv("STEMTAP_STREAM");
  std::uint64_t covered = 0;
  std::uint64_t runs = 0;
  fmt::print("{:<16} {:>7} {:<5} {}\n", "stream", "lag", "seeds", Tally::Header());
  for (const StreamKind& kind : test::StreamKinds()) {
    if (only != nullptr && std::string_view(kind.name).find(only) == std::string_view::npos) {
      continue;
    }
    const LaunchStream stream = kind.make(launches, kFirstSeed);
    const BoundOutcome two_pass = test::PlanStream(stream, OptionsFor(kFirstSeed));
    for (const std::uint64_t lag : kLags) {
      CAPTURE(kind.name);
      CAPTURE(lag);
      const StreamTally tally = Measure(kind, stream, lag, seeds);
      fmt::print("{:<16} {:>7} {:<5} {}  same samples {:.0f} %\n", kind.name, lag, "fixed",
                 tally.fixed.Row(two_pass), 100.0 * tally.same_samples);
      fmt::print("{:<16} {:>7} {:<5} {}\n", "", "", "new", tally.anew.Row(two_pass));
      std::fflush(stdout);
      covered += tally.fixed.covered + tally.anew.covered;
      runs += tally.fixed.runs + tally.anew.runs;
      CHECK(tally.fixed.Mean(static_cast<double>(tally.fixed.covered)) >= 0.8);
      CHECK(tally.anew.Mean(static_cast<double>(tally.anew.covered)) >= 0.8);
    }
  }
  CHECK(static_cast<double>(covered) >= 0.94 * static_cast<double>(runs));
}

}  // namespace
}  // namespace stemtap::online
