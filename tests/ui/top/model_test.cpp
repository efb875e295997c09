// SPDX-License-Identifier: Apache-2.0
#include "ui/top/model.h"

#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "model/overview_reader.h"
#include "ui/top/draw.h"
#include "ui/top/made_overview.h"
#include "ui/top/text_cells.h"

using namespace stemtap;
using namespace stemtap::ui;
using test::JsonOf;
using test::MadeKernel;
using test::MadeOverview;

namespace {

// Shown contains overviews and a model that shows them.
struct Shown {
  explicit Shown(const std::vector<MadeOverview>& made) { Again(made); }

  void Again(const std::vector<MadeOverview>& made) {
    std::vector<std::unique_ptr<model::Overview>> next;
    std::vector<Session> sessions;
    for (const MadeOverview& m : made) {
      Result<model::Overview> parsed = model::ParseOverview(JsonOf(m), "made");
      if (!parsed.ok()) FAIL(parsed.error().message);
      next.push_back(std::make_unique<model::Overview>(std::move(parsed).value()));
      sessions.push_back({"/s/rank" + std::to_string(next.size()),
                          m.state == "ended" ? SessionState::kEnded : SessionState::kRunning,
                          next.back().get(), ""});
      sessions.back().launches_per_s = 1000.0;
    }
    model.Show(sessions);
    overviews = std::move(next);
  }
  void Type(const std::string& keys) {
    for (const char c : keys) model.Press({Key::kCharacter, static_cast<char32_t>(c)});
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const std::uint32_t i : model.order())
      names.push_back(model.run().kernels[i].kernel->name);
    return names;
  }
  std::string Screen(int width = 80, int height = 24, bool unicode = false) {
    std::string text;
    const Frame frame = DrawScreen(model, width, height, unicode);
    for (const Line& line : frame.lines) text += line.Text() + "\n";
    return text;
  }
  // Returns the text of the row under the cursor.
  std::string Cursor(int height = 24) {
    for (const Line& line : DrawScreen(model, 80, height, false).lines) {
      if (line.rest == Style::kCursor) return line.Text();
    }
    return "";
  }

