// SPDX-License-Identifier: Apache-2.0
// Creates plans with the real planner, writes results in the format of each consumer, and compares
// the extrapolated totals with the weighted sums, up to rounding.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "analysis/extrapolation/extrapolate.h"
#include "analysis/extrapolation/match.h"
#include "base/memory_source.h"
#include "formats/results/kernel_results.h"
#include "research/workloads/workload.h"
#include "sampling/two_pass.h"

namespace stemtap::analysis {
namespace {

struct Launch {
  const model::PlanSample* sample;
  const model::PlanKernel* kernel;
};

model::Plan MakePlan(std::uint64_t min_samples = 1) {
  const sampling::OpenReader open = []() -> Result<std::unique_ptr<model::ProfileReader>> {
    research::WorkloadOptions options;
    options.launches = 20'000;
    return research::MakeWorkload("llm-decode", options);
  };
  sampling::SamplingOptions sampling;
  sampling.min_samples = min_samples;
  Result<sampling::TwoPassPlan> plan = sampling::PlanTwoPass(open, "made", sampling);
  REQUIRE(plan.ok());
  return std::move(plan).value().plan;
}

std::vector<Launch> InOrder(const model::Plan& plan) {
  std::vector<Launch> launches;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples)
        launches.push_back({&sample, &kernel});
    }
  }
  std::sort(launches.begin(), launches.end(),
            [](const Launch& a, const Launch& b) { return a.sample->index < b.sample->index; });
  return launches;
}

// A metric that is known for every launch. It is an integer, so text represents it exactly.
// Durations are at least 1 us, so it is proportional to duration up to 96 / 300,000.
std::uint64_t Cycles(const Launch& launch) {
  return 300 * launch.sample->record.duration_ns + launch.sample->index % 97;
}
std::uint64_t Proportional(const Launch& launch) {
  return 7 * launch.sample->record.duration_ns;
}

std::string AccelsimLog(const std::vector<Launch>& launches) {
  std::string log = "Accel-Sim\n";
  std::uint64_t uid = 0;
  for (const Launch& launch : launches) {
    const std::uint64_t id = launch.sample->index + 1;
    log += fmt::format(
        "Processing kernel /t/kernel-{0}-ctx_0x55.traceg.xz\n-kernel name = k\n-kernel id = {0}\n"
        "Header info loaded for kernel command : /t/kernel-{0}-ctx_0x55.traceg.xz\n"
        "launching kernel name: k uid: {1} cuda_stream_id: 7\nkernel_name = {2} \n"
        "kernel_launch_uid = {1} \ngpu_sim_cycle = {3}\ngpu_sim_insn = {4}\n",
        id, ++uid, launch.kernel->name, Cycles(launch), Proportional(launch));
  }
  return log + "GPGPU-Sim: *** exit detected ***\n";
}

std::string MacsimLog(const std::vector<Launch>& launches) {
  std::string log;
  std::uint64_t cycles = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    log += fmt::format(
        "src/process_manager.cc:427: (I=1  C=1):  setup_process:0 /t/Kernel{}/trace.txt "
        "current_index:{} ({})\n",
        launches[i].sample->index, i, launches.size());
    const std::uint64_t own = Cycles(launches[i]);
    cycles += own;
    const std::uint64_t insts = Proportional(launches[i]);
    log +=
        fmt::format("**Core 00 Thread 01 Finished:   insts:{:<10}  cycles:{:<10} (1)  seconds:1\n",
                    insts / 2, cycles - own / 2);
    log +=
        fmt::format("**Core 00 Thread 00 Finished:   insts:{:<10}  cycles:{:<10} (1)  seconds:1\n",
                    insts - insts / 2, cycles);
  }
  return log;
}

