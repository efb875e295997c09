// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/comparison/run_diff.h"
#include "base/csv.h"
#include "base/text.h"
#include "base/wrap.h"
#include "model/brief_name.h"
#include "model/json_text.h"
#include "model/text_table.h"

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

// Returns what a verdict of slower or faster is about, or null for other verdicts.
ordered_json BasisOf(const KernelDiff& kernel) {
  if (kernel.basis == DiffBasis::kNone) return {};
  return kDiffBasisNames[static_cast<std::size_t>(kernel.basis)];
}

// Returns the reason of an unclear verdict, or null for other verdicts.
template <typename Diff>
ordered_json ReasonJson(const Diff& diff) {
  return diff.verdict == DiffVerdict::kUnclear ? ordered_json(ReasonOf(diff)) : ordered_json();
}

template <typename Diff>
std::string VerdictAndReason(const Diff& diff) {
  const std::string name = NameOf(diff.verdict);
  return diff.verdict == DiffVerdict::kUnclear ? name + ": " + ReasonOf(diff) : name;
}

std::string VerdictText(const KernelDiff& kernel) {
  if (kernel.basis != DiffBasis::kLaunches) return VerdictAndReason(kernel);
  return fmt::format("{}: {}", NameOf(kernel.verdict),
                     kDiffBasisNames[static_cast<std::size_t>(kernel.basis)]);
}

// Returns the line about the time of the whole run.
std::string TotalLine(const TotalDiff& total) {
  const std::string interval =
      std::isnan(total.change.lower) ? "" : " (" + Interval(total.change) + " %)";
  return fmt::format("total: {}{}\n", VerdictAndReason(total), interval);
}

const char* OrderText(DiffSort sort) {
  switch (sort) {
    case DiffSort::kVerdict:
      break;
    case DiffSort::kTime:
      return "the size of B - A";
    case DiffSort::kChange:
      return "the size of the change";
    case DiffSort::kName:
      return "name";
  }
  return "verdict, then by the size of B - A";
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

// Returns what the reasons of unclear verdicts mean. RunDiff::notes describe `no order` and `no
// shapes`.
std::string ReasonMeaning(std::string_view reason, std::size_t kernels) {
  const auto is = [&](auto value, const auto& names) {
    return reason == names[static_cast<std::size_t>(value)];
  };
  if (is(Untested::kNoTime, kUntestedNames)) return "0 ns in one of the runs";
  if (is(Untested::kOtherShapes, kUntestedNames)) {
    return "less than half of the time of a run is in shapes (grid and block) that both runs have";
  }
  if (is(Untested::kFewLaunches, kUntestedNames)) {
    return "fewer than four launches in a run, or few parts of a run with launches, and more than "
           "twice as many per part in one run as in the other";
  }
  if (is(Untested::kFewSlices, kUntestedNames)) {
    return "launches in fewer than four parts of the time of a run";
  }
  if (is(Undecided::kWideInterval, kUndecidedNames)) {
    return "the interval contains changes within and beyond the threshold; longer runs make it "
           "narrower";
  }
  if (is(Undecided::kManyKernels, kUndecidedNames)) {
    return fmt::format("the interval is beyond the threshold, but among {} one may be so by chance",
                       Plural(kernels, "kernel"));
  }
  if (is(Undecided::kMixed, kUndecidedNames)) {
    return "most launches changed, and the mean in the other direction";
  }
  return {};
}

// Returns the lines below the table that explain the reasons in it.
std::string ReasonLines(const RunDiff& diff, const model::RowView& view) {
  std::vector<std::string_view> reasons;
  const auto add = [&](const auto& row) {
    if (row.verdict != DiffVerdict::kUnclear) return;
    const std::string_view reason = ReasonOf(row);
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
      reasons.push_back(reason);
    }
  };
  add(diff.total);
  for (const std::size_t i : view.rows) add(diff.kernels[i]);
  std::string text;
  for (const std::string_view reason : reasons) {
    const std::string meaning = ReasonMeaning(reason, diff.kernels.size());
    if (!meaning.empty()) text += fmt::format("{}: {}\n", reason, meaning);
  }
  return text;
}

// Returns the brief names of all kernels.
std::vector<std::string> BriefNames(const RunDiff& diff) {
  std::vector<std::string_view> names;
  for (const KernelDiff& kernel : diff.kernels) names.push_back(kernel.name);
  return model::BriefNames(names);
}

// Returns the mean duration of launches, NaN without launches.
double Mean(std::uint64_t duration_ns, std::uint64_t launches) {
  return launches == 0 ? NAN : static_cast<double>(duration_ns) / static_cast<double>(launches);
}

