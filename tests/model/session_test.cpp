// SPDX-License-Identifier: Apache-2.0
#include "model/session.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

namespace stemtap::model {
namespace {

RecordedSession ExampleSession() {
  RecordedSession session;
  session.tool = "stemtap 1";
  session.mode = "merged";
  session.command = {"python", "a \"b\".py"};
  session.options = {{"seed", std::uint64_t{1}}, {"error_bound", 0.05}, {"level", "kernels"}};
  session.host.name = "node0, node1";  // the hosts have no other field in common
  session.elapsed_s = 1.5;
  session.counters.seen = 110;
  session.counters.kept = 100;
  session.counters.dropped = 10;
  session.counters.losses[0] = 10;
  ProcessReport& process = session.processes.emplace_back();
  process.pid = 42;
  process.state = ProcessState::kDisabled;
  process.cost_cupti_ns = 3;
  process.losses[1] = 7;
  process.session = 0;
  DeviceTotals& device = session.devices.emplace_back();
  device.device = shm::kUnknown16;
  device.start_ns = 17;
  device.idle = {{0, 5, 4000}, {1000000, 1, 2000000}};
  device.longest_gaps = {{200, 2000000, "gemm \"x\"", ""}, {9000000, 10, "", "copy"}};
  device.streams = {{7, 60, 2000}, {shm::kUnknown32, 40, 1000}};
  OriginalSession& own = session.sessions.emplace_back();
  own.id = "0123456789abcdef";
  own.elapsed_s = NAN;
  return session;
}

std::string ErrorOf(const std::string& text) {
  const Result<RecordedSession> read = ParseSession(text, "s");
  return read.ok() ? "read" : read.error().message;
}

std::string With(const std::string& what, const std::string& by) {
  std::string text = SessionToJson(ExampleSession());
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST_CASE("a session reads back as it was written") {
  const std::string text = SessionToJson(ExampleSession());
  const Result<RecordedSession> read = ParseSession(text, "s");
  REQUIRE(read.ok());
  CHECK(SessionToJson(read.value()) == text);
  CHECK(read.value().processes[0].state == ProcessState::kDisabled);
  CHECK(read.value().processes[0].losses[1] == 7);
  CHECK(read.value().devices[0].device == shm::kUnknown16);
  CHECK(read.value().devices[0].session == kNoSession);
  CHECK(read.value().devices[0].start_ns == 17);
  CHECK(read.value().devices[0].idle[1].idle_ns == 2000000);
  REQUIRE(read.value().devices[0].longest_gaps.size() == 2);
  CHECK(read.value().devices[0].longest_gaps[0].start_ns == 200);
  CHECK(read.value().devices[0].longest_gaps[0].before == "gemm \"x\"");
  CHECK(read.value().devices[0].longest_gaps[1].after == "copy");
  CHECK(text.starts_with("{\n  \"schema\": \"stemtap.session/1\",\n  \"tool\": \"stemtap 1\","));
  CHECK(text.find("\n        \"stream\": null,\n") == std::string::npos);
  CHECK(text.find("\n          \"stream\": null,\n") != std::string::npos);
  CHECK(text.find("\"system\": null") != std::string::npos);
}

TEST_CASE("gaps of earlier versions have no kernels") {
  const auto gaps_of = [](const std::string& by) {
    // JSON has no comments or trailing commas, so the list is everything between the fields.
    std::string text = SessionToJson(ExampleSession());
    const std::size_t from = text.find("\"longest_gaps\": ");
    const std::size_t to = text.find("\"streams\"", from);
    REQUIRE(to != std::string::npos);
    return ParseSession(text.replace(from, to - from, "\"longest_gaps\": " + by + ", "), "s");
  };
  const Result<RecordedSession> read =
      gaps_of(R"([[5, 9, "gemm", "copy"], [200, 7], [300, 6, null]])");
  REQUIRE(read.ok());
  const std::vector<IdleGap>& gaps = read.value().devices[0].longest_gaps;
  REQUIRE(gaps.size() == 3);
  CHECK(gaps[0].after == "copy");
  CHECK(gaps[1].duration_ns == 7);
  CHECK(gaps[1].before.empty());
  CHECK(gaps[1].after.empty());
  CHECK(gaps[2].before.empty());
  const Result<RecordedSession> short_row = gaps_of("[[200]]");
  REQUIRE(!short_row.ok());
  CHECK(short_row.error().message ==
        "s: devices[0].longest_gaps[0]: has 1 items; expected [start, duration, kernel before, "
        "kernel after]");
}

TEST_CASE("a session with an invalid field is rejected with the place of the error") {
  CHECK(ErrorOf(With("\"gaps\": 0", "\"gaps\": -1")) ==
        "s: counters.gaps: is -1; expected a whole number");
  CHECK(ErrorOf(With("\"gaps\": 0,", "")) ==
        "s: counters.gaps: is missing; expected a whole number");
  CHECK(ErrorOf(With("\"ring_full\": 10", "\"later\": \"x\"")) ==
        "s: counters.losses.later: is \"x\"; expected a whole number");
  CHECK(ErrorOf(With("\"ring_full\": 10", "\"later\": 10")) == "read");
  CHECK(ErrorOf(With("disabled", "stood_down")) == "read");
  CHECK(ErrorOf(With("disabled", "gone")) ==
        "s: processes[0].state: is \"gone\"; expected recording, disabled or closed");
  CHECK(ErrorOf(With("1.5", "-1.5")) == "s: elapsed_s: is -1.5; expected a number of at least 0");
  CHECK(ErrorOf(With("1.5", "null")) == "s: elapsed_s: is null; expected a number of at least 0");
  CHECK(ErrorOf(With("\"elapsed_s\": null", "\"elapsed_s\": -2")) ==
        "s: sessions[0].elapsed_s: is -2; expected a number of at least 0");
  CHECK(ErrorOf(With("\"stream\": null", "\"stream\": 4294967295")) ==
        "s: devices[0].streams[1].stream: is 4294967295; expected a whole number below 4294967295");
}

}  // namespace
}  // namespace stemtap::model
