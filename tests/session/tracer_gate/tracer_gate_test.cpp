// SPDX-License-Identifier: Apache-2.0
#include "session/tracer_gate/tracer_gate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "research/workloads/workload.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

std::unique_ptr<TracerGate> Open(const SessionOptions& options) {
  Result<std::unique_ptr<TracerGate>> gate = TracerGate::Open(options);
  if (!gate.ok()) FAIL(gate.error().message);
  return std::move(gate).value();
}

TracerLaunch Launch(std::string_view name, std::uint32_t grid = 1) {
  TracerLaunch launch;
  launch.name = name;
  launch.record.grid[0] = grid;
  launch.record.grid[1] = launch.record.grid[2] = 1;
  launch.record.block[0] = 64;
  launch.record.block[1] = launch.record.block[2] = 1;
  return launch;
}

std::uint64_t Samples(const model::Plan& plan) {
  std::uint64_t samples = 0;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) samples += cluster.samples.size();
  }
  return samples;
}

TEST_CASE("few captures represent all launches of a generated run") {
  research::WorkloadOptions workload;
  workload.launches = 100'000;
  research::MadeWorkload run = research::MakeWorkload("llm-decode", workload);
  REQUIRE(run.ok());
  const auto gate = Open({});
  std::uint64_t index = 0;
  std::uint64_t captured = 0;
  std::uint64_t total_ns = 0;
  model::ProfileBatch batch;
  for (;;) {
    const Result<std::size_t> read = run.value()->Read(batch, 4096);
    REQUIRE(read.ok());
    if (read.value() == 0) break;
    for (const shm::KernelRecord& record : batch.records) {
      const TracerGate::Answer answer =
          gate->ShouldCapture({run.value()->names().name(record.name_id), record});
      REQUIRE(answer.id == index++);
      captured += answer.capture;
      total_ns += record.duration_ns;
      // The tracer synchronizes at each launch and cannot time instrumented launches.
      REQUIRE(gate->Observe(answer.id,
                            answer.capture ? TracerGate::kUnknownDuration : record.duration_ns));
    }
  }
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  CHECK(plan.value().totals.invocations + plan.value().totals.dropped == 100'000);
  CHECK(plan.value().totals.dropped < 5);
  CHECK(captured > 20);
  CHECK(captured < 1000);
  CHECK(Samples(plan.value()) > 20);
  CHECK(Samples(plan.value()) <= captured);
  const auto truth = static_cast<double>(total_ns);
  // Captured launches, about 0.2 %, are imputed with the mean duration of comparable launches.
  CHECK(std::fabs(static_cast<double>(plan.value().totals.duration_ns) - truth) < 0.001 * truth);
  CHECK(std::fabs(plan.value().totals.calibrated_estimate_ns - truth) < 0.001 * truth);
  CHECK(plan.value().totals.bound < 0.1);
}

TEST_CASE("captured launches are in the plan with their launch index") {
  const auto gate = Open({});
  std::vector<std::uint64_t> captured;
  for (int i = 0; i < 5000; ++i) {
    const bool giant = i % 50 == 7;
    const auto answer = gate->ShouldCapture(Launch(giant ? "giant" : "small", giant ? 9 : 1));
    if (answer.capture) captured.push_back(answer.id);
    gate->Observe(answer.id, giant ? 90'000u : 1'000u + static_cast<std::uint64_t>(i) % 10);
  }
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  for (const model::PlanKernel& kernel : plan.value().kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) {
        CHECK(std::find(captured.begin(), captured.end(), sample.index) != captured.end());
        CHECK((sample.index % 50 == 7) == (kernel.name == "giant"));
      }
    }
  }
  CHECK(plan.value().totals.samples > 0);
}

