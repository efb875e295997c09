// SPDX-License-Identifier: Apache-2.0
//
// The runs that the tests of report and diff compare.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "support/stemtap.h"
#include "ui/report/page.h"

#define STEMTAP_SKIP_WITHOUT_PAGE()                      \
  do {                                                   \
    if (ui::ReportPage().empty()) {                      \
      MESSAGE("SKIPPED: built without the report page"); \
      return;                                            \
    }                                                    \
  } while (false)

namespace stemtap::test {

// TwoRuns has two runs of the same launches, each as a profile, a session and a plan without its
// session.
struct TwoRuns {
  TempDir directory;
  std::string before_profile = (directory / "before.csv").string();
  std::string before = (directory / "before").string();
  std::string before_plan = (directory / "plans/before.json").string();
  std::string after_profile = (directory / "after.csv").string();
  std::string after = (directory / "after").string();
  std::string after_plan = (directory / "plans/after.json").string();

  TwoRuns() {
    Make(before_profile, before, before_plan, "1");
    Make(after_profile, after, after_plan, "2");
  }

 private:
  void Make(const std::string& profile, const std::string& session, const std::string& plan,
            const char* noise_seed) const {
    REQUIRE(RunStemtap({"generate", "llm-decode", "--launches", "20000", "--noise-seed", noise_seed,
                        "-o", profile})
                .exit_code == 0);
    REQUIRE(RunStemtap({"replay", profile, "-q", "-o", session}).exit_code == 0);
    directory.Write("plans/" + std::filesystem::path(plan).filename().string(),
                    ReadFile(session + "/plan.json"));
  }
};

}  // namespace stemtap::test
