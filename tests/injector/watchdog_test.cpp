// SPDX-License-Identifier: Apache-2.0
#include "gate/watchdog.h"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "recording/kernel_note.h"

namespace stemtap::inject {
namespace {

using Alarm = Watchdog::Alarm;

// Watched checks with a limit of 30 and at most 50 between checks.
struct Watched {
  Watchdog dog;
  Watched() { dog.Init(30, 50); }
  Alarm Look(std::uint64_t now, std::uint64_t entered, std::uint64_t captured, std::uint64_t seen,
             bool pending) {
    return dog.Look({now, entered, captured, seen, pending});
  }
};

TEST_CASE("a launch that does not leave its capture raises an alarm") {
  Watched w;
  CHECK(w.Look(1000, 0, 0, 0, false) == Alarm::kNone);
  CHECK(w.Look(1010, 1005, 0, 0, true) == Alarm::kNone);
  CHECK(w.Look(1040, 1005, 0, 0, true) == Alarm::kNone);
  CHECK(w.Look(1041, 1005, 0, 500, true) == Alarm::kInActuator);  // regardless of other kernels
}

TEST_CASE("consecutive captures are watched separately") {
  Watched w;
  for (std::uint64_t now = 1000; now < 2000; now += 20) {
    CHECK(w.Look(now, now - 1, 0, now, true) == Alarm::kNone);
  }
  CHECK(w.Look(2010, 0, 0, 0, true) == Alarm::kNone);
}

TEST_CASE("the time restarts for a process that was stopped during a capture") {
  Watched w;
  w.dog.Init(60, 50);
  CHECK(w.Look(1000, 999, 0, 0, true) == Alarm::kNone);
  CHECK(w.Look(100'000, 999, 0, 0, true) == Alarm::kNone);  // stopped between the checks
  CHECK(w.Look(100'010, 999, 0, 0, true) == Alarm::kNone);
  CHECK(w.Look(100'011, 999, 0, 0, true) == Alarm::kInActuator);
  Watched pending;
  pending.dog.Init(60, 50);
  CHECK(pending.Look(1000, 0, 1, 0, true) == Alarm::kNone);
  CHECK(pending.Look(100'000, 0, 1, 0, true) == Alarm::kNone);
  CHECK(pending.Look(100'011, 0, 1, 0, true) == Alarm::kNoRecord);
}

TEST_CASE("captures that are not followed by a kernel's end raise an alarm") {
  Watched w;
  CHECK(w.Look(1000, 0, 1, 7, true) == Alarm::kNone);
  CHECK(w.Look(1020, 0, 3, 7, true) == Alarm::kNone);  // more captures do not delay the alarm
  CHECK(w.Look(1030, 0, 4, 7, true) == Alarm::kNone);
  CHECK(w.Look(1031, 0, 4, 7, true) == Alarm::kNoRecord);
}

TEST_CASE("a pause after a record that followed the capture raises no alarm") {
  Watched w;
  CHECK(w.Look(1000, 0, 1, 7, true) == Alarm::kNone);
  CHECK(w.Look(1010, 0, 1, 8, true) == Alarm::kNone);
  CHECK(w.Look(9000, 0, 1, 8, true) == Alarm::kNone);
  // The next capture is timed from its own start.
  CHECK(w.Look(9010, 0, 2, 8, true) == Alarm::kNone);
  CHECK(w.Look(9040, 0, 2, 8, true) == Alarm::kNone);
  CHECK(w.Look(9041, 0, 2, 8, true) == Alarm::kNoRecord);
}

TEST_CASE("no alarm is raised if no kernel is pending") {
  Watched w;
  CHECK(w.Look(1000, 0, 1, 7, false) == Alarm::kNone);
  CHECK(w.Look(9000, 0, 1, 7, false) == Alarm::kNone);
}

TEST_CASE("the limit 0 disables the watchdog") {
  Watchdog dog;
  dog.Init(0, 50);
  CHECK(dog.Look({1000, 1, 5, 0, true}) == Alarm::kNone);
  CHECK(dog.Look({1040, 1, 5, 0, true}) == Alarm::kNone);
}

std::string Noted(KernelNote& note) {
  char name[KernelNote::kBytes];
  note.Read(name);
  return name;
}

TEST_CASE("a note contains the last name, truncated and without terminal control characters") {
  KernelNote note;
  CHECK(Noted(note).empty());
  note.Write("gemm");
  note.Write("softmax");
  CHECK(Noted(note) == "softmax");
  note.Write("a\x1b[31m\n\xc3\xa4");
  CHECK(Noted(note) == "a?[31m???");
  note.Write(std::string(5000, 'x').c_str());
  CHECK(Noted(note) == std::string(KernelNote::kBytes - 1, 'x'));
}

TEST_CASE("a note that several threads write contains one complete name") {
  KernelNote note;
  const std::string a(90, 'a');
  const std::string b(80, 'b');
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (const std::string* name : {&a, &b}) {
    threads.emplace_back([&, name] {
      while (!stop) note.Write(name->c_str());
    });
  }
  int odd = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string read = Noted(note);
    odd += read != a && read != b && !read.empty() && read != "?";
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(odd == 0);
}

}  // namespace
}  // namespace stemtap::inject
