// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of unexpected times: another clock, an adjusted clock, or no times.
#include <time.h>

#include <algorithm>
#include <map>

#include "probe.h"

namespace probe {
namespace {

// A clock of 3 ticks per nanosecond.
std::uint64_t Ticks() {
  return 3 * WallTime();
}

// Shown sums recorded durations and counts records that end before they start.
struct Shown {
  std::uint64_t records = 0;
  std::uint64_t duration = 0;  // of records that do not
  std::uint64_t backwards = 0;
  std::uint64_t without = 0;
};

Shown Flushed() {
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Shown shown;
  for (const auto& record : Records(Client::Take())) {
    ++shown.records;
    if (record.start == 0 && record.end == 0) ++shown.without;
    if (record.end < record.start) {
      ++shown.backwards;
    } else {
      shown.duration += record.end - record.start;
    }
  }
  return shown;
}

void TimestampCallback() {
  Gpu gpu;
  Client::Start();
  Print("null", cuptiActivityRegisterTimestampCallback(nullptr));
  gpu.Launch(1'000'000);
  Check(cuptiActivityRegisterTimestampCallback(Ticks), "RegisterTimestampCallback");
  gpu.Launch(1'000'000);
  const std::uint64_t before = Ticks();
  std::uint64_t now = 0;
  Check(cuptiGetTimestamp(&now), "GetTimestamp");
  Print("clock_is_the_client's", before <= now && now <= Ticks());
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto records = Records(Client::Take());
  Print("records", records.size());
  Print("before_ns", records.at(0).end - records.at(0).start);
  Print("after_ticks", records.at(1).end - records.at(1).start);
  Check(cuptiFinalize(), "Finalize");
  Check(cuptiGetTimestamp(&now), "GetTimestamp");
  Print("after_finalize_realtime",
        now / 3'600'000'000'000 == static_cast<std::uint64_t>(time(nullptr)) / 3600);
}

void ClockStep() {
  Gpu gpu;
  Client::Start();
  std::uint64_t before = 0, after = 0;
  gpu.Launch(1000);
  Check(cuptiGetTimestamp(&before), "GetTimestamp");
  gpu.Launch(1000);
  Check(cuptiGetTimestamp(&after), "GetTimestamp");
  gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto records = Records(Client::Take());
  Print("records", records.size());
  Print("clock_went_back", after < before);
  // Sorted by true end.
  Print("first_ns", records.at(0).end - records.at(0).start);
  Print("second_is_backwards", records.at(1).end < records.at(1).start);
  Print("second_is_off_by", records.at(1).start - records.at(1).end + 1000);
  Print("third_ns", records.at(2).end - records.at(2).start);
  Print("third_begins_before_first", records.at(2).start < records.at(0).start);
}

// 600 kernels of a graph, with a leak that fills the pool at 100 of them.
void GraphLeak(bool copies) {
  Gpu gpu;
  Client::Start();
  if (copies) {
    Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), "Enable");
    Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), "Enable");
  }
  const CUgraphExec exec = FiveKernelGraph(gpu);
  for (int i = 0; i < 120; ++i) Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
  gpu.Launch(1000);
  const Shown shown = Flushed();
  Print("records", shown.records);
  Print("without_times", shown.without);
}

// Two streams; KERNEL serializes their kernels.
void Serial(CUpti_ActivityKind kind) {
  Gpu gpu(2);
  Client::Start(kind);
  const CUgraphExec exec = FiveKernelGraph(gpu);
  for (int i = 0; i < 20; ++i) gpu.Launch(100'000, i % 2);
  Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  auto records = Records(Client::Take());
  std::uint64_t of_graph = 0;
  std::erase_if(records, [&of_graph](const auto& record) {
    if (record.graphId != 0 && record.start == 0 && record.end == 0) ++of_graph;
    return record.graphId != 0;
  });
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  std::uint64_t overlaps = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    overlaps += records[i].start < records[i - 1].end;
  }
  Print("records", records.size());
  Print("overlaps", overlaps > 0);
  Print("graph_kernels_without_times", of_graph);
}

// The flush period does not affect a partially filled buffer; a full one is delivered.
void FlushPeriod() {
  Gpu gpu;
  Client::buffer_bytes = 10 * sizeof(CUpti_ActivityKernel10);
  Client::Start();
  Check(cuptiActivityFlushPeriod(1), "FlushPeriod");
  for (int i = 0; i < 15; ++i) gpu.Launch(1000);
  std::vector<Delivered> delivered;
  while (delivered.empty()) delivered = Client::Take();
  const std::uint64_t until = WallTime() + 50'000'000;
  while (WallTime() < until) {
  }
  Print("full", Records(delivered).size());
  Print("part_filled", Client::Take().size());
}

}  // namespace

int RunTimes(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"timestamp_callback", TimestampCallback},
      {"clock_step", ClockStep},
      {"graph_leak", [] { GraphLeak(false); }},
      {"graph_leak_and_copies", [] { GraphLeak(true); }},
      {"serial", [] { Serial(CUPTI_ACTIVITY_KIND_KERNEL); }},
      {"concurrent", [] { Serial(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); }},
      {"flush_period", FlushPeriod},
  };
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
