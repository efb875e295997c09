// SPDX-License-Identifier: Apache-2.0
//
// NvtxNames is the named domains and registered strings of the process. Both are identified by
// their text, so a handle that one shared object gets is valid in all of them, and nothing is
// destroyed. A handle is a number, which NVTX keeps as a pointer.
//
// THREADS: any, lock-free.
#pragma once

#include <atomic>
#include <cstdint>

#include "control/range_domain.h"

namespace stemtap::inject {

class NvtxNames {
 public:
  // Returns the handle of a domain or a string. Those beyond the maximum share the domain or the
  // string "(other)".
  const void* DomainHandle(RangeName name) noexcept;
  const void* StringHandle(RangeName text) noexcept;

  // Returns the domain of a handle. Any other pointer, also null, is the default domain.
  RangeDomain DomainOf(const void* handle) const noexcept;
  // Returns the text of a handle. Any other pointer is "(unnamed)".
  RangeName StringOf(const void* handle) const noexcept;

  // Programs use about ten domains. A library that names each of its functions may register some
  // thousand strings.
  static constexpr std::uint32_t kMaxDomains = 256;
  static constexpr std::uint32_t kMaxStrings = 8192;
  // Maximum bytes of the name of a domain; a longer name is cut. Leaves room for the name of the
  // range.
  static constexpr std::uint32_t kMaxDomainNameBytes = 64;

 private:
  struct String {
    std::uint32_t bytes;
    char text[kMaxRangeNameBytes + 2];
  };
  // Strings are in blocks of 16 KiB, which are made when they are needed: 2 MiB of addresses are
  // much for a process with a limit.
  static constexpr std::uint32_t kBlockStrings = 64;
  using Block = String[kBlockStrings];
  // At most half of the places are used, so that searches are short.
  static constexpr std::uint32_t kPlaces = 2 * kMaxStrings;
  static constexpr std::uint32_t kNoString = 0;

  // Returns the number of a string, from 1, or kNoString if there are too many or no memory.
  std::uint32_t Intern(RangeName text) noexcept;
  // Returns the number of a string that has no place yet, or kNoString.
  std::uint32_t Store(RangeName text) noexcept;
  // REQUIRES: `number` comes from Intern or Store, or was read from a place.
  RangeName TextOf(std::uint32_t number) const noexcept {
    const Block& block = *blocks_[(number - 1) / kBlockStrings].load(std::memory_order_acquire);
    const String& string = block[(number - 1) % kBlockStrings];
    return {string.text, string.bytes};
  }

  // The numbers of the strings by hash, and of the names of the domains in the order in which they
  // are created; kNoString: free. The thread that creates one stores it (release: publishes the
  // string); pairs with the acquire loads of the threads that read it.
  std::atomic<std::uint32_t> places_[kPlaces] = {};
  std::atomic<std::uint32_t> domains_[kMaxDomains] = {};
  std::atomic<std::uint32_t> used_{0};  // strings; relaxed, gives each its own number
  // Made by the first thread that needs one (release: publishes the zeros); pairs with acquire.
  std::atomic<Block*> blocks_[kMaxStrings / kBlockStrings] = {};
};

}  // namespace stemtap::inject
