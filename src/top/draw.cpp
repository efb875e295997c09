// SPDX-License-Identifier: Apache-2.0
#include "top/draw.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "top/figures.h"
#include "top/text_cells.h"

namespace stemtap::top {
namespace {

// As wide as anything is: names are cut at 16,384 bytes, each of at most 4 columns when it is escaped.
constexpr int kUnlimited = 1 << 20;
// A name of less than this many columns tells nothing: other columns go first.
constexpr int kLeastName = 18;

// Puts a line together, cut at the width.
class LineMaker {
 public:
  LineMaker(int width, bool unicode) : left_(width), unicode_(unicode) {}

  LineMaker& Add(std::string_view shown, Style style = Style::kPlain) {
    if (left_ <= 0 || shown.empty()) return *this;
    std::string text = Cut(shown, left_, unicode_);
    left_ -= ColumnsOf(text);
    line_.spans.push_back({std::move(text), style});
    return *this;
  }
  // Text of somebody else.
  LineMaker& AddData(std::string_view text, Style style = Style::kPlain) {
    return Add(ShownText(text, unicode_, left_), style);
  }
  int left() const { return left_; }
  Line Take(Style rest = Style::kPlain) {
    line_.rest = rest;
    return std::move(line_);
  }

 private:
  Line line_;
  int left_;
  bool unicode_;
};

struct Canvas {
  int width = 0;
  bool unicode = false;
  bool snapshot = false;

