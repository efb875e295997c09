// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "model/session.h"
#include "ui/top/draw.h"
#include "ui/top/figures.h"

namespace stemtap::ui {
namespace {

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

// Returns the last component of a directory's path.
std::string_view NameOf(std::string_view directory) {
  return directory.substr(directory.rfind('/') + 1);
}

Line TitleLine(const Model& model, const Canvas& canvas) {
  const model::OverviewTotals& o = model.run().totals;
  const auto [word, style] = StateWord(model.run().state);
  LineMaker line = canvas.NewLine();
  line.Add("stemtap top  ", Style::kStrong).Add(word, style);
  if (model.paused()) line.Add(" paused", Style::kNotice);
  if (o.recording == "off") line.Add(", recording is off", Style::kNotice);
  if (o.recording == "counting") line.Add(", launches are only counted", Style::kNotice);
  if (o.window != 0) line.Add(fmt::format(" window {}", o.window));
  const double seconds = RunSeconds(o);
  if (o.mode == "replay") line.Add(" replay");
  line.Add(std::isnan(seconds) ? "  " : fmt::format(" {}  ", Elapsed(seconds)));
  const std::size_t count = model.sessions().size();
  if (count > 1) {
    if (model.only() < 0) {
      line.Add(fmt::format("{} sessions  ", count), Style::kStrong);
    } else {
      const auto index = static_cast<std::size_t>(model.only());
      line.Add(fmt::format("session {} of {}, ", index + 1, count), Style::kStrong)
          .AddData(NameOf(model.sessions()[index].directory), Style::kStrong)
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

// Adds the messages about one session, if any.
void AddMessages(const WatchedSession& session, const Canvas& canvas, std::vector<Line>& lines) {
  if (session.state == SessionState::kKilled) {
    lines.push_back(
        canvas.NewLine()
            .Add(fmt::format("killed: its collector, process {}, is gone", session.overview->pid),
                 Style::kBad)
            .Take());
  } else if (session.state == SessionState::kEnded) {
    if (session.plan) {
      lines.push_back(canvas.NewLine()
                          .Add("ended, the plan is ")
                          .AddData(session.directory + "/plan.json", Style::kStrong)
                          .Take());
    } else {
      lines.push_back(canvas.NewLine()
                          .Add("ended, without a plan.json in ", Style::kNotice)
                          .AddData(session.directory, Style::kNotice)
                          .Take());
    }
  } else if (session.state == SessionState::kWaiting) {
    lines.push_back(canvas.NewLine()
                        .Add("waiting for the first overview: ", Style::kNotice)
                        .AddData(session.problem, Style::kNotice)
                        .Take());
    return;
  } else if (session.overdue_s != 0) {
    lines.push_back(canvas.NewLine()
                        .Add(fmt::format("these figures are {} old: the collector, process {}, is "
                                         "stopped or cannot write",
                                         Elapsed(static_cast<double>(session.overdue_s)),
                                         session.overview->pid),
                             Style::kBad)
                        .Take());
  }
  if (!session.problem.empty()) {
    lines.push_back(canvas.NewLine().AddData(session.problem, Style::kBad).Take());
  }
}

// Returns how many of several sessions are in each state.
Line StatesLine(const std::vector<WatchedSession>& sessions, const Canvas& canvas) {
  std::array<int, 4> counts{};
  int overdue = 0;
  int problems = 0;
  for (const WatchedSession& session : sessions) {
    ++counts[static_cast<std::size_t>(session.state)];
    overdue += session.overdue_s != 0;
    problems += !session.problem.empty() && session.state != SessionState::kWaiting;
  }
  LineMaker line = canvas.NewLine();
  const char* before = "";
  const auto add = [&](const std::string& text, Style style) {
    line.AddWhole(canvas.NewPart().Add(before).Add(text, style).Take());
    before = "  ";
  };
  for (const SessionState state : {SessionState::kRunning, SessionState::kEnded,
                                   SessionState::kWaiting, SessionState::kKilled}) {
    const auto& [word, style] = StateWord(state);
    const int count = counts[static_cast<std::size_t>(state)];
    if (count != 0) add(fmt::format("{} {}", count, word), style);
  }
  if (overdue != 0) add(fmt::format("{} stale", overdue), Style::kBad);
  if (problems != 0) add(fmt::format("{} cannot be read", problems), Style::kBad);
  if (!canvas.snapshot) add("[ and ] step through them", Style::kDim);
  return line.Take();
}

void AddDisabled(const std::vector<ProcessRow>& processes, const Canvas& canvas,
                 std::vector<Line>& lines) {
  const auto disabled = [](const ProcessRow& row) {
    return row.process->state == model::NameOf(model::ProcessState::kDisabled);
  };
  const auto first = std::find_if(processes.begin(), processes.end(), disabled);
  if (first == processes.end()) return;
  // Disabled processes record nothing, so the reason must be visible.
  lines.push_back(
      canvas.NewLine()
          .Add(fmt::format("{} of {} processes are not recorded: ",
                           std::count_if(first, processes.end(), disabled), processes.size()),
               Style::kBad)
          .AddData(first->process->reason, Style::kBad)
          .Take());
}

std::vector<Line> MessageLines(const Model& model, const Canvas& canvas) {
  std::vector<Line> lines;
  const std::vector<WatchedSession>& sessions = model.sessions();
  if (model.only() >= 0) {
    AddMessages(sessions[static_cast<std::size_t>(model.only())], canvas, lines);
  } else {
    if (sessions.size() > 1) lines.push_back(StatesLine(sessions, canvas));
    // A snapshot cannot step through sessions.
    if (sessions.size() == 1 || canvas.snapshot) {
      for (const WatchedSession& session : sessions) AddMessages(session, canvas, lines);
    }
  }
  AddDisabled(model.run().processes, canvas, lines);
  return lines;
}

// Adds a labeled figure if all of it fits.
void AddFigure(const char* label, const std::string& figure, const Canvas& canvas,
               LineMaker& line) {
  line.AddWhole(canvas.NewPart().Add(label, Style::kDim).Add(figure).Take());
}

// The figures in order of importance, since a narrow terminal shows only the first ones.
Line LaunchesLine(const Model& model, const Canvas& canvas) {
  const model::OverviewTotals& o = model.run().totals;
  const std::size_t listed = model.run().kernels.size();
  LineMaker line = canvas.NewLine();
  line.Add("launches ", Style::kDim).Add(Count(o.observed), Style::kStrong);
  const std::uint64_t done = o.observed + o.excluded;
  if (model.run().state == SessionState::kRunning && o.kept > done) {
    AddFigure(" +", Count(o.kept - done), canvas, line);
  }
  AddFigure("  ", Rate(model.run().launches_per_s) + "/s", canvas, line);
  if (!std::isnan(model.run().busy)) {
    AddFigure("  GPU busy ", Percent(model.run().busy), canvas, line);
  }
  AddFigure("  GPU time ", Duration(static_cast<double>(o.duration_ns)), canvas, line);
  AddFigure("  kernels ", Count(o.kernels_known), canvas, line);
  if (listed < o.kernels_known) {
    AddFigure("", fmt::format(", the longest {} listed", Count(listed)), canvas, line);
  }
  if (o.excluded != 0) AddFigure("  excluded ", Count(o.excluded), canvas, line);
  if (o.slowed != 0) AddFigure("  slowed ", Count(o.slowed), canvas, line);
  if (o.level.empty()) return line.Take();
  LineMaker level = canvas.NewPart();
  level.Add("  level ", Style::kDim).AddData(o.level);
  if (!o.actuator.empty()) level.Add(" (").AddData(o.actuator).Add(")");
  return line.AddWhole(level.Take()).Take();
}

Line CapturedLine(const model::OverviewTotals& o, const Canvas& canvas) {
  const double share = o.duration_ns == 0 ? std::nan("")
                                          : static_cast<double>(o.captured_duration_ns) /
                                                static_cast<double>(o.duration_ns);
  LineMaker line = canvas.NewLine();
  line.Add("captured ", Style::kDim).Add(Count(o.captured), Style::kStrong);
  AddFigure("", " launches", canvas, line);
  AddFigure("", fmt::format(", {} of the time", Percent(share)), canvas, line);
  AddFigure("  clusters ",
            fmt::format("{} open, {} closed", Count(o.clusters_open), Count(o.clusters_closed)),
            canvas, line);
  return line.Take();
}

Line BoundLine(const model::OverviewTotals& o, const Canvas& canvas) {
  const bool reached = o.bound <= o.error_bound * (1.0 + 1e-9);
  LineMaker line = canvas.NewLine();
  line.Add("bound ", Style::kDim)
      .Add(Percent(o.bound), std::isnan(o.bound) ? Style::kPlain
                             : reached           ? Style::kGood
                                                 : Style::kNotice);
  if (o.has_stayed_bound) line.Add(" stays met", Style::kGood);
  AddFigure("", fmt::format("  asked for {}", Percent(o.error_bound)), canvas, line);
  if (o.confidence > 0.0) {
    AddFigure("", fmt::format(" at {} confidence", Percent(o.confidence)), canvas, line);
  }
  const int columns = canvas.snapshot ? 32 : std::min(line.left() - 2, 48);
  if (columns >= 4 && !o.timeline.empty()) {
    line.Add("  ").Add(Bars(BoundOverTime(o, columns), canvas.unicode));
  }
  return line.Take();
}

Line ObservedErrorLine(const model::OverviewTotals& o, const Canvas& canvas) {
  return canvas.NewLine()
      .Add(fmt::format("the bound is the observed error, which exceeds the certified bound, {}",
                       Percent(o.certified_bound)),
           Style::kNotice)
      .Take();
}

Line DroppedLine(const model::OverviewTotals& o, const Canvas& canvas) {
  LineMaker line = canvas.NewLine();
  const Style style = o.dropped != 0 ? Style::kBad : Style::kPlain;
  line.Add("dropped ", Style::kDim).Add(Count(o.dropped), style);
  const char* before = "  ";
  for (const auto& [name, count] : o.losses) {
    const Style loss = o.dropped != 0 || o.gaps != 0 ? Style::kBad : Style::kNotice;
    line.AddWhole(
        canvas.NewPart().Add(before).AddData(name, loss).Add(" " + Count(count), loss).Take());
    before = ", ";
  }
  if (o.gaps != 0) {
    line.AddWhole(
        canvas.NewPart().Add("  ").Add(fmt::format("gaps {}", Count(o.gaps)), Style::kBad).Take());
  }
  return line.Take();
}

}  // namespace

std::vector<Line> Header(const Model& model, const Canvas& canvas) {
  std::vector<Line> lines = {TitleLine(model, canvas)};
  for (Line& line : MessageLines(model, canvas)) lines.push_back(std::move(line));
  const model::OverviewTotals& o = model.run().totals;
  // A short screen shows only the first lines.
  const bool lost = o.dropped != 0 || o.gaps != 0;
  if (lost) lines.push_back(DroppedLine(o, canvas));
  lines.push_back(BoundLine(o, canvas));
  if (!std::isnan(o.certified_bound)) lines.push_back(ObservedErrorLine(o, canvas));
  lines.push_back(CapturedLine(o, canvas));
  lines.push_back(LaunchesLine(model, canvas));
  if (!lost) lines.push_back(DroppedLine(o, canvas));
  return lines;
}

}  // namespace stemtap::ui
