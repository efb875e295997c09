// SPDX-License-Identifier: Apache-2.0
#include "control/program_control.h"

#include <doctest/doctest.h>

#include <string>

#include "injector/thread_range.h"

namespace stemtap::inject {
namespace {

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

constexpr RangeDomain kOne = {kFirstNamedDomain, "one", 3};
constexpr RangeDomain kTwo = {kFirstNamedDomain + 1, "two", 3};

int Push(const RangeDomain& domain, const std::string& name) {
  return Control().PushRange(domain, NameOf(name.c_str()));
}
int Pop(const RangeDomain& domain) {
  return Control().PopRange(domain);
}

TEST_CASE("the name of a domain precedes the names of its ranges") {
  OnThread([] {
    Push(kOne, "a");
    Push(kDefaultNvtxDomain, "b");
    Push(kProgramDomain, "c");
    CHECK(Range() == "one:a/b/c");
  });
}

TEST_CASE("closing a range of one domain leaves the ranges of other domains inside it open") {
  OnThread([] {
    Push(kOne, "a");
    Push(kTwo, "b");
    Push(kProgramDomain, "c");
    Pop(kOne);
    CHECK(Range() == "two:b/c");
    Push(kOne, "d");
    CHECK(Range() == "two:b/c/one:d");
    Pop(kProgramDomain);
    CHECK(Range() == "two:b/one:d");
    Pop(kTwo);
    CHECK(Range() == "one:d");
    Pop(kOne);
    CHECK(Range().empty());
  });
}

TEST_CASE("opening and closing return the depth in the domain") {
  OnThread([] {
    CHECK(Pop(kOne) < 0);
    CHECK(Push(kOne, "a") == 0);
    CHECK(Push(kTwo, "b") == 0);
    CHECK(Push(kOne, "c") == 1);
    CHECK(Push(kOne, "d") == 2);
    CHECK(Pop(kTwo) == 0);
    CHECK(Pop(kTwo) < 0);
    CHECK(Range() == "one:a/one:c/one:d");
    CHECK(Pop(kOne) == 2);
    CHECK(Pop(kOne) == 1);
    CHECK(Pop(kOne) == 0);
    CHECK(Pop(kOne) < 0);
  });
}

TEST_CASE("refused ranges are counted by domain") {
  OnThread([] {
    const std::string name(RangePaths::kMaxNameBytes, 'n');
    for (int i = 0; i < 4; ++i) CHECK(Push(kProgramDomain, name) == i);
    CHECK(Push(kOne, name) == 0);
    CHECK(Push(kOne, "x") == 1);
    CHECK(Push(kProgramDomain, "x") == 4);
    CHECK(Range() == "(other)");
    CHECK(Pop(kProgramDomain) == 4);
    for (int i = 4; i-- > 0;) CHECK(Pop(kProgramDomain) == i);
    CHECK(Pop(kProgramDomain) < 0);
    CHECK(Range() == "(other)");
    CHECK(Pop(kOne) == 1);
    CHECK(Pop(kOne) == 0);
    CHECK(Pop(kOne) < 0);
    CHECK(Range().empty());
  });
}

TEST_CASE("a path that becomes too long by closing a range does not occur") {
  OnThread([] {
    // 512 ranges of one byte and 511 separators are 1,023 bytes.
    for (int i = 0; i < static_cast<int>(RangePaths::kMaxDepth); ++i) {
      REQUIRE(Push(i == 0 ? kDefaultNvtxDomain : kProgramDomain, "x") == (i == 0 ? 0 : i - 1));
    }
    CHECK(Range().size() == 1023);
    Push(kProgramDomain, "x");
    CHECK(Range() == "(other)");
    Pop(kProgramDomain);
    CHECK(Pop(kDefaultNvtxDomain) == 0);
    CHECK(Range().size() == 1021);
    for (int i = static_cast<int>(RangePaths::kMaxDepth) - 1; i-- > 0;) {
      REQUIRE(Pop(kProgramDomain) == i);
    }
    CHECK(Range().empty());
  });
}

TEST_CASE("ranges that are opened without end do not overflow") {
  OnThread([] {
    for (int i = 0; i < 70'000; ++i) Control().PushRange("x");
    CHECK(Range() == "(other)");
    for (int i = 0; i < 70'000; ++i) Control().PopRange();
    CHECK(Range().empty());
    Control().PushRange("x");
    CHECK(Range() == "x");
  });
}

TEST_CASE("outside the ranges of its thread, a launch is in the range that was started last") {
  OnThread([] {
    const std::uint64_t first = Control().StartRange(kDefaultNvtxDomain, NameOf("first"));
    const std::uint64_t second = Control().StartRange(kOne, NameOf("second"));
    CHECK(first != 0);
    CHECK(first != second);
    CHECK(Range() == "one:second");
    OnThread([] { CHECK(Range() == "one:second"); });
    Control().PushRange("own");
    CHECK(Range() == "own");
    Control().PopRange();
    OnThread([second] { Control().EndRange(second); });
    CHECK(Range() == "first");
    Control().EndRange(second);
    Control().EndRange(0);
    Control().EndRange(~std::uint64_t{0});
    CHECK(Range() == "first");
    Control().EndRange(first);
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

TEST_CASE("ranges with the name of the step range begin steps") {
  OnThread([] {
    const auto step = [] { return Control().CurrentMark().step; };
    Control().SetStepRange("one:step");
    const std::uint64_t before = step();
    Push(kOne, "step");
    CHECK(step() == before + 1);
    CHECK(Range() == "one:step");
    Pop(kOne);
    CHECK(step() == before + 1);
    Push(kOne, "step#1234");
    CHECK(step() == before + 2);
    CHECK(Range() == "one:step");
    Pop(kOne);
    Control().EndRange(Control().StartRange(kOne, NameOf("step#2")));
    CHECK(step() == before + 3);
    for (const char* other : {"step#", "step#1a", "step1", "steps", "ste", "Step", "one:step"}) {
      Push(kOne, other);
      CHECK(Range() == std::string("one:") + other);
      Pop(kOne);
    }
    for (const RangeDomain& domain : {kTwo, kDefaultNvtxDomain, kProgramDomain}) {
      Push(domain, "step");
      Pop(domain);
    }
    CHECK(step() == before + 3);
    // The name that a launch shows counts, whatever the interface.
    Control().PushRange("one:step");
    CHECK(step() == before + 4);
    Control().PopRange();
  });
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