  LineMaker NewLine() const { return {width, unicode}; }
};

// --- header ------------------------------------------------------------------------------------------

std::pair<const char*, Style> StateWord(SessionState state) {
  switch (state) {
    case SessionState::kRunning:
      return {"running", Style::kGood};
    case SessionState::kEnded:
      return {"ended", Style::kStrong};
    case SessionState::kKilled:
      return {"killed", Style::kBad};
    case SessionState::kWaiting:
      break;
  }
  return {"waiting", Style::kNotice};
}

// The last part of a folder's path.
std::string_view NameOf(std::string_view folder) {
  return folder.substr(folder.rfind('/') + 1);
}

Line TitleLine(const Model& model, const Canvas& canvas) {
  const OverviewTotals& o = model.run().totals;
  const auto [word, style] = StateWord(model.run().state);
  LineMaker line = canvas.NewLine();
  line.Add("stemtap top  ", Style::kStrong).Add(word, style);
  if (model.paused()) line.Add(" paused", Style::kNotice);
  line.Add(fmt::format(" {}  ", Elapsed(o.elapsed_s)));
  const std::size_t count = model.sessions().size();
  if (count > 1) {
    if (model.only() < 0) {
      line.Add(fmt::format("{} sessions  ", count), Style::kStrong);
    } else {
      const auto index = static_cast<std::size_t>(model.only());
      line.Add(fmt::format("session {} of {}, ", index + 1, count), Style::kStrong)
          .AddData(NameOf(model.sessions()[index].folder), Style::kStrong)
          .Add("  ");
    }
  }
  std::string command;
  for (const std::string& word_of : o.command) {
    if (!command.empty()) command += ' ';
    command += word_of;
    if (command.size() > static_cast<std::size_t>(canvas.width)) break;
  }
  return line.AddData(command).Take();
}

// What has to be known of one session, if anything.
void AddMessages(const Session& session, const Canvas& canvas, std::vector<Line>& lines) {
  if (session.state == SessionState::kKilled) {
    lines.push_back(
        canvas.NewLine()
            .Add(fmt::format("killed: its collector, process {}, is gone without having ended it",
                             session.overview->pid),
                 Style::kBad)
            .Take());
  } else if (session.state == SessionState::kEnded) {
    const std::string plan = session.folder + "/plan.json";
    if (::access(plan.c_str(), F_OK) == 0) {
      lines.push_back(
          canvas.NewLine().Add("ended, the plan is ").AddData(plan, Style::kStrong).Take());
    } else {
      lines.push_back(canvas.NewLine()
                          .Add("ended, without a plan.json in ", Style::kNotice)
                          .AddData(session.folder, Style::kNotice)
                          .Take());
    }
  } else if (session.state == SessionState::kWaiting) {
    lines.push_back(canvas.NewLine()
                        .Add("waiting for the first overview: ", Style::kNotice)
                        .AddData(session.problem, Style::kNotice)
                        .Take());
    return;
  }
  if (!session.problem.empty()) {
    lines.push_back(canvas.NewLine().AddData(session.problem, Style::kBad).Take());
  }
}

std::vector<Line> MessageLines(const Model& model, const Canvas& canvas) {
  std::vector<Line> lines;
  const std::vector<Session>& sessions = model.sessions();
  if (sessions.size() == 1 || model.only() >= 0) {
    AddMessages(sessions[static_cast<std::size_t>(std::max(model.only(), 0))], canvas, lines);
  } else {
    // Of many, how many there are of each.
    std::array<int, 4> counts{};
    int problems = 0;
    for (const Session& session : sessions) {
      ++counts[static_cast<std::size_t>(session.state)];
      problems += !session.problem.empty() && session.state != SessionState::kWaiting;
    }
    LineMaker line = canvas.NewLine();
    for (const SessionState state : {SessionState::kRunning, SessionState::kEnded,
                                     SessionState::kWaiting, SessionState::kKilled}) {
      const int of = counts[static_cast<std::size_t>(state)];
      if (of != 0)
        line.Add(fmt::format("{} {}", of, StateWord(state).first), StateWord(state).second)
            .Add("  ");
    }
    if (problems != 0) line.Add(fmt::format("{} cannot be read", problems), Style::kBad).Add("  ");
    lines.push_back(line.Add("[ and ] step through them", Style::kDim).Take());
  }
  std::size_t stood_down = 0;
  for (const ProcessRow& row : model.run().processes)
    stood_down += row.process->state == "stood_down";
  if (stood_down != 0) {
    lines.push_back(
        canvas.NewLine()
            .Add(fmt::format("{} of {} processes stood down, nothing of them is recorded",
                             stood_down, model.run().processes.size()),
                 Style::kBad)
            .Add(canvas.snapshot ? "" : ": Tab shows why", Style::kBad)
            .Take());
  }
  return lines;
}

Line LaunchesLine(const OverviewTotals& o, const Canvas& canvas) {
  LineMaker line = canvas.NewLine();
  line.Add("launches ", Style::kDim).Add(Count(o.observed), Style::kStrong);
  line.Add(fmt::format("  {}/s", Rate(LaunchesPerSecond(o))));
  line.Add("  kernels ", Style::kDim).Add(Count(o.kernels_known));
  line.Add("  time ", Style::kDim).Add(Duration(static_cast<double>(o.duration_ns)));
  if (o.excluded != 0) {
    line.Add("  excluded ", Style::kDim).Add(Count(o.excluded));
  }
  if (o.slowed != 0) line.Add("  slowed ", Style::kDim).Add(Count(o.slowed));
  if (!o.level.empty()) line.Add("  level ", Style::kDim).AddData(o.level);
  if (!o.actuator.empty()) line.Add("  actuator ", Style::kDim).AddData(o.actuator);
  return line.Take();
}

Line CapturedLine(const OverviewTotals& o, const Canvas& canvas) {
  const double share = o.duration_ns == 0 ? std::nan("")
                                          : static_cast<double>(o.captured_duration_ns) /
                                                static_cast<double>(o.duration_ns);
  LineMaker line = canvas.NewLine();
  line.Add("captured ", Style::kDim).Add(Count(o.captured), Style::kStrong);
  line.Add(fmt::format(" launches, {} of the time", Percent(share)));
  line.Add("  clusters ", Style::kDim)
      .Add(fmt::format("{} open, {} closed", Count(o.clusters_open), Count(o.clusters_closed)));
  return line.Take();
}

Line BoundLine(const OverviewTotals& o, const Canvas& canvas) {
  const bool reached = o.bound <= o.error_bound * (1.0 + 1e-9);
  LineMaker line = canvas.NewLine();
  line.Add("bound ", Style::kDim)
      .Add(Percent(o.bound), std::isnan(o.bound) ? Style::kPlain
                             : reached           ? Style::kGood
                                                 : Style::kNotice);
  line.Add(fmt::format("  asked for {}", Percent(o.error_bound)));
  if (o.confidence > 0.0) line.Add(fmt::format(" at {} confidence", Percent(o.confidence)));
  const int columns = canvas.snapshot ? 32 : std::min(line.left() - 2, 48);
  if (columns >= 4 && !o.timeline.empty()) {
    line.Add("  ").Add(Bars(BoundOverTime(o, columns), canvas.unicode));
  }
  return line.Take();
}

Line DroppedLine(const OverviewTotals& o, const Canvas& canvas) {
  LineMaker line = canvas.NewLine();
  const Style style = o.dropped != 0 ? Style::kBad : Style::kPlain;
  line.Add("dropped ", Style::kDim).Add(Count(o.dropped), style);
  const char* before = "  ";
  for (const auto& [name, count] : o.losses) {
    const Style loss = o.dropped != 0 || o.gaps != 0 ? Style::kBad : Style::kNotice;
    line.Add(before).AddData(name, loss).Add(" " + Count(count), loss);
    before = ", ";
  }
  if (o.gaps != 0) line.Add("  ").Add(fmt::format("gaps {}", Count(o.gaps)), Style::kBad);
  return line.Take();
}

std::vector<Line> Header(const Model& model, const Canvas& canvas) {
  std::vector<Line> lines = {TitleLine(model, canvas)};
  for (Line& line : MessageLines(model, canvas)) lines.push_back(std::move(line));
  const OverviewTotals& o = model.run().totals;
  lines.push_back(LaunchesLine(o, canvas));
  lines.push_back(CapturedLine(o, canvas));
  lines.push_back(BoundLine(o, canvas));
  lines.push_back(DroppedLine(o, canvas));
  return lines;
}

// --- tables ------------------------------------------------------------------------------------------

struct Column {
  std::string title;
  int width = 0;
  bool left = false;  // aligned
};

// The titles or the cells of a row, a space between them; the last one, if it is aligned to the left, as
// it is.
void AddCells(const std::vector<Column>& columns, const std::vector<std::string>& cells,
              Style style, const Canvas& canvas, LineMaker& line) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    if (i > 0) line.Add(" ", style);
    if (column.left && i + 1 == columns.size()) {
      line.Add(cells[i], style);
    } else {
      line.Add(column.left ? FitLeft(cells[i], column.width, canvas.unicode)
                           : FitRight(cells[i], column.width, canvas.unicode),
               style);
    }
  }
}

