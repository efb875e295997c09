// SPDX-License-Identifier: Apache-2.0
//
// NamePointers remembers which name a pointer of CUPTI's means. Within one buffer that is certain:
// all its names are valid until its callback returns. From one buffer to the next a pointer may
// come back with another meaning (see name_ids.h), so the name is read again, once; if it is gone
// by then, what it meant last is the best answer there is.
//
// THREADS: none; used under the decoder's lock.
#pragma once

#include <cstdint>

#include "recording/name_ids.h"

namespace stemtap::inject {

class NamePointers {
 public:
  // 4,096 pointers, 64 KiB: the busiest recorded programs launch some hundred kernels. Where more
  // than kProbe share a place they displace each other, and their names are read more often.
  static constexpr std::uint32_t kPlaces = 1u << 12;
  static constexpr std::uint32_t kProbe = 4;

  // From here on it is another buffer.
  void NextBuffer() noexcept { ++buffer_; }

  void Put(const char* name, std::uint32_t id) noexcept {
    Entry* place = &places_[Home(name)];
    for (std::uint32_t i = 0; i < kProbe; ++i) {
      Entry& entry = places_[(Home(name) + i) % kPlaces];
      if (entry.name == name) {
        place = &entry;
        break;
      }
      // Differences, as the count wraps: the one that was not needed for longest.
      if (buffer_ - entry.buffer > buffer_ - place->buffer) place = &entry;
    }
    *place = {name, id, buffer_};
  }

  // What `name` means in this buffer, NameIds::kNone if it was not put since NextBuffer.
  std::uint32_t FindInBuffer(const char* name) const noexcept {
    const Entry* entry = Lookup(name);
    return entry != nullptr && entry->buffer == buffer_ ? entry->id : NameIds::kNone;
  }
  // What it meant whenever it was put last; NameIds::kNone if that is not known.
  std::uint32_t FindLast(const char* name) const noexcept {
    const Entry* entry = Lookup(name);
    return entry != nullptr ? entry->id : NameIds::kNone;
  }

 private:
  struct Entry {
    const char* name;
    std::uint32_t id;
    std::uint32_t buffer;
  };
  static std::uint32_t Home(const char* name) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(name);
    return static_cast<std::uint32_t>((address * 0x9E3779B97F4A7C15u) >> 52);
  }
  static_assert(kPlaces == 1u << (64 - 52));
  const Entry* Lookup(const char* name) const noexcept {
    for (std::uint32_t i = 0; i < kProbe; ++i) {
      const Entry& entry = places_[(Home(name) + i) % kPlaces];
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }

  std::uint32_t buffer_ = 0;
  Entry places_[kPlaces] = {};
};

}  // namespace stemtap::inject