  std::vector<std::unique_ptr<model::Overview>> overviews;
  Model model;
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<MadeKernel> Many(int count) {
  std::vector<MadeKernel> kernels;
  for (int i = 0; i < count; ++i) {
    kernels.push_back(
        {"kernel_" + std::to_string(i), 10, static_cast<std::uint64_t>(count - i) * 1000, 1});
  }
  return kernels;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("kernels are sorted by time, or by another column") {
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

TEST_CASE("equal rows keep their order both ways") {
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
  // While typing, the cursor keys still work and the program can be quit.
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
  // A multibyte character is deleted as a whole.
  shown.Type("/");
  shown.model.Press({Key::kCharacter, 0x4E2D});
  shown.model.Press({Key::kBackspace});
  CHECK(shown.model.filter().empty());
  CHECK(ContainsIgnoringCase("", ""));
  CHECK(!ContainsIgnoringCase("", "a"));
}

TEST_CASE("the end of a filter that is longer than the screen is visible") {
  Shown shown({MadeOverview()});
  shown.Type("/abcdefghijklmnopqrstuvwxyz");
  const Frame frame = DrawScreen(shown.model, 20, 10, false);
  CHECK(Has(frame.lines.back().Text(), "xyz"));
  CHECK(frame.lines.back().Text().find("xyz") + 3 == static_cast<std::size_t>(frame.input_column));
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

TEST_CASE("names are brief in the table and complete above the clusters") {
  MadeOverview made;
  const std::string name = "void b::gemm<b::Tile<64>, " + std::string(90, 'x') + ">(float*)";
  made.kernels = {{name, 1, 5}, {"void a::relu<z::Half>(int)", 1, 4}};
  Shown shown({made});
  CHECK(Has(shown.Screen(), " gemm<Tile<64>, x"));
  CHECK(!Has(shown.Screen(), "b::"));
  CHECK(Has(shown.Screen(), " relu<Half>\n"));
  shown.Type("n");
  CHECK(shown.Names() == Names{name, "void a::relu<z::Half>(int)"});
  shown.Type("/a::");  // the filter applies to the full name
  CHECK(shown.Names() == Names{"void a::relu<z::Half>(int)"});
  shown.model.Press({Key::kEscape});
  shown.Type("g");
  shown.model.Press({Key::kEnter});
  CHECK(Has(shown.Screen(), name.substr(0, 80) + "\n" + name.substr(80) + "\n1 launch,"));
  // A mangled name is shown in both forms.
  made.kernels[0].name = "_ZN3lib4gemmILi4EfEEvPf";
  Shown mangled({made});
  mangled.model.Press({Key::kEnter});
  CHECK(Has(mangled.Screen(), "\ngemm<4 float>\n_ZN3lib4gemmILi4EfEEvPf\n1 launch,"));
  // A very long name leaves room for the table below it.
  made.kernels[0].name = std::string(4000, 'y');
  Shown longest({made});
  longest.model.Press({Key::kEnter});
  for (const int height : {8, 12, 24}) {
    CAPTURE(height);
    CHECK(Has(longest.Screen(80, height), "y~\n"));
    CHECK(Has(longest.Screen(80, height), " closed\n"));
  }
}

TEST_CASE("processes are shown with the reason why they are disabled") {
  MadeOverview made;
  made.processes =
      R"([{"pid":77,"program":"a","state":"stood_down","reason":"no \u001b[5m CUPTI"},{"pid":78}])";
  Shown shown({made});
  CHECK(Has(shown.Screen(), "1 of 2 processes are not recorded: no \\x1B[5m CUPTI\n"));
  shown.model.Press({Key::kTab});
  const std::string screen = shown.Screen();
  CHECK(Has(screen, "stood_down"));
  CHECK(Has(screen, "no \\x1B[5m CUPTI"));
  CHECK(!Has(screen, "\x1B"));
  shown.model.Press({Key::kTab});
  CHECK(shown.model.view() == View::kKernels);
}

TEST_CASE("the header contains the figures of the session") {
  MadeOverview made;
  made.dropped = 12;
  made.losses = R"({"ring_full":10,"incomplete":2})";
  Shown shown({made});
  const std::string screen = shown.Screen();
  CHECK(Has(screen, "running 0:12"));
  CHECK(Has(screen, "python3 decode.py"));
  CHECK(Has(screen, "launches 4,500  1,000/s"));
  CHECK(Has(screen, "kernels 3  time 10.0 ms  level gate (log)\n"));
  CHECK(Has(screen, "3 open, 3 closed"));
  CHECK(Has(screen, "captured 21 launches, 1.00 % of the time"));
  CHECK(Has(screen, "bound 6.10 %  asked for 5.00 % at 95.0 % confidence"));
  CHECK(Has(screen, "dropped 12  ring_full 10, incomplete 2"));
  bool bad = false;
  for (const Line& line : DrawScreen(shown.model, 80, 24, false).lines) {
    for (const Span& span : line.spans)
      bad = bad || (span.text == "12" && span.style == Style::kBad);
  }
  CHECK(bad);
  CHECK(Has(screen, "60.00 %"));
  CHECK(Has(screen, "6.00 us"));
}

TEST_CASE("the header shows how busy the GPU is, now or over the whole session") {
  MadeOverview made;
  // One second per slice; the last two complete seconds are idle.
  made.activity =
      R"({"devices":1,"start_ns":0,"width_ns":1000000000,"count":9,"slices":[[0,9,9,900000000],[1,9,9,1000000000],)"
      R"([2,9,9,1000000000],[3,9,9,1000000000],[4,9,9,500000000],[8,9,9,9]]})";
  Shown shown({made});
  CHECK(Has(shown.Screen(100), "1,000/s  GPU busy 0 %  kernels 3"));
  made.state = "ended";
  shown.Again({made});
  CHECK(Has(shown.Screen(100), "1,000/s  GPU busy 50.0 %  kernels 3"));
  MadeOverview other;  // does not know
  other.state = "ended";
  shown.Again({made, other});
  CHECK(Has(shown.Screen(100), "GPU busy 50.0 %"));
  shown.Again({MadeOverview()});
  CHECK(!Has(shown.Screen(100), "busy"));
  // The slices end with the last kernel, so the idle time after it is in no slice.
  made.state = "running";
  made.activity =
      R"({"devices":1,"start_ns":0,"width_ns":1000000000,"count":9,"slices":[[7,9,9,1000000000],[8,9,9,9]]})";
  shown.Again({made});
  CHECK(Has(shown.Screen(100), "GPU busy 50.0 %"));
  std::vector<Session> sessions = shown.model.sessions();
  sessions[0].launches_per_s = 0.0;
  shown.model.Show(sessions);
  CHECK(Has(shown.Screen(100), "0/s  GPU busy 0 %"));
}

TEST_CASE("a large screen shows charts above the table, a small one only the table") {
  MadeOverview made;
  made.activity =
      R"({"devices":2,"start_ns":0,"width_ns":1000000000,"count":4,"slices":[[0,9,9,2000000000],[3,9,9,1000000000]]})";
  made.kernels = Many(100);
  Shown shown({made});
  const auto title_line = [&](int width, int height) {
    const std::vector<Line> lines = DrawScreen(shown.model, width, height, false).lines;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (Has(lines[i].Text(), "launches per second")) return static_cast<int>(i);
    }
    return -1;
  };
  CHECK(title_line(80, 24) == -1);
  CHECK(title_line(100, 45) == -1);
  CHECK(title_line(160, 30) == -1);
  CHECK(title_line(160, 37) == -1);
  CHECK(title_line(160, 38) == 5);
  CHECK(title_line(160, 45) == 5);
  const std::vector<Line> lines = DrawScreen(shown.model, 160, 45, false).lines;
  CHECK(Has(lines[5].Text(), "GPU busy, mean of 2 devices"));
  CHECK(Has(lines[5].Text(), "bound (log), requested: 5.00 %"));
  CHECK(Has(lines[6].Text(), "      10|"));
  CHECK(Has(lines[9].Text(), "       5|"));
  CHECK(Has(lines[11].Text(), "       0|"));
  CHECK(Has(lines[6].Text(), "   100 %|##########"));
  CHECK(Has(lines[12].Text(), "0" + std::string(39, ' ') + "0:04"));
  CHECK(lines[12].Text().ends_with("0:12"));
  CHECK(lines[13].Text().empty());
  CHECK(Has(lines[14].Text(), "LAUNCHES"));
  CHECK(Has(lines[43].Text(), "kernel_28"));
  for (const Line& line : lines) CHECK(ColumnsOf(line.Text()) <= 160);
  // With few kernels, the charts use the lines that the table does not need.
  made.kernels = Many(3);
  shown.Again({made});
  const std::vector<Line> few = DrawScreen(shown.model, 160, 45, false).lines;
  CHECK(Has(few[5 + 14 + 3].Text(), "LAUNCHES"));
  // The clusters and the help need the space.
  shown.model.Press({Key::kEnter});
  CHECK(title_line(160, 45) == -1);
  shown.model.Press({Key::kEscape});
  shown.Type("h");
  CHECK(title_line(160, 45) == -1);
  shown.Type("h");
  // Without activity, the other two charts have its space.
  made.activity.clear();
  shown.Again({made});
  CHECK(title_line(160, 45) == 5);
  CHECK(!Has(shown.Screen(160, 45), "GPU busy"));
  // Launches observed: 100/s until 1 s, 225/s until 5 s, 200/s until 10 s.
  CHECK(Has(shown.Screen(160, 45), "     240|"));
}

TEST_CASE("the header reports that the bound is the observed error") {
  MadeOverview made;
  CHECK_FALSE(Has(Shown({made}).Screen(), "observed error"));
  made.state = "ended";
  made.certified_bound = "0.048";
  CHECK(Has(Shown({made}).Screen(),
            "the bound is the observed error, which exceeds the certified bound, 4.80 %\n"));
  // The bound of several sessions is the mean of their bounds.
  Shown several({made, made});
  CHECK_FALSE(Has(several.Screen(), "observed error"));
}

TEST_CASE("the only kernel has all of the time") {
  MadeOverview made;
  made.kernels = {{"alone", 1000, 6000000}};
  Shown shown({made});
  CHECK(Has(shown.Screen(), "\n100.0 % "));
  made.kernels.push_back({"tiny", 1, 6});
  shown.Again({made});
  CHECK(Has(shown.Screen(), "\n100.0 % "));
  made.kernels[1].duration_ns = 6000;
  shown.Again({made});
  CHECK(Has(shown.Screen(), "\n99.90 % "));
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

TEST_CASE("the header reports that only the longest kernels are listed") {
  Result<model::Overview> overview = model::ParseOverview(JsonOf({}), "made");
  REQUIRE(overview.ok());
  overview.value().kernels_known = 10000;
  Model model;
  model.Show({{"/a", SessionState::kRunning, &overview.value(), ""}});
  CHECK(Has(Snapshot(model, false), "kernels 10,000, the longest 3 listed  "));
}

TEST_CASE("launches that are not processed yet are shown as pending") {
  Result<model::Overview> overview = model::ParseOverview(JsonOf({}), "made");
  REQUIRE(overview.ok());
  overview.value().kept += 63;
  Model model;
  model.Show({{"/a", SessionState::kRunning, &overview.value(), ""}});
  CHECK(Has(Snapshot(model, false), "launches 4,500 +63  "));
  model.Show({{"/a", SessionState::kKilled, &overview.value(), ""}});
  CHECK(Has(Snapshot(model, false), "launches 4,500  "));
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

TEST_CASE("several sessions are shown as a sum and one by one") {
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
  // Weighted by time: 10,000,000 ns at 0.061 and 9,000,001 ns at 0.2.
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

TEST_CASE("every screen fits any size and any names") {
  REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr);
  MadeOverview made;
  made.kernels = Many(50);
  made.kernels[0].name = "\\u0007\\u001b]0;owned\\u0007\\u4e2d\\u6587\\u4e2d\\u6587\\u202e";
  made.kernels[1].name = std::string(5000, 'x');
  made.command = R"(["\u001b[2J", "\n\n"])";
  made.processes = R"([{"pid":1,"program":"\u001b[2J","state":"\u0007","reason":"\u4e2d"}])";
  Shown shown({made, made});
  for (const std::string keys : {"", "]", "/x", "h", "s"}) {
    shown.Type(keys);
    for (const Key key : {Key::kNone, Key::kEnter, Key::kTab, Key::kTab}) {
      shown.model.Press({key});
      for (const int height : {0, 1, 2, 3, 4, 5, 7, 24, 60}) {
        for (const int width : {0, 1, 2, 3, 10, 20, 40, 61, 80, 200}) {
          const Frame frame = DrawScreen(shown.model, width, height, true);
          CAPTURE(width);
          CAPTURE(height);
          CHECK(static_cast<int>(frame.lines.size()) == (width > 0 ? height : 0));
          for (const Line& line : frame.lines) {
            const std::string text = line.Text();
            CHECK(ColumnsOf(text) <= width);
            for (const char c : text) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7F));
          }
          CHECK(frame.input_column < std::max(width, 1));
        }
      }
    }
    shown.model.Press({Key::kEscape});
    shown.model.Press({Key::kEscape});
  }
}

TEST_CASE("a low screen shows kernels before figures") {
  Shown shown({MadeOverview()});
  const std::string screen = shown.Screen(80, 6);
  CHECK(Has(screen, "gemm_alpha"));
  CHECK(Has(screen, "relu"));
  CHECK(Has(screen, "q quit"));
  // A short screen shows dropped records first, then the quality of the sample.
  CHECK(Has(shown.Screen(80, 7), "\nbound 6.10 %"));
  MadeOverview made;
  made.dropped = 12;
  shown.Again({made});
  CHECK(Has(shown.Screen(80, 7), "\ndropped 12"));
}

TEST_CASE("a session without an overview is shown as waiting") {
  Model model;
  model.Show(
      {{"/s", SessionState::kWaiting, nullptr, "/s/overview.json: No such file or directory"}});
  std::string text;
  for (const Line& line : DrawScreen(model, 80, 24, false).lines) text += line.Text() + "\n";
  CHECK(Has(text, "waiting for the first overview: /s/overview.json: No such file"));
  CHECK(Has(text, "no kernel yet"));
}

TEST_CASE("an ended session without launches is not reported as waiting for launches") {
  MadeOverview made;
  made.kernels.clear();
  made.processes = "[]";
  made.state = "ended";
  Shown shown({made});
  CHECK(Has(shown.Screen(), "\nno kernel was recorded\n"));
  shown.model.Press({Key::kTab});
  CHECK(Has(shown.Screen(), "\nno process was traced\n"));
}

TEST_CASE("problems of a session are shown below its title") {
  const Result<model::Overview> overview = model::ParseOverview(JsonOf({}), "made");
  REQUIRE(overview.ok());
  Model model;
  const auto second_line = [&](Session session) {
    model.Show({std::move(session)});
    return DrawScreen(model, 100, 24, false).lines[1].Text();
  };
  Session session = {"/s", SessionState::kRunning, &overview.value(), ""};
  CHECK(second_line(session).starts_with("bound "));
  session.overdue_s = 75;
  CHECK(second_line(session).starts_with("these figures are 1:15 old: the collector, process "));
  session = {"/s", SessionState::kEnded, &overview.value(), ""};
  CHECK(second_line(session) == "ended, without a plan.json in /s");
  session.plan = true;
  CHECK(second_line(session) == "ended, the plan is /s/plan.json");
  // For several sessions, shows counts.
  session.overdue_s = 75;
  model.Show({session, session});
  CHECK(Has(Snapshot(model, false), "2 ended  2 stale\n"));
}

TEST_CASE("a snapshot contains the full name of every kernel") {
  MadeOverview made;
  made.kernels = Many(300);
  made.kernels[299].name = std::string(400, 'y');
  Shown shown({made});
  const std::string text = Snapshot(shown.model, false);
  CHECK(Has(text, "kernel_298"));
  CHECK(Has(text, std::string(400, 'y')));
  CHECK(Has(text, "4242 recording"));
  CHECK(!Has(text, " \n"));
}