Line HeadingLine(const std::vector<Column>& columns, const Canvas& canvas) {
  std::vector<std::string> titles;
  for (const Column& column : columns) titles.push_back(column.title);
  LineMaker line = canvas.NewLine();
  AddCells(columns, titles, Style::kHeading, canvas, line);
  return line.Take(Style::kHeading);
}

int WidthOf(const std::vector<Column>& columns) {
  int width = 0;
  for (const Column& column : columns) width += column.width + 1;
  return width;
}

// Which of the kernels' columns there is room for, besides the name.
struct KernelColumns {
  bool launches = true;
  bool mean = true;
  int bars = 8;
  bool clusters = true;
  bool captured = true;
};

std::vector<Column> ColumnsOfKernels(const Model& model, const KernelColumns& has, bool unicode) {
  const auto title = [&](Order order, const char* name) {
    if (model.sorted_by() != order) return std::string(name);
    // A name begins at the start of the alphabet, numbers begin at their greatest.
    const bool down = (order == Order::kName) == model.reversed();
    return std::string(unicode ? (down ? "\u25BC" : "\u25B2") : (down ? "v" : "^")) + name;
  };
  std::vector<Column> columns = {{title(Order::kTime, "TIME"), 7}};
  if (has.launches) columns.push_back({title(Order::kLaunches, "LAUNCHES"), 11});
  if (has.mean) columns.push_back({title(Order::kMean, "MEAN"), 7});
  if (has.bars > 0) columns.push_back({has.bars < 9 ? "TIMES" : "DURATIONS", has.bars, true});
  if (has.clusters) {
    columns.push_back({"OPEN", 4});
    columns.push_back({"CLOSED", 6});
  }
  if (has.captured) columns.push_back({title(Order::kCaptured, "CAPTURED"), 9});
  columns.push_back({title(Order::kName, "NAME"), 0, true});
  return columns;
}

