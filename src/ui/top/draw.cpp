// SPDX-License-Identifier: Apache-2.0
#include "ui/top/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "ui/top/canvas.h"
#include "ui/top/figures.h"

namespace stemtap::ui {
namespace {

constexpr std::pair<const char*, const char*> kHelp[] = {
    {"Up Down j k", "move by one row"},
    {"PgUp PgDn", "move by one page"},
    {"Home End g G", "move to the first or last row"},
    {"Enter Right", "show the clusters of a kernel, or the session of a process"},
    {"Esc Left", "go back; remove the filter"},
    {"Tab", "switch between kernels and processes"},
    {"[ ]", "step through all sessions and single sessions"},
    {"t l m c n", "sort by time, launches, mean, captured, name; again: reverse"},
    {"s", "sort by the next column"},
    {"r", "reverse the order"},
    {"/", "filter kernels by name; Enter keeps the filter, Esc removes it"},
    {"p", "pause or continue"},
    {"Ctrl-L", "redraw the screen"},
    {"h ? F1", "show this help"},
    {"q F10", "quit"},
    {"", ""},
    {"launches", "processed, and + waiting to be processed"},
    {"TIMES", "histogram of durations: log axis, shortest to longest"},
    {"OPEN CLOSED", "clusters that need captures, and clusters that have enough"},
    {"bound", "sampling error, uncovered time and bias of joined launches"},
    {"uncovered", "in clusters without a sample"},
    {"joined", "other durations than the launches that samples were drawn from"},
};

std::string_view EmptyWords(const Model& model) {
  const SessionState state = model.run().state;
  const bool over = state == SessionState::kEnded || state == SessionState::kKilled;
  if (model.view() == View::kProcesses) {
    return over ? "no process was traced" : "no process is traced yet";
  }
  if (model.view() == View::kClusters)
    return "no clusters yet: nothing has been allocated to this kernel";
  if (!model.filter().empty()) return "no kernel name contains the filter text";
  if (!model.choice().filter.empty()) return "no kernel name matches --filter";
  return over ? "no kernel was recorded" : "no kernel yet";
}

std::vector<Line> HelpTable(Place at, std::size_t seen, const Canvas& canvas) {
  std::vector<Line> lines = {canvas.NewLine().Add("KEYS", Style::kHeading).Take(Style::kHeading)};
  for (std::size_t i = at.first; i < std::size(kHelp) && i - at.first < seen; ++i) {
    lines.push_back(canvas.NewLine()
                        .Add(FitLeft(kHelp[i].first, 14, canvas.unicode), Style::kStrong)
                        .Add(kHelp[i].second)
                        .Take());
  }
  return lines;
}

void Append(std::vector<Line> from, std::vector<Line>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Returns the table of the view in at most `room` lines. REQUIRES: room >= 1.
std::vector<Line> TableOf(Model& model, std::size_t room, const Canvas& canvas) {
  model.set_help_rows(std::size(kHelp));
  std::vector<Line> lines;
  if (model.view() == View::kClusters) {
    // Leave room for clusters on a small screen even if the kernel name is long.
    const std::size_t below = 3 + std::min(model.Rows(), room / 2);
    lines = ChosenKernel(model, room > below ? room - below : 1, canvas);
    lines.resize(std::min(lines.size(), room > 3 ? room - 3 : 0));
  }
  const std::size_t seen = room - lines.size() - 1;  // below the heading
  const Place at = model.PlaceIn(seen);
  switch (model.view()) {
    case View::kKernels:
      Append(KernelTable(model, at, seen, canvas), lines);
      break;
    case View::kClusters:
      Append(ClusterTable(model, at, seen, canvas), lines);
      break;
    case View::kProcesses:
      Append(ProcessTable(model, at, seen, canvas), lines);
      break;
    case View::kHelp:
      Append(HelpTable(at, seen, canvas), lines);
      break;
  }
  if (model.Rows() == 0 && seen > 0)
    lines.push_back(canvas.NewLine().Add(EmptyWords(model), Style::kDim).Take());
  return lines;
}

// Charts appear above the table if there is this much space below the header: three plots of at
// least 27 columns, and at least 20 lines for the table.
constexpr int kMinChartWidth = 110;
constexpr std::size_t kMinChartHeight = 32;
constexpr std::size_t kMinPlotRows = 6;
constexpr std::size_t kMaxPlotRows = 14;  // more show nothing new
constexpr std::size_t kFrameRows = 3;     // title, time axis, and a blank line below

// Returns the charts of a large screen in about half of `room` lines at most. They use the lines
// that the table does not need. With an even number of rows, the scale has a label at half height.
std::vector<Line> ChartsOf(const Model& model, std::size_t room, const Canvas& canvas) {
  const bool is_table = model.view() == View::kKernels || model.view() == View::kProcesses;
  if (!is_table || canvas.width < kMinChartWidth || room < kMinChartHeight) return {};
  const std::size_t used = model.Rows() + 1;
  const std::size_t spare = room > used + kFrameRows ? room - used - kFrameRows : 0;
  const std::size_t rows =
      std::clamp(spare, kMinPlotRows, std::min(kMaxPlotRows, room / 2)) & ~std::size_t{1};
  std::vector<Line> lines = ActivityCharts(model, rows, canvas);
  if (!lines.empty()) lines.emplace_back();
  return lines;
}

Line FooterLine(const Model& model, const Canvas& canvas, int& input_column) {
  LineMaker line = canvas.NewLine();
  if (model.typing()) {
    line.Add("filter: ", Style::kStrong);
    const std::string filter = ShownText(model.filter(), canvas.unicode, kUnlimitedColumns);
    line.Add(LastColumns(filter, std::max(line.left() - 1, 0)));
    input_column = std::min(canvas.width - line.left(), canvas.width - 1);
    return line
        .Add(fmt::format("  {} of {}", Count(model.order().size()),
                         Count(model.run().kernels.size())),
             Style::kDim)
        .Take();
  }
  if (!model.filter().empty() && model.view() == View::kKernels) {
    line.Add("filter: ", Style::kStrong)
        .AddData(model.filter(), Style::kNotice)
        .Add(fmt::format(" ({} of {}, Esc: off)  ", Count(model.order().size()),
                         Count(model.run().kernels.size())));
  }
  if (!model.choice().filter.empty() && model.view() == View::kKernels) {
    line.Add("--filter: ", Style::kStrong).AddData(model.choice().filter, Style::kNotice).Add("  ");
  }
  const auto key = [&](const char* name, const char* action) {
    line.Add(name, Style::kStrong).Add(" ").Add(action, Style::kDim).Add("  ");
  };
  key("q", "quit");
  key("h", "help");
  if (model.sessions().size() > 1) key("[ ]", "sessions");
  if (model.view() == View::kKernels) {
    key("Enter", "clusters");
    key("Tab", "processes");
    key("/", "filter");
    key("s", "sort");
  } else {
    key("Esc", "back");
  }
  key("p", model.paused() ? "continue" : "pause");
  return line.Take();
}

}  // namespace

Frame DrawScreen(Model& model, int width, int height, bool unicode) {
  Frame frame;
  if (width <= 0 || height <= 0) return frame;
  const Canvas canvas = {width, unicode, false};
  // The last line lists the keys or shows the text being typed. On a short screen the table gets at
  // least four lines and the header gets the rest.
  const std::size_t inner = static_cast<std::size_t>(height) - 1;
  frame.lines = Header(model, canvas);
  frame.lines.resize(std::min(frame.lines.size(), inner > 4 ? inner - 4 : std::size_t{inner > 1}));
  std::size_t room = inner - frame.lines.size();
  std::vector<Line> charts = ChartsOf(model, room, canvas);
  room -= charts.size();
  Append(std::move(charts), frame.lines);
  if (room > 0) Append(TableOf(model, room, canvas), frame.lines);
  frame.lines.resize(inner);
  frame.lines.push_back(FooterLine(model, canvas, frame.input_column));
  return frame;
}

std::string Snapshot(const Model& model, bool unicode, std::size_t width) {
  const bool is_unlimited = width >= static_cast<std::size_t>(kUnlimitedColumns);
  const Canvas canvas = {is_unlimited ? kUnlimitedColumns : static_cast<int>(width), unicode,
                         is_unlimited};
  std::string text;
  const auto add = [&text](const std::vector<Line>& lines) {
    if (!text.empty()) text += "\n";
    for (const Line& line : lines) {
      std::string row = line.Text();
      row.resize(row.find_last_not_of(' ') + 1);
      text += row + "\n";
    }
  };
  add(Header(model, canvas));
  if (!model.run().kernels.empty()) {
    add(KernelTable(model, kNoCursor, kAllRows, canvas));
    text += model::LeftOutLine(model.left_out(), "kernel");
  }
  if (!model.run().processes.empty()) add(ProcessTable(model, kNoCursor, kAllRows, canvas));
  return text;
}

}  // namespace stemtap::ui
