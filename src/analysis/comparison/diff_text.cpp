// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/comparison/run_diff.h"
#include "base/csv.h"
#include "base/text.h"
#include "model/cut_names.h"
#include "model/json_text.h"

namespace stemtap::analysis {
namespace {

using nlohmann::ordered_json;

const char* NameOf(DiffVerdict verdict) {
  return kDiffVerdictNames[static_cast<std::size_t>(verdict)];
}

std::string Milliseconds(double ns) {
  return fmt::format("{:+.3f}", std::fabs(ns) < 500.0 ? 0.0 : 1e-6 * ns);  // not -0.000
}

// Returns a relative change in percent, for example "+1.50".
std::string Percent(double change) {
  const std::string text = fmt::format("{:+.2f}", 100 * change);
  return text == "-0.00" ? "+0.00" : text;
}

std::string SourceLine(char letter, const ComparedRun& run) {
  return fmt::format("{}: {}: {}, {:.3f} ms of GPU time\n", letter, model::NameOfSource(run.source),
                     Plural(run.launches, "launch", "launches"),
                     1e-6 * static_cast<double>(run.duration_ns));
}

std::string Change(const KernelDiff& kernel) {
  const double change = kernel.change.relative;
  return std::isnan(change) ? std::string("-") : Percent(change);
}

// Returns the interval in percent. With few launches, its upper end may be absurd. An end that is
// above 1000 % and above ten times the change is shown as "over" a power of ten.
std::string Interval(const MeanChange& change) {
  if (std::isnan(change.lower)) return "-";
  double limit = 10.0;
  while (limit < 10.0 * change.relative) limit *= 10.0;
  const std::string upper =
      change.upper > limit ? fmt::format("over {:+.0f}", 100 * limit) : Percent(change.upper);
  return fmt::format("{} to {}", Percent(change.lower), upper);
}

// Returns why a change is not tested; empty if it is.
const char* ReasonOf(const MeanChange& change) {
  return kUntestedNames[static_cast<std::size_t>(change.untested)];
}

// Returns what a verdict of slower or faster is about, or null for other verdicts.
ordered_json BasisOf(const KernelDiff& kernel) {
  if (kernel.basis == DiffBasis::kNone) return {};
  return kDiffBasisNames[static_cast<std::size_t>(kernel.basis)];
}

std::string VerdictText(DiffVerdict verdict, const MeanChange& change) {
  const std::string name = NameOf(verdict);
  return verdict == DiffVerdict::kUnclear ? name + ": " + ReasonOf(change) : name;
}

std::string VerdictText(const KernelDiff& kernel) {
  if (kernel.basis != DiffBasis::kLaunches) return VerdictText(kernel.verdict, kernel.change);
  return fmt::format("{}: {}", NameOf(kernel.verdict),
                     kDiffBasisNames[static_cast<std::size_t>(kernel.basis)]);
}

// Returns the line about the time of the whole run.
std::string TotalLine(const TotalDiff& total) {
  const std::string interval =
      std::isnan(total.change.lower) ? "" : " (" + Interval(total.change) + " %)";
  return fmt::format("total: {}{}\n", VerdictText(total.verdict, total.change), interval);
}

// Returns the lines above the table.
std::string Heading(const RunDiff& diff) {
  const double difference =
      static_cast<double>(diff.b.duration_ns) - static_cast<double>(diff.a.duration_ns);
  std::string text = SourceLine('A', diff.a) + SourceLine('B', diff.b);
  text += fmt::format("B - A: {} ms", Milliseconds(difference));
  if (diff.a.duration_ns != 0) {
    text += fmt::format(" ({} %)", Percent(difference / static_cast<double>(diff.a.duration_ns)));
  }
  text += fmt::format(": {} ms from numbers of launches, {} ms from shapes, {} ms from durations\n",
                      Milliseconds(diff.by_launches_ns), Milliseconds(diff.by_shapes_ns),
                      Milliseconds(diff.by_duration_ns));
  text += TotalLine(diff.total);
  text += fmt::format(
      "{}; threshold {:g} % for a change of the mean, confidence {:g} % for the whole table\n",
      DiffCounts(diff), 100 * diff.options.threshold, 100 * diff.options.confidence);
  for (const std::string& note : diff.notes) text += note + '\n';
  return text;
}

// Returns whether the kernel is `same` although all of its interval is beyond the threshold: the
// intervals are not corrected for the number of kernels.
bool IsSameBeyondThreshold(const KernelDiff& kernel, double threshold) {
  return kernel.verdict == DiffVerdict::kSame &&
         (kernel.change.lower > threshold || kernel.change.upper < 1.0 / (1.0 + threshold) - 1.0);
}

// Returns the names of the kernels for people, of at most `max_columns`.
std::vector<std::string> ShownNames(const RunDiff& diff, std::size_t max_columns) {
  std::vector<std::string_view> names;
  for (const KernelDiff& kernel : diff.kernels) names.push_back(kernel.name);
  return model::NamesForTerminal(model::BriefNames(names), max_columns);
}

std::string MeanMicroseconds(std::uint64_t duration_ns, std::uint64_t launches) {
  if (launches == 0) return "-";
  return fmt::format("{:.2f}",
                     1e-3 * static_cast<double>(duration_ns) / static_cast<double>(launches));
}

// Returns a number, or null if it is not known.
ordered_json Number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

// The fields of a kernel in JSON and CSV after its name and verdict.
ordered_json Fields(const KernelDiff& kernel) {
  const auto mean = [&](std::uint64_t duration_ns, std::uint64_t launches) {
    return launches == 0
               ? ordered_json()
               : ordered_json(static_cast<double>(duration_ns) / static_cast<double>(launches));
  };
  return {{"launches_a", kernel.launches_a},
          {"launches_b", kernel.launches_b},
          {"duration_a_ns", kernel.duration_a_ns},
          {"duration_b_ns", kernel.duration_b_ns},
          {"mean_a_ns", mean(kernel.duration_a_ns, kernel.launches_a)},
          {"mean_b_ns", mean(kernel.duration_b_ns, kernel.launches_b)},
          {"by_launches_ns", kernel.by_launches_ns},
          {"by_shapes_ns", kernel.by_shapes_ns},
          {"by_duration_ns", kernel.by_duration_ns},
          {"mean_change", Number(kernel.change.of_mean)},
          {"change", Number(kernel.change.relative)},
          {"lower", Number(kernel.change.lower)},
          {"upper", Number(kernel.change.upper)},
          {"p", Number(kernel.p)},
          {"adjusted_p", Number(kernel.adjusted_p)},
          {"assumes_independence", kernel.change.untested == Untested::kNoOrder},
          {"basis", BasisOf(kernel)},
          {"shift", Number(kernel.shift.relative)},
          {"shift_lower", Number(kernel.shift.lower)},
          {"shift_upper", Number(kernel.shift.upper)},
          {"adjusted_shift_p", Number(kernel.adjusted_shift_p)},
          {"reason", kernel.verdict == DiffVerdict::kUnclear ? ordered_json(ReasonOf(kernel.change))
                                                             : ordered_json()}};
}

ordered_json RunJson(const ComparedRun& run) {
  return {{"source", run.source}, {"launches", run.launches}, {"duration_ns", run.duration_ns}};
}

ordered_json TotalJson(const TotalDiff& total) {
  return {{"verdict", NameOf(total.verdict)},
          {"change", Number(total.change.relative)},
          {"lower", Number(total.change.lower)},
          {"upper", Number(total.change.upper)},
          {"p", Number(total.p)},
          {"adjusted_p", Number(total.adjusted_p)},
          {"reason", total.verdict == DiffVerdict::kUnclear ? ordered_json(ReasonOf(total.change))
                                                            : ordered_json()}};
}

ordered_json PolicyJson(const std::optional<DiffJudgment>& judgment) {
  if (!judgment) return {};
  return {{"rules", judgment->rules},
          {"outcome", kDiffOutcomeNames[static_cast<std::size_t>(judgment->outcome)]},
          {"reason", judgment->reason}};
}

// Returns the lines below the table about kernels whose verdict is about most launches: the change
// of the mean is in the table.
std::string ShiftLines(const RunDiff& diff, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const KernelDiff& kernel = diff.kernels[i];
    if (kernel.basis != DiffBasis::kLaunches) continue;
    text += fmt::format(
        "most launches changed by {} % ({} to {} %), but the mean is uncertain: {}\n",
        Percent(kernel.shift.relative), Percent(kernel.shift.lower), Percent(kernel.shift.upper),
        names[i]);
  }
  return text;
}

}  // namespace