KernelColumns ColumnsThatFit(const Model& model, const Canvas& canvas) {
  KernelColumns has;
  has.bars = canvas.snapshot || canvas.width >= 160 ? 24 : canvas.width >= 110 ? 16 : 8;
  const auto room = [&] {
    return canvas.width - WidthOf(ColumnsOfKernels(model, has, canvas.unicode)) + 1;
  };
  if (room() < kLeastName) has.bars = 0;
  if (room() < kLeastName) has.clusters = false;
  if (room() < kLeastName) has.mean = false;
  if (room() < kLeastName) has.captured = false;
  if (room() < kLeastName) has.launches = false;
  return has;
}

// What tells kernels of one name apart, before the name.
std::string Apart(const OverviewKernel& kernel) {
  std::string text;
  if (kernel.config.grid[0] != 0) {
    const auto& g = kernel.config.grid;
    const auto& b = kernel.config.block;
    text = fmt::format("<{},{},{} {},{},{}> ", g[0], g[1], g[2], b[0], b[1], b[2]);
  }
  if (kernel.process != 0) text += fmt::format("[{}] ", kernel.process);
  return text;
}

Line KernelLine(const Model& model, const KernelRow& row, const KernelColumns& has,
                const std::vector<Column>& columns, Style style, const Canvas& canvas) {
  const auto all = static_cast<double>(model.run().totals.duration_ns);
  std::vector<std::string> cells = {
      all > 0.0 ? fmt::format("{:.2f} %",
                              std::min(999.0, 100.0 * static_cast<double>(row.duration_ns) / all))
                : "-"};
  if (has.launches) cells.push_back(Count(row.invocations, 11));
  if (has.mean) cells.push_back(row.invocations == 0 ? "-" : Duration(row.mean_ns()));
  if (has.bars > 0) {
    cells.push_back(
        Bars(DurationsOf(model.run().PartsOf(row), has.bars, true).launches, canvas.unicode));
  }
  if (has.clusters) {
    cells.push_back(Count(row.open, 4));
    cells.push_back(Count(row.closed, 6));
  }
  if (has.captured) cells.push_back(Count(row.captured, 9));
  cells.push_back(Apart(*row.kernel) + ShownText(row.kernel->name, canvas.unicode, canvas.width));
  LineMaker line = canvas.NewLine();
  AddCells(columns, cells, style, canvas, line);
  return line.Take(style);
}

const char* WordOf(ClusterState state) {
  switch (state) {
    case ClusterState::kOpen:
      return "open";
    case ClusterState::kClosed:
      return "closed";
    case ClusterState::kUnreachable:
      break;
  }
  return "unreachable";
}

std::vector<Column> ColumnsOfClusters(bool several) {
  std::vector<Column> columns;
  if (several) columns.push_back({"SESSION", 7});
  for (const auto& [title, width] :
       std::initializer_list<std::pair<const char*, int>>{{"FROM", 8},
                                                          {"TO", 8},
                                                          {"LAUNCHES", 11},
                                                          {"MEAN", 8},
                                                          {"SPREAD", 8},
                                                          {"CAPTURED", 8},
                                                          {"WANTED", 6}}) {
    columns.push_back({title, width});
  }
  columns.push_back({"STATE", 0, true});
  return columns;
}

