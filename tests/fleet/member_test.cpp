// SPDX-License-Identifier: Apache-2.0
#include "fleet/member.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet/background_member.h"
#include "fleet/fake_server.h"
#include "fleet/packing.h"
#include "fleet/seal.h"
#include "support/temp_dir.h"

namespace stemtap::fleet {
namespace {

std::string Text(const std::string& text) {
  return fmt::format("${}\r\n{}\r\n", text.size(), text);
}

// Returns the answer to an update of a run that does not lead.
std::string Answered(const std::vector<DirectedKernel>& kernels) {
  return "*6\r\n:0\r\n:0\r\n" + Text("1") +
         Text(Sealed("targets", "run", PackDirections(kernels))) + Text("0") + ":1\r\n";
}

// The answer of a server that has lost the updates of the run.
const std::string kHasLost = "*6\r\n:1\r\n:0\r\n" + Text("0") + "$-1\r\n" + Text("0") + ":0\r\n";
const std::string kPong = "+PONG\r\n";

model::KernelId Named(const std::string& name) {
  model::KernelId id;
  id.name = name;
  return id;
}

RunInfo RunOf(const std::string& id) {
  RunInfo run;
  run.id = id;
  return run;
}

Member MemberOf(const FakeServer& server) {
  return Member(server.url(), "job", RunOf("run"), {}, {64});
}

TEST_CASE("without the server, a run keeps its directions until its launches have doubled") {
  const DirectedKernel known{KeyOf(Named("known")), {{0, 3}, {900, 2}}};
  FakeServer server({kPong, Answered({known})});
  Member member = MemberOf(server);
  stats::LogSketch durations;
  for (int i = 0; i < 100; ++i) durations.Add(1000);
  std::vector<online::KernelReport> reports = {{Named("known"), &durations, {}, {}}};
  std::optional<online::Directions> directions = member.Direct(reports, false);
  REQUIRE(directions);
  REQUIRE(directions->size() == 1);
  REQUIRE(directions->at(0).clusters.size() == 2);
  CHECK(directions->at(0).clusters[1].first_bin == 900);
  CHECK(directions->at(0).clusters[1].target == 2);
  server.Join();
  CHECK(member.Direct(reports, false).has_value());
  // A kernel that is new during the pause has no directions.
  stats::LogSketch few;
  few.Add(5);
  for (int i = 0; i < 20; ++i) reports.push_back({Named("new " + std::to_string(i)), &few, {}, {}});
  directions = member.Direct(reports, false);
  REQUIRE(directions);
  REQUIRE(directions->size() == 21);
  CHECK(directions->at(0).clusters.size() == 2);
  for (std::size_t i = 1; i < 21; ++i) CHECK(directions->at(i).clusters.empty());
  for (int i = 0; i < 100; ++i) durations.Add(1000);
  CHECK(!member.Direct(reports, false));
}

// A collector that lags behind its program finds launches after the end of captures.
TEST_CASE("launches that a live run reports after the end of captures reach the job") {
  const std::string updated = Answered({});
  FakeServer server({kPong, updated, updated, updated, ":1\r\n", ":1\r\n"});
  auto member = std::make_unique<Member>(server.url(), "job", RunOf("run"),
                                         sampling::SamplingOptions(), AskingPace{64});
  REQUIRE(member->Join().ok());
  BackgroundMember background(std::move(member));
  background.Start();
  stats::LogSketch durations;
  durations.Add(1000);
  const std::vector<online::KernelReport> reports = {{Named("kernel"), &durations, {}, {}}};
  background.Direct(reports, true);
  server.WaitFor(3);
  durations.Add(1000);
  background.Direct(reports, true);
  const test::TempDir directory;
  // The files are refused if they come instead of the third update.
  CHECK(background.Leave(directory.path().string()).ok());
}

TEST_CASE("a server that keeps losing the job is asked twice, and the run has not entered") {
  const FakeServer server({kPong, kHasLost, kHasLost});
  Member member = MemberOf(server);
  const Status joined = member.Join();
  REQUIRE(!joined.ok());
  CHECK(joined.error().message == "the server loses the data of the job");
}

}  // namespace
}  // namespace stemtap::fleet
