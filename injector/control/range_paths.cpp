// SPDX-License-Identifier: Apache-2.0
#include "control/range_paths.h"

#include <string.h>

#include "shm/context_key.h"
#include "shm/range_name.h"

namespace stemtap::inject {
namespace {

// Returns the key of a range. Not NameHash, whose code is larger than the rest of this directory.
std::uint64_t KeyOf(std::uint32_t parent, std::uint32_t domain, RangeName name) noexcept {
  std::uint64_t key = shm::MixKeys(std::uint64_t{domain} << 32 | parent, name.bytes);
  for (std::uint32_t at = 0; at < name.bytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    const std::size_t left = name.bytes - at;
    ::memcpy(&word, name.text + at, left < sizeof(word) ? left : sizeof(word));
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

std::uint32_t RangePaths::Intern(std::uint32_t parent, const RangeDomain& domain,
                                 RangeName name) noexcept {
  const std::uint32_t prefix = domain.prefix_bytes();
  name.bytes =
      CutLength(name.text, shm::StableLength(name.text, name.bytes), kMaxNameBytes - prefix);
  std::uint32_t path_bytes = prefix + name.bytes;
  if (parent != shm::kNoRange) path_bytes += FactsOf(parent).path_bytes + 1u;
  if (path_bytes > shm::kMaxRangeBytes) return shm::kNoRange;
  bool is_new = false;
  const std::uint32_t id = Claim(KeyOf(parent, domain.id, name), is_new);
  if (id == shm::kNoRange) return id;
  Place& place = At(id);
  if (place.facts.load(std::memory_order_relaxed) == 0) {
    const Facts facts = {static_cast<std::uint16_t>(parent), static_cast<std::uint16_t>(path_bytes),
                         static_cast<std::uint16_t>(domain.id),
                         static_cast<std::uint16_t>(CountOf(parent, domain.id))};
    place.facts.store(__builtin_bit_cast(std::uint64_t, facts), std::memory_order_relaxed);
  }
  if (is_new) {
    if (prefix != 0) {
      ::memcpy(place.name, domain.name, domain.name_bytes);
      place.name[domain.name_bytes] = ':';
    }
    ::memcpy(place.name + prefix, name.text, name.bytes);
    place.prefix_bytes = static_cast<std::uint8_t>(prefix);
    place.name_bytes.store(prefix + name.bytes, std::memory_order_release);
  }
  return id;
}

std::uint32_t RangePaths::Move(std::uint32_t id, std::uint32_t parent) noexcept {
  const Place& place = At(id);
  const std::uint32_t bytes = place.name_bytes.load(std::memory_order_acquire);
  if (bytes == 0) return shm::kNoRange;
  const std::uint32_t prefix = place.prefix_bytes;
  const RangeDomain domain = {DomainOf(id), place.name, prefix == 0 ? 0 : prefix - 1};
  return Intern(parent, domain, {place.name + prefix, bytes - prefix});
}

std::uint32_t RangePaths::CountOf(std::uint32_t id, std::uint32_t domain) const noexcept {
  for (; id != shm::kNoRange; id = ParentOf(id)) {
    if (DomainOf(id) == domain) return DepthOf(id) + 1;
  }
  return 0;
}

std::uint32_t RangePaths::Write(std::uint32_t id,
                                char (&text)[shm::kMaxRangeBytes]) const noexcept {
  if (id == kOther) {
    constexpr std::uint32_t kLength = sizeof(shm::kOtherRangePath) - 1;
    ::memcpy(text, shm::kOtherRangePath, kLength);
    return kLength;
  }
  // Written from the last name to the first.
  const std::uint32_t total = FactsOf(id).path_bytes;
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