Line ClusterLine(const OverviewCluster& c, std::uint32_t session, bool several,
                 const std::vector<Column>& columns, bool cursor, const Canvas& canvas) {
  std::vector<std::string> cells;
  if (several) cells.push_back(std::to_string(session + 1));
  cells.push_back(Duration(static_cast<double>(c.lower_ns)));
  cells.push_back(Duration(static_cast<double>(c.upper_ns)));
  cells.push_back(Count(c.count, 11));
  cells.push_back(Duration(c.mean_ns));
  cells.push_back(c.mean_ns > 0.0 ? Percent(c.stddev_ns / c.mean_ns) : "-");
  cells.push_back(Count(c.captured, 8));
  cells.push_back(Count(c.target, 6));
  cells.emplace_back(WordOf(c.state));
  const Style style = cursor                                  ? Style::kCursor
                      : c.state == ClusterState::kUnreachable ? Style::kBad
                      : c.state == ClusterState::kOpen        ? Style::kNotice
                                                              : Style::kPlain;
  LineMaker line = canvas.NewLine();
  AddCells(columns, cells, style, canvas, line);
  return line.Take(cursor ? style : Style::kPlain);
}

std::vector<Column> ColumnsOfProcesses(bool several) {
  std::vector<Column> columns;
  if (several) columns.push_back({"SESSION", 7});
  columns.push_back({"PID", 8});
  columns.push_back({"STATE", 10, true});
  columns.push_back({"SEEN", 10});
  columns.push_back({"DROPPED", 8});
  columns.push_back({"CAPTURED", 8});
  columns.push_back({"PROGRAM, REASON", 0, true});
  return columns;
}

Line ProcessLine(const ProcessRow& row, bool several, const std::vector<Column>& columns,
                 bool cursor, const Canvas& canvas) {
  const OverviewProcess& p = *row.process;
  std::vector<std::string> cells;
  if (several) cells.push_back(std::to_string(row.session + 1));
  cells.push_back(std::to_string(p.pid));
  cells.push_back(ShownText(p.state, canvas.unicode, 12));
  cells.push_back(Count(p.seen, 10));
  cells.push_back(Count(p.dropped, 8));
  cells.push_back(Count(p.captured, 8));
  std::string what = ShownText(p.program, canvas.unicode, canvas.width);
  if (!p.reason.empty()) what += ": " + ShownText(p.reason, canvas.unicode, canvas.width);
  cells.push_back(std::move(what));
  const Style style = cursor                                      ? Style::kCursor
                      : p.state == "stood_down" || p.dropped != 0 ? Style::kBad
                                                                  : Style::kPlain;
  LineMaker line = canvas.NewLine();
  AddCells(columns, cells, style, canvas, line);
  return line.Take(cursor ? style : Style::kPlain);
}

constexpr std::pair<const char*, const char*> kHelp[] = {
    {"Up Down j k", "move by a row"},
    {"PgUp PgDn", "move by a page"},
    {"Home End g G", "to the first, to the last"},
    {"Enter Right", "the clusters of a kernel; of a process, its session"},
    {"Esc Left", "back; the filter off"},
    {"Tab", "processes and their states, and back"},
    {"[ ]", "all sessions, or one after the other"},
    {"t l m c n", "sort by time, launches, mean, captured, name; again: reversed"},
    {"s", "sort by the next column"},
    {"r", "reverse the order"},
    {"/", "show only kernels whose name holds a text; Enter keeps it, Esc does not"},
    {"p", "pause, and go on"},
    {"h ? F1", "this help"},
    {"q F10", "quit"},
    {"", ""},
    {"TIMES", "how often a kernel took how long: a log axis from its shortest to its longest"},
    {"OPEN CLOSED", "clusters that still want captures, and those that have them"},
    {"bound", "of the sample captured so far, what it does not cover in full"},
};

// --- the whole ---------------------------------------------------------------------------------------

