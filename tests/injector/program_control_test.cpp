// SPDX-License-Identifier: Apache-2.0
#include "control/program_control.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>

namespace stemtap::inject {
namespace {

// Returns the range of a launch that this thread makes now.
std::string Range() {
  const shm::LaunchMark mark = Control().CurrentMark();
  if (mark.range_id == shm::kNoRange) return "";
  char text[shm::kMaxRangeBytes];
  return std::string(text, Control().paths().Write(mark.range_id, text));
}

// Runs `body` on a new thread, so that no range is open.
template <typename Body>
void OnThread(const Body& body) {
  std::thread(body).join();
}

TEST_CASE("ranges nest") {
  OnThread([] {
    CHECK(Range().empty());
    Control().PushRange("a");
    Control().PushRange("b");
    CHECK(Range() == "a/b");
    Control().PopRange();
    CHECK(Range() == "a");
    Control().PushRange("c");
    CHECK(Range() == "a/c");
    Control().PopRange();
    Control().PopRange();
    CHECK(Range().empty());
  });
}

TEST_CASE("closing a range that is not open has no effect") {
  OnThread([] {
    Control().PopRange();
    CHECK(Range().empty());
    Control().PushRange("a");
    CHECK(Range() == "a");
  });
}

TEST_CASE("ranges belong to their thread") {
  OnThread([] {
    Control().PushRange("outer");
    OnThread([] {
      CHECK(Range().empty());
      Control().PushRange("inner");
      CHECK(Range() == "inner");
    });
    CHECK(Range() == "outer");
    OnThread([] { CHECK(Range().empty()); });
  });
}

TEST_CASE("ranges inside a refused range are counted until it is closed") {
  OnThread([] {
    const std::string name(RangePaths::kMaxNameBytes, 'n');
    for (int i = 0; i < 4; ++i) Control().PushRange(name.c_str());
    const std::string longest = Range();
    Control().PushRange(name.c_str());
    CHECK(Range() == "(other)");
    Control().PushRange("x");  // fits, but its parent has no id
    CHECK(Range() == "(other)");
    Control().PopRange();
    CHECK(Range() == "(other)");
    Control().PopRange();
    CHECK(Range() == longest);
    for (int i = 0; i < 4; ++i) Control().PopRange();
    CHECK(Range().empty());
  });
}

TEST_CASE("steps count from 0") {
  CHECK(Control().CurrentMark().step == shm::kNoStep);
  Control().Step();
  CHECK(Control().CurrentMark().step == 0);
  OnThread([] { Control().Step(); });
  CHECK(Control().CurrentMark().step == 1);
}

TEST_CASE("pauses use the clock") {
  Control().Stop();
  CHECK(Control().pauses().Covers(0));
  Control().Start();
  CHECK_FALSE(Control().pauses().Covers(0));
  Control().SetClock([]() -> std::uint64_t { return 1000; });
  Control().Stop();
  CHECK_FALSE(Control().pauses().Covers(999));
  CHECK(Control().pauses().Covers(1000));
  Control().Start();
}

}  // namespace
}  // namespace stemtap::inject