std::string DiffCounts(const RunDiff& diff) {
  std::string text;
  for (std::size_t i = 0; i < std::size(diff.counts); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", diff.counts[i], kDiffVerdictNames[i]);
  }
  return text;
}

std::string DiffText(const RunDiff& diff, std::size_t max_name_columns) {
  const std::vector<std::string> names = ShownNames(diff, max_name_columns);
  std::vector<std::vector<std::string>> rows = {
      {"verdict", "change %", "interval %", "B - A ms", "by launches", "by shapes", "by duration",
       "launches A", "launches B", "mean A us", "mean B us", "kernel"}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const KernelDiff& k = diff.kernels[i];
    rows.push_back({VerdictText(k), Change(k), Interval(k.change),
                    Milliseconds(k.difference_ns()), Milliseconds(k.by_launches_ns),
                    Milliseconds(k.by_shapes_ns), Milliseconds(k.by_duration_ns),
                    std::to_string(k.launches_a), std::to_string(k.launches_b),
                    MeanMicroseconds(k.duration_a_ns, k.launches_a),
                    MeanMicroseconds(k.duration_b_ns, k.launches_b), names[i]});
  }
  std::string text = Heading(diff);
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const std::vector<std::string>& row : rows) {
    text += fmt::format("{:<{}}  ", row[0], widths[0]);
    for (std::size_t i = 1; i + 1 < row.size(); ++i) {
      text += fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    text += row.back() + '\n';
  }
  text += ShiftLines(diff, names);
  if (std::any_of(diff.kernels.begin(), diff.kernels.end(), [&](const KernelDiff& kernel) {
        return IsSameBeyondThreshold(kernel, diff.options.threshold);
      })) {
    text +=
        "'same' with an interval beyond the threshold: intervals are for each kernel alone, "
        "verdicts for the whole table\n";
  }
  return text;
}

