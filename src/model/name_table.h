// SPDX-License-Identifier: Apache-2.0
//
// NameTable assigns dense ids to kernel names, in order of first appearance. If kernels are kept
// separate by process, or launches are grouped by range, equal names of different processes and
// ranges have different ids.
//
// THREADS: not thread-safe. Const methods may run concurrently if no thread calls Intern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shm/context_key.h"

namespace stemtap::model {

class NameTable {
 public:
  // Returns the id of `name` and assigns one if needed. `pid` is the owning process id, or 0 if the
  // kernel is shared by all processes. `range`: of the launches; empty if they are not grouped by
  // range, or are outside of all ranges.
  std::uint32_t Intern(std::string_view name, std::int32_t pid = 0, std::string_view range = {}) {
    const std::uint64_t own = shm::NameHash(name.data(), name.size());
    std::uint64_t hash = range.empty() ? own : shm::RangeNameHash(own, RangeHash(range));
    if (pid != 0) hash = shm::ProcessNameHash(hash, pid);
    const auto [first, last] = ids_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      const std::uint32_t id = it->second;
      if (names_[id] == name && process(id) == pid && this->range(id) == range) return id;
    }
    const auto id = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    hashes_.push_back(hash);
    if (pid != 0) processes_.resize(names_.size(), 0);
    if (pid != 0) processes_.back() = pid;
    if (!range.empty()) {
      ranges_.resize(names_.size());
      ranges_.back() = range;
    }
    ids_.emplace(hash, id);
    return id;
  }

  std::size_t size() const { return names_.size(); }
  // REQUIRES (name, hash, process and range): id < size().
  const std::string& name(std::uint32_t id) const { return names_[id]; }
  std::uint64_t hash(std::uint32_t id) const { return hashes_[id]; }
  std::int32_t process(std::uint32_t id) const {
    return id < processes_.size() ? processes_[id] : 0;
  }
  std::string_view range(std::uint32_t id) const {
    return id < ranges_.size() ? std::string_view(ranges_[id]) : std::string_view();
  }
  // Returns the number of names, where equal names in several ranges are one.
  std::size_t CountWithoutRanges() const {
    if (!has_ranges()) return size();
    NameTable names;
    for (std::uint32_t id = 0; id < size(); ++id) names.Intern(names_[id], process(id));
    return names.size();
  }
  // Whether a name has a range.
  bool has_ranges() const { return !ranges_.empty(); }

 private:
  static std::uint64_t RangeHash(std::string_view range) {
    return shm::NameHash(range.data(), range.size());
  }
  struct Identity {
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };
  std::deque<std::string> names_;  // a deque, so references stay valid as it grows
  std::vector<std::uint64_t> hashes_;
  std::vector<std::int32_t> processes_;  // by id, up to the last name with an owning process
  std::deque<std::string> ranges_;       // by id, up to the last name with a range
  std::unordered_multimap<std::uint64_t, std::uint32_t, Identity> ids_;
};

}  // namespace stemtap::model
