// SPDX-License-Identifier: Apache-2.0
#include "control/range_paths.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace stemtap::inject {
namespace {

constexpr std::uint32_t kTop = shm::kNoRange;

std::string TextOf(const RangePaths& paths, std::uint32_t id) {
  char text[shm::kMaxRangeBytes];
  return std::string(text, paths.Write(id, text));
}

TEST_CASE("a path has one id and consists of its nested names") {
  const auto paths = std::make_unique<RangePaths>();
  const std::uint32_t decode = paths->Intern(kTop, "decode");
  REQUIRE(decode != shm::kNoRange);
  CHECK(paths->Intern(kTop, "decode") == decode);
  const std::uint32_t attention = paths->Intern(decode, "attention");
  CHECK(attention != decode);
  CHECK(paths->Intern(kTop, "attention") != attention);
  CHECK(paths->ParentOf(attention) == decode);
  CHECK(paths->ParentOf(decode) == shm::kNoRange);
  CHECK(TextOf(*paths, decode) == "decode");
  CHECK(TextOf(*paths, attention) == "decode/attention");
  CHECK(TextOf(*paths, paths->Intern(attention, "softmax")) == "decode/attention/softmax");
}

TEST_CASE("the name of a range is copied") {
  const auto paths = std::make_unique<RangePaths>();
  char name[] = "one";
  const std::uint32_t id = paths->Intern(kTop, name);
  name[0] = 'X';
  CHECK(TextOf(*paths, id) == "one");
}

TEST_CASE("a missing name is replaced") {
  const auto paths = std::make_unique<RangePaths>();
  CHECK(TextOf(*paths, paths->Intern(kTop, nullptr)) == "(unnamed)");
  CHECK(paths->Intern(kTop, "") == paths->Intern(kTop, nullptr));
}

TEST_CASE("a long name is cut between characters") {
  const auto paths = std::make_unique<RangePaths>();
  const std::string full(RangePaths::kMaxNameBytes, 'a');
  CHECK(TextOf(*paths, paths->Intern(kTop, full.c_str())) == full);
  CHECK(TextOf(*paths, paths->Intern(kTop, (full + "b").c_str())) == full);
  const std::string before(RangePaths::kMaxNameBytes - 1, 'a');
  CHECK(TextOf(*paths, paths->Intern(kTop, (before + "\xC3\xA9").c_str())) == before);
}

TEST_CASE("numbers that emit_nvtx appends are not part of a path") {
  const auto paths = std::make_unique<RangePaths>();
  const std::uint32_t add = paths->Intern(kTop, "aten::add");
  CHECK(paths->Intern(kTop, "aten::add, seq = 12, op_id = 34") == add);
  CHECK(paths->Intern(kTop, "aten::add, op_id = 35") == add);
  CHECK(TextOf(*paths, add) == "aten::add");
  CHECK(TextOf(*paths, paths->Intern(kTop, "f(a, b)")) == "f(a, b)");
}

TEST_CASE("a path that is too long is refused") {
  const auto paths = std::make_unique<RangePaths>();
  const std::string name(RangePaths::kMaxNameBytes, 'n');
  std::uint32_t id = kTop;
  for (int i = 0; i < 4; ++i) {
    id = paths->Intern(id, name.c_str());
    REQUIRE(id != shm::kNoRange);
  }
  CHECK(TextOf(*paths, id).size() == 1003);
  CHECK(paths->Intern(id, std::string(21, 'x').c_str()) == shm::kNoRange);
  const std::uint32_t longest = paths->Intern(id, std::string(20, 'x').c_str());
  CHECK(TextOf(*paths, longest).size() == shm::kMaxRangeBytes);
}

TEST_CASE("paths beyond the maximum are refused, and known paths are still found") {
  const auto paths = std::make_unique<RangePaths>();
  std::vector<std::uint32_t> ids;
  for (std::uint32_t i = 0; i < shm::kMaxRanges; ++i) {
    ids.push_back(paths->Intern(kTop, std::to_string(i).c_str()));
  }
  CHECK(std::set<std::uint32_t>(ids.begin(), ids.end()).size() == shm::kMaxRanges);
  CHECK(ids.back() <= RangePaths::kPlaces);
  CHECK(paths->Intern(kTop, "one more") == shm::kNoRange);
  for (std::uint32_t i = 0; i < shm::kMaxRanges; ++i) {
    REQUIRE(paths->Intern(kTop, std::to_string(i).c_str()) == ids[i]);
    REQUIRE(TextOf(*paths, ids[i]) == std::to_string(i));
  }
  CHECK(TextOf(*paths, RangePaths::kOther) == "(other)");
}

TEST_CASE("threads that add the same paths get the same ids") {
  const auto paths = std::make_unique<RangePaths>();
  constexpr int kThreads = 4;
  constexpr int kNames = 500;
  std::vector<std::vector<std::uint32_t>> ids(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) {
        const std::uint32_t outer = paths->Intern(kTop, std::to_string(i).c_str());
        ids[static_cast<std::size_t>(t)].push_back(paths->Intern(outer, "inner"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& of_thread : ids) CHECK(of_thread == ids[0]);
  for (int i = 0; i < kNames; ++i) {
    REQUIRE(TextOf(*paths, ids[0][static_cast<std::size_t>(i)]) == std::to_string(i) + "/inner");
  }
}

}  // namespace
}  // namespace stemtap::inject
