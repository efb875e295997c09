// SPDX-License-Identifier: Apache-2.0
//
// Tests that the certified bound holds at every confidence, and is not much wider than necessary.
// Samples are drawn from the launches themselves, so durations that coincide within a cell count.
//
// The short test runs a part of the cases. The full test makes 300,000 draws for every case and for
// the recorded profiles:
//   certificate_draws_test --no-skip --test-case='*full*'
// Environment: STEMTAP_DRAWS (number of draws), STEMTAP_RUNS (part of the names of runs).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "sampling/design.h"
#include "stats/log_sketch.h"
#include "support/shared_data.h"

namespace stemtap::sampling {
namespace {

// RecordedRun is the durations of each kernel, ascending.
struct RecordedRun {
  std::string name;
  std::vector<std::vector<std::uint64_t>> kernels;
};

RecordedRun MakeRun(std::string name, std::size_t kernels,
                    const std::function<std::uint64_t(std::size_t)>& launches,
                    const std::function<double(std::size_t, Rng&)>& duration) {
  RecordedRun run{std::move(name), {}};
  Rng rng(20'261'126);
  for (std::size_t k = 0; k < kernels; ++k) {
    std::vector<std::uint64_t>& durations = run.kernels.emplace_back();
    for (std::uint64_t i = 0; i < launches(k); ++i) {
      durations.push_back(static_cast<std::uint64_t>(std::max(duration(k, rng), 1.0)));
    }
    std::sort(durations.begin(), durations.end());
  }
  return run;
}

double Normal(Rng& rng) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += rng.Uniform();
  return sum;
}

// Returns one of two neighboring ticks of a 32 ns clock, both in the sketch bin of 6,080 ns.
double TwoTicks(double late, Rng& rng) {
  return rng.Uniform() < late ? 6112.0 : 6080.0;
}

std::vector<RecordedRun> GeneratedRuns() {
  const auto even = [](std::uint64_t n) { return [n](std::size_t) { return n; }; };
  std::vector<RecordedRun> runs;
  runs.push_back(MakeRun("lognormal", 24, even(4'000), [](std::size_t k, Rng& rng) {
    const auto kernel = static_cast<double>(k);
    return 3'000.0 * (1.0 + kernel) * std::exp((0.2 + 0.03 * kernel) * Normal(rng));
  }));
  runs.push_back(MakeRun("one lognormal kernel", 1, even(50'000), [](std::size_t, Rng& rng) {
    return 20'000.0 * std::exp(0.7 * Normal(rng));
  }));
  runs.push_back(MakeRun("two modes", 12, even(5'000), [](std::size_t k, Rng& rng) {
    const double mode = rng.Below(4 + k) == 0 ? 3.0 + static_cast<double>(k) : 1.0;
    return 5'000.0 * mode * (1.0 + 0.1 * rng.Uniform());
  }));
  runs.push_back(MakeRun("rare long launches", 20, even(5'000), [](std::size_t, Rng& rng) {
    return (rng.Below(500) == 0 ? 100.0 : 1.0) * (1'000.0 + 3'000.0 * rng.Uniform());
  }));
  const auto mixed = [](std::size_t k, Rng& rng) {
    return TwoTicks(0.03 + 0.06 * static_cast<double>(k), rng);
  };
  runs.push_back(MakeRun("two ticks of a 32 ns clock", 16, even(4'000), mixed));
  runs.push_back(MakeRun("two ticks, one kernel", 1, even(50'000),
                         [](std::size_t, Rng& rng) { return TwoTicks(0.24, rng); }));
  runs.push_back(MakeRun("two ticks, three kernels", 3, even(20'000), [](std::size_t k, Rng& rng) {
    return (1.0 + static_cast<double>(k)) * 32.0 + TwoTicks(0.24, rng);
  }));
  runs.push_back(MakeRun(
      "zipf", 200, [](std::size_t k) { return 1 + 40'000 / (k + 1); },
      [](std::size_t k, Rng& rng) {
        const double base = 2'000.0 + 37.0 * static_cast<double>(k * 7919 % 400);
        return base * (0.7 + 0.6 * std::pow(rng.Uniform(), 2.0));
      }));
  return runs;
}

std::vector<RecordedRun> Profiles() {
  std::vector<RecordedRun> runs;
  const auto directory = SharedPath("data/profiles");
  if (directory.empty()) return runs;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path& path : paths) {
    auto reader = formats::OpenProfile(path.string());
    REQUIRE(reader.ok());
    RecordedRun& run = runs.emplace_back();
    run.name = path.filename().string();
    run.name.resize(run.name.find('.'));
    std::unordered_map<std::uint32_t, std::size_t> kernels;
    for (model::ProfileBatch batch;;) {
      const auto read = reader.value()->Read(batch, 16'384);
      REQUIRE(read.ok());
      if (read.value() == 0) break;
      for (const shm::KernelRecord& record : batch.records) {
        const std::size_t k = kernels.emplace(record.name_id, run.kernels.size()).first->second;
        if (k == run.kernels.size()) run.kernels.emplace_back();
        run.kernels[k].push_back(record.duration_ns);
      }
    }
    for (auto& durations : run.kernels) std::sort(durations.begin(), durations.end());
  }
  return runs;
}

// DrawnStratum draws from the launches of one stratum without replacement.
class DrawnStratum {
 public:
  // `durations` are all launches of the stratum.
  DrawnStratum(std::span<const std::uint64_t> durations, std::uint64_t samples)
      : draws_(samples), errors_(durations.begin(), durations.end()) {
    double sum = 0.0;
    for (const double d : errors_) sum += d;
    const auto n = static_cast<double>(errors_.size());
    double scale = n / static_cast<double>(samples);
    // The samples are the complement of the launches left out.
    if (draws_ > errors_.size() / 2) {
      draws_ = errors_.size() - draws_;
      scale = -scale;
    }
    for (double& d : errors_) d = scale * (d - sum / n);
  }

  // Returns the error of the stratum's estimate. A part of a shuffle is uniform whatever the order
  // is that it starts from.
  double Error(Rng& rng) {
    double sum = 0.0;
    for (std::size_t i = 0; i < draws_; ++i) {
      std::swap(errors_[i], errors_[i + rng.Below(errors_.size() - i)]);
      sum += errors_[i];
    }
    return sum;
  }

 private:
  std::size_t draws_;
  std::vector<double> errors_;
};

struct Outcome {
  double stated = 0.0;   // bound
  double sampled = 0.0;  // share of time
  std::size_t strata = 0;
  double misses = 0.0;    // share of draws / share stated
  double narrower = 0.0;  // the same for a bound that is 3 % smaller
  double width = 0.0;     // bound / smallest bound that holds
  double plan_ms = 0.0;
};

Outcome Measure(const RecordedRun& run, const SamplingOptions& options, std::size_t draws) {
  std::vector<KernelCells> cells;
  for (const auto& durations : run.kernels) {
    stats::LogSketch sketch;
    for (const std::uint64_t d : durations) sketch.Add(d);
    cells.push_back(CellsOf(sketch));
  }
  const auto begin = std::chrono::steady_clock::now();
  const Design design = DesignSample(cells, options);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  Outcome outcome{.stated = design.bound, .plan_ms = took.count()};
  std::vector<DrawnStratum> strata;
  double total = 0.0;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    std::size_t at = 0;
    for (const StratumRange& s : design.kernels[k]) {
      total += s.moments.sum();
      outcome.sampled += static_cast<double>(s.sample_size) * s.moments.mean();
      ++outcome.strata;
      const auto launches =
          std::span(run.kernels[k]).subspan(at, static_cast<std::size_t>(s.moments.count()));
      at += launches.size();
      if (s.sample_size < launches.size()) strata.emplace_back(launches, s.sample_size);
    }
  }
  outcome.sampled /= total;
  Rng rng(0xD5A3);
  std::vector<double> errors(draws);
  for (double& error : errors) {
    for (DrawnStratum& s : strata) error += s.Error(rng);
    error = std::fabs(error) / total;
  }
  const double stated_misses = 1.0 - options.confidence;
  const auto misses = [&](double bound) {
    const auto beyond =
        std::count_if(errors.begin(), errors.end(), [&](double e) { return e > bound + 1e-12; });
    return static_cast<double>(beyond) / static_cast<double>(draws) / stated_misses;
  };
  outcome.misses = misses(design.bound);
  outcome.narrower = misses(0.97 * design.bound);
  const auto at = static_cast<std::ptrdiff_t>(options.confidence * static_cast<double>(draws));
  std::nth_element(errors.begin(), errors.begin() + at, errors.end());
  outcome.width = design.bound / errors[static_cast<std::size_t>(at)];
  return outcome;
}

const char* NameOf(Method method) {
  for (const MethodSpec& spec : kMethods) {
    if (spec.method == method) return spec.name;
  }
  return "";
}

constexpr double kConfidences[] = {0.5, 0.8, 0.95, 0.99, 0.999, 0.9999};

std::string Environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// With 20,000 draws, the number of misses has a standard error, so the limits are six standard
// errors wider than in the full test.
TEST_CASE("the bound holds at every confidence in draws from generated runs") {
  constexpr std::size_t kDraws = 20'000;
  for (const RecordedRun& run : GeneratedRuns()) {
    for (const Method method : {Method::kOptimal, Method::kRoot}) {
      for (const double confidence : kConfidences) {
        CAPTURE(run.name);
        CAPTURE(NameOf(method));
        CAPTURE(confidence);
        SamplingOptions options;
        options.method = method;
        options.error_bound = run.name.starts_with("two ticks") ? 0.005 : 0.05;
        options.confidence = confidence;
        const Outcome outcome = Measure(run, options, kDraws);
        const double stated = 1.0 - confidence;
        const double noise = 6.0 * std::sqrt(confidence / (stated * kDraws));
        CHECK(outcome.stated <= options.error_bound);
        CHECK(outcome.misses <= 1.2 + noise);
        if (confidence <= 0.95 && !run.name.starts_with("two ticks")) {
          CHECK(outcome.narrower >= 0.5 - noise);
        }
      }
    }
  }
}

TEST_CASE("full: the bound holds at every confidence in 300,000 draws" * doctest::skip()) {
  const std::size_t draws = std::stoul(Environment("STEMTAP_DRAWS", "300000"));
  const std::string part = Environment("STEMTAP_RUNS", "");
  std::vector<RecordedRun> runs = GeneratedRuns();
  for (RecordedRun& run : Profiles()) runs.push_back(std::move(run));
  fmt::print("{:<48} {:<8} {:>6} {:>10} {:>8} {:>9} {:>6} {:>7} {:>8} {:>7} {:>8}\n", "run",
             "method", "asked", "confidence", "stated", "sampled", "strata", "misses", "narrower",
             "width", "plan ms");
  for (const RecordedRun& run : runs) {
    if (run.name.find(part) == std::string::npos) continue;
    for (const double asked : {0.05, 0.01}) {
      for (const Method method : {Method::kOptimal, Method::kRoot, Method::kStem}) {
        for (const double confidence : kConfidences) {
          SamplingOptions options;
          options.method = method;
          options.error_bound = asked;
          options.confidence = confidence;
          CAPTURE(run.name);
          CAPTURE(NameOf(method));
          CAPTURE(asked);
          CAPTURE(confidence);
          const Outcome o = Measure(run, options, draws);
          CHECK(o.stated <= asked);
          // The certificate allows at most 0.88 of the stated misses. With 300,000 draws, 1.2 is 4
          // standard errors above 0.6 at 99.99 % and more at lower confidences.
          CHECK(o.misses <= 1.2);
          fmt::print(
              "{:<48} {:<8} {:>6.3f} {:>10} {:>8.5f} {:>9.6f} {:>6} {:>7.3f} {:>8.3f} "
              "{:>7.3f} {:>8.1f}\n",
              run.name, NameOf(method), asked, confidence, o.stated, o.sampled, o.strata, o.misses,
              o.narrower, o.width, o.plan_ms);
          std::fflush(stdout);
        }
      }
    }
  }
}

}  // namespace
}  // namespace stemtap::sampling
