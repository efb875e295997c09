// SPDX-License-Identifier: Apache-2.0
#include "model/completeness.h"

#include <doctest/doctest.h>

#include <vector>

namespace stemtap::model {
namespace {

// A process of which every launch was recorded.
ProcessReport Recorded(std::uint64_t launches) {
  ProcessReport process;
  process.state = ProcessState::kClosed;
  process.launches_gated = process.seen = process.kept = process.read = launches;
  return process;
}

std::string LineOf(const ProcessReport& process) {
  return CompletenessLine(std::vector{process});
}

void Lose(shm::Loss loss, std::uint64_t count, ProcessReport& process) {
  process.losses[static_cast<std::uint32_t>(loss)] += count;
}

TEST_CASE("a process whose launches all have a record is complete") {
  CHECK(LineOf(Recorded(400'000)) == "all 400000 launches were recorded");
  CHECK(LineOf(Recorded(1)) == "the only launch was recorded");
}

TEST_CASE("failed calls and calls that build a graph need no record") {
  ProcessReport process = Recorded(10);
  process.launches_gated += 1;
  process.launches_failed = 1;
  process.launches_added = 2;
  CHECK(LineOf(process) == "all 10 launches were recorded");
}

TEST_CASE("kernels of graphs are not compared with launches") {
  ProcessReport process = Recorded(10);
  process.seen += 100;
  process.graph_records = 100;
  CHECK(LineOf(process) ==
        "all 10 launches were recorded; 100 kernels of CUDA graphs cannot be compared with "
        "launches");
  process = Recorded(0);
  process.launches_added = 10;
  process.seen = process.graph_records = 100;
  const std::string line =
      "no kernel was launched outside of graphs; 100 kernels of CUDA graphs cannot be compared "
      "with launches";
  CHECK(LineOf(process) == line);
  // A graph that was not captured from a stream.
  process.launches_added = 0;
  Lose(shm::Loss::kGraphLaunches, 10, process);
  CHECK(LineOf(process) == line);
}

TEST_CASE("launches without a record are counted with the reason") {
  ProcessReport process = Recorded(100);
  process.launches_gated = 107;
  CHECK(LineOf(process) ==
        "7 of 107 launches have no record (CUPTI delivered no record and reported no loss)");
  process.state = ProcessState::kRecording;
  CHECK(LineOf(process) ==
        "7 of 107 launches have no record (a process did not shut down cleanly)");
  Lose(shm::Loss::kGaps, 1, process);
  CHECK(LineOf(process) ==
        "7 of 107 launches have no record (another profiler used CUPTI, or recording was stopped)");
}

TEST_CASE("dropped and paused records are stated beside launches without one") {
  ProcessReport process = Recorded(90);
  process.launches_gated = 107;
  process.seen += 4;  // found in buffers, but not kept
  Lose(shm::Loss::kRingFull, 4, process);
  process.seen += 5;  // CUPTI dropped them before they were in a buffer
  Lose(shm::Loss::kCuptiDropped, 5, process);
  process.paused = 8;
  CHECK(LineOf(process) ==
        "all 107 launches have a record; 9 records were dropped and counted; 8 kernels ran while "
        "recording was paused");
  process.launches_gated = 108;
  CHECK(LineOf(process) ==
        "1 of 108 launches have no record (CUPTI delivered no record and reported no loss); 9 "
        "records were dropped and counted; 8 kernels ran while recording was paused");
}

TEST_CASE("records without a launch call are stated") {
  ProcessReport process = Recorded(10);
  process.launches_gated = 8;
  CHECK(LineOf(process) ==
        "all 8 launches were recorded; 2 records belong to launches that the callback does not "
        "see");
}

TEST_CASE("a surplus of one process does not hide the missing records of another") {
  ProcessReport surplus = Recorded(10);
  surplus.launches_gated = 5;
  ProcessReport missing = Recorded(10);
  missing.launches_gated = 15;
  const Completeness sum = CompareLaunches(std::vector{surplus, missing});
  CHECK(sum.launches == 20);
  CHECK(sum.records == 15);
  CHECK(sum.missing == 5);
  CHECK(sum.surplus == 5);
}

TEST_CASE("without the launch callback, completeness is stated as unknown") {
  ProcessReport process = Recorded(400'000);
  process.launches_gated = 0;
  CHECK(LineOf(process) ==
        "400000 kernel records were received, 0 of them were dropped; launches were not counted, "
        "so records that CUPTI lost without reporting it are unknown (--level gate counts "
        "launches)");
  CHECK(CompletenessLine({}) == "");
  CHECK(LineOf(ProcessReport{}) == "");
}

TEST_CASE("impossible counts do not wrap") {
  ProcessReport process;
  process.launches_gated = 5;
  process.launches_failed = 9;
  process.graph_records = 7;
  process.seen = 3;
  const Completeness sum = CompareLaunches(std::vector{process});
  CHECK(sum.launches == 0);
  CHECK(sum.missing == 0);
  CHECK(sum.surplus == 0);
}

}  // namespace
}  // namespace stemtap::model
