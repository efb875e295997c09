// SPDX-License-Identifier: Apache-2.0
//
// NameArena stores the kernel names of one module in separate mappings, so that reading a name
// after the module is unloaded causes a segmentation fault instead of returning plausible text.
//
// THREADS: the owner serializes.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace fake_gpu {

class NameArena {
 public:
  NameArena() = default;
  // Hands the mappings to the simulated CUPTI, which may still have to deliver records that point
  // into them. Unmaps them if there is no simulated CUPTI.
  ~NameArena();
  NameArena(const NameArena&) = delete;
  NameArena& operator=(const NameArena&) = delete;

  // Returns a zero-terminated copy that lives as long as the arena.
  std::string_view Add(std::string_view name);

 private:
  struct Chunk {
    char* base;
    std::size_t bytes;
    std::size_t used;
  };
  std::vector<Chunk> chunks_;
};

}  // namespace fake_gpu
