// SPDX-License-Identifier: Apache-2.0
#include "fleet/pooled_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/plan_check.h"
#include "sampling/plan_builder.h"
#include "sampling/plan_merge.h"

namespace stemtap::fleet {
namespace {

struct Launch {
  std::size_t kernel = 0;
  std::uint64_t duration_ns = 0;
  std::uint16_t device = 0;
  bool is_captured = false;
};

// Each kernel with all launches of a run, by index.
struct MadeRun {
  std::vector<Launch> launches;
};

// Returns a kernel whose launches have one of two configurations, and another kernel.
std::vector<model::KernelId> Kernels() {
  std::vector<model::KernelId> kernels(3);
  kernels[0].name = kernels[1].name = "gemm";
  kernels[0].config.grid[0] = kernels[1].config.grid[0] = 8;
  kernels[0].config.block[0] = 32;
  kernels[1].config.block[0] = 64;
  kernels[2].name = "copy";
  return kernels;
}

// Returns `launches` launches with durations of 1,000 to 2,000 ns, or 20,000 to 22,000 ns for every
// fifth, on `devices`; one in `every` is captured.
MadeRun Made(std::uint64_t seed, int launches, const std::vector<std::uint16_t>& devices,
             std::uint64_t every) {
  Rng rng(seed);
  MadeRun run;
  for (int i = 0; i < launches; ++i) {
    const std::size_t kernel = rng.Below(3);
    const std::uint64_t duration =
        rng.Below(5) == 0 ? 20'000 + rng.Below(2000) : 1000 + rng.Below(1000);
    run.launches.push_back(
        {kernel, duration, devices[rng.Below(devices.size())], rng.Below(every) == 0});
  }
  return run;
}

// Returns what a job knows of the run.
RunState StateOf(const MadeRun& run, const std::string& id) {
  RunState state;
  state.run.id = id;
  std::map<std::string, std::uint64_t> occurrences;  // by name
  for (std::size_t i = 0; i < run.launches.size(); ++i) {
    const Launch& launch = run.launches[i];
    const model::KernelId kernel = Kernels()[launch.kernel];
    state.sketches[KeyOf(kernel)].Add(launch.duration_ns);
    state.traits[KeyOf(kernel)].before.emplace();  // all launches can be captured
    model::PlanSample sample;
    sample.index = i;
    sample.occurrence = occurrences[kernel.name]++;
    sample.record.device = launch.device;
    sample.record.duration_ns = launch.duration_ns;
    online::Capture capture;
    capture.sample = sample;
    capture.bin = stats::LogSketch::BinOf(launch.duration_ns);
    if (launch.is_captured) state.captures.emplace_back(KeyOf(kernel), capture);
  }
  return state;
}

model::OptionList Options() {
  return {{"confidence", 0.95}, {"error_bound", 0.05}, {"weights", std::string("calibrated")}};
}

// Returns the plan of the run's own session: each kernel is one cluster.
model::Plan PlanOf(const MadeRun& run, const std::string& id) {
  const RunState state = StateOf(run, id);
  sampling::PlanBuilder builder({});
  model::PlanSession session;
  session.id = id;
  for (const model::KernelId& kernel : Kernels()) {
    const auto sketch = state.sketches.find(KeyOf(kernel));
    if (sketch == state.sketches.end()) continue;
    sampling::SampledCluster cluster;
    cluster.moments = sketch->second.All();
    cluster.cells = sampling::CellsOf(sketch->second);
    cluster.lower_ns = 1000;
    cluster.upper_ns = 22'000;
    for (const auto& [key, capture] : state.captures) {
      if (key == sketch->first) cluster.samples.push_back(capture.sample);
    }
    cluster.independent = std::max<std::size_t>(cluster.samples.size(), 1);
    builder.AddKernel(kernel, sketch->second.count(),
                      static_cast<std::uint64_t>(sketch->second.total_duration()), 0, {cluster});
  }
  for (const Launch& launch : run.launches) session.devices.push_back(launch.device);
  std::sort(session.devices.begin(), session.devices.end());
  session.devices.erase(std::unique(session.devices.begin(), session.devices.end()),
                        session.devices.end());
  model::Plan plan = builder.Finish();
  // The samples of a plan that is merged have the place of their device.
  for (model::PlanKernel& kernel : plan.kernels) {
    for (model::PlanCluster& cluster : kernel.clusters) {
      for (model::PlanSample& sample : cluster.samples) {
        sample.record.device = static_cast<std::uint16_t>(
            std::find(session.devices.begin(), session.devices.end(), sample.record.device) -
            session.devices.begin());
      }
    }
  }
  session.launches = plan.totals.invocations;
  session.duration_ns = plan.totals.duration_ns;
  session.bound = plan.totals.bound;
  session.certified_bound = plan.totals.certified_bound;
  plan.sessions = {session};
  return plan;
}

struct MadeJob {
  std::vector<RunState> runs;
  model::Plan merged;
  std::vector<DirectedKernel> clusters;  // cut at 10,000 ns
};

MadeJob JobOf(const std::vector<MadeRun>& runs) {
  MadeJob job;
  std::vector<model::Plan> plans;
  for (const MadeRun& run : runs) {
    const std::string id = "run " + std::to_string(plans.size());
    job.runs.push_back(StateOf(run, id));
    plans.push_back(PlanOf(run, id));
  }
  job.merged = sampling::MergePlans(std::move(plans), 0.95).value();
  job.merged.options = Options();
  job.merged.source = "profiles";
  job.merged.totals.dropped = 3;
  job.merged.totals.gaps = 1;
  for (const model::KernelId& kernel : Kernels()) {
    job.clusters.push_back({KeyOf(kernel), {{0, 5}, {stats::LogSketch::BinOf(10'000), 5}}});
  }
  REQUIRE(model::CheckPlan(job.merged) == "");
  return job;
}

MadeJob TwoRuns() {
  return JobOf({Made(1, 3000, {2, 5}, 40), Made(2, 1500, {0, 1, 3}, 25)});
}

model::Plan Pooled(const MadeJob& job) {
  Result<model::Plan> plan = PoolPlan(job.merged, job.runs, job.clusters);
  if (!plan.ok()) FAIL(plan.error().message);
  CHECK(model::CheckPlan(plan.value()) == "");
  return std::move(plan).value();
}

// What a plan writes of a sample, in order.
using Numbers = std::vector<std::tuple<std::uint64_t, std::uint64_t, unsigned, std::uint64_t>>;

Numbers NumbersOf(const model::PlanKernel& kernel) {
  Numbers numbers;
  for (const model::PlanCluster& cluster : kernel.clusters) {
    for (const model::PlanSample& s : cluster.samples) {
      numbers.emplace_back(s.index, s.occurrence, s.record.device, s.record.duration_ns);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST_CASE("launches that could not be captured are represented, and their bias is known") {
  MadeJob job = TwoRuns();
  std::map<std::uint64_t, std::uint64_t> early;
  for (RunState& run : job.runs) {
    for (const auto& [key, sketch] : run.sketches) {
      // A tenth of the launches of each bin.
      stats::LogSketch before;
      std::uint32_t bin = sketch.first_bin();
      for (const stats::LogSketch::Bin& content : sketch.bins()) {
        if (content.count >= 10) before.AddBin(bin, {content.count / 10, 0, 0});
        ++bin;
      }
      early[key] += before.count();
      run.traits[key].before = before;
    }
  }
  const model::Plan plan = Pooled(job);
  const model::Plan whole = Pooled(TwoRuns());
  CHECK(plan.totals.invocations == whole.totals.invocations);
  CHECK(plan.totals.samples == whole.totals.samples);
  CHECK(plan.totals.plain_estimate_ns == doctest::Approx(whole.totals.plain_estimate_ns));
  for (const model::PlanKernel& kernel : plan.kernels) {
    std::uint64_t others = 0;
    for (const model::PlanCluster& cluster : kernel.clusters) others += cluster.other_periods;
    CHECK(others == early[KeyOf(kernel)]);
  }
}

TEST_CASE("a job that lacks traits of a kernel is refused") {
  MadeJob job = TwoRuns();
  job.runs[1].traits.erase(job.runs[1].traits.begin());
  const Result<model::Plan> plan = PoolPlan(job.merged, job.runs, job.clusters);
  REQUIRE(!plan.ok());
  CHECK(plan.error().message.find("'traits'") != std::string::npos);
}

TEST_CASE("captures of one burst count as fewer in the plan") {
  MadeJob job = TwoRuns();
  for (RunState& run : job.runs) {
    for (const auto& [key, sketch] : run.sketches) run.traits[key].correlations.rho.fill(1.0);
    // All captures of a kernel are neighbors.
    for (auto& [key, capture] : run.captures) capture.sample.occurrence %= 60;
  }
  std::uint64_t independent = 0;
  for (const model::PlanKernel& kernel : Pooled(job).kernels) {
    for (const model::PlanCluster& c : kernel.clusters) independent += c.independent;
  }
  CHECK(independent > 0);
  CHECK(independent < Pooled(job).totals.samples / 2);
  CHECK(Pooled(job).totals.certified_bound > Pooled(TwoRuns()).totals.certified_bound);
}

TEST_CASE("the launches of all runs are one population") {
  const MadeJob job = TwoRuns();
  const model::Plan plan = Pooled(job);
  CHECK(plan.totals.invocations == 4500);
  CHECK(plan.totals.duration_ns == job.merged.totals.duration_ns);
  CHECK(plan.totals.samples == job.runs[0].captures.size() + job.runs[1].captures.size());
  CHECK(plan.totals.sampled_duration_ns == job.merged.totals.sampled_duration_ns);
  CHECK(plan.totals.kernels == 3);
  CHECK(plan.totals.clusters == 6);
  REQUIRE(plan.kernels.size() == job.merged.kernels.size());
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    const model::PlanKernel& kernel = plan.kernels[k];
    CHECK(static_cast<const model::KernelId&>(kernel) == job.merged.kernels[k]);
    CHECK(kernel.invocations == job.merged.kernels[k].invocations);
    CHECK(kernel.duration_ns == job.merged.kernels[k].duration_ns);
    REQUIRE(kernel.clusters.size() == 2);
    std::uint64_t count = 0;
    double time_ns = 0.0;
    for (const model::PlanCluster& cluster : kernel.clusters) {
      count += cluster.count;
      time_ns += static_cast<double>(cluster.count) * cluster.mean_ns;
      for (const model::PlanSample& sample : cluster.samples) {
        CHECK(sample.record.duration_ns >= cluster.lower_ns);
        CHECK(sample.record.duration_ns <= cluster.upper_ns);
      }
    }
    CHECK(count == kernel.invocations);
    CHECK(time_ns == doctest::Approx(static_cast<double>(kernel.duration_ns)));
    CHECK(kernel.clusters[0].upper_ns < kernel.clusters[1].lower_ns);
  }
}

TEST_CASE("the clusters have the moments of their launches in all runs") {
  const std::vector<MadeRun> runs = {Made(1, 3000, {2, 5}, 40), Made(2, 1500, {0, 1, 3}, 25)};
  const model::Plan plan = Pooled(JobOf(runs));
  for (const model::PlanKernel& kernel : plan.kernels) {
    stats::Moments moments[2];
    for (const MadeRun& run : runs) {
      for (const Launch& launch : run.launches) {
        if (Kernels()[launch.kernel] != kernel) continue;
        moments[launch.duration_ns < 10'000 ? 0 : 1].Add(static_cast<double>(launch.duration_ns));
      }
    }
    REQUIRE(kernel.clusters.size() == 2);
    for (std::size_t c = 0; c < 2; ++c) {
      CHECK(kernel.clusters[c].count == moments[c].count());
      CHECK(kernel.clusters[c].mean_ns == doctest::Approx(moments[c].mean()).epsilon(1e-12));
      CHECK(kernel.clusters[c].stddev_ns == doctest::Approx(moments[c].stddev()).epsilon(1e-9));
    }
  }
}

TEST_CASE("samples have the index, occurrence and device that merged sessions give them") {
  const MadeJob job = TwoRuns();
  const model::Plan plan = Pooled(job);
  CHECK(plan.sessions[1].first_index == 3000);
  CHECK(plan.sessions[1].first_device == 2);
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    CHECK(NumbersOf(plan.kernels[k]) == NumbersOf(job.merged.kernels[k]));
  }
  std::vector<unsigned> devices;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const auto& numbers : NumbersOf(kernel)) devices.push_back(std::get<2>(numbers));
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  CHECK(devices == std::vector<unsigned>{0, 1, 2, 3, 4});
}

TEST_CASE("an unknown device stays unknown") {
  MadeJob job = TwoRuns();
  job.runs[1].captures[0].second.sample.record.device = shm::kUnknown16;
  const std::uint64_t index = 3000 + job.runs[1].captures[0].second.sample.index;
  int found = 0;
  for (const model::PlanKernel& kernel : Pooled(job).kernels) {
    for (const auto& numbers : NumbersOf(kernel)) {
      if (std::get<0>(numbers) != index) continue;
      ++found;
      CHECK(std::get<2>(numbers) == shm::kUnknown16);
    }
  }
  CHECK(found == 1);
}

TEST_CASE("the bound is finite, and lower than the bound of the merged sessions") {
  const MadeJob job = TwoRuns();
  const model::Plan plan = Pooled(job);
  CHECK(std::isfinite(plan.totals.bound));
  CHECK(plan.totals.certified_bound > 0.0);
  CHECK(plan.totals.bound >= plan.totals.certified_bound);
  CHECK(plan.totals.certified_bound < job.merged.totals.certified_bound);
  CHECK(plan.totals.observed_error <= plan.totals.bound);
  CHECK(plan.totals.uncovered_fraction == 0.0);
  CHECK(plan.totals.calibrated_estimate_ns ==
        doctest::Approx(static_cast<double>(plan.totals.duration_ns)));
}

TEST_CASE("sessions, options and losses are taken from the merged plan") {
  const MadeJob job = TwoRuns();
  const model::Plan plan = Pooled(job);
  CHECK(plan.source == "profiles");
  CHECK(plan.options == job.merged.options);
  REQUIRE(plan.sessions.size() == 2);
  CHECK(plan.sessions[1].id == "run 1");
  CHECK(plan.totals.dropped == 3);
  CHECK(plan.totals.gaps == 1);
}

TEST_CASE("weights are of the kind that the options name") {
  MadeJob job = TwoRuns();
  const auto weighted_ns = [](const model::Plan& plan) {
    double sum = 0.0;
    for (const model::PlanKernel& kernel : plan.kernels) {
      for (const model::PlanCluster& cluster : kernel.clusters) {
        for (const model::PlanSample& s : cluster.samples) {
          sum += s.weight * static_cast<double>(s.record.duration_ns);
        }
      }
    }
    return sum;
  };
  const model::Plan calibrated = Pooled(job);
  CHECK(weighted_ns(calibrated) == doctest::Approx(calibrated.totals.calibrated_estimate_ns));
  job.merged.options[2].second = std::string("plain");
  const model::Plan plain = Pooled(job);
  CHECK(weighted_ns(plain) == doctest::Approx(plain.totals.plain_estimate_ns));
  CHECK(weighted_ns(plain) != doctest::Approx(weighted_ns(calibrated)).epsilon(1e-6));
}

TEST_CASE("if the observed error of the sessions is unknown, the plan has none either") {
  MadeJob job = TwoRuns();
  job.merged.totals.observed_error = NAN;
  job.merged.totals.imputed = 50;
  const model::Plan plan = Pooled(job);
  CHECK(std::isnan(plan.totals.observed_error));
  CHECK(plan.totals.bound == plan.totals.certified_bound);
}

TEST_CASE("a cluster without captures joins another or is uncovered") {
  MadeJob job = TwoRuns();
  for (RunState& run : job.runs) {
    std::erase_if(run.captures, [](const auto& capture) {
      return capture.second.sample.record.duration_ns >= 10'000;
    });
  }
  const model::Plan plan = Pooled(job);
  CHECK(plan.totals.uncovered_fraction > 0.5);
  CHECK(plan.totals.bound >= plan.totals.uncovered_fraction);
  CHECK(std::isfinite(plan.totals.bound));
  // Cuts within the short launches, one of which has no capture.
  job = TwoRuns();
  for (DirectedKernel& kernel : job.clusters) {
    kernel.clusters.insert(kernel.clusters.begin() + 1, {stats::LogSketch::BinOf(1500), 1});
  }
  for (RunState& run : job.runs) {
    std::erase_if(run.captures, [](const auto& capture) {
      return capture.second.sample.record.duration_ns <
             stats::LogSketch::LowerEdge(stats::LogSketch::BinOf(1500));
    });
  }
  const model::Plan joined = Pooled(job);
  CHECK(joined.totals.joined_fraction > 0.0);
  CHECK(joined.totals.uncovered_fraction == 0.0);
  CHECK(joined.kernels[0].clusters.size() == 2);
}

TEST_CASE("without directions, each kernel is one cluster") {
  MadeJob job = TwoRuns();
  job.clusters.clear();
  const model::Plan plan = Pooled(job);
  CHECK(plan.totals.clusters == 3);
  CHECK(plan.totals.samples == job.merged.totals.samples);
}

TEST_CASE("directions that the launches do not need are harmless") {
  MadeJob job = TwoRuns();
  // Clusters below, above and between all launches.
  const auto bin_of = stats::LogSketch::BinOf;
  for (DirectedKernel& kernel : job.clusters) {
    kernel.clusters = {{3, 1},
                       {bin_of(10), 1},
                       {bin_of(5000), 1},
                       {bin_of(10'000), 1},
                       {bin_of(1'000'000), 1},
                       {stats::LogSketch::kEndBin, 1}};
  }
  job.clusters.push_back({12'345, {{0, 1}}});
  const model::Plan plan = Pooled(job);
  CHECK(plan.totals.clusters == 6);
}

TEST_CASE("a run without captures, or without a kernel, is part of the population") {
  std::vector<MadeRun> runs = {Made(1, 3000, {0}, 40), Made(2, 1500, {0}, 25)};
  for (Launch& launch : runs[0].launches) launch.is_captured = false;
  std::erase_if(runs[1].launches, [](const Launch& launch) { return launch.kernel == 1; });
  const model::Plan plan = Pooled(JobOf(runs));
  CHECK(plan.totals.invocations == 3000 + runs[1].launches.size());
  REQUIRE(plan.kernels.size() == 3);
  CHECK(plan.kernels[1].clusters[0].samples.empty());
  CHECK(!plan.kernels[0].clusters[0].samples.empty());
}

TEST_CASE("a kernel without launches has no clusters") {
  MadeJob job = TwoRuns();
  model::PlanKernel none;
  none.name = "none";
  job.merged.kernels.push_back(none);
  const model::Plan plan = Pooled(job);
  REQUIRE(plan.kernels.size() == 4);
  CHECK(plan.kernels[3].clusters.empty());
  CHECK(plan.totals.invocations == 4500);
}

// Returns the error of a job whose data are wrong.
std::string ErrorOf(const MadeJob& job) {
  const Result<model::Plan> plan = PoolPlan(job.merged, job.runs, job.clusters);
  REQUIRE(!plan.ok());
  CHECK(plan.error().exit_code == 1);
  CHECK(plan.error().message.find("expected") != std::string::npos);
  CHECK(plan.error().message.find('\n') == std::string::npos);
  return plan.error().message;
}

TEST_CASE("launches that the sessions do not have are an error") {
  MadeJob job = TwoRuns();
  const std::uint64_t key = KeyOf(Kernels()[0]);
  const stats::LogSketch whole = job.runs[1].sketches[key];
  job.runs[1].sketches[key].Add(1234);
  CHECK(ErrorOf(job).find(std::to_string(job.merged.kernels[0].invocations)) != std::string::npos);
  job.runs[1].sketches.erase(key);
  CHECK(ErrorOf(job).find("gemm") != std::string::npos);
  // As many launches, but longer ones.
  for (std::uint64_t i = 0; i < whole.count(); ++i) job.runs[1].sketches[key].Add(1'000'000);
  CHECK(ErrorOf(job).find("duration_ns") != std::string::npos);
  // A kernel that the sessions lack.
  job.runs[1].sketches[key] = whole;
  CHECK(PoolPlan(job.merged, job.runs, job.clusters).ok());
  job.runs[0].sketches[99].Add(1000);
  job.runs[0].traits[99] = {};
  CHECK(ErrorOf(job).find("a kernel that its sessions lack") != std::string::npos);
}

TEST_CASE("runs without a session are an error") {
  MadeJob job = TwoRuns();
  job.runs.pop_back();
  CHECK(ErrorOf(job).find("1 run") != std::string::npos);
  job = TwoRuns();
  job.runs.push_back(job.runs[0]);
  CHECK(ErrorOf(job).find("3 runs") != std::string::npos);
}

TEST_CASE("captures that cannot be of the sessions are an error") {
  const auto with = [](const auto& change) {
    MadeJob job = TwoRuns();
    change(job.runs[1].captures);
    return ErrorOf(job);
  };
  using Captures = std::vector<std::pair<std::uint64_t, online::Capture>>;
  CHECK(with([](Captures& captures) { captures[0].second.sample.index = 1503; }).find("index") !=
        std::string::npos);
  CHECK(with([](Captures& captures) {
          captures[0].second.sample.index = ~std::uint64_t{0} - 5;
        }).find("index") != std::string::npos);
  CHECK(with([](Captures& captures) { captures.push_back(captures[0]); }).find("index") !=
        std::string::npos);
  CHECK(with([](Captures& captures) {
          captures[0].second.sample.occurrence = 1 << 20;
        }).find("occurrence") != std::string::npos);
  // More captures of long launches than there are launches.
  CHECK(with([](Captures& captures) {
          const Captures before = captures;
          captures.clear();
          for (std::uint64_t i = 0; i < 1500; ++i) {
            captures.push_back(before[0]);
            captures.back().second.sample.index = captures.back().second.sample.occurrence = i;
            captures.back().second.sample.record.duration_ns = 21'000;
            captures.back().second.bin = stats::LogSketch::BinOf(21'000);
          }
        }).find("captured") != std::string::npos);
}

TEST_CASE("the name of a kernel in an error does not control the terminal") {
  MadeJob job = TwoRuns();
  job.merged.kernels[0].name = "gemm\x1b[31m";
  CHECK(ErrorOf(job).find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace stemtap::fleet