std::string_view EmptyWords(const Model& model) {
  if (model.view() == View::kProcesses) return "no process is traced yet";
  if (model.view() == View::kClusters)
    return "no clusters yet: nothing has been allocated to this kernel";
  return model.filter().empty() ? "no kernel yet" : "no kernel's name holds the filter";
}

std::vector<Line> KernelTable(Model& model, std::size_t seen, const Canvas& canvas) {
  const KernelColumns has = ColumnsThatFit(model, canvas);
  const std::vector<Column> columns = ColumnsOfKernels(model, has, canvas.unicode);
  std::vector<Line> lines = {HeadingLine(columns, canvas)};
  const Place at = model.PlaceIn(seen);
  for (std::size_t i = at.first; i < model.order().size() && i - at.first < seen; ++i) {
    const KernelRow& row = model.run().kernels[model.order()[i]];
    lines.push_back(KernelLine(model, row, has, columns,
                               i == at.cursor ? Style::kCursor : Style::kPlain, canvas));
  }
  return lines;
}

// The kernel above its clusters: its name, and how long it took how often.
std::vector<Line> ChosenLines(const Model& model, const KernelRow& row, const Canvas& canvas) {
  std::vector<Line> lines;
  lines.push_back(canvas.NewLine()
                      .Add(Apart(*row.kernel), Style::kStrong)
                      .AddData(row.kernel->name, Style::kStrong)
                      .Take());
  LineMaker sums = canvas.NewLine();
  sums.Add(fmt::format("{} launches, {} each, {} captured, {} of them imputed",
                       Count(row.invocations), row.invocations == 0 ? "-" : Duration(row.mean_ns()),
                       Count(row.captured), Count(row.imputed)));
  lines.push_back(sums.Take());
  const DurationAxis axis =
      DurationsOf(model.run().PartsOf(row), std::clamp(canvas.width - 24, 0, 96), false);
  if (!axis.launches.empty()) {
    lines.push_back(canvas.NewLine()
                        .Add(Duration(axis.lower_ns), Style::kDim)
                        .Add(" |")
                        .Add(Bars(axis.launches, canvas.unicode))
                        .Add("| ")
                        .Add(Duration(axis.upper_ns), Style::kDim)
                        .Take());
  }
  return lines;
}

std::vector<Line> ClusterTable(Model& model, std::size_t seen, const Canvas& canvas) {
  const bool several = model.sessions().size() > 1;
  const std::vector<Column> columns = ColumnsOfClusters(several);
  std::vector<Line> lines;
  const KernelRow* row = model.chosen();
  if (row != nullptr) lines = ChosenLines(model, *row, canvas);
  // A small screen has its clusters all the same.
  const std::size_t most = seen > 2 ? seen - 2 : 0;
  if (lines.size() > most) lines.resize(most);
  seen -= std::min(seen, lines.size());
  lines.push_back(HeadingLine(columns, canvas));
  const Place at = model.PlaceIn(seen);
  if (row == nullptr) return lines;
  std::size_t i = 0;
  const ShownRun& run = model.run();
  for (std::uint32_t part = row->first_part; part < row->first_part + row->parts; ++part) {
    for (const OverviewCluster& cluster : run.parts[part]->clusters) {
      if (i >= at.first && i - at.first < seen) {
        lines.push_back(ClusterLine(cluster, run.part_sessions[part], several, columns,
                                    i == at.cursor, canvas));
      }
      ++i;
    }
  }
  return lines;
}

std::vector<Line> ProcessTable(Model& model, std::size_t seen, const Canvas& canvas) {
  const bool several = model.sessions().size() > 1;
  const std::vector<Column> columns = ColumnsOfProcesses(several);
  std::vector<Line> lines = {HeadingLine(columns, canvas)};
  const Place at = model.PlaceIn(seen);
  const std::vector<ProcessRow>& rows = model.run().processes;
  for (std::size_t i = at.first; i < rows.size() && i - at.first < seen; ++i) {
    lines.push_back(ProcessLine(rows[i], several, columns, i == at.cursor, canvas));
  }
  return lines;
}

