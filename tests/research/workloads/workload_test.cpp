// SPDX-License-Identifier: Apache-2.0
#include "research/workloads/workload.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "research/workloads/noise.h"
#include "research/workloads/run.h"

namespace stemtap::research {
namespace {

WorkloadOptions Launches(std::uint64_t launches) {
  WorkloadOptions options;
  options.launches = launches;
  return options;
}

Run RunOf(std::string_view workload, const WorkloadOptions& options, std::size_t limit = 65'536) {
  MadeWorkload made = MakeWorkload(workload, options);
  REQUIRE(made.ok());
  return ReadWhole(std::move(made).value(), limit);
}

std::size_t NamesSeen(const Run& run) {
  return run.reader->names().size();
}

TEST_CASE("every workload is exact, repeatable, ascending and independent of read sizes") {
  for (const Workload& workload : Workloads()) {
    CAPTURE(std::string(workload.name));
    for (const std::uint64_t launches : {1, 2, 17, 161, 20'001}) {
      const Run run = RunOf(workload.name, Launches(launches));
      REQUIRE(run.records.size() == launches);
      CHECK(SameBytes(run, RunOf(workload.name, Launches(launches), 97)));
    }
    const Run run = RunOf(workload.name, Launches(300'000));
    std::map<std::uint32_t, std::uint64_t> ends;  // by stream
    for (std::size_t i = 0; i < run.records.size(); ++i) {
      const shm::KernelRecord& r = run.records[i];
      REQUIRE(r.correlation_id == i);
      REQUIRE(r.duration_ns >= 800);
      REQUIRE(r.grid[0] * r.grid[1] * r.grid[2] >= 1);
      REQUIRE(r.block[0] * r.block[1] * r.block[2] <= 1024);
      if (i > 0) REQUIRE(r.start_ns > run.records[i - 1].start_ns);
      REQUIRE(r.start_ns >= ends[r.stream]);
      ends[r.stream] = r.start_ns + r.duration_ns;
    }
  }
}

TEST_CASE("a different noise seed or the other GPU gives a second run of the same launches") {
  for (const Workload& workload : Workloads()) {
    CAPTURE(std::string(workload.name));
    WorkloadOptions options = Launches(400'000);
    const Run first = RunOf(workload.name, options);
    options.noise_seed = 99;
    const Run second = RunOf(workload.name, options);
    options.other_gpu = true;
    const Run other = RunOf(workload.name, options);
    CHECK(SameLaunches(first, second));
    CHECK(SameLaunches(first, other));
    std::size_t equal = 0;
    for (std::size_t i = 0; i < first.records.size(); ++i) {
      equal += first.records[i].duration_ns == second.records[i].duration_ns;
    }
    CHECK(equal < first.records.size() / 50);
    options.noise_seed = 7;  // the other GPU has no noise
    CHECK(SameBytes(other, RunOf(workload.name, options)));
  }
}

// If the script has no state other than the kernel and its grid, these determine the duration.
TEST_CASE("on the other GPU, each kernel and grid has one duration") {
  const auto durations = [](const char* workload) {
    WorkloadOptions options = Launches(400'000);
    options.other_gpu = true;
    const Run run = RunOf(workload, options);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint64_t>> seen;
    for (const shm::KernelRecord& r : run.records) {
      seen[{r.name_id, r.grid[0]}].insert(r.duration_ns);
    }
    std::size_t most = 0;
    for (const auto& [kernel, values] : seen) most = std::max(most, values.size());
    return most;
  };
  CHECK(durations("warmup") == 1);
  CHECK(durations("outliers") == 1);
  CHECK(durations("rare-kernels") == 1);
  CHECK(durations("phases") <= 3);  // one per phase
}

TEST_CASE("the other GPU scales a kernel by its limiting resource") {
  WorkloadOptions options = Launches(12);
  options.other_gpu = true;
  const Run run = RunOf("warmup", options);
  CHECK(run.records[0].duration_ns == 1'440);   // 1,600 ns, bound by latency: factor 0.90
  CHECK(run.records[1].duration_ns == 23'100);  // 42,000 ns, bound by memory: factor 0.55
  CHECK(run.records[9].duration_ns == 22'000);  // 55,000 ns, bound by arithmetic: factor 0.40
}

TEST_CASE(
    "the warm-up starts 10 to 40 percent high, halves every 25,600 launches, then clocks step") {
  const Run run = RunOf("warmup", Launches(1'000'000));
  // Returns the mean of a gemm (launch 9 of 12, 40 % slower when cold, sigma 2 %) near a launch.
  const auto around = [&](std::size_t launch) {
    double sum = 0;
    int count = 0;
    for (std::size_t i = launch / 12 * 12 + 9; count < 200; i += 12, ++count) {
      sum += static_cast<double>(run.records[i].duration_ns);
    }
    return sum / count / 55'000.0;
  };
  // The standard error of 200 values with sigma 2 % is 0.14 %, so 1 % is seven standard errors.
  CHECK(std::fabs(around(0) - (1 + 0.4 * 0.968)) <
        0.01);  // 0.968: the mean decay of 2,400 launches
  CHECK(std::fabs(around(24'400) - 1.2) < 0.01);
  CHECK(std::fabs(around(245'000) - 1.0) < 0.01);
  double least = 9;
  double most = 0;
  for (std::size_t launch = 260'000; launch < 990'000; launch += 10'000) {
    least = std::min(least, around(launch));
    most = std::max(most, around(launch));
  }
  CHECK(most / least > 1.03);
  CHECK(most < 1.17);
  CHECK(least > 0.94);
}

TEST_CASE("phases change durations by large factors at the same grids and repeat") {
  WorkloadOptions options = Launches(1'000'000);
  options.other_gpu = true;  // the medians, scaled
  const Run run = RunOf("phases", options);
  std::map<std::uint64_t, std::uint64_t> gemms;  // launches by duration
  std::size_t changes = 0;
  std::uint64_t before = 0;
  for (std::size_t i = 9; i < run.records.size(); i += 12) {
    const std::uint64_t duration = run.records[i].duration_ns;
    ++gemms[duration];
    changes += duration != before;
    before = duration;
  }
  REQUIRE(gemms.size() == 3);  // 0.5, 1 and 8 times 55,000 ns x 0.40
  CHECK(gemms.begin()->first == 11'000);
  CHECK(gemms.rbegin()->first == 176'000);
  CHECK(changes > 40);
}

TEST_CASE("one launch in 200 is an outlier, at least four times slower, and one is a giant") {
  const Run run = RunOf("outliers", Launches(1'000'000));
  constexpr double kMedians[12] = {1'600,  42'000, 6'400,  2'900,  7'200, 2'600,
                                   18'500, 11'000, 11'000, 55'000, 6'400, 2'900};
  double outliers = 0;
  double beyond_16 = 0;
  int giants = 0;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    if (run.records[i].duration_ns == 2'000'000'000) {
      ++giants;
      continue;
    }
    const double factor = static_cast<double>(run.records[i].duration_ns) / kMedians[i % 12];
    outliers += factor > 3;  // noise is below 1.25; an outlier is above 4 x 0.8
    beyond_16 += factor > 16;
  }
  CHECK(giants == 1);
  // The expected number is 5,000 with sigma 71. An eighth of these, 625 with sigma 25, exceeds four
  // times the minimum. Log-normal noise near that limit changes it by less than 2 %. The tolerance
  // is six sigma.
  CHECK(std::fabs(outliers - 5'000) < 6 * 71);
  CHECK(std::fabs(beyond_16 - 625) < 6 * 25 + 13);
}

TEST_CASE("thousands of rare kernels occur once or a few times, 16 of them at the end") {
  const Run run = RunOf("rare-kernels", Launches(400'000));
  CHECK(NamesSeen(run) == 8 + 4'000 + 16);
  std::map<std::uint32_t, std::size_t> counts;
  for (const shm::KernelRecord& r : run.records) ++counts[r.name_id];
  std::size_t rare_launches = 0;
  std::size_t once = 0;
  std::size_t most = 0;
  for (const auto& [name, count] : counts) {
    if (run.reader->names().name(name).find("fused::pointwise") == std::string::npos) continue;
    rare_launches += count;
    once += count == 1;
    most = std::max(most, count);
  }
  CHECK(rare_launches == 7'000);
  CHECK(once > 1'500);
  CHECK(most < 30);
  for (std::size_t i = 400'000 - 16; i < 400'000; ++i) CHECK(counts[run.records[i].name_id] == 1);
  CHECK(NamesSeen(RunOf("rare-kernels", Launches(2'500))) == 8 + 100 + 16);
}

TEST_CASE("training: all-reduces have two kinds of waits and wait together in a step") {
  const Run run = RunOf("training", Launches(1'000'000));
  // Mean waits of the layers' all-reduces, in ns above the wire time of 1.2 ms.
  std::vector<double> step_means;
  double sum = 0;
  int count = 0;
  double within = 0;  // maximum wait of a step / its minimum, for large waits
  double least = 1e18;
  double most = 0;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    const bool nccl = run.name(i).find("nccl") != std::string::npos;
    REQUIRE(nccl == (run.records[i].stream == 20));
    if (run.name(i).find("RING_LL") != std::string::npos) {
      const double wait = static_cast<double>(run.records[i].duration_ns) - 1'200'000;
      sum += wait;
      ++count;
      least = std::min(least, wait);
      most = std::max(most, wait);
    } else if (nccl) {  // the norm ends the step's all-reduces
      CHECK(count == 12);
      step_means.push_back(sum / count);
      if (sum / count > 5e6) within = std::max(within, most / least);
      sum = 0;
      count = 0;
      least = 1e18;
      most = 0;
    }
  }
  REQUIRE(step_means.size() > 3'000);
  const auto beyond = [&](double ns) {
    return static_cast<double>(std::count_if(step_means.begin(), step_means.end(),
                                             [ns](double mean) { return mean > ns; })) /
           static_cast<double>(step_means.size());
  };
  // A mean of 12 waits differs by less than 30 % from the step's mean. One step in eight waits for
  // 2 ms or more. Of the other steps, (20 us / 1 ms)^1.5 = 0.3 % wait for 1 ms, so the total is
  // 12.8 %, with a standard error of 0.6 % at 3,500 steps.
  CHECK(std::fabs(beyond(1.3e6) - 0.127) < 0.036);
  CHECK(beyond(10e6) > 0.003);
  CHECK(*std::max_element(step_means.begin(), step_means.end()) < 76e6);
  CHECK(within > 1.5);
  CHECK(within < 4);  // 3/2 to 1/2, plus the wire's noise
}

TEST_CASE("training: on the other GPU, all-reduces contain only transfer time") {
  WorkloadOptions options = Launches(200'000);
  options.other_gpu = true;
  options.layers = 3;
  const Run run = RunOf("training", options);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    if (run.name(i).find("RING_LL") == std::string::npos) continue;
    ++seen;
    REQUIRE(run.records[i].duration_ns == 960'000);  // 1.2 ms at 0.80
  }
  CHECK(seen > 1'000);
}

TEST_CASE("llm-serve: decode batches 1 to 32 requests, and attention grows with their contexts") {
  WorkloadOptions options = Launches(1'000'000);
  options.other_gpu = true;
  const Run run = RunOf("llm-serve", options);
  std::set<std::uint32_t> batches;
  std::size_t prefills = 0;
  std::uint32_t before = 0;
  std::uint64_t before_ns = 0;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    const shm::KernelRecord& r = run.records[i];
    if (run.name(i).find("FusedForward") != std::string::npos) {
      ++prefills;
      before = 0;
    }
    if (run.name(i).find("SplitDecode") == std::string::npos) continue;
    batches.insert(r.grid[0]);
    if (r.grid[0] == before) REQUIRE(r.duration_ns >= before_ns);  // no request joined or left
    before = r.grid[0];
    before_ns = r.duration_ns;
  }
  CHECK(*batches.begin() >= 1);
  CHECK(*batches.rbegin() == 32);
  CHECK(batches.size() > 20);
  CHECK(prefills > 1'000);
}

TEST_CASE("Pareto factors have the specified tail") {
  CHECK(Pareto(0xFFFFFFFFu) == doctest::Approx(65'536).epsilon(0.001));
  CHECK(Pareto(0x80000000u) == doctest::Approx(65'536 * std::pow(0.5, -2.0 / 3)).epsilon(0.001));
  for (std::uint32_t draw = 0xFFFFFFFFu; draw > 100; draw -= draw / 7) {
    const double expected = 65'536 * std::pow(draw / 4294967296.0, -2.0 / 3);
    REQUIRE(static_cast<double>(Pareto(draw)) == doctest::Approx(expected).epsilon(0.001));
  }
  CHECK(Pareto(0) == Pareto(1));
}

TEST_CASE("invalid requests are rejected in one line") {
  const auto message = [](std::string_view name, const WorkloadOptions& options) {
    const MadeWorkload made = MakeWorkload(name, options);
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().exit_code == 2);
    return made.error().message;
  };
  CHECK(message("phase", {}) == "unknown workload 'phase', did you mean phases?");
  CHECK(message("phases", Launches(0)) == "phases: launches is 0; expected 1 to 1000000000000");
  WorkloadOptions options;
  options.layers = 3;
  CHECK(message("phases", options) == "phases: no model; expected no layers");
  options.layers = 257;
  CHECK(message("llm-decode", options) == "llm-decode: layers is 257; expected 1 to 256");
}

TEST_CASE("every workload has the same fingerprint on every machine") {
  const std::map<std::string, std::uint64_t> expected = {
      {"llm-decode", 5'665'521'534'162'516'471u},    {"training", 18'041'692'330'612'923'331u},
      {"llm-serve", 12'172'081'050'404'263'238u},    {"phases", 18'307'994'876'841'363'663u},
      {"outliers", 1'817'938'315'725'142'582u},      {"warmup", 5'387'379'426'882'382'216u},
      {"rare-kernels", 16'269'112'083'651'869'839u},
  };
  for (const Workload& workload : Workloads()) {
    CAPTURE(std::string(workload.name));
    REQUIRE(expected.count(workload.name) == 1);
    CHECK(Fingerprint(RunOf(workload.name, Launches(300'000))) == expected.at(workload.name));
  }
}

}  // namespace
}  // namespace stemtap::research