TEST_CASE("grouped by function, instances of a template are one kernel") {
  SessionOptions options;
  options.sampling.group_by = model::GroupBy::kFunction;
  const auto gate = Open(options);
  for (int i = 0; i < 5000; ++i) {
    const auto answer = gate->ShouldCapture(Launch(i % 2 == 0 ? "f<1>(int)" : "f<2>(int)"));
    gate->Observe(answer.id, answer.capture ? TracerGate::kUnknownDuration : 1000u);
  }
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  REQUIRE(plan.value().kernels.size() == 1);
  CHECK(plan.value().kernels[0].name == "f");
  CHECK(plan.value().kernels[0].invocations == 5000);
}

TEST_CASE("durations are accepted in any order and once for each launch") {
  const auto gate = Open({});
  std::deque<std::uint64_t> flying;
  for (int i = 0; i < 3000; ++i) {
    flying.push_back(gate->ShouldCapture(Launch("k")).id);
    if (flying.size() < 100) continue;
    const std::size_t at = static_cast<std::size_t>(i) * 37 % flying.size();
    CHECK(gate->Observe(flying[at], 1000));
    CHECK_FALSE(gate->Observe(flying[at], 1000));
    flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(at));
  }
  CHECK_FALSE(gate->Observe(3000, 1000));
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  CHECK(plan.value().totals.invocations == 3000 - 99);
  CHECK(plan.value().totals.dropped == 99);
  CHECK(plan.value().totals.duration_ns == (3000 - 99) * 1000);
}

TEST_CASE("launches whose duration is never reported are dropped beyond a limit and counted") {
  const auto gate = Open({});
  const std::uint64_t launches = TracerGate::kMaxPending + 1000;
  for (std::uint64_t i = 0; i < launches; ++i) gate->ShouldCapture(Launch("k"));
  CHECK_FALSE(gate->Observe(0, 1));  // abandoned
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  CHECK(plan.value().totals.dropped == launches);
  CHECK(plan.value().totals.invocations == 0);
}

TEST_CASE("a kernel whose only launch is captured without a duration is dropped") {
  const auto gate = Open({});
  const auto once = gate->ShouldCapture(Launch("once"));
  CHECK(once.capture);
  gate->Observe(once.id, TracerGate::kUnknownDuration);
  for (int i = 0; i < 2000; ++i) {
    const auto answer = gate->ShouldCapture(Launch("often"));
    gate->Observe(answer.id, answer.capture ? TracerGate::kUnknownDuration : 500u);
  }
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  CHECK(plan.value().totals.dropped == 1);
  CHECK(plan.value().totals.invocations == 2000);
  // The launch still has an index.
  for (const model::PlanKernel& kernel : plan.value().kernels) {
    CHECK(kernel.name == "often");
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) CHECK(sample.index >= 1);
    }
  }
}

TEST_CASE("an abandoned capture returns its credit and is made later") {
  const auto gate = Open({});
  std::uint64_t abandoned = 0;
  std::uint64_t captured = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto answer = gate->ShouldCapture(Launch("k"));
    if (answer.capture && abandoned < 5) {
      CHECK(gate->Abandon(answer.id));
      CHECK_FALSE(gate->Abandon(answer.id));
      CHECK_FALSE(gate->Observe(answer.id, 1));
      ++abandoned;
      continue;
    }
    captured += answer.capture;
    gate->Observe(answer.id, 1000u + static_cast<std::uint64_t>(i) % 7);
  }
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  CHECK(abandoned == 5);
  CHECK(captured >= 2);
  CHECK(plan.value().totals.dropped == 5);
  CHECK(plan.value().totals.invocations == 20'000 - 5);
  CHECK(Samples(plan.value()) == captured);
}

