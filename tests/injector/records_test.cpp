// SPDX-License-Identifier: Apache-2.0
//
// Tests CUPTI versions, damaged and dropped records, and other profilers in the process.
#include <doctest/doctest.h>

#include <algorithm>

#include "injector/injected.h"

namespace stemtap::test {
namespace {

constexpr std::uint64_t kLaunches = 10'000;

void CheckAccounts(Ring& ring, std::uint64_t launches) {
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.seen() == launches);
  CHECK(ring.seen() == ring.kept() + ring.lost_records());
  CHECK(ring.kernels().size() == ring.kept());
}

TEST_CASE("records of every version are decoded correctly") {
  for (const char* version : {"12", "13", "14", "26", "27", "28", "130000", "130001", "130300"}) {
    CAPTURE(version);
    const Injected injected;
    REQUIRE(injected.Run("graph", {"10000"}, {{"FAKE_CUPTI_VERSION", version}}).exit_code == 0);
    Ring ring(injected.RingFile());
    CheckAccounts(ring, kLaunches);
    CHECK(ring.lost_records() == 0);
    CHECK(SumByName(ring) == injected.ReadTruth().by_name);
    CHECK(ring.header().cupti_version == static_cast<std::uint32_t>(std::stoi(version)));
    REQUIRE_FALSE(ring.kernels().empty());
    CHECK((ring.kernels()[0].record.graph_id != 0) == (std::stoi(version) >= 14));
  }
}

TEST_CASE("records without timestamps are counted, and other records are kept") {
  const Injected injected;
  REQUIRE(
      injected.Run("exit_return", {"10000"}, {{"FAKE_CUPTI_ZERO_TIMESTAMPS", "10"}}).exit_code ==
      0);
  Ring ring(injected.RingFile());
  CheckAccounts(ring, kLaunches);
  CHECK(ring.kept() == 9000);
  CHECK(ring.lost(shm::Loss::kNoTimestamps) == 1000);
  CHECK(ring.lost_records() == 1000);
}

TEST_CASE("records that CUPTI dropped are counted") {
  const Injected injected;
  REQUIRE(injected.Run("exit_return", {"10000"}, {{"FAKE_CUPTI_DROP", "7"}}).exit_code == 0);
  Ring ring(injected.RingFile());
  CheckAccounts(ring, kLaunches);
  CHECK(ring.kept() == 10'000 - 1428);
  CHECK(ring.lost(shm::Loss::kCuptiDropped) == 1428);
}

TEST_CASE("all records that CUPTI's thread delivers late are kept") {
  const Injected injected;
  REQUIRE(injected.Run("threads", {"20000"}, {{"FAKE_CUPTI_LATE", "1"}, {"STEMTAP_FLUSH_MS", "10"}})
              .exit_code == 0);
  Ring ring(injected.RingFile());
  CheckAccounts(ring, 20'000);
  CHECK(ring.lost_records() == 0);
  CHECK(SumByName(ring) == injected.ReadTruth().by_name);
}

TEST_CASE("all records are kept when correlation ids wrap at 2^32") {
  const Injected injected;
  REQUIRE(injected.Run("exit_return", {"10000"}, {{"FAKE_CUPTI_FIRST_CORRELATION", "4294962296"}})
              .exit_code == 0);
  Ring ring(injected.RingFile());
  CheckAccounts(ring, kLaunches);
  CHECK(ring.kept() == kLaunches);
  CHECK(SumByName(ring) == injected.ReadTruth().by_name);
  CHECK(ring.kernels().front().record.correlation_id > 4294962000u);
  CHECK(ring.kernels().back().record.correlation_id < 10'000);
}

TEST_CASE("all records are kept with any buffer size and flush period") {
  for (const char* kib : {"16", "64", "4096"}) {
    for (const char* clock : {"virtual", "real"}) {
      CAPTURE(kib);
      CAPTURE(clock);
      const Injected injected;
      REQUIRE(injected
                  .Run("threads", {"20000"},
                       {{"STEMTAP_BUFFER_KB", kib},
                        {"STEMTAP_FLUSH_MS", "10"},
                        {"FAKE_GPU_CLOCK", clock}})
                  .exit_code == 0);
      Ring ring(injected.RingFile());
      ring.Drain();
      // A program that is much faster than a GPU can exhaust the pool. In this case, the number of
      // lost records is unknown, but the loss is counted.
      if (ring.lost(shm::Loss::kPoolExhausted) == 0) {
        CHECK(ring.kept() == 20'000);
        CHECK(SumByName(ring) == injected.ReadTruth().by_name);
      } else {
        CHECK(clock[0] == 'v');
        CHECK(ring.kept() < 20'000);
      }
      CHECK(ring.seen() == ring.kept() + ring.lost_records());
    }
  }
}

TEST_CASE("a profiler that starts first keeps CUPTI") {
  const Injected injected;
  const std::vector<std::string> arguments = {"9000", "before"};
  const ProcessResult result = injected.Run("profiler_client", arguments);
  CHECK(result.exit_code == 0);
  CHECK(result.out == RunProcess(Command("profiler_client", arguments), BareOptions()).out);
  CHECK(result.err.empty());
  const Ring ring(injected.RingFile());
  CHECK(ring.state() == shm::RingState::kDisabled);
  CHECK(std::string(ring.header().reason).starts_with("CUPTI is in use by another tool"));
}

TEST_CASE("a profiler that starts later gets CUPTI and all of its records") {
  for (const char* when : {"after", "between"}) {
    CAPTURE(when);
    const Injected injected;
    const std::vector<std::string> arguments = {"9000", when};
    const ProcessResult bare = RunProcess(Command("profiler_client", arguments), BareOptions());
    const ProcessResult result = injected.Run("profiler_client", arguments);
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    const auto records = [](const ProcessResult& r) {
      REQUIRE(r.out.starts_with("subscribe=0 records="));
      return std::stoll(r.out.substr(r.out.rfind('=') + 1));
    };
    // CUPTI delivers the buffers that it holds at that time to the other profiler, which may find
    // records in them.
    CHECK(records(result) >= records(bare));
    Ring ring(injected.RingFile());
    ring.Drain();
    CHECK(ring.state() == shm::RingState::kClosed);
    CHECK(ring.seen() == ring.kept() + ring.lost_records());
    CHECK(ring.kept() == ring.kernels().size());
    // One of the two clients received each record. If the other client received records of this
    // library, a buffer is counted.
    CHECK(records(result) - records(bare) + static_cast<long long>(ring.kept()) <= 9000);
    if (records(result) > records(bare)) CHECK(ring.lost(shm::Loss::kForeignBuffers) > 0);
  }
}

TEST_CASE("recording resumes when another profiler stops, and the gap is counted") {
  for (const char* when : {"kineto", "finalize"}) {
    CAPTURE(when);
    const Injected injected;
    const ProcessResult result =
        injected.Run("profiler_client", {"9000", when}, {{"STEMTAP_FLUSH_MS", "10"}});
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    CHECK(result.out.starts_with("subscribe=0 records="));
    const long long theirs = std::stoll(result.out.substr(result.out.rfind('=') + 1));
    CHECK(theirs >= 3000);
    Ring ring(injected.RingFile());
    ring.Drain();
    CHECK(ring.state() == shm::RingState::kClosed);
    CHECK(ring.seen() == ring.kept() + ring.lost_records());
    CHECK(ring.lost(shm::Loss::kGaps) == 1);
    CHECK(std::string(ring.header().reason).starts_with("another profiler used CUPTI"));
    // The library records the entire last third. The other client may have received the records of
    // the first third that were not flushed yet.
    CHECK(ring.kept() >= 3000);
    CHECK(static_cast<long long>(ring.kept()) + theirs == 9000);
    const std::vector<Ring::Kernel>& kernels = ring.kernels();
    REQUIRE(kernels.size() >= 3000);
    // This may not be the last record in the ring, because CUPTI's worker may deliver a full buffer
    // after the flusher.
    std::uint32_t last = 0;
    for (const Ring::Kernel& kernel : kernels) last = std::max(last, kernel.record.correlation_id);
    std::size_t of_the_last_third = 0;
    for (const Ring::Kernel& kernel : kernels) {
      of_the_last_third += last - kernel.record.correlation_id < 3000;
    }
    CHECK(of_the_last_third == 3000);
  }
}

TEST_CASE("at the levels gate and graph, a later profiler receives an error from CUPTI") {
  for (const char* level : {"gate", "graph"}) {
    CAPTURE(level);
    const Injected injected;
    const ProcessResult result =
        injected.Run("profiler_client", {"9000", "after"}, {{"STEMTAP_LEVEL", level}});
    CHECK(result.out == "subscribe=39 records=0\n");
    Ring ring(injected.RingFile());
    CheckAccounts(ring, 9000);
    CHECK(ring.kept() == 9000);
  }
}

TEST_CASE("at level graph, a later profiler can subscribe if graphs have no names by structure") {
  for (const std::string fail : {"cuptiEnableCallback=1", "cuptiActivityEnable@2=27"}) {
    CAPTURE(fail);
    const Injected injected;
    const ProcessResult result =
        injected.Run("profiler_client", {"9000", "after"},
                     {{"STEMTAP_LEVEL", "graph"}, {"FAKE_CUPTI_FAIL", fail}});
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.out.starts_with("subscribe=0 "));
  }
}

}  // namespace
}  // namespace stemtap::test
