// SPDX-License-Identifier: Apache-2.0
//
// KernelGroups maps launches to groups of launches that count as the same kernel: one group per
// kernel name, per kernel name, grid and block, or per function (FunctionName), and for each range
// if names have ranges (NameTable). Launches of excluded kernel names, and launches outside of the
// selected ranges and steps (shm::kFlagOutside), have no group. All later stages (clusters,
// allocation, plans) use groups only.
//
// THREADS: none.  SOURCE: Allegro (2024) groups by launch; docs/math/allocation.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/kernel_id.h"
#include "model/name_table.h"
#include "shm/context_key.h"
#include "shm/record.h"

namespace re2 {
class RE2;
}

namespace stemtap::model {

enum class GroupBy { kName, kLaunch, kFunction };

struct GroupBySpec {
  GroupBy by;
  const char* name;  // of the option --group-by
  const char* help;
};
inline constexpr GroupBySpec kGroupings[] = {
    {GroupBy::kName, "name", "the full name"},
    {GroupBy::kLaunch, "launch", "name, grid and block"},
    {GroupBy::kFunction, "function", "the function, whatever its template arguments"},
};

// Returns the grouping of a name in kGroupings; kName for any other text.
GroupBy GroupByOf(std::string_view name);

inline constexpr std::uint32_t kExcludedKernel = ~std::uint32_t{0};

// ExcludedTotals counts the launches of excluded kernels, and launches outside of the selected
// ranges and steps.
struct ExcludedTotals {
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
};

// OccurrenceCounter numbers the launches of a kernel name or, by function, of a function: in all
// ranges, and with all configurations.
//
// THREADS: none.
class OccurrenceCounter {
 public:
  explicit OccurrenceCounter(GroupBy by) : by_function_(by == GroupBy::kFunction) {}

  // Returns the number of this launch, from 0. Call once for each launch whose name is not
  // excluded, in launch order. `names`: the same table in all calls.
  std::uint64_t Next(std::uint32_t name_id, const NameTable& names) {
    if (name_id >= counters_.size()) Learn(names);
    return counts_[counters_[name_id]]++;
  }

 private:
  void Learn(const NameTable& names);

  bool by_function_;
  NameTable counted_;                    // the names or functions, without ranges
  std::vector<std::uint32_t> counters_;  // by name id: id in counted_
  std::vector<std::uint64_t> counts_;    // by id in counted_
};

class KernelGroups {
 public:
  // Maximum launch configurations of all names that are separate kernels, 2 to 20 KiB each in the
  // sampler. The launches of a name with further configurations are one kernel without a
  // configuration. The recorded profiles have at most 30,000.
  static constexpr std::uint32_t kMaxConfigs = 1u << 17;

  // Excludes kernel names that contain a match of the regular expression `exclude` (RE2 syntax). An
  // empty expression excludes nothing. Fails with exit code 2 if the expression is malformed.
  static Result<KernelGroups> Create(GroupBy by, const std::string& exclude);

  KernelGroups(KernelGroups&&) noexcept;
  KernelGroups& operator=(KernelGroups&&) noexcept;
  ~KernelGroups();

  // Returns whether the kernel `name_id` of `names` is excluded.
  bool Excludes(std::uint32_t name_id, const NameTable& names) {
    if (name_id >= by_name_.size()) Learn(names);
    return by_name_[name_id] == kExcludedKernel;
  }

  // Returns the group of a launch, numbered in order of first launch. Returns kExcludedKernel and
  // counts the launch if it is left out. `names` is the table that record.name_id indexes.
  // REQUIRES: `names` is the same table in all calls.
  std::uint32_t Of(const shm::KernelRecord& record, const NameTable& names) {
    if (record.name_id >= by_name_.size()) Learn(names);
    const std::uint32_t known = by_name_[record.name_id];
    if (known == kExcludedKernel || (record.flags & shm::kFlagOutside) != 0) {
      ++excluded_.invocations;
      excluded_.duration_ns += record.duration_ns;
      return kExcludedKernel;
    }
    if (by_ != GroupBy::kLaunch && known != kUnseen) return known;
    return Find(record, names);
  }

  std::size_t size() const { return groups_.size(); }
  const KernelId& group(std::uint32_t id) const { return groups_[id]; }
  const ExcludedTotals& excluded() const { return excluded_; }

 private:
  static constexpr std::uint32_t kUnseen = kExcludedKernel - 1;

  KernelGroups(GroupBy by, std::unique_ptr<re2::RE2> exclude);
  void Learn(const NameTable& names);
  std::uint32_t Find(const shm::KernelRecord& record, const NameTable& names);

  GroupBy by_;
  std::unique_ptr<re2::RE2> exclude_;
  // By name id: group (unless kLaunch), kUnseen or kExcludedKernel.
  std::vector<std::uint32_t> by_name_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_launch_;  // group by ConfigKey
  // Group by function, owning process and range.
  using Function = std::tuple<std::string, std::int32_t, std::string>;
  std::map<Function, std::uint32_t> by_function_;
  std::vector<KernelId> groups_;
  ExcludedTotals excluded_;
};

}  // namespace stemtap::model