TEST_CASE("a captured launch represents the launches of its context") {
  // In one configuration, gemm takes 10 us after a and 200 us after b. Captured launches cannot be
  // timed.
  const auto gate = Open({});
  const char* const names[] = {"a", "gemm", "b", "gemm"};
  const std::uint64_t durations[] = {2'000, 10'000, 3'000, 200'000};
  std::uint64_t total = 0;
  for (int i = 0; i < 40'000; ++i) {
    const auto answer = gate->ShouldCapture(Launch(names[i % 4]));
    const std::uint64_t duration = durations[i % 4] + static_cast<std::uint64_t>(i) * 37 % 50;
    total += duration;
    gate->Observe(answer.id, answer.capture ? TracerGate::kUnknownDuration : duration);
  }
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  CHECK(plan.value().totals.samples < 40);
  double metric = 0.0;  // the true duration, as the tracer would measure it
  for (const model::PlanKernel& kernel : plan.value().kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) {
        metric += sample.weight * static_cast<double>(durations[sample.index % 4]);
      }
    }
  }
  CHECK(std::fabs(metric / static_cast<double>(total) - 1.0) < 0.02);
}

TEST_CASE("a capture that is never reported is made again") {
  SessionOptions options;
  options.sampling.min_samples = 2;
  const auto gate = Open(options);
  std::uint64_t lost = 0;
  std::uint64_t captured = 0;
  // A capture is drawn from half as many launches as were observed, so each loss delays the next
  // capture.
  for (std::uint64_t i = 0; i < 24 * TracerGate::kMaxPending; ++i) {
    const auto answer = gate->ShouldCapture(Launch("k"));
    if (answer.capture && lost < 3) {
      ++lost;
      continue;  // never reported
    }
    captured += answer.capture;
    gate->Observe(answer.id, 1000 + i % 7);
  }
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  CHECK(lost == 3);
  CHECK(plan.value().totals.dropped == 3);
  CHECK(captured >= 2);
  CHECK(plan.value().totals.bound < 0.05);
}

TEST_CASE("abandoned exploratory captures are retried at growing intervals") {
  const auto gate = Open({});
  std::uint64_t captured = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto answer = gate->ShouldCapture(Launch("k"));
    captured += answer.capture;
    gate->Abandon(answer.id);
  }
  CHECK(captured >= 5);
  CHECK(captured <= 13);  // 1 + log2(4000)
  REQUIRE(gate->Close().ok());
}

TEST_CASE("an impossible duration is treated as unknown") {
  const auto gate = Open({});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto answer = gate->ShouldCapture(Launch("k"));
    CHECK(gate->Observe(answer.id, i == 500 ? ~std::uint64_t{0} - 1000 : 1000));
  }
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  CHECK(plan.value().totals.duration_ns == 1000 * 1000);
}

TEST_CASE("a gate with a directory writes a session and rejects an existing session") {
  const test::TempDir folder;
  SessionOptions options;
  options.folder = (folder / "session").string();
  options.listed = {{"error_bound", 0.05}};
  const auto gate = Open(options);
  for (int i = 0; i < 100; ++i) gate->Observe(gate->ShouldCapture(Launch("k")).id, 1000);
  REQUIRE(gate->Close().ok());
  for (const char* file :
       {"overview.json", "session.json", "plan.json", "mask.ndjson", "summary.txt"}) {
    CAPTURE(file);
    CHECK(std::filesystem::exists(folder / "session" / file));
  }
  const std::string overview = test::ReadFile(folder / "session/overview.json");
  for (const char* part :
       {R"("mode": "gate")", R"("state": "ended")", R"("kept": 100,)", R"("observed": 100,)"}) {
    CAPTURE(part);
    CHECK(overview.find(part) != std::string::npos);
  }
  CHECK_FALSE(TracerGate::Open(options).ok());
  options.folder.clear();
  options.sampling.exclude = "(";
  CHECK_FALSE(TracerGate::Open(options).ok());
}

TEST_CASE("several threads may use a gate concurrently") {
  const auto gate = Open({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&gate, t] {
      for (int i = 0; i < 5000; ++i) {
        TracerLaunch launch = Launch(t % 2 == 0 ? "a" : "b");
        launch.record.stream = static_cast<std::uint32_t>(t);
        gate->Observe(gate->ShouldCapture(launch).id, 1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Result<model::Plan> plan = gate->Close();
  REQUIRE(plan.ok());
  CHECK(plan.value().totals.invocations == 20'000);
}

}  // namespace
}  // namespace stemtap::session