// Mean durations of a kernel that the table shows, in ns. NaN: not in that run.
struct ShownMeans {
  double a_ns = NAN;
  double b_ns = NAN;
  bool are_of_equal_shapes = false;  // and the means of all launches are others
};

// Returns the means whose ratio is the change: those at equal shapes if they are known. Otherwise a
// kernel might be slower with a smaller mean.
ShownMeans MeansOf(const KernelDiff& kernel) {
  ShownMeans whole = {Mean(kernel.duration_a_ns, kernel.launches_a),
                      Mean(kernel.duration_b_ns, kernel.launches_b)};
  const MeanChange& change = kernel.change;
  if (std::isnan(change.equal_mean_a_ns)) return whole;
  const auto differ = [](double x, double y) { return std::fabs(x - y) > 1e-9 * y; };
  return {change.equal_mean_a_ns, change.equal_mean_b_ns,
          differ(change.equal_mean_a_ns, whole.a_ns) || differ(change.equal_mean_b_ns, whole.b_ns)};
}

std::string Microseconds(double ns) {
  return std::isnan(ns) ? "-" : fmt::format("{:.2f}", 1e-3 * ns);
}

// Returns the line below the table about kernels whose means are not of all launches.
std::string EqualShapesLine(const RunDiff& diff, const model::RowView& view) {
  const auto count = std::count_if(view.rows.begin(), view.rows.end(), [&](std::size_t i) {
    return MeansOf(diff.kernels[i]).are_of_equal_shapes;
  });
  if (count == 0) return {};
  return fmt::format(
      "mean A and mean B are at equal shapes (grid and block): the numbers of launches by shape "
      "differ for {}\n",
      Plural(static_cast<std::uint64_t>(count), "kernel"));
}

// Returns a number, or null if it is not known.
ordered_json Number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

// The fields of a kernel in JSON and CSV after its name and verdict.
ordered_json Fields(const KernelDiff& kernel) {
  return {{"launches_a", kernel.launches_a},
          {"launches_b", kernel.launches_b},
          {"duration_a_ns", kernel.duration_a_ns},
          {"duration_b_ns", kernel.duration_b_ns},
          {"mean_a_ns", Number(Mean(kernel.duration_a_ns, kernel.launches_a))},
          {"mean_b_ns", Number(Mean(kernel.duration_b_ns, kernel.launches_b))},
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
          {"reason", ReasonJson(kernel)},
          {"equal_mean_a_ns", Number(kernel.change.equal_mean_a_ns)},
          {"equal_mean_b_ns", Number(kernel.change.equal_mean_b_ns)}};
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
          {"reason", ReasonJson(total)}};
}

ordered_json PolicyJson(const std::optional<DiffJudgment>& judgment) {
  if (!judgment) return {};
  return {{"rules", judgment->rules},
          {"outcome", kDiffOutcomeNames[static_cast<std::size_t>(judgment->outcome)]},
          {"reason", judgment->reason}};
}

// Returns the lines below the table about kernels whose most launches changed: the change of the
// mean is in the table.
std::string ShiftLines(const RunDiff& diff, const model::RowView& view, std::size_t width) {
  constexpr std::size_t kNameColumns = 80;
  const std::vector<std::string> names =
      model::NamesForTerminal(BriefNames(diff), std::min(width, kNameColumns));
  std::string text;
  for (const std::size_t i : view.rows) {
    const KernelDiff& kernel = diff.kernels[i];
    const bool is_mixed = kernel.undecided == Undecided::kMixed;
    if (kernel.basis != DiffBasis::kLaunches && !is_mixed) continue;
    text += fmt::format("most launches changed by {} % ({} to {} %), but the mean {}: {}\n",
                        Percent(kernel.shift.relative), Percent(kernel.shift.lower),
                        Percent(kernel.shift.upper),
                        is_mixed ? "in the other direction" : "is uncertain", names[i]);
  }
  return text;
}

