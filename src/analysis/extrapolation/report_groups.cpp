// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/extrapolation/report.h"
#include "analysis/extrapolation/report_cells.h"
#include "base/text.h"
#include "model/brief_name.h"

namespace stemtap::analysis {
namespace {

std::string NoteOf(const MetricGroup& group, const MetricEstimate& metric) {
  if (group.uncovered_by_choice) return "  no samples by choice (--max-uncovered)";
  if (metric.samples == 0) return "  no result";
  if (metric.uncovered_fraction > 0.0) {
    return fmt::format("  {} of its time uncovered", Percent(metric.uncovered_fraction));
  }
  return {};
}

std::string RowOf(const std::string& name, std::size_t name_width, double time_share,
                  const MetricEstimate& metric, const std::string& note) {
  std::string row =
      fmt::format("{:{}}  {:>9}  {:>16}  {:>19}", name, name_width, Percent(time_share),
                  Number(metric.calibrated.value), Margin(metric.calibrated));
  if (metric.additive) {
    row += fmt::format("  {:>14}  {:>14}", Number(metric.per_launch.value),
                       Number(metric.per_second.value));
  }
  return row + fmt::format("  {:>7}{}\n", metric.samples, note);
}

std::vector<std::string> NamesOf(GroupBy by, std::span<const MetricGroup* const> groups) {
  std::vector<std::string_view> names;
  for (const MetricGroup* group : groups) names.push_back(group->name);
  return model::NamesForTerminal(by == GroupBy::kKernel
                                     ? model::BriefNames(names)
                                     : std::vector<std::string>(names.begin(), names.end()),
                                 kNameColumns);
}

}  // namespace

std::string GroupsText(const ExtrapolationReport& report) {
  const Extrapolation& extrapolation = report.extrapolation;
  std::vector<const MetricGroup*> groups;
  for (const MetricGroup& group : extrapolation.groups) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(), [](const MetricGroup* a, const MetricGroup* b) {
    return a->native_ns > b->native_ns;
  });
  const std::vector<std::string> names = NamesOf(report.by, groups);
  std::size_t name_width = 6;
  for (const std::string& name : names) name_width = std::max(name_width, name.size());
  const auto run_ns = static_cast<double>(report.plan.totals.duration_ns);
  std::string text;
  for (std::size_t i = 0; i < extrapolation.metrics.size(); ++i) {
    const MetricEstimate& run = extrapolation.metrics[i];
    std::string title = EscapeForTerminal(run.name) + ", " + EscapeForTerminal(run.how);
    if (!run.unit.empty()) title += ", " + EscapeForTerminal(run.unit);
    text += fmt::format("\n{} (calibrated)\n{:{}}  {:>9}  {:>16}  {:>19}", title, NameOf(report.by),
                        name_width, "time", "value", "+-");
    if (run.additive) text += fmt::format("  {:>14}  {:>14}", "per launch", "per second");
    text += fmt::format("  {:>7}\n", "samples");
    for (std::size_t row = 0; row < groups.size(); ++row) {
      const MetricEstimate& metric = groups[row]->metrics[i];
      text += RowOf(names[row], name_width, groups[row]->native_ns / run_ns, metric,
                    NoteOf(*groups[row], metric));
    }
    text += RowOf("(run)", name_width, 1.0, run, {});
  }
  return text;
}

}  // namespace stemtap::analysis
