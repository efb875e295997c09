// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/evaluated_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "stats/moments.h"

namespace stemtap::research {
namespace {

// Long C++ template names would hide the difference.
constexpr std::size_t kMaxNameBytes = 80;

std::string Shown(std::string_view name) {
  if (name.size() <= kMaxNameBytes) return EscapeForTerminal(name);
  return EscapeForTerminal(name.substr(0, kMaxNameBytes)) + "...";
}

template <typename Extent>
bool SameExtent(const Extent (&a)[3], const Extent (&b)[3]) {
  for (int i = 0; i < 3; ++i) {
    if (a[i] != shm::kUnknownExtent && b[i] != shm::kUnknownExtent && a[i] != b[i]) return false;
  }
  return true;
}

template <typename Extent>
std::string ExtentText(const Extent (&e)[3]) {
  return fmt::format("{}x{}x{}", e[0], e[1], e[2]);
}

// Returns the number of kernels with different launch counts, including kernels of only one run.
std::size_t KernelsWithOtherCounts(const model::Profile& one, const model::Profile& other) {
  std::unordered_map<std::string_view, std::int64_t> surplus;
  for (const shm::KernelRecord& r : one.records) ++surplus[one.names.name(r.name_id)];
  for (const shm::KernelRecord& r : other.records) --surplus[other.names.name(r.name_id)];
  return static_cast<std::size_t>(std::count_if(
      surplus.begin(), surplus.end(), [](const auto& entry) { return entry.second != 0; }));
}

// Returns the difference at launch `i`, or "" if there is none.
std::string Difference(const model::Profile& one, const model::Profile& other, std::size_t i) {
  const shm::KernelRecord& a = one.records[i];
  const shm::KernelRecord& b = other.records[i];
  if (one.names.name(a.name_id) != other.names.name(b.name_id)) {
    return fmt::format("is '{}' in the first run and '{}' in the second",
                       Shown(one.names.name(a.name_id)), Shown(other.names.name(b.name_id)));
  }
  const std::string name = Shown(one.names.name(a.name_id));
  if (!SameExtent(a.grid, b.grid)) {
    return fmt::format("('{}') has grid {} in the first run and {} in the second", name,
                       ExtentText(a.grid), ExtentText(b.grid));
  }
  if (!SameExtent(a.block, b.block)) {
    return fmt::format("('{}') has block {} in the first run and {} in the second", name,
                       ExtentText(a.block), ExtentText(b.block));
  }
  return "";
}

}  // namespace

Result<EvaluatedRun> MakeEvaluatedRun(std::string name, model::Profile profile,
                                      const sampling::SamplingOptions& options) {
  model::KernelGroups created =
      STEMTAP_TRY(model::KernelGroups::Create(options.group_by, options.exclude));
  model::KernelGroups groups = std::move(created);
  EvaluatedRun workload;
  workload.name = std::move(name);
  workload.profile = std::move(profile);
  workload.groups.reserve(workload.profile.records.size());
  std::vector<stats::Moments> kernels;
  for (const shm::KernelRecord& record : workload.profile.records) {
    const std::uint32_t group = groups.Of(record, workload.profile.names);
    workload.groups.push_back(group);
    if (group == model::kExcludedKernel) continue;
    ++workload.launches;
    workload.total_ns += record.duration_ns;
    if (group >= kernels.size()) kernels.resize(std::size_t{group} + 1);
    kernels[group].Add(static_cast<double>(record.duration_ns));
  }
  workload.kernels = groups.size();
  workload.excluded = groups.excluded();
  if (workload.total_ns == 0) {
    return Error{fmt::format("{}: contains no kernel time{}; expected at least 1 ns",
                             EscapeForTerminal(workload.name),
                             workload.excluded.invocations > 0 ? " besides excluded kernels" : "")};
  }
  double one_each_ns = 0.0;
  for (const stats::Moments& kernel : kernels) one_each_ns += kernel.mean();
  workload.speedup_limit = static_cast<double>(workload.total_ns) / one_each_ns;
  return workload;
}

Status SameLaunches(const EvaluatedRun& one, const std::string& other_name,
                    const model::Profile& other) {
  const std::size_t count = one.profile.records.size();
  const std::size_t other_count = other.records.size();
  const std::size_t both = std::min(count, other_count);
  std::size_t first = 0;
  std::string difference;
  // Once the names of two ids have been compared, further launches compare only the ids.
  constexpr std::uint32_t kUnpaired = ~std::uint32_t{0};
  std::vector<std::uint32_t> paired(one.profile.names.size(), kUnpaired);
  for (; first < both; ++first) {
    const shm::KernelRecord& a = one.profile.records[first];
    const shm::KernelRecord& b = other.records[first];
    if (paired[a.name_id] == b.name_id && SameExtent(a.grid, b.grid) &&
        SameExtent(a.block, b.block)) {
      continue;
    }
    difference = Difference(one.profile, other, first);
    if (!difference.empty()) break;
    paired[a.name_id] = b.name_id;
  }
  if (difference.empty() && count == other_count) return Success{};
  if (difference.empty()) difference = "is in only one of them";
  return Error{fmt::format(
      "{} and {} are not the same launches: launch {} {}; {} against {} launches, {} kernels with "
      "different launch counts; expected the same names, grids and blocks in the same order",
      EscapeForTerminal(one.name), EscapeForTerminal(other_name), first, difference, count,
      other_count, KernelsWithOtherCounts(one.profile, other))};
}

Status CompareWith(EvaluatedRun& workload, const std::string& other_name,
                   const model::Profile& other) {
  STEMTAP_TRY(SameLaunches(workload, other_name, other));
  std::vector<std::uint64_t> durations;
  durations.reserve(other.records.size());
  std::uint64_t total_ns = 0;
  for (std::size_t i = 0; i < other.records.size(); ++i) {
    durations.push_back(other.records[i].duration_ns);
    if (workload.groups[i] != model::kExcludedKernel) total_ns += other.records[i].duration_ns;
  }
  if (total_ns == 0) {
    return Error{fmt::format("{}: contains no kernel time; expected at least 1 ns",
                             EscapeForTerminal(other_name))};
  }
  workload.against_name = other_name;
  workload.against_ns = std::move(durations);
  workload.against_total_ns = total_ns;
  return Success{};
}

}  // namespace stemtap::research
