// SPDX-License-Identifier: Apache-2.0
#include "nvtx/nvtx_names.h"

#include <string.h>
#include <sys/mman.h>

#include "shm/record.h"
#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

constexpr RangeName kOther = {shm::kOtherRangePath, sizeof(shm::kOtherRangePath) - 1};

// FNV-1a: short, and strings are interned only when they are registered.
std::uint32_t HashOf(RangeName text) noexcept {
  std::uint32_t hash = 2166136261u;
  for (std::uint32_t i = 0; i < text.bytes; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text.text[i])) * 16777619u;
  }
  return hash;
}

bool Equal(RangeName a, RangeName b) noexcept {
  return a.bytes == b.bytes && ::memcmp(a.text, b.text, a.bytes) == 0;
}

const void* HandleOf(std::uint32_t number) noexcept {
  return reinterpret_cast<const void*>(std::uintptr_t{number});
}

}  // namespace

std::uint32_t NvtxNames::Store(RangeName text) noexcept {
  if (used_.load(std::memory_order_relaxed) >= kMaxStrings) return kNoString;
  const std::uint32_t index = used_.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxStrings) return kNoString;
  std::atomic<Block*>& place = blocks_[index / kBlockStrings];
  Block* block = place.load(std::memory_order_acquire);
  if (block == nullptr) {
    auto* made = static_cast<Block*>(MapMemory(sizeof(Block)));
    if (made == nullptr) return kNoString;
    if (place.compare_exchange_strong(block, made, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      block = made;
    } else {
      ::munmap(made, sizeof(Block));
    }
  }
  String& string = (*block)[index % kBlockStrings];
  string.bytes = text.bytes;
  ::memcpy(string.text, text.text, text.bytes);
  return index + 1;
}

std::uint32_t NvtxNames::Intern(RangeName text) noexcept {
  std::uint32_t own = kNoString;
  for (std::uint32_t probe = 0, hash = HashOf(text); probe < kPlaces; ++probe) {
    std::atomic<std::uint32_t>& place = places_[(hash + probe) % kPlaces];
    std::uint32_t found = place.load(std::memory_order_acquire);
    if (found == kNoString) {
      if (own == kNoString) own = Store(text);
      if (own == kNoString) return kNoString;
      // If another thread takes the place for the same string, `own` stays unused.
      if (place.compare_exchange_strong(found, own, std::memory_order_release,
                                        std::memory_order_acquire)) {
        return own;
      }
    }
    if (Equal(TextOf(found), text)) return found;
  }
  return kNoString;
}

const void* NvtxNames::StringHandle(RangeName text) noexcept {
  const std::uint32_t number = Intern(text);
  return HandleOf(number == kNoString ? kMaxStrings + 1 : number);
}

RangeName NvtxNames::StringOf(const void* handle) const noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number == kMaxStrings + 1) return kOther;
  // A number that was not given out has no string.
  if (number == 0 || number > kMaxStrings ||
      blocks_[(number - 1) / kBlockStrings].load(std::memory_order_relaxed) == nullptr) {
    return NameOf(nullptr);
  }
  const RangeName text = TextOf(static_cast<std::uint32_t>(number));
  return text.bytes == 0 ? NameOf(nullptr) : text;
}

const void* NvtxNames::DomainHandle(RangeName name) noexcept {
  name.bytes = CutLength(name.text, name.bytes, kMaxDomainNameBytes);
  const std::uint32_t number = Intern(name);
  std::uint32_t index = number == kNoString ? kMaxDomains : 0;
  for (; index < kMaxDomains; ++index) {
    std::uint32_t found = domains_[index].load(std::memory_order_acquire);
    if (found == kNoString &&
        domains_[index].compare_exchange_strong(found, number, std::memory_order_release,
                                                std::memory_order_acquire)) {
      break;
    }
    if (found == number) break;
  }
  return HandleOf(index + 1);
}

RangeDomain NvtxNames::DomainOf(const void* handle) const noexcept {
  const std::uintptr_t index = reinterpret_cast<std::uintptr_t>(handle) - 1;
  if (index > kMaxDomains) return kDefaultNvtxDomain;
  RangeName name = kOther;
  if (index != kMaxDomains) {
    const std::uint32_t number = domains_[index].load(std::memory_order_acquire);
    if (number == kNoString) return kDefaultNvtxDomain;
    name = TextOf(number);
  }
  return {kFirstNamedDomain + static_cast<std::uint32_t>(index), name.text, name.bytes};
}

}  // namespace stemtap::inject