std::vector<model::TextColumn> Columns(const RunDiff& diff, const model::RowView& view) {
  std::vector<model::TextColumn> columns;
  const auto add = [&](const char* title, int rank, auto cell_of) -> model::TextColumn& {
    model::TextColumn& column = columns.emplace_back();
    column.title = title;
    column.rank = rank;
    for (const std::size_t i : view.rows) column.cells.push_back(cell_of(diff.kernels[i]));
    return column;
  };
  using Kernel = const KernelDiff&;
  add("verdict", 0, [](Kernel k) { return VerdictText(k); }).is_left = true;
  add("change %", 0, [](Kernel k) { return Change(k); });
  add("interval %", 1, [](Kernel k) { return Interval(k.change); });
  add("B - A ms", 2, [](Kernel k) { return Milliseconds(k.difference_ns()); });
  add("by launches", 6, [](Kernel k) { return Milliseconds(k.by_launches_ns); });
  add("by shapes", 7, [](Kernel k) { return Milliseconds(k.by_shapes_ns); });
  add("by duration", 4, [](Kernel k) { return Milliseconds(k.by_duration_ns); });
  add("launches A", 5, [](Kernel k) { return std::to_string(k.launches_a); });
  add("launches B", 5, [](Kernel k) { return std::to_string(k.launches_b); });
  add("mean A us", 3, [](Kernel k) { return Microseconds(MeansOf(k).a_ns); });
  add("mean B us", 3, [](Kernel k) { return Microseconds(MeansOf(k).b_ns); });
  return columns;
}

}  // namespace

std::string DiffCounts(const RunDiff& diff) {
  std::string text;
  for (std::size_t i = 0; i < std::size(diff.counts); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", diff.counts[i], kDiffVerdictNames[i]);
  }
  return text;
}

DiffView ChooseDiffRows(const RunDiff& diff, const model::RowChoice& choice) {
  DiffView view;
  for (std::size_t i = 0; i < std::size(kDiffSortNames); ++i) {
    if (choice.sort == kDiffSortNames[i]) view.sorted_by = static_cast<DiffSort>(i);
  }
  std::vector<std::string_view> names;
  for (const KernelDiff& kernel : diff.kernels) names.push_back(kernel.name);
  const std::vector<std::string> brief = BriefNames(diff);
  const auto choose = [&](const std::function<double(std::size_t)>& value_of) {
    return model::ChooseRows(choice, names, brief, value_of);
  };
  switch (view.sorted_by) {
    case DiffSort::kVerdict:
      view.kernels = choose(nullptr);
      break;
    case DiffSort::kTime:
      view.kernels = choose([&](auto i) { return std::fabs(diff.kernels[i].difference_ns()); });
      break;
    case DiffSort::kChange:
      view.kernels = choose([&](auto i) { return std::fabs(diff.kernels[i].change.relative); });
      break;
    case DiffSort::kName:
      view.kernels = model::ChooseRowsByName(choice, names, brief);
      break;
  }
  return view;
}

std::string DiffText(const RunDiff& diff, const DiffView& view, std::size_t width) {
  std::vector<std::string> brief = BriefNames(diff);
  model::TextNames names = {"kernel"};
  for (const std::size_t i : view.kernels.rows) names.names.push_back(brief[i]);
  const std::string heading =
      Heading(diff) + fmt::format("sorted by {} (--sort)\n", OrderText(view.sorted_by));
  const std::string table = model::TableText(Columns(diff, view.kernels), std::move(names), width);
  const bool has_means = table.find("mean A us") < table.find('\n');
  std::string notes = model::LeftOutLine(view.kernels, "kernel") + ReasonLines(diff, view.kernels);
  if (has_means) notes += EqualShapesLine(diff, view.kernels);
  notes += ShiftLines(diff, view.kernels, width);
  return WrappedLines(heading, width) + table + WrappedLines(notes, width);
}

std::string DiffCsv(const RunDiff& diff, const DiffView& view) {
  std::string text = "name,verdict";
  const ordered_json header = Fields({});
  for (const auto& [name, value] : header.items()) text += "," + name;
  text += '\n';
  for (const std::size_t i : view.kernels.rows) {
    const KernelDiff& kernel = diff.kernels[i];
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
  return DiffJson(diff, ChooseDiffRows(diff, {}));
}

std::string DiffJson(const RunDiff& diff, const DiffView& view) {
  ordered_json kernels = ordered_json::array();
  for (const std::size_t i : view.kernels.rows) {
    const KernelDiff& kernel = diff.kernels[i];
    ordered_json json = {{"name", kernel.name}, {"verdict", NameOf(kernel.verdict)}};
    json.update(Fields(kernel));
    kernels.push_back(std::move(json));
  }
  ordered_json counts;
  for (std::size_t i = 0; i < std::size(diff.counts); ++i) {
    counts[kDiffVerdictNames[i]] = diff.counts[i];
  }
  const ordered_json json = {
      {"schema", "stemtap.diff/1"},
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
      {"sorted_by", kDiffSortNames[static_cast<std::size_t>(view.sorted_by)]},
      {"rows_filtered", view.kernels.filtered},
      {"rows_below_top", view.kernels.below_top},
      {"kernels", std::move(kernels)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace stemtap::analysis
