// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/evaluated_run.h"

#include <doctest/doctest.h>

#include <string>

#include "research/evaluation/made_workload.h"

namespace stemtap::research {
namespace {

using test::MakeProfile;
using test::MakeTestWorkload;

bool Contains(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

TEST_CASE("excluded kernels do not count as launches or time of a workload") {
  sampling::SamplingOptions options;
  options.exclude = "^nccl";
  const EvaluatedRun w = MakeTestWorkload({{"a", 10}, {"ncclAllReduce", 500}, {"b", 30}}, options);
  CHECK(w.total_ns == 40);
  CHECK(w.launches == 2);
  CHECK(w.kernels == 2);
  CHECK(w.excluded.invocations == 1);
  CHECK(w.excluded.duration_ns == 500);
  CHECK(w.groups[1] == model::kExcludedKernel);
  CHECK(w.speedup_limit == 1.0);
  // The total of 10 + 30 + 20 ns is divided by the sum of the means, 20 and 20.
  CHECK(MakeTestWorkload({{"a", 10}, {"a", 30}, {"b", 20}}).speedup_limit == 1.5);
}

TEST_CASE("a workload without kernel time or with an invalid exclusion is an error") {
  const auto none = MakeEvaluatedRun("zeros.csv", MakeProfile({{"a", 0}, {"b", 0}}), {});
  REQUIRE(!none.ok());
  CHECK(Contains(none.error().message, "zeros.csv"));
  sampling::SamplingOptions all;
  all.exclude = ".";
  const auto excluded = MakeEvaluatedRun("all.csv", MakeProfile({{"a", 5}}), all);
  REQUIRE(!excluded.ok());
  CHECK(Contains(excluded.error().message, "excluded"));
  sampling::SamplingOptions malformed;
  malformed.exclude = "(";
  const auto wrong = MakeEvaluatedRun("a.csv", MakeProfile({{"a", 5}}), malformed);
  REQUIRE(!wrong.ok());
  CHECK(wrong.error().exit_code == 2);
}

TEST_CASE("launches of a second run are the same if only durations differ") {
  EvaluatedRun w = MakeTestWorkload({{"a", 10}, {"b", 20}, {"a", 30}});
  // The kernel names have ids in a different order.
  model::Profile other = MakeProfile({{"z", 1}, {"b", 1}});
  other.records.clear();
  for (const auto& [name, ns] : {std::pair{"a", 11}, {"b", 22}, {"a", 33}}) {
    shm::KernelRecord r = w.profile.records[0];
    r.name_id = other.names.Intern(name);
    r.duration_ns = static_cast<std::uint64_t>(ns);
    other.records.push_back(r);
  }
  REQUIRE(CompareWith(w, "second", other).ok());
  CHECK(w.against_total_ns == 66);
  CHECK(w.against_ns == std::vector<std::uint64_t>{11, 22, 33});
}

TEST_CASE("the first launch of a second run that differs is reported with the difference") {
  EvaluatedRun w = MakeTestWorkload({{"a", 10}, {"b", 20}, {"a", 30, 4}});
  const auto refused = [&w](const model::Profile& other) {
    const Status held = CompareWith(w, "second.csv", other);
    REQUIRE(!held.ok());
    CHECK(held.error().exit_code == 1);
    CHECK(w.against_ns.empty());
    CHECK(Contains(held.error().message, "made and second.csv"));
    return held.error().message;
  };
  const std::string name = refused(MakeProfile({{"a", 10}, {"c", 20}, {"a", 30, 4}}));
  CHECK(Contains(name, "launch 1 is 'b' in the first run and 'c' in the second"));
  CHECK(Contains(name, "2 kernels with different launch counts"));
  const std::string grid = refused(MakeProfile({{"a", 10}, {"b", 20}, {"a", 30, 5}}));
  CHECK(Contains(grid, "launch 2 ('a') has grid 4x1x1 in the first run and 5x1x1 in the second"));
  CHECK(Contains(grid, "0 kernels with different launch counts"));
  const std::string count = refused(MakeProfile({{"a", 10}, {"b", 20}}));
  CHECK(Contains(count, "launch 2 is in only one of them"));
  CHECK(Contains(count, "3 against 2 launches, 1 kernels"));
  model::Profile block = MakeProfile({{"a", 10}, {"b", 20}, {"a", 30, 4}});
  block.records[0].block[0] = 64;
  CHECK(Contains(refused(block), "launch 0 ('a') has block 128x1x1 in the first run and 64x1x1"));
}

TEST_CASE("extents that one run does not contain are not compared") {
  EvaluatedRun w = MakeTestWorkload({{"a", 10, 4}, {"b", 20, 4}});
  model::Profile other = MakeProfile({{"a", 10}, {"b", 20}});
  for (shm::KernelRecord& r : other.records) r.grid[0] = shm::kUnknownExtent;
  CHECK(CompareWith(w, "second", other).ok());
}

TEST_CASE("kernel names of a second run are escaped and truncated") {
  const std::string wild = "\x1b[2J" + std::string(500, 'x');
  EvaluatedRun w = MakeTestWorkload({{wild, 10}});
  const Status held = CompareWith(w, "second", MakeProfile({{"b", 10}}));
  REQUIRE(!held.ok());
  CHECK(held.error().message.find('\x1b') == std::string::npos);
  CHECK(held.error().message.size() < 500);
}

}  // namespace
}  // namespace stemtap::research
