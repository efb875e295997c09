// SPDX-License-Identifier: Apache-2.0
#include "ui/top/model.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/overview_reader.h"
#include "ui/top/made_overview.h"
#include "ui/top/shown.h"

namespace stemtap::ui {
namespace {

using test::JsonOf;
using test::MadeOverview;
using Names = std::vector<std::string>;

TEST_CASE("kernels are sorted by time or by a different column") {
  Shown shown({MadeOverview()});
  CHECK(shown.Names() == Names{"gemm_alpha", "Softmax_beta", "relu"});
  shown.Type("l");
  CHECK(shown.Names() == Names{"Softmax_beta", "gemm_alpha", "relu"});
  shown.Type("l");
  CHECK(shown.Names() == Names{"relu", "gemm_alpha", "Softmax_beta"});
  shown.Type("m");
  CHECK(shown.Names() == Names{"gemm_alpha", "relu", "Softmax_beta"});
  shown.Type("c");
  CHECK(shown.Names() == Names{"relu", "Softmax_beta", "gemm_alpha"});
  shown.Type("n");
  CHECK(shown.Names() == Names{"Softmax_beta", "gemm_alpha", "relu"});
  shown.Type("r");
  CHECK(shown.Names() == Names{"relu", "gemm_alpha", "Softmax_beta"});
  shown.Type("s");  // wraps around to the first order
  CHECK(shown.Names() == Names{"gemm_alpha", "Softmax_beta", "relu"});
}

TEST_CASE("equal rows keep their order in both directions") {
  MadeOverview made;
  made.kernels = {{"a", 1, 5}, {"b", 1, 5}, {"c", 1, 5}};
  Shown shown({made});
  CHECK(shown.Names() == Names{"a", "b", "c"});
  shown.Type("r");
  CHECK(shown.Names() == Names{"a", "b", "c"});
}

TEST_CASE("the filter applies while typing and ignores case") {
  Shown shown({MadeOverview()});
  shown.Type("/SOFT");
  CHECK(shown.model.typing());
  CHECK(shown.Names() == Names{"Softmax_beta"});
  shown.model.Press({Key::kBackspace});
  shown.model.Press({Key::kCharacter, 21});  // Ctrl-U
  CHECK(shown.Names().size() == 3);
  shown.Type("q");  // now an ordinary letter
  CHECK(!shown.model.quit());
  CHECK(shown.Names().empty());
  CHECK(Has(shown.Screen(), "no kernel name contains the filter text"));
  shown.model.Press({Key::kEscape});
  CHECK(shown.Names().size() == 3);
  shown.Type("/ta");
  shown.model.Press({Key::kEnter});
  CHECK(!shown.model.typing());
  CHECK(shown.Names() == Names{"Softmax_beta"});
  CHECK(Has(shown.Screen(), "filter: ta (1 of 3"));
  shown.model.Press({Key::kEscape});
  CHECK(shown.Names().size() == 3);
  // During typing, the cursor keys still work, and the program can be quit.
  shown.Type("/a");
  shown.model.Press({Key::kDown});
  CHECK(Has(shown.Cursor(), "Softmax_beta"));
  shown.model.Press({Key::kHome});
  CHECK(Has(shown.Cursor(), "gemm_alpha"));
  CHECK(shown.model.typing());
  CHECK(!shown.model.quit());
  shown.model.Press({Key::kQuit});
  CHECK(shown.model.quit());
  shown.model.Press({Key::kEscape});
  // A multibyte character is deleted entirely.
  shown.Type("/");
  shown.model.Press({Key::kCharacter, 0x4E2D});
  shown.model.Press({Key::kBackspace});
  CHECK(shown.model.filter().empty());
  CHECK(ContainsIgnoringCase("", ""));
  CHECK(!ContainsIgnoringCase("", "a"));
}

TEST_CASE("the cursor stays on its kernel, or on the first row if it was not moved") {
  Shown shown({MadeOverview()});
  CHECK(Has(shown.Cursor(), "gemm_alpha"));
  MadeOverview next;
  std::swap(next.kernels[0].duration_ns, next.kernels[2].duration_ns);
  shown.Again({next});
  CHECK(Has(shown.Cursor(), "relu"));
  shown.Type("j");
  CHECK(Has(shown.Cursor(), "Softmax_beta"));
  next.kernels[1].duration_ns = 1;
  shown.Again({next});
  CHECK(Has(shown.Cursor(), "Softmax_beta"));
  CHECK(shown.model.PlaceIn(10).cursor == 2);
  shown.Type("g");
  CHECK(Has(shown.Cursor(), "relu"));
  next.kernels.resize(1);
  shown.Type("G");
  shown.Again({next});
  CHECK(Has(shown.Cursor(), "gemm_alpha"));
}

TEST_CASE("navigation by rows and pages stops at both ends") {
  MadeOverview made;
  made.kernels = Many(100);
  Shown shown({made});
  shown.Screen();
  shown.model.Press({Key::kPageDown});
  const std::string second = shown.Cursor();
  CHECK(!Has(second, "kernel_0"));
  shown.model.Press({Key::kPageUp});
  CHECK(Has(shown.Cursor(), "kernel_0"));
  shown.model.Press({Key::kUp});
  CHECK(Has(shown.Cursor(), "kernel_0"));
  shown.model.Press({Key::kEnd});
  CHECK(Has(shown.Cursor(), "kernel_99"));
  CHECK(Has(shown.Screen(), "kernel_98"));
  shown.model.Press({Key::kDown});
  CHECK(Has(shown.Cursor(), "kernel_99"));
  shown.model.Press({Key::kPageDown});
  CHECK(Has(shown.Cursor(), "kernel_99"));
  shown.model.Press({Key::kHome});
  CHECK(Has(shown.Cursor(), "kernel_0"));
}

TEST_CASE("one key opens the clusters of a kernel") {
  Shown shown({MadeOverview()});
  shown.Type("j");
  shown.model.Press({Key::kEnter});
  CHECK(shown.model.view() == View::kClusters);
  const std::string screen = shown.Screen();
  CHECK(Has(screen, "Softmax_beta"));
  CHECK(!Has(screen, "gemm_alpha"));
  CHECK(Has(screen, "closed"));
  CHECK(Has(screen, "SPREAD"));
  CHECK(shown.model.Rows() == 2);
  // The table is empty if its kernel no longer exists.
  MadeOverview next;
  next.kernels.resize(1);
  shown.Again({next});
  CHECK(shown.model.Rows() == 0);
  CHECK(Has(shown.Screen(), "no clusters yet"));
  shown.model.Press({Key::kLeft});
  CHECK(shown.model.view() == View::kKernels);
}

TEST_CASE("the table and the header agree on open clusters") {
  std::string json = JsonOf({});
  const std::string from = R"("state":"open"})";
  json.replace(json.find(from), from.size(), R"("state":"unreachable"})");
  const Result<model::Overview> overview = model::ParseOverview(json, "made");
  REQUIRE(overview.ok());
  Model model;
  model.Show({{"/a", SessionState::kRunning, &overview.value(), ""}});
  std::uint64_t open = 0;
  for (const KernelRow& row : model.run().kernels) open += row.open;
  CHECK(open == overview.value().clusters_open);
}

TEST_CASE("the help, pause and quit keys work") {
  Shown shown({MadeOverview()});
  shown.Type("h");
  CHECK(Has(shown.Screen(), "sort by time, launches, mean, captured, name"));
  CHECK(Has(shown.Screen(80, 8), "KEYS"));
  CHECK(Has(shown.Screen(80, 30), "bias of joined launches"));
  CHECK(!Has(shown.Screen(80, 30), "~"));  // no text is cut
  shown.Type("jjjjjjjjjjjjjjjjjjjjjjjjjj");
  CHECK(Has(shown.Screen(80, 8), "bias of joined launches"));
  shown.Type("?");
  CHECK(shown.model.view() == View::kKernels);
  shown.Type("p");
  CHECK(shown.model.paused());
  CHECK(Has(shown.Screen(), "running paused"));
  shown.Type("p");
  CHECK(!shown.model.paused());
  shown.Type("q");
  CHECK(shown.model.quit());
}

TEST_CASE("several sessions are shown as a sum and separately") {
  MadeOverview first;
  MadeOverview second;
  second.kernels = {{"relu", 100, 9000000, 1}, {"other", 1, 1, 1}};
  second.command = "[\"second\"]";
  second.bound = "0.2";
  second.state = "ended";
  second.processes = R"([{"pid":4243,"program":"rank1","state":"closed","seen":1}])";
  second.dropped = 5;
  second.losses = R"({"ring_full":5})";
  Shown shown({first, second});
  std::string screen = shown.Screen();
  CHECK(Has(screen, "2 sessions"));
  CHECK(Has(screen, "1 running  1 ended"));
  CHECK(shown.model.run().launches_per_s == 1000.0);  // only the running session
  CHECK(shown.Names() == Names{"relu", "gemm_alpha", "Softmax_beta", "other"});
  const KernelRow& relu = shown.model.run().kernels[shown.model.order()[0]];
  CHECK(relu.invocations == 600);
  CHECK(relu.duration_ns == 10000000);
  CHECK(relu.captured == 10);
  CHECK(relu.open == 2);
  CHECK(relu.parts == 2);
  const model::OverviewTotals& sum = shown.model.run().totals;
  CHECK(sum.observed == 4601);
  CHECK(sum.dropped == 5);
  CHECK(sum.kernels_known == 4);
  // The bound is weighted by time: 10,000,000 ns at 0.061 and 9,000,001 ns at 0.2.
  CHECK(sum.bound == doctest::Approx((0.061 * 10000000 + 0.2 * 9000001) / 19000001));
  CHECK(sum.timeline.size() == 3);
  CHECK(sum.timeline[2].observed == 4000);
  CHECK(sum.timeline[2].bound == doctest::Approx(0.1));

  shown.model.Press({Key::kEnter});  // the clusters of both sessions
  CHECK(shown.model.Rows() == 4);
  CHECK(Has(shown.Screen(), "SESSION"));
  shown.model.Press({Key::kEscape});

  shown.Type("]");
  CHECK(shown.model.only() == 0);
  CHECK(shown.Names().size() == 3);
  shown.Type("]");
  screen = shown.Screen();
  CHECK(Has(screen, "session 2 of 2, rank2"));
  CHECK(Has(screen, "ended, without a plan.json in /s/rank2"));
  CHECK(shown.Names() == Names{"relu", "other"});
  shown.Type("]");
  CHECK(shown.model.only() == -1);
  shown.Type("[");
  CHECK(shown.model.only() == 1);
  shown.Type("]");

  first.state = "ended";
  shown.Again({first, second});
  CHECK(shown.model.run().launches_per_s == 2000.0);

  shown.model.Press({Key::kTab});
  CHECK(shown.model.Rows() == 2);
  CHECK(Has(shown.Screen(), "rank1"));
  shown.Type("j");
  shown.model.Press({Key::kEnter});
  CHECK(shown.model.only() == 1);
  CHECK(shown.model.view() == View::kKernels);
}

TEST_CASE("kernels of processes of different sessions stay separate, even if the pids are equal") {
  MadeOverview first;
  MadeOverview second;
  first.kernels = {{"gemm", 100, 9000, 1}, {"relu", 10, 100, 1}};
  second.kernels = {{"gemm", 70, 8000, 1}, {"relu", 20, 200, 1}};
  const auto parse = [](const MadeOverview& made) {
    std::string json = JsonOf(made);
    const std::string from = R"("process":null)";
    json.replace(json.find(from), from.size(), R"("process":4242)");  // of gemm
    Result<model::Overview> overview = model::ParseOverview(json, "made");
    REQUIRE(overview.ok());
    return std::move(overview).value();
  };
  const model::Overview a = parse(first);
  const model::Overview b = parse(second);
  Model model;
  const auto show = [&] {
    model.Show({{"/a", SessionState::kRunning, &a, ""}, {"/b", SessionState::kRunning, &b, ""}});
  };
  show();
  REQUIRE(model.order().size() == 3);
  const auto row = [&](std::size_t i) { return model.run().kernels[model.order()[i]]; };
  CHECK(row(0).invocations == 100);
  CHECK(row(1).invocations == 70);
  CHECK(row(2).kernel->name == "relu");
  CHECK(row(2).invocations == 30);
  CHECK(model.run().totals.kernels_known == 3);

  // The cursor and the opened kernel belong to one of them.
  model.Press({Key::kDown});
  show();
  model.Press({Key::kEnter});
  show();
  REQUIRE(model.chosen() != nullptr);
  CHECK(model.chosen()->invocations == 70);
  CHECK(model.chosen()->parts == 1);
}

TEST_CASE("separate kernels with the same name stay separate") {
  std::string json = JsonOf({});
  const std::string from = R"("process":null,"grid":null,"block":null)";
  json.replace(json.find(from), from.size(), R"("process":4242,"grid":[8,1,2],"block":[256,1,1])");
  const Result<model::Overview> a = model::ParseOverview(json, "a");
  const Result<model::Overview> b = model::ParseOverview(JsonOf({}), "b");
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  Model model;
  model.Show({{"/a", SessionState::kRunning, &a.value(), ""},
              {"/b", SessionState::kRunning, &b.value(), ""}});
  CHECK(model.order().size() == 4);
  CHECK(Has(Snapshot(model, false), "<8,1,2 256> [4242] gemm_alpha"));
}

}  // namespace
}  // namespace stemtap::ui