std::vector<Line> HelpTable(Model& model, std::size_t seen, const Canvas& canvas) {
  model.set_help_rows(std::size(kHelp));
  std::vector<Line> lines = {canvas.NewLine().Add("KEYS", Style::kHeading).Take(Style::kHeading)};
  const Place at = model.PlaceIn(seen);
  for (std::size_t i = at.first; i < std::size(kHelp) && i - at.first < seen; ++i) {
    lines.push_back(canvas.NewLine()
                        .Add(FitLeft(kHelp[i].first, 14, canvas.unicode), Style::kStrong)
                        .Add(kHelp[i].second)
                        .Take());
  }
  return lines;
}

std::vector<Line> TableOf(Model& model, std::size_t seen, const Canvas& canvas) {
  std::vector<Line> lines;
  switch (model.view()) {
    case View::kKernels:
      lines = KernelTable(model, seen, canvas);
      break;
    case View::kClusters:
      lines = ClusterTable(model, seen, canvas);
      break;
    case View::kProcesses:
      lines = ProcessTable(model, seen, canvas);
      break;
    case View::kHelp:
      lines = HelpTable(model, seen, canvas);
      break;
  }
  if (model.Rows() == 0)
    lines.push_back(canvas.NewLine().Add(EmptyWords(model), Style::kDim).Take());
  return lines;
}

Line FooterLine(const Model& model, const Canvas& canvas, int& input_column) {
  LineMaker line = canvas.NewLine();
  if (model.typing()) {
    line.Add("filter: ", Style::kStrong).AddData(model.filter());
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
  const auto key = [&](const char* name, const char* deed) {
    line.Add(name, Style::kStrong).Add(" ").Add(deed, Style::kDim).Add("  ");
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
  key("p", model.paused() ? "go on" : "pause");
  return line.Take();
}

}  // namespace

Frame DrawScreen(Model& model, int width, int height, bool unicode) {
  Frame frame;
  if (width <= 0 || height <= 0) return frame;
  const Canvas canvas = {width, unicode, false};
  std::vector<Line> header = Header(model, canvas);
  // The last line says what keys there are, or takes what is typed. Of a low screen the table has at least
  // four lines, then the header what is left.
  const int inner = std::max(0, height - 1);
  const int most = std::clamp(inner - 4, inner > 1 ? 1 : 0, static_cast<int>(header.size()));
  header.resize(static_cast<std::size_t>(most));
  frame.lines = std::move(header);
  const int room = inner - most;
  if (room > 0) {
    for (Line& line : TableOf(model, static_cast<std::size_t>(room - 1), canvas)) {
      if (static_cast<int>(frame.lines.size()) < inner) frame.lines.push_back(std::move(line));
    }
  }
  frame.lines.resize(static_cast<std::size_t>(inner));
  frame.lines.push_back(FooterLine(model, canvas, frame.input_column));
  return frame;
}

std::string Snapshot(const Model& model, bool unicode) {
  const Canvas canvas = {kUnlimited, unicode, true};
  std::string text;
  const auto add = [&text](const Line& line) {
    std::string row = line.Text();
    row.resize(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  for (const Line& line : Header(model, canvas)) add(line);
  if (!model.run().kernels.empty()) {
    text += "\n";
    const KernelColumns has = ColumnsThatFit(model, canvas);
    const std::vector<Column> columns = ColumnsOfKernels(model, has, unicode);
    add(HeadingLine(columns, canvas));
    for (const std::uint32_t i : model.order()) {
      add(KernelLine(model, model.run().kernels[i], has, columns, Style::kPlain, canvas));
    }
  }
  if (!model.run().processes.empty()) {
    text += "\n";
    const bool several = model.sessions().size() > 1;
    const std::vector<Column> columns = ColumnsOfProcesses(several);
    add(HeadingLine(columns, canvas));
    for (const ProcessRow& row : model.run().processes) {
      add(ProcessLine(row, several, columns, false, canvas));
    }
  }
  return text;
}

}  // namespace stemtap::top
