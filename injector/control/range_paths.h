// SPDX-License-Identifier: Apache-2.0
//
// RangePaths assigns an id to every path of nested ranges. A path is a parent path and the
// innermost range, with its domain; its text joins the names with '/'.
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

#include "control/range_domain.h"
#include "shm/record.h"

namespace stemtap::inject {

class RangePaths {
 public:
  static constexpr std::uint32_t kMaxNameBytes = kMaxRangeNameBytes;
  // At most half of the places are used, so that searches are short.
  static constexpr std::uint32_t kPlaces = 2 * shm::kMaxRanges;
  // The id that all further ranges share.
  static constexpr std::uint32_t kOther = kPlaces + 1;
  // Maximum names in a path: each has at least one byte and a '/'.
  static constexpr std::uint32_t kMaxDepth = shm::kMaxRangeBytes / 2;

  // Returns the id of the range `name` of `domain` inside `parent`, which is an id or
  // shm::kNoRange. Returns shm::kNoRange if there are too many paths or the path is too long.
  std::uint32_t Intern(std::uint32_t parent, const RangeDomain& domain, RangeName name) noexcept;
  // The same for a range of stemtap/control.h.
  std::uint32_t Intern(std::uint32_t parent, const char* name) noexcept {
    return Intern(parent, kProgramDomain, NameOf(name));
  }
  // Returns the id of the innermost range of `id` inside another parent. Returns shm::kNoRange also
  // if the thread that added `id` has not finished.
  std::uint32_t Move(std::uint32_t id, std::uint32_t parent) noexcept;

  // Return the id of the enclosing range, the id of the domain of the innermost range, and the
  // number of ranges of that domain that enclose it. REQUIRES: the calling thread got `id` from
  // Intern or Move.
  std::uint32_t ParentOf(std::uint32_t id) const noexcept { return FactsOf(id).parent; }
  std::uint32_t DomainOf(std::uint32_t id) const noexcept { return FactsOf(id).domain; }
  std::uint32_t DepthOf(std::uint32_t id) const noexcept { return FactsOf(id).depth; }
  // Returns the number of ranges of `domain` in the path `id`, which may be shm::kNoRange.
  std::uint32_t CountOf(std::uint32_t id, std::uint32_t domain) const noexcept;

  // Writes the text of a path, without a terminating 0, and returns its length. Returns 0 if the
  // thread that added one of its ranges has not finished. `id` is an id or kOther. Cold: called
  // once per path, so it is compiled for size.
  [[gnu::cold]] std::uint32_t Write(std::uint32_t id,
                                    char (&text)[shm::kMaxRangeBytes]) const noexcept;

 private:
  // What the key of a path determines. path_bytes is never 0.
  struct Facts {
    std::uint16_t parent;
    std::uint16_t path_bytes;
    std::uint16_t domain;
    std::uint16_t depth;
  };
  struct Place {
    std::atomic<std::uint64_t> key{0};  // of parent, domain and name; 0: free
    // The bytes of Facts; 0: not stored yet. Every thread that finds the key stores the same value
    // before it uses the id; relaxed.
    std::atomic<std::uint64_t> facts{0};
    // Written once by the thread that claimed the place. The release store of name_bytes publishes
    // the name and prefix_bytes; pairs with the acquire loads in Move and Write.
    std::atomic<std::uint32_t> name_bytes{0};
    std::uint8_t prefix_bytes = 0;  // of the domain and ':', which the name begins with
    char name[kMaxNameBytes] = {};
  };

  const Place& At(std::uint32_t id) const noexcept { return places_[id - 1]; }
  Place& At(std::uint32_t id) noexcept { return places_[id - 1]; }
  Facts FactsOf(std::uint32_t id) const noexcept {
    return __builtin_bit_cast(Facts, At(id).facts.load(std::memory_order_relaxed));
  }
  // Returns the id of the place with this key, after claiming a free one if there is none. Returns
  // shm::kNoRange if there are too many. `is_new`: the caller must store the name.
  std::uint32_t Claim(std::uint64_t key, bool& is_new) noexcept;

  // 2.2 MiB in .bss, touched as they are used.
  Place places_[kPlaces];
  std::atomic<std::uint32_t> used_{0};  // relaxed: only limits the number of places
};

}  // namespace stemtap::inject
