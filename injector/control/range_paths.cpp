// SPDX-License-Identifier: Apache-2.0
#include "control/range_paths.h"

#include <string.h>

#include "shm/context_key.h"

namespace stemtap::inject {
namespace {

// Returns the length of a name, cut to the maximum at the beginning of a UTF-8 character.
std::uint32_t CutLength(const char* name) noexcept {
  std::size_t length = ::strnlen(name, RangePaths::kMaxNameBytes + 1);
  if (length > RangePaths::kMaxNameBytes) {
    length = RangePaths::kMaxNameBytes;
    while (length > 1 && (static_cast<unsigned char>(name[length]) & 0xC0) == 0x80) --length;
  }
  return static_cast<std::uint32_t>(length);
}

// Returns the key of a range. Not NameHash, whose code is larger than the rest of this directory.
std::uint64_t KeyOf(std::uint32_t parent, const char* name, std::uint32_t length) noexcept {
  std::uint64_t key = shm::MixKeys(parent, length);
  for (std::uint32_t at = 0; at < length; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    const std::size_t left = length - at;
    ::memcpy(&word, name + at, left < sizeof(word) ? left : sizeof(word));
    key = shm::MixKeys(key, word);
  }
  return key;
}

}  // namespace

std::uint32_t RangePaths::Claim(std::uint64_t key, bool& is_new) noexcept {
  is_new = false;
  for (std::uint32_t probe = 0; probe < kPlaces; ++probe) {
    const std::uint32_t at = (static_cast<std::uint32_t>(key >> 32) + probe) % kPlaces;
    // Relaxed: the key is all that a reader of the place needs.
    std::uint64_t found = places_[at].key.load(std::memory_order_relaxed);
    if (found == 0) {
      if (used_.load(std::memory_order_relaxed) >= shm::kMaxRanges) return shm::kNoRange;
      is_new = places_[at].key.compare_exchange_strong(found, key, std::memory_order_relaxed);
      if (is_new) {
        used_.fetch_add(1, std::memory_order_relaxed);
        return at + 1;
      }
    }
    if (found == key) return at + 1;
  }
  return shm::kNoRange;
}

std::uint32_t RangePaths::Intern(std::uint32_t parent, const char* name) noexcept {
  if (name == nullptr || *name == 0) name = "(unnamed)";
  const std::uint32_t length = CutLength(name);
  std::uint32_t path_bytes = length;
  if (parent != shm::kNoRange) {
    path_bytes += At(parent).path_bytes.load(std::memory_order_relaxed) + 1;
  }
  if (path_bytes > shm::kMaxRangeBytes) return shm::kNoRange;
  bool is_new = false;
  const std::uint32_t id = Claim(KeyOf(parent, name, length), is_new);
  if (id == shm::kNoRange) return id;
  Place& place = At(id);
  place.parent.store(parent, std::memory_order_relaxed);
  place.path_bytes.store(path_bytes, std::memory_order_relaxed);
  if (is_new) {
    ::memcpy(place.name, name, length);
    place.name_bytes.store(length, std::memory_order_release);
  }
  return id;
}

std::uint32_t RangePaths::Write(std::uint32_t id,
                                char (&text)[shm::kMaxRangeBytes]) const noexcept {
  if (id == kOther) {
    constexpr std::uint32_t kLength = sizeof(shm::kOtherRangePath) - 1;
    ::memcpy(text, shm::kOtherRangePath, kLength);
    return kLength;
  }
  // Written from the last name to the first.
  const std::uint32_t total = At(id).path_bytes.load(std::memory_order_relaxed);
  std::uint32_t at = total;
  for (; id != shm::kNoRange; id = ParentOf(id)) {
    const Place& place = At(id);
    const std::uint32_t length = place.name_bytes.load(std::memory_order_acquire);
    if (length == 0 || length > at) return 0;
    at -= length;
    ::memcpy(text + at, place.name, length);
    if (at != 0) text[--at] = '/';
  }
  return at == 0 ? total : 0;
}

}  // namespace stemtap::inject
