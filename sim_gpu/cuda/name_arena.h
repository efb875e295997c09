// SPDX-License-Identifier: Apache-2.0
//
// NameArena holds the kernel names of one module in mappings of its own, so that a name read after
// the module is gone ends in a segmentation fault instead of in plausible text.
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
  // Hands the mappings to the fake CUPTI, which still may have to deliver records that point into
  // them; unmaps them where there is none.
  ~NameArena();
  NameArena(const NameArena&) = delete;
  NameArena& operator=(const NameArena&) = delete;

  // A zero-terminated copy that lives as long as the arena.
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
