// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"
#include "research/evaluation/report.h"
#include "research/evaluation/trust_report.h"

namespace stemtap::research {
namespace {

constexpr std::size_t kMaxNameColumns = 60;

// The end of a long path is more informative than its beginning. Truncates between characters.
std::string Name(const std::string& name) {
  std::string shown = EscapeForTerminal(name);
  if (shown.size() <= kMaxNameColumns) return shown;
  std::size_t from = shown.size() - (kMaxNameColumns - 3);
  while (from < shown.size() && (static_cast<unsigned char>(shown[from]) & 0xC0) == 0x80) ++from;
  return "..." + shown.substr(from);
}

std::string Percent(double ratio) {
  if (std::isnan(ratio)) return "-";
  const double percent = 100.0 * ratio;
  return fmt::format("{:.{}f}", percent, std::fabs(percent) < 99.995 ? 2 : 0);
}

std::string Ratio(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.2f}", value);
}

std::string Speedup(double value) {
  if (std::isinf(value)) return "inf";
  return fmt::format("{:.{}f}x", value, value < 1000 ? 2 : value < 100000 ? 1 : 0);
}

std::string Count(double value) {
  return fmt::format("{:.{}f}", value, value == std::floor(value) ? 0 : 1);
}

struct Column {
  const char* title;
  std::size_t width;  // including the space before it
  std::string (*cell)(const EvaluationRow& row);
};

const RunStatistics& Of(const EvaluationRow& row) {
  return row.evaluation.statistics;
}

std::vector<Column> ColumnsOf(const Evaluation& evaluation) {
  const auto any = [&evaluation](bool (*is)(const EvaluationRow&)) {
    return std::any_of(evaluation.rows.begin(), evaluation.rows.end(), is);
  };
  const bool online = any([](const EvaluationRow& row) { return row.online; });
  const bool against =
      std::any_of(evaluation.workloads.begin(), evaluation.workloads.end(),
                  [](const EvaluatedWorkload& w) { return !w.against_name.empty(); });
  using Row = const EvaluationRow&;
  std::vector<Column> columns = {
      {"bound", 7, [](Row r) { return Percent(r.error_bound); }},
      {"speedup", 11, [](Row r) { return Speedup(Of(r).speedup); }},
      {"mean", 7, [](Row r) { return Percent(Of(r).error.mean); }},
      {"p95", 7, [](Row r) { return Percent(Of(r).error.p95); }},
      {"max", 7, [](Row r) { return Percent(Of(r).error.max); }},
      {"bias", 7, [](Row r) { return Percent(Of(r).error.bias); }},
      {"stated", 7, [](Row r) { return Percent(Of(r).bound); }},
      {"cover", 7, [](Row r) { return Percent(Of(r).coverage); }},
      {"p95/b", 6, [](Row r) { return Ratio(Of(r).p95_over_bound); }},
      {"samples", 8, [](Row r) { return Count(Of(r).samples); }},
      {"clusters", 9, [](Row r) { return Count(Of(r).clusters); }},
  };
  if (against) {
    columns.push_back({"other", 7, [](Row r) { return Percent(Of(r).against_plain.mean); }});
    columns.push_back({"calibr", 7, [](Row r) { return Percent(Of(r).against_calibrated.mean); }});
  } else if (online) {
    columns.push_back({"calibr", 7, [](Row r) { return Percent(Of(r).against_calibrated.mean); }});
  }
  if (online) {
    columns.push_back({"/plan", 6, [](Row r) { return r.online ? Ratio(r.over_two_pass) : "-"; }});
    columns.push_back({"uncov", 6, [](Row r) { return Percent(Of(r).uncovered); }});
  } else if (!against) {
    columns.push_back(
        {"prep ms", 8, [](Row r) { return fmt::format("{:.1f}", r.evaluation.prepare_s * 1e3); }});
    columns.push_back(
        {"draw us", 9, [](Row r) { return fmt::format("{:.1f}", r.evaluation.draw_s * 1e6); }});
  }
  return columns;
}

std::string WorkloadLine(const EvaluatedWorkload& workload) {
  std::string line = fmt::format(
      "{}: {} of {}, {:.3f} ms, one of each: {}", Name(workload.name),
      Plural(workload.launches, "launch", "launches"), Plural(workload.kernels, "kernel"),
      static_cast<double>(workload.total_ns) * 1e-6, Speedup(workload.speedup_limit));
  if (workload.excluded.invocations > 0) {
    line += fmt::format("; {} excluded ({:.3f} ms)", workload.excluded.invocations,
                        static_cast<double>(workload.excluded.duration_ns) * 1e-6);
  }
  line += '\n';
  if (!workload.against_name.empty()) {
    line += fmt::format("  compared with {}, {:.3f} ms\n", Name(workload.against_name),
                        static_cast<double>(workload.against_total_ns) * 1e-6);
  }
  return line;
}

std::string TrustTable(const Evaluation& evaluation) {
  std::string text = fmt::format(
      "all workloads (speedup: harmonic mean; errors: arithmetic mean of the workloads' means)\n"
      "  {:<9}{:>7}{:>5}{:>11}{:>7}{:>7}{:>9}{:>7}{:>8}{:>6}  {}\n",
      "method", "bound", "of", "speedup", "error", "max", "Pearson", "cover", "covered", "p95/b",
      "S-curve (quartiles)");
  for (const TrustReport& r : MakeTrustReports(evaluation)) {
    std::string curve;
    for (int quarter = 0; quarter <= 4; ++quarter) {
      const std::size_t at = (r.s_curve.size() - 1) * static_cast<std::size_t>(quarter) / 4;
      curve += fmt::format("{}{}", quarter == 0 ? "" : " ", Percent(r.s_curve[at].second));
    }
    text += fmt::format(
        "  {:<9}{:>7}{:>5}{:>11}{:>7}{:>7}{:>9}{:>7}{:>8}{:>6}  {}\n", r.method,
        Percent(r.error_bound), r.workloads, Speedup(r.speedup), Percent(r.error),
        Percent(r.max_error), std::isnan(r.pearson) ? "-" : fmt::format("{:.5f}", r.pearson),
        Percent(r.coverage), Percent(r.workloads_covered), Ratio(r.median_p95_over_bound), curve);
  }
  return text;
}

std::string GroupingLine(const model::OptionList& options) {
  return fmt::format("kernels are grouped by {}, except by allegro and stem-ae\n",
                     model::OptionText(options, "group_by"));
}

const char* EndText(TuningEnd end) {
  switch (end) {
    case TuningEnd::kMet:
      return "met";
    case TuningEnd::kAlwaysBelow:
      return "always below";
    case TuningEnd::kNeverBelow:
      return "never below";
  }
  return "";
}

}  // namespace

