// SPDX-License-Identifier: Apache-2.0
//
// NameTable gives every kernel name a dense id, in order of first appearance; where processes are kept
// apart, every name of a process.
//
// THREADS: none; const methods may be called concurrently while nobody interns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shm/context_key.h"

namespace stemtap {

class NameTable {
 public:
  NameTable() = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;

  // The id of `name`, which is new if it has not been seen. `pid`: the process whose own it is; 0:
  // nobody's.
  std::uint32_t Intern(std::string_view name, std::int32_t pid = 0) {
    std::uint64_t hash = shm::NameHash(name.data(), name.size());
    if (pid != 0) hash = shm::ProcessNameHash(hash, pid);
    const auto [first, last] = ids_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (names_[it->second] == name && process(it->second) == pid) return it->second;
    }
    const auto id = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    hashes_.push_back(hash);
    if (pid != 0) processes_.resize(names_.size(), 0);
    if (pid != 0) processes_.back() = pid;
    ids_.emplace(hash, id);
    return id;
  }

  std::size_t size() const { return names_.size(); }
  // REQUIRES (all): id < size().
  const std::string& name(std::uint32_t id) const { return names_[id]; }
  std::uint64_t hash(std::uint32_t id) const { return hashes_[id]; }
  std::int32_t process(std::uint32_t id) const {
    return id < processes_.size() ? processes_[id] : 0;
  }

 private:
  struct Identity {
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };
  std::deque<std::string> names_;  // a deque: references stay valid as it grows
  std::vector<std::uint64_t> hashes_;
  std::vector<std::int32_t> processes_;  // by id; none beyond the last that is a process's own
  std::unordered_multimap<std::uint64_t, std::uint32_t, Identity> ids_;
};

}  // namespace stemtap
