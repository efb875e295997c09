// SPDX-License-Identifier: Apache-2.0
#include "model/finished_session.h"

#include <doctest/doctest.h>

#include <string>

#include "model/plan_cells.h"
#include "support/temp_dir.h"

namespace stemtap::model {
namespace {

std::string ErrorOf(const std::string& path) {
  const Result<FinishedSession> read = LoadFinished(path);
  return read.ok() ? "read" : read.error().message;
}

TEST_CASE("a session is read with the files that it has") {
  const test::TempDir scratch;
  const std::string path = scratch.path().string();
  CHECK(ErrorOf(path) ==
        path + ": has no plan.json; expected the directory of a finished session, or a plan");
  Plan plan;
  plan.source = "run.csv";
  scratch.Write("plan.json", PlanToJson(plan));
  const Result<FinishedSession> alone = LoadFinished(path);
  REQUIRE(alone.ok());
  CHECK(alone.value().plan.source == "run.csv");
  CHECK_FALSE(alone.value().has_cells);
  CHECK_FALSE(alone.value().session);
  CHECK_FALSE(alone.value().overview);
  CHECK(ErrorOf((scratch / "plan.json").string()) == "read");

  RecordedSession session;
  session.mode = "live";
  scratch.Write("session.json", SessionToJson(session));
  scratch.Write("cells.json", CellsToJson(plan));
  Overview overview;
  overview.ended = true;
  scratch.Write("overview.json", OverviewToJson(overview));
  const Result<FinishedSession> whole = LoadFinished(path);
  REQUIRE(whole.ok());
  CHECK(whole.value().has_cells);
  REQUIRE(whole.value().session);
  CHECK(whole.value().session->mode == "live");
  REQUIRE(whole.value().overview);
  CHECK(whole.value().overview->ended);
}

TEST_CASE("a damaged file of a session is named") {
  for (const char* name : {"plan.json", "session.json", "cells.json", "overview.json"}) {
    const test::TempDir scratch;
    scratch.Write("plan.json", PlanToJson(Plan()));
    scratch.Write(name, "{\"schema\": 7");
    CHECK(ErrorOf(scratch.path().string()).starts_with((scratch / name).string() + ": "));
  }
}

}  // namespace
}  // namespace stemtap::model
