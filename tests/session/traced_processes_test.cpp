// SPDX-License-Identifier: Apache-2.0
#include "session/traced_processes.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "session/session.h"
#include "session/written_ring.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

// Adds `kernels` kernels to a ring.
void Launch(WrittenRing& written, std::uint64_t kernels) {
  written.ring->header.seen += kernels;
  written.ring->header.kept += kernels;
  for (std::uint64_t i = 0; i < kernels; ++i) {
    shm::KernelRecord record;
    record.duration_ns = 1000;
    record.device = 0;
    written.ring->queue.push(shm::Record(record));
  }
}

// Writes the ring of a process that has ended, with `kernels` kernels.
void WriteRing(const test::TempDir& scratch, int number, std::uint64_t kernels) {
  WrittenRing written((scratch / ("ring." + std::to_string(number))).string(), number);
  written.ring->header.seen = 1;
  written.ring->header.losses[0] = 1;
  written.Define(0, "k");
  Launch(written, kernels);
  written.ring->header.state = static_cast<std::uint32_t>(shm::RingState::kClosed);
}

TEST_CASE("processes beyond the maximum are counted together, and reported in one warning") {
  const test::TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  auto gate = std::make_unique<shm::GateTable>();
  WorkerPool pool(1);
  Engine engine(sampling::SamplingOptions{}, *gate, GateAsked::kByEngine, 0, pool);
  RecordingSchedule schedule({});
  TracedProcesses processes(directory, engine, schedule, true, 3);
  for (int number = 1; number <= 10; ++number) {
    WriteRing(scratch, number, static_cast<std::uint64_t>(number));
    CHECK(processes.FindRings());
    if (number % 2 == 0) {
      while (processes.Drain(true)) {
      }
    }
    std::uint64_t seen = 0;
    for (const ProcessReport& report : processes.Reports()) seen += report.seen;
    CHECK(seen == static_cast<std::uint64_t>(number * (number + 1) / 2 + number));
  }
  CHECK(processes.all_ended());
  const std::vector<std::string> warnings = processes.CloseAll();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == "7 processes beyond the first 3 are counted together");
  const std::vector<ProcessReport> reports = processes.Reports();
  REQUIRE(reports.size() == 4);
  CHECK(reports[2].pid == 3);
  CHECK(reports[2].kept == 3);
  CHECK(reports[2].combined == 0);
  CHECK(reports[3].pid == 0);
  CHECK(reports[3].program == "(other processes)");
  CHECK(reports[3].combined == 7);
  CHECK(reports[3].state == ProcessState::kClosed);
  CHECK(reports[3].kept == 4 + 5 + 6 + 7 + 8 + 9 + 10);
  CHECK(reports[3].losses[0] == 7);
  const SessionCounts counts = CountProcesses(reports);
  CHECK(counts.kept == 55);
  CHECK(counts.seen == 65);
  CHECK(engine.launches() == 55);
  std::uint64_t launches = 0;
  for (const DeviceTotals& device : processes.devices()) launches += device.launches;
  CHECK(launches == 55);
}

TEST_CASE("a window may end while processes end, and counts each of their launches once") {
  const test::TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  auto gate = std::make_unique<shm::GateTable>();
  WorkerPool pool(1);
  Engine engine(sampling::SamplingOptions{}, *gate, GateAsked::kByEngine, 0, pool);
  RecordingSchedule schedule({});
  TracedProcesses processes(directory, engine, schedule, true);
  // Rings are read in this order: one that has ended, one that runs, and one that has ended, during
  // which the window ends.
  WriteRing(scratch, 1, 3);
  WrittenRing running((scratch / "ring.2").string());
  running.Define(0, "k");
  Launch(running, 3);
  WriteRing(scratch, 3, 8);
  std::uint64_t kept = 0;
  const auto count = [&kept](const std::vector<ProcessReport>& reports) {
    for (const ProcessReport& report : reports) kept += report.is_past ? 0 : report.kept;
  };
  int windows = 0;
  processes.SetWindow(8, [&] {
    const std::vector<ProcessReport> whole = processes.WholeReports();
    count(processes.InWindow(whole));
    if (windows++ == 0) Launch(running, 5);  // while the window is written
    processes.StartOver(whole);
  });
  REQUIRE(processes.FindRings());
  for (int i = 0; i < 3; ++i) processes.Drain(true);
  CHECK(windows == 2);
  CHECK(processes.CountRecording().on == 1);
  running.ring->header.state = static_cast<std::uint32_t>(shm::RingState::kClosed);
  while (processes.Drain(true)) {
  }
  processes.Drain(true);
  CHECK(processes.all_ended());
  count(processes.Reports());
  CHECK(kept == 3 + 3 + 8 + 5);
  CHECK(engine.launches() == kept);
}

}  // namespace
}  // namespace stemtap::session
