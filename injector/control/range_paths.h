// SPDX-License-Identifier: Apache-2.0
//
// RangePaths assigns an id to every path of nested ranges. A path is a parent path and the name of
// the innermost range; its text joins the names with '/'.
//
// The id of a path is its place in a hash table, and a thread that finds a path needs no more than
// its key. So no thread waits for another, and a process that is forked while another thread adds a
// path is not blocked.
//
// THREADS: any, lock-free, no allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shm/record.h"

namespace stemtap::inject {

class RangePaths {
 public:
  // Maximum bytes of the name of one range; a longer name is cut.
  static constexpr std::uint32_t kMaxNameBytes = 250;
  // At most half of the places are used, so that searches are short.
  static constexpr std::uint32_t kPlaces = 2 * shm::kMaxRanges;
  // The id that all further ranges share.
  static constexpr std::uint32_t kOther = kPlaces + 1;

  // Returns the id of the range `name` inside `parent`, which is an id or shm::kNoRange. Returns
  // shm::kNoRange if there are too many paths or the path is too long. An empty or null name is
  // "(unnamed)".
  std::uint32_t Intern(std::uint32_t parent, const char* name) noexcept;

  // Returns the id of the enclosing range. REQUIRES: the calling thread got `id` from Intern.
  std::uint32_t ParentOf(std::uint32_t id) const noexcept {
    return At(id).parent.load(std::memory_order_relaxed);
  }

  // Writes the text of a path, without a terminating 0, and returns its length. Returns 0 if the
  // thread that added one of its ranges has not finished. `id` is an id or kOther.
  std::uint32_t Write(std::uint32_t id, char (&text)[shm::kMaxRangeBytes]) const noexcept;

 private:
  struct Place {
    std::atomic<std::uint64_t> key{0};  // of parent and name; 0: free
    // Every thread that finds the key stores the same values before it uses the id; relaxed.
    std::atomic<std::uint32_t> parent{0};
    std::atomic<std::uint32_t> path_bytes{0};
    // Written once by the thread that claimed the place. The release store of name_bytes publishes
    // the name; pairs with the acquire load in Write.
    std::atomic<std::uint32_t> name_bytes{0};
    char name[kMaxNameBytes] = {};
  };

  const Place& At(std::uint32_t id) const noexcept { return places_[id - 1]; }
  Place& At(std::uint32_t id) noexcept { return places_[id - 1]; }
  // Returns the id of the place with this key, after claiming a free one if there is none. Returns
  // shm::kNoRange if there are too many. `is_new`: the caller must store the name.
  std::uint32_t Claim(std::uint64_t key, bool& is_new) noexcept;

  // 2.2 MiB in .bss, touched as they are used.
  Place places_[kPlaces];
  std::atomic<std::uint32_t> used_{0};  // relaxed: only limits the number of places
};

}  // namespace stemtap::inject
