// SPDX-License-Identifier: Apache-2.0
//
// NamePointers caches the name id of each of CUPTI's name pointers. Within one buffer the mapping
// is exact, because all names are valid until the buffer's callback returns. In the next buffer a
// pointer may denote another name (see name_ids.h), so the name is read again once. If it can no
// longer be read, the last known id is the best answer.
//
// THREADS: none; used under the decoder's lock.
#pragma once

#include <cstdint>

#include "recording/name_ids.h"

namespace stemtap::inject {

class NamePointers {
 public:
  // 4,096 pointers take 64 KiB; the busiest recorded programs launch a few hundred kernels. If more
  // than kProbe pointers collide, they evict each other and their names are read more often.
  static constexpr std::uint32_t kPlaces = 1u << 12;
  static constexpr std::uint32_t kProbe = 4;

  // Starts a new buffer.
  void NextBuffer() noexcept { ++buffer_; }

  void Put(const char* name, std::uint32_t id) noexcept {
    Entry* place = &places_[Home(name)];
    for (std::uint32_t i = 0; i < kProbe; ++i) {
      Entry& entry = places_[(Home(name) + i) % kPlaces];
      if (entry.name == name) {
        place = &entry;
        break;
      }
      // Evicts the least recently put entry. Differences, because the counter wraps.
      if (buffer_ - entry.buffer > buffer_ - place->buffer) place = &entry;
    }
    *place = {name, id, buffer_};
  }

  // Returns the id put for `name` since NextBuffer, or NameIds::kNone.
  std::uint32_t FindInBuffer(const char* name) const noexcept {
    const Entry* entry = Lookup(name);
    return entry != nullptr && entry->buffer == buffer_ ? entry->id : NameIds::kNone;
  }
  // Returns the id last put for `name`, or NameIds::kNone.
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
