// SPDX-License-Identifier: Apache-2.0
//
// KernelGroups maps launches to groups of launches that count as the same kernel: one group per
// kernel name, or per kernel name, grid and block. Launches of excluded kernel names have no group.
// All later stages (clusters, allocation, plans) use groups only.
//
// THREADS: none.  SOURCE: Allegro (2024) groups by launch; docs/math/allocation.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "shm/context_key.h"
#include "shm/record.h"

namespace re2 {
class RE2;
}

namespace stemtap::model {

enum class GroupBy { kName, kLaunch };

inline constexpr std::uint32_t kExcludedKernel = ~std::uint32_t{0};

// ExcludedTotals counts the launches of excluded kernels.
struct ExcludedTotals {
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
};

class KernelGroups {
 public:
  struct Group {
    std::uint32_t name_id = 0;
    shm::LaunchConfig config = {};  // grid 0 if not part of the group (kName) or unknown
  };

  // Excludes kernel names that contain a match of the regular expression `exclude` (RE2 syntax). An
  // empty expression excludes nothing. Fails with exit code 2 if the expression is malformed.
  static Result<KernelGroups> Create(GroupBy by, const std::string& exclude);

  KernelGroups(KernelGroups&&) noexcept;
  KernelGroups& operator=(KernelGroups&&) noexcept;
  ~KernelGroups();

  // Returns the group of a launch, numbered in order of first launch. Returns kExcludedKernel and
  // counts the launch if its kernel is excluded. `names` is the table that record.name_id indexes.
  // REQUIRES: `names` is the same table in all calls.
  std::uint32_t Of(const shm::KernelRecord& record, const NameTable& names) {
    if (record.name_id >= by_name_.size()) Learn(names);
    const std::uint32_t known = by_name_[record.name_id];
    if (known == kExcludedKernel) {
      ++excluded_.invocations;
      excluded_.duration_ns += record.duration_ns;
      return known;
    }
    if (by_ == GroupBy::kName && known != kUnseen) return known;
    return Find(record, names);
  }

  std::size_t size() const { return groups_.size(); }
  const Group& group(std::uint32_t id) const { return groups_[id]; }
  const ExcludedTotals& excluded() const { return excluded_; }

 private:
  static constexpr std::uint32_t kUnseen = kExcludedKernel - 1;

  KernelGroups(GroupBy by, std::unique_ptr<re2::RE2> exclude);
  void Learn(const NameTable& names);
  std::uint32_t Find(const shm::KernelRecord& record, const NameTable& names);

  GroupBy by_;
  std::unique_ptr<re2::RE2> exclude_;
  std::vector<std::uint32_t> by_name_;  // by name id: group (kName), kUnseen or kExcludedKernel
  std::unordered_map<std::uint64_t, std::uint32_t> by_launch_;  // group by ConfigKey
  std::vector<Group> groups_;
  ExcludedTotals excluded_;
};

}  // namespace stemtap::model
