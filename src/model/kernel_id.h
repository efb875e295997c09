// SPDX-License-Identifier: Apache-2.0
//
// KernelId identifies a kernel in a plan, an overview and the tables made from them.
//
// THREADS: none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "shm/context_key.h"
#include "shm/record.h"

namespace stemtap::model {

struct KernelId {
  std::string name;          // kernel name, or the function with --group-by function
  std::int32_t process = 0;  // owning process with --share-captures off; 0: all processes share it
  // Grid and block with --group-by launch. Grid 0: not part of the identity, or unknown.
  shm::LaunchConfig config = {};
  std::string range = {};  // of the launches with --ranges or --only-range; empty: of all, or none

  auto operator<=>(const KernelId&) const = default;
  constexpr bool has_config() const { return config.grid[0] != shm::kUnknownExtent; }
  // Whether the kernel of another session with an equal id is the same kernel. Equal pids of two
  // sessions are unrelated processes.
  bool spans_sessions() const { return process == 0; }
};

// Returns the name, with what distinguishes kernels of the same name: "k grid 2x1x1 block 32x1x1 in
// decode".
std::string KernelLabel(const KernelId& id);

struct KernelIdHash {
  std::size_t operator()(const KernelId& id) const {
    std::uint64_t name = shm::NameHash(id.name.data(), id.name.size());
    if (!id.range.empty()) {
      name = shm::RangeNameHash(name, shm::NameHash(id.range.data(), id.range.size()));
    }
    if (id.process != 0) name = shm::ProcessNameHash(name, id.process);
    return shm::ConfigKey(name, id.config);
  }
};

// ListedKernels detects kernels that a plan or an overview lists twice.
class ListedKernels {
 public:
  // Returns false if this kernel was added before. Always returns true for kernels that may have
  // equal ids in a valid file: names with invalid UTF-8, which was replaced by U+FFFD, and, if
  // `merged`, processes with equal pids on several machines.
  bool Add(const KernelId& id, bool merged) {
    if (id.name.find("\xEF\xBF\xBD") != std::string::npos || (merged && !id.spans_sessions()))
      return true;
    return ids_.insert(id).second;
  }

 private:
  std::unordered_set<KernelId, KernelIdHash> ids_;
};

}  // namespace stemtap::model
