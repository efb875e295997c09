// SPDX-License-Identifier: Apache-2.0
//
// NameTable gives every kernel name a dense id, in order of first appearance.
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

#include "wire/context_key.h"

namespace stemtap {

class NameTable {
 public:
  NameTable() = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;

  // The id of `name`, which is new if it has not been seen.
  std::uint32_t Intern(std::string_view name) {
    const std::uint64_t hash = wire::NameHash(name.data(), name.size());
    const auto [first, last] = ids_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (names_[it->second] == name) return it->second;
    }
    const auto id = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    hashes_.push_back(hash);
    ids_.emplace(hash, id);
    return id;
  }

  std::size_t size() const { return names_.size(); }
  // REQUIRES (both): id < size().
  const std::string& name(std::uint32_t id) const { return names_[id]; }
  std::uint64_t hash(std::uint32_t id) const { return hashes_[id]; }

 private:
  struct Identity {
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };
  std::deque<std::string> names_;  // a deque: references stay valid as it grows
  std::vector<std::uint64_t> hashes_;
  std::unordered_multimap<std::uint64_t, std::uint32_t, Identity> ids_;
};

}  // namespace stemtap
