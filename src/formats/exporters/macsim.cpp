// SPDX-License-Identifier: Apache-2.0
//
// Writes selections for MacSim's tracer and simulator. See docs/formats/macsim.md.
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <map>

#include "base/text.h"
#include "formats/exporters/consumers.h"

namespace stemtap::formats {
namespace {

constexpr std::uint64_t kInt32 = std::numeric_limits<std::int32_t>::max();

// Returns an option of the plan as text, or "?" if the plan lacks it.
std::string Shown(const model::Plan& plan, std::string_view option) {
  const std::string text = model::OptionText(plan.options, option);
  return text.empty() ? "?" : text;
}

// Parses the number from the last two components of the path, as MacSim does:
// "./Kernel7/trace.txt".
bool ParseKernelPath(std::string_view line, std::uint64_t& id) {
  constexpr std::string_view kFile = "/trace.txt";
  constexpr std::string_view kPrefix = "Kernel";
  if (line.size() < kFile.size() || line.substr(line.size() - kFile.size()) != kFile) return false;
  line.remove_suffix(kFile.size());
  line.remove_prefix(line.rfind('/') + 1);  // npos + 1 is 0
  if (line.substr(0, kPrefix.size()) != kPrefix) return false;
  line.remove_prefix(kPrefix.size());
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
  return error == std::errc() && !line.empty() && end == line.data() + line.size();
}

}  // namespace

Result<Exported> WriteMacSim(const ExportInput& input) {
  const CountedPlan& counted = input.counted;
  std::map<std::size_t, std::vector<const CountedSample*>> clusters;
  for (const CountedSample& s : counted.samples) clusters[s.cluster_number].push_back(&s);
  std::string text = fmt::format(
      "Kernel sampling information from {}.\n"
      "Clusters of {} launches by stemtap, error bound: {} with confidence {}.\n",
      EscapeForTerminal(counted.plan->source), counted.plan->totals.invocations,
      Shown(*counted.plan, "error_bound"), Shown(*counted.plan, "confidence"));
  Exported exported;
  bool rounded = false;
  for (const auto& [number, samples] : clusters) {
    const model::PlanCluster& cluster = *samples.front()->cluster;
    // If samples of other devices were left out, the remaining ones represent their share of the
    // cluster.
    std::uint64_t size = cluster.count;
    if (samples.size() != cluster.samples.size()) {
      const long double share = static_cast<long double>(cluster.count) *
                                static_cast<long double>(samples.size()) /
                                static_cast<long double>(cluster.samples.size());
      size = static_cast<std::uint64_t>(share + 0.5L);
      rounded = true;
    }
    if (size > kInt32) {
      return Error{
          fmt::format("a cluster has {} launches; expected at most {}, the largest number that the "
                      "MacSim tracer can read",
                      size, kInt32)};
    }
    fmt::format_to(std::back_inserter(text), "{} {}", size, samples.size());
    for (const CountedSample* s : samples) fmt::format_to(std::back_inserter(text), " {}", s->id);
    text += "\n";
  }
  exported.ids = Ids(counted).size();
  exported.files.push_back({"", std::move(text)});
  const std::string& weights = input.options.weights_name;
  if (rounded) {
    exported.notes.push_back(
        fmt::format("cluster sizes are scaled to the device by its share of the samples and "
                    "rounded; exact weights: {}",
                    weights.empty() ? "--weights-csv" : weights));
  }
  if (model::OptionText(counted.plan->options, "weights") == "calibrated") {
    exported.notes.push_back(fmt::format(
        "the file implies plain weights (size / samples); the plan's calibrated weights: {}",
        weights.empty() ? "keep plan.json or --weights-csv" : weights));
  }
  return exported;
}

Result<Exported> WriteMacSimList(const ExportInput& input) {
  const std::vector<std::uint64_t> ids = Ids(input.counted);
  static constexpr std::string_view kHead[] = {"nvbit", "14", "-1"};
  std::string text;
  std::string failure;
  std::size_t rows = 0;
  std::map<std::uint64_t, std::size_t> met;
  ForEachLine(input.options.list, [&](std::size_t row, std::string_view line) {
    const auto fail = [&](std::string_view expected) {
      failure = fmt::format("{}:{}: '{}'; expected {}", input.options.list_name, row,
                            EscapeForTerminal(line.substr(0, 80)), expected);
      return false;
    };
    rows = row;
    if (row <= std::size(kHead)) {
      if (line != kHead[row - 1]) return fail(kHead[row - 1]);
      text.append(line).append("\n");
      return true;
    }
    if (line.empty()) return true;
    std::uint64_t id = 0;
    if (!ParseKernelPath(line, id)) {
      return fail(
          "./KernelN/trace.txt (a second header means that two runs wrote into one directory)");
    }
    const auto planned = std::lower_bound(ids.begin(), ids.end(), id);
    if (planned == ids.end() || *planned != id) return true;
    if (!met.emplace(id, row).second) return fail("each kernel once");
    text.append(line).append("\n");
    return true;
  });
  if (!failure.empty()) return Error{failure};
  if (rows < std::size(kHead)) {
    return Error{fmt::format("{}: ends after {} rows; expected a header of three rows",
                             input.options.list_name, rows)};
  }
  STEMTAP_TRY(CheckAllMet(ids, met, input.options.list_name));
  Exported exported;
  exported.ids = ids.size();
  exported.runs = 0;
  exported.files.push_back({"", std::move(text)});
  exported.notes.push_back("put the new list into the directory of the original list");
  return exported;
}

}  // namespace stemtap::formats