std::string DiffCsv(const RunDiff& diff) {
  std::string text = "name,verdict";
  const ordered_json header = Fields({});
  for (const auto& [name, value] : header.items()) text += "," + name;
  text += '\n';
  for (const KernelDiff& kernel : diff.kernels) {
    text += CsvCell(kernel.name) + "," + NameOf(kernel.verdict);
    const ordered_json fields = Fields(kernel);
    for (const auto& [name, value] : fields.items()) {
      text += ',';
      if (value.is_boolean()) text += value.get<bool>() ? "1" : "0";
      if (value.is_number()) text += value.dump();
      if (value.is_string()) text += value.get<std::string>();
    }
    text += '\n';
  }
  return text;
}

std::string DiffJson(const RunDiff& diff) {
  ordered_json kernels = ordered_json::array();
  for (const KernelDiff& kernel : diff.kernels) {
    ordered_json json = {{"name", kernel.name}, {"verdict", NameOf(kernel.verdict)}};
    json.update(Fields(kernel));
    kernels.push_back(std::move(json));
  }
  ordered_json counts;
  for (std::size_t i = 0; i < std::size(diff.counts); ++i) {
    counts[kDiffVerdictNames[i]] = diff.counts[i];
  }
  const ordered_json json = {{"schema", "stemtap.diff/1"},
                             {"a", RunJson(diff.a)},
                             {"b", RunJson(diff.b)},
                             {"confidence", diff.options.confidence},
                             {"threshold", diff.options.threshold},
                             {"by_launches_ns", diff.by_launches_ns},
                             {"by_shapes_ns", diff.by_shapes_ns},
                             {"by_duration_ns", diff.by_duration_ns},
                             {"total", TotalJson(diff.total)},
                             {"policy", PolicyJson(diff.judgment)},
                             {"verdicts", std::move(counts)},
                             {"notes", diff.notes},
                             {"kernels", std::move(kernels)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace stemtap::analysis