std::string Grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string NcuRaw(const std::vector<Launch>& launches) {
  std::string csv =
      "==PROF== x\n\"ID\",\"Kernel "
      "Name\",\"gpu_sim_cycle\",\"gpu_sim_insn\",\"rate\"\n\"\",\"\",\"cycle\",\"inst\",\"%\"\n";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    csv += fmt::format("\"{}\",\"{}\",\"{}\",\"{}\",\"50.5\"\n", i, launches[i].kernel->name,
                       Grouped(Cycles(launches[i])), Grouped(Proportional(launches[i])));
  }
  return csv;
}

std::string Csv(const std::vector<Launch>& launches) {
  std::string csv = "id,gpu_sim_cycle,gpu_sim_insn\n";
  for (const Launch& launch : launches) {
    csv += fmt::format("{},{},{}\n", launch.sample->index, Cycles(launch), Proportional(launch));
  }
  return csv;
}

TEST_CASE("results from every source reproduce the known weighted totals") {
  const model::Plan plan = MakePlan();
  const std::vector<Launch> launches = InOrder(plan);
  double weighted = 0.0;
  for (const Launch& launch : launches) {
    weighted += launch.sample->weight * static_cast<double>(Cycles(launch));
  }
  double plain = 0.0;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      double sum = 0.0;
      for (const model::PlanSample& s : cluster.samples) {
        sum += static_cast<double>(Cycles({&s, &kernel}));
      }
      plain +=
          static_cast<double>(cluster.count) / static_cast<double>(cluster.samples.size()) * sum;
    }
  }
  for (const std::string& text :
       {AccelsimLog(launches), MacsimLog(launches), NcuRaw(launches), Csv(launches)}) {
    Result<formats::KernelResults> results =
        formats::ReadResults(std::make_unique<MemorySource>("r", text), {});
    REQUIRE(results.ok());
    CAPTURE(formats::NameOf(results.value().source));
    const Result<Match> match = MatchResults(plan, results.value(), {});
    REQUIRE_MESSAGE(match.ok(), (match.ok() ? "" : match.error().message));
    CHECK(match.value().matched == launches.size());
    CHECK(match.value().warnings.empty());
    const Result<Extrapolation> got = Extrapolate(plan, results.value(), match.value(), {});
    REQUIRE(got.ok());
    const MetricEstimate& cycles = got.value().metrics[0];
    // Both totals are exact for the part of the cycles that is proportional to duration, whichever
    // launches are sampled.
    CHECK(cycles.calibrated.value == doctest::Approx(weighted).epsilon(1e-4));
    CHECK(cycles.planned == doctest::Approx(weighted).epsilon(1e-12));
    CHECK(cycles.plain.value == doctest::Approx(plain).epsilon(1e-12));
    // The metric is proportional to duration: the calibrated total is exact. The elasticities of
    // kernels without pairs remain uncertain.
    const MetricEstimate& proportional = got.value().metrics[1];
    const double truth = 7.0 * static_cast<double>(plan.totals.duration_ns);
    CHECK(proportional.calibrated.value == doctest::Approx(truth).epsilon(1e-12));
    CHECK(proportional.calibrated.half_width < 0.005 * truth);
    CHECK(got.value().uncovered_fraction == 0.0);
  }
}

TEST_CASE("a metric in proportion to duration has no uncertainty if all clusters show it") {
  const model::Plan plan = MakePlan(2);
  const std::vector<Launch> launches = InOrder(plan);
  Result<formats::KernelResults> results =
      formats::ReadResults(std::make_unique<MemorySource>("r", Csv(launches)), {});
  REQUIRE(results.ok());
  const Result<Match> match = MatchResults(plan, results.value(), {});
  REQUIRE(match.ok());
  const Result<Extrapolation> got = Extrapolate(plan, results.value(), match.value(), {});
  REQUIRE(got.ok());
  const Estimate& total = got.value().metrics[1].calibrated;
  const double truth = 7.0 * static_cast<double>(plan.totals.duration_ns);
  CHECK(total.value == doctest::Approx(truth).epsilon(1e-12));
  CHECK(total.half_width < 1e-6 * truth);
}

}  // namespace
}  // namespace stemtap::analysis
