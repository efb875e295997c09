// SPDX-License-Identifier: Apache-2.0
// Tests that memory is O(kernels + clusters + captures), independent of the number of launches.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <string>

#include "support/stemtap.h"

namespace stemtap::test {
namespace {

// Returns the maximum resident set of all children so far, in bytes. It only grows, so the small
// run must come first.
std::uint64_t PeakOfChildren() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::uint64_t PeakOfReplay(const std::string& launches) {
  TempDir scratch;
  const std::string profile = (scratch / "decode.stemtap").string();
  const auto made = RunStemtap({"generate", "llm-decode", "--launches", launches, "-o", profile});
  REQUIRE(made.exit_code == 0);
  const auto run = RunStemtap({"replay", "-q", profile, "-o", (scratch / "session").string()},
                              {.timeout = std::chrono::minutes(4)});
  REQUIRE(run.exit_code == 0);
  return PeakOfChildren();
}

TEST_CASE("ten times as many launches use at most 5 MB more memory") {
  const std::uint64_t two_million = PeakOfReplay("2000000");
  const std::uint64_t twenty_million = PeakOfReplay("20000000");
  MESSAGE("peak resident: " << two_million / 1e6 << " MB with 2 million launches, "
                            << twenty_million / 1e6 << " MB with 20 million");
  CHECK(twenty_million <= two_million + 5'000'000);
}

}  // namespace
}  // namespace stemtap::test
