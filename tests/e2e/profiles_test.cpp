// SPDX-License-Identifier: Apache-2.0
// Plays every recorded profile through the injector on the simulated GPU. The session must match
// the profile exactly, and so must a replay.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "e2e/profile_totals.h"
#include "support/shared_data.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

void CheckProfile(const std::filesystem::path& file) {
  CAPTURE(file.filename().string());
  const TotalsByName expected = TotalsOfProfile(file);
  TempDir scratch;
  const auto live = RunStemtap(
      {"demo", "--quiet", "--profile", file.string(), "-o", (scratch / "live").string()});
  CAPTURE(live.err);
  REQUIRE(live.exit_code == 0);
  const auto plan = ReadJson(scratch / "live/plan.json");
  REQUIRE(plan.is_object());
  CHECK(TotalsOfPlan(plan) == expected);
  CHECK(plan["totals"]["dropped"] == 0);
  const auto session = ReadJson(scratch / "live/session.json");
  CHECK(session["counters"]["seen"] == session["counters"]["kept"]);
  REQUIRE(session["processes"].size() == 1);
  CHECK(session["processes"][0]["state"] == "closed");
  CHECK(session["processes"][0]["malformed"] == 0);

  const auto replay =
      RunStemtap({"replay", "--quiet", file.string(), "-o", (scratch / "replay").string()});
  REQUIRE(replay.exit_code == 0);
  CHECK(TotalsOfPlan(ReadJson(scratch / "replay/plan.json")) == expected);
}

TEST_CASE("a live run records the small example profile exactly") {
  CheckProfile(SourceDir() / "tests/data/tiny.csv");
}

TEST_CASE("a live run records every shared profile exactly") {
  const auto folder = SharedPath("data/profiles");
  STEMTAP_SKIP_WITHOUT(folder);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  CHECK(files.size() >= 34);
  for (const auto& file : files) CheckProfile(file);
}

}  // namespace
}  // namespace stemtap::test
