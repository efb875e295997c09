// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/brief_name.h"
#include "model/session.h"
#include "ui/top/draw.h"
#include "ui/top/figures.h"

namespace stemtap::ui {
namespace {

// A narrower name is not readable, so other columns are dropped first.
constexpr int kMinNameColumns = 18;

struct Column {
  std::string title;
  int width = 0;
  bool left = false;  // aligned
};

// Adds the titles or cells of a row, separated by spaces. A left-aligned last cell is not padded.
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

// KernelColumns describes which columns fit next to the kernel name.
struct KernelColumns {
  int launches = 11;
  bool mean = true;
  int bars = 8;
  bool clusters = true;
  bool captured = true;
};

std::vector<Column> ColumnsOfKernels(const Model& model, const KernelColumns& has, bool unicode) {
  const auto title = [&](Order order, const char* name) {
    if (model.sorted_by() != order) return std::string(name);
    // Names sort ascending by default, numbers descending.
    const bool down = (order == Order::kName) == model.reversed();
    return std::string(unicode ? (down ? "\u25BC" : "\u25B2") : (down ? "v" : "^")) + name;
  };
  std::vector<Column> columns = {{title(Order::kTime, "TIME"), 7}};
  if (has.launches > 0) {
    columns.push_back({title(Order::kLaunches, "LAUNCHES"), has.launches});
  }
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

// Returns the columns left for the kernel name, the last cell of a row.
int NameRoom(const std::vector<Column>& columns, const Canvas& canvas) {
  return canvas.width - WidthOf(columns) + 1;
}

KernelColumns ColumnsThatFit(const Model& model, const Canvas& canvas) {
  KernelColumns has;
  has.bars = canvas.snapshot || canvas.width >= 160 ? 24 : canvas.width >= 110 ? 16 : 8;
  if (canvas.width < 110) has.launches = 9;
  const auto room = [&] { return NameRoom(ColumnsOfKernels(model, has, canvas.unicode), canvas); };
  if (room() < kMinNameColumns) has.bars = 0;
  if (room() < kMinNameColumns) has.clusters = false;
  if (room() < kMinNameColumns) has.mean = false;
  if (room() < kMinNameColumns) has.captured = false;
  if (room() < kMinNameColumns) has.launches = 0;
  return has;
}

// "8,1,2" for 8 by 1 by 2, "8" for 8 by 1 by 1.
template <typename T>
std::string ExtentsOf(const T (&extents)[3]) {
  std::string text = std::to_string(extents[0]);
  if (extents[1] != 1 || extents[2] != 1) text += fmt::format(",{}", extents[1]);
  if (extents[2] != 1) text += fmt::format(",{}", extents[2]);
  return text;
}

// Returns a prefix that distinguishes kernels of the same name.
std::string Apart(const model::OverviewKernel& kernel) {
  std::string text;
  if (kernel.config.grid[0] != 0) {
    text = fmt::format("<{} {}> ", ExtentsOf(kernel.config.grid), ExtentsOf(kernel.config.block));
  }
  if (!kernel.range.empty()) text += fmt::format("[{}] ", EscapeForTerminal(kernel.range));
  if (kernel.process != 0) text += fmt::format("[{}] ", kernel.process);
  return text;
}

// Returns the share of `all` in at most seven columns.
std::string TimeShare(std::uint64_t duration_ns, std::uint64_t all) {
  if (all == 0) return "-";
  const double percent =
      std::min(999.0, 100.0 * static_cast<double>(duration_ns) / static_cast<double>(all));
  return fmt::format("{:.{}f} %", percent, percent < 99.995 ? 2 : 1);
}

// Returns the names of `rows`, cut to `room` columns so that they stay different. A snapshot has
// the whole names.
std::vector<std::string> NamesOf(const Model& model, std::span<const KernelRow* const> rows,
                                 int room, const Canvas& canvas) {
  constexpr int kMaxColumns = 4096;  // of a name before it is cut; limits the time for a screen
  constexpr int kMinColumns = 16;    // a longer prefix is cut with the line
  std::vector<std::string> shown;
  int prefix = 0;
  for (const KernelRow* row : rows) {
    shown.push_back(canvas.snapshot ? row->kernel->name : model.BriefNameOf(*row));
    prefix = std::max(prefix, static_cast<int>(Apart(*row->kernel).size()));
  }
  for (std::string& name : shown) {
    name = ShownText(name, canvas.unicode, canvas.snapshot ? canvas.width : kMaxColumns);
  }
  if (!canvas.snapshot) {
    shown = model::CutNames(shown, static_cast<std::size_t>(std::max(room - prefix, kMinColumns)),
                            canvas.unicode ? "\u2026" : "~");
  }
  for (std::size_t i = 0; i < rows.size(); ++i) shown[i].insert(0, Apart(*rows[i]->kernel));
  return shown;
}

Line KernelLine(const Model& model, const KernelRow& row, std::string name,
                const KernelColumns& has, const std::vector<Column>& columns, Style style,
                const Canvas& canvas) {
  std::vector<std::string> cells = {TimeShare(row.duration_ns, model.run().totals.duration_ns)};
  if (has.launches > 0) cells.push_back(Count(row.invocations, has.launches));
  if (has.mean) cells.push_back(row.invocations == 0 ? "-" : Duration(row.mean_ns()));
  if (has.bars > 0) {
    cells.push_back(
        Bars(DurationsOf(model.run().KernelsIn(row), has.bars, true).launches, canvas.unicode));
  }
  if (has.clusters) {
    cells.push_back(Count(row.open, 4));
    cells.push_back(Count(row.closed, 6));
  }
  if (has.captured) cells.push_back(Count(row.captured, 9));
  cells.push_back(std::move(name));
  LineMaker line = canvas.NewLine();
  AddCells(columns, cells, style, canvas, line);
  return line.Take(style);
}

const char* WordOf(model::ClusterState state) {
  switch (state) {
    case model::ClusterState::kOpen:
      return "open";
    case model::ClusterState::kClosed:
      return "closed";
    case model::ClusterState::kUnreachable:
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

Line ClusterLine(const model::OverviewCluster& c, std::uint32_t session, bool several,
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
  const Style style = cursor                                         ? Style::kCursor
                      : c.state == model::ClusterState::kUnreachable ? Style::kBad
                      : c.state == model::ClusterState::kOpen        ? Style::kNotice
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
  const model::OverviewProcess& p = *row.process;
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
  const Style style = cursor ? Style::kCursor
                      : p.state == model::NameOf(model::ProcessState::kDisabled) || p.dropped != 0
                          ? Style::kBad
                          : Style::kPlain;
  LineMaker line = canvas.NewLine();
  AddCells(columns, cells, style, canvas, line);
  return line.Take(cursor ? style : Style::kPlain);
}

}  // namespace

std::vector<Line> KernelTable(const Model& model, Place at, std::size_t seen,
                              const Canvas& canvas) {
  const KernelColumns has = ColumnsThatFit(model, canvas);
  const std::vector<Column> columns = ColumnsOfKernels(model, has, canvas.unicode);
  std::vector<Line> lines = {HeadingLine(columns, canvas)};
  std::vector<const KernelRow*> rows;
  for (std::size_t i = at.first; i < model.order().size() && i - at.first < seen; ++i) {
    rows.push_back(&model.run().kernels[model.order()[i]]);
  }
  std::vector<std::string> names = NamesOf(model, rows, NameRoom(columns, canvas), canvas);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lines.push_back(KernelLine(model, *rows[i], std::move(names[i]), has, columns,
                               at.first + i == at.cursor ? Style::kCursor : Style::kPlain, canvas));
  }
  return lines;
}

std::vector<Line> ClusterTable(const Model& model, Place at, std::size_t seen,
                               const Canvas& canvas) {
  const bool several = model.sessions().size() > 1;
  const std::vector<Column> columns = ColumnsOfClusters(several);
  std::vector<Line> lines = {HeadingLine(columns, canvas)};
  const KernelRow* row = model.chosen();
  if (row == nullptr) return lines;
  std::size_t i = 0;
  const ShownRun& run = model.run();
  for (std::uint32_t part = row->first_part; part < row->first_part + row->parts; ++part) {
    for (const model::OverviewCluster& cluster : run.parts[part]->clusters) {
      if (i >= at.first && i - at.first < seen) {
        lines.push_back(ClusterLine(cluster, run.part_sessions[part], several, columns,
                                    i == at.cursor, canvas));
      }
      ++i;
    }
  }
  return lines;
}

std::vector<Line> ChosenKernel(const Model& model, std::size_t name_lines, const Canvas& canvas) {
  std::vector<Line> lines;
  if (model.chosen() == nullptr) return lines;
  const KernelRow& row = *model.chosen();
  const std::string& name = row.kernel->name;
  const auto add_name = [&](const std::string& text, Style style) {
    const std::size_t max = name_lines - lines.size();
    if (max == 0) return;
    const std::string shown = ShownText(text, canvas.unicode, canvas.width * static_cast<int>(max));
    for (const std::string& part : Wrapped(shown, canvas.width, max, canvas.unicode)) {
      lines.push_back(canvas.NewLine().Add(part, style).Take());
    }
  };
  const bool mangled = name.starts_with("_Z");
  add_name(Apart(*row.kernel) + (mangled ? model.BriefNameOf(row) : name), Style::kStrong);
  if (mangled) add_name(name, Style::kDim);
  LineMaker sums = canvas.NewLine();
  sums.Add(fmt::format("{} {}, {} each, {} captured, {} of them imputed", Count(row.invocations),
                       row.invocations == 1 ? "launch" : "launches",
                       row.invocations == 0 ? "-" : Duration(row.mean_ns()), Count(row.captured),
                       Count(row.imputed)));
  lines.push_back(sums.Take());
  const DurationAxis axis =
      DurationsOf(model.run().KernelsIn(row), std::clamp(canvas.width - 24, 0, 96), false);
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

std::vector<Line> ProcessTable(const Model& model, Place at, std::size_t seen,
                               const Canvas& canvas) {
  const bool several = model.sessions().size() > 1;
  const std::vector<Column> columns = ColumnsOfProcesses(several);
  std::vector<Line> lines = {HeadingLine(columns, canvas)};
  const std::vector<ProcessRow>& rows = model.run().processes;
  for (std::size_t i = at.first; i < rows.size() && i - at.first < seen; ++i) {
    lines.push_back(ProcessLine(rows[i], several, columns, i == at.cursor, canvas));
  }
  return lines;
}

}  // namespace stemtap::ui