std::string EvaluationTable(const Evaluation& evaluation) {
  const std::vector<Column> columns = ColumnsOf(evaluation);
  std::string head = fmt::format("  {:<9}", "method");
  for (const Column& c : columns) head += fmt::format("{:>{}}", c.title, c.width);
  std::string text;
  std::size_t workload = evaluation.workloads.size();
  for (const EvaluationRow& row : evaluation.rows) {
    if (row.workload != workload) {
      workload = row.workload;
      text += WorkloadLine(evaluation.workloads[workload]) + head + '\n';
    }
    text += fmt::format("  {:<9}", row.method);
    for (const Column& c : columns) text += fmt::format("{:>{}}", c.cell(row), c.width);
    text += '\n';
  }
  if (evaluation.workloads.size() > 1) text += '\n' + TrustTable(evaluation);
  return text + "errors, bounds and shares in %; " + GroupingLine(evaluation.options);
}

std::string SkippedLines(const Evaluation& evaluation) {
  // By method and reason; the reasons start with the same words for every workload.
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const LeftOut& l : evaluation.left_out) ++counts[{l.method, l.reason}];
  std::string text;
  for (const auto& [what, count] : counts) {
    text += fmt::format("stemtap: {} skipped on {} of {} workloads: {}\n", what.first, count,
                        evaluation.workloads.size(), EscapeForTerminal(what.second));
  }
  return text;
}

std::string EqualErrorTable(const EqualErrorReport& report) {
  std::string text = fmt::format(
      "{0} against {1} at equal p95 error; forward: {0} at bound {2} %, {1} tuned; back: the "
      "reverse\n"
      "  {3:<32}{4:>8}{5:>11}{6:>9}{7:>11}{8:>7}  {9:<14}{10:>7}{11:>14}\n",
      report.one, report.other, Percent(report.error_bound), "workload", "p95 %",
      report.one.substr(0, 10), "tuned %", report.other.substr(0, 10), "ratio", "interval", "back",
      "limit");
  std::vector<double> ratios;
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const EqualError& e = report.results[i];
    const bool met = e.forward.end == TuningEnd::kMet;
    std::string name = Name(report.workloads[i].name);
    if (const std::size_t slash = name.rfind('/'); slash != std::string::npos) {
      name.erase(0, slash + 1);
    }
    text +=
        fmt::format("  {:<32}{:>8}{:>11}{:>9}{:>11}{:>7}  {:<14}{:>7}{:>14}\n", name.substr(0, 32),
                    Percent(e.forward.fixed.p95), Speedup(e.forward.fixed.speedup),
                    met ? Percent(e.forward.tuned.error_bound) : "-",
                    met ? Speedup(e.forward.tuned.speedup) : "-", Ratio(e.forward.ratio),
                    met ? fmt::format("{:.2f} .. {:.2f}", e.forward.ratio_low, e.forward.ratio_high)
                        : EndText(e.forward.end),
                    Ratio(e.backward.ratio), Speedup(report.workloads[i].speedup_limit));
    if (!std::isnan(e.ratio)) ratios.push_back(e.ratio);
  }
  text += GroupingLine(report.options);
  if (ratios.empty()) return text + "no workload could be compared\n";
  const auto least = *std::min_element(ratios.begin(), ratios.end());
  const auto below =
      std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 0.98; });
  const auto surely = std::count_if(report.results.begin(), report.results.end(),
                                    [](const EqualError& e) { return e.ratio_high < 0.98; });
  return text +
         fmt::format(
             "ratio of speedups: median {:.3f}, minimum {:.3f}, below 0.98 on {} of {} workloads\n"
             "({} beyond the noise; {} could not be compared)\n",
             Median(ratios), least, below, ratios.size(), surely,
             report.results.size() - ratios.size());
}

}  // namespace stemtap::research
