// SPDX-License-Identifier: Apache-2.0
#include "cupti/ownership.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "cupti/entry.h"
#include "cupti/settings.h"

namespace fake_cupti {
namespace {

// Number of bytes checked per page of the unused part.
constexpr std::size_t kSample = 64;

struct Lent {
  std::shared_ptr<Lease> lease;
  std::uint32_t times = 0;
};

struct Registry {
  std::mutex mutex;
  std::map<const std::uint8_t*, Lent> out;
  Ownership sums;
};

Registry& registry() {
  static Registry& instance = *new Registry;  // leaked: used at exit
  return instance;
}

std::size_t PageBytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Pages contains the pages that are entirely within the buffer. Partial pages may contain other
// data.
struct Pages {
  std::uint8_t* begin;
  std::size_t bytes;  // 0: none
};

// Returns the offset of the address within its page.
std::size_t OffsetInPage(const std::uint8_t* address) {
  return reinterpret_cast<std::uintptr_t>(address) % PageBytes();
}

Pages WholePages(const Buffer& buffer) {
  const std::size_t before = (PageBytes() - OffsetInPage(buffer.data)) % PageBytes();
  if (before >= buffer.size) return {buffer.data, 0};
  return {buffer.data + before, (buffer.size - before) / PageBytes() * PageBytes()};
}

void SetReach(const Buffer& buffer, int protection) {
  const Pages pages = WholePages(buffer);
  if (pages.bytes != 0 && mprotect(pages.begin, pages.bytes, protection) != 0) {
    Die("the client has unmapped a buffer that CUPTI owns");
  }
}

bool IsMapped(const Buffer& buffer) {
  const std::size_t before = OffsetInPage(buffer.data);
  const std::size_t bytes = before + buffer.size;
  std::vector<unsigned char> resident(bytes / PageBytes() + 1);
  return mincore(buffer.data - before, bytes, resident.data()) == 0;
}

// Returns whether samples beyond `used` are zero.
bool RestIsZero(const Buffer& buffer) {
  static constexpr std::uint8_t kZero[kSample] = {};
  for (std::size_t at = buffer.used; at < buffer.size; at += PageBytes()) {
    const std::size_t bytes = std::min(kSample, buffer.size - at);
    if (std::memcmp(buffer.data + at, kZero, bytes) != 0) return false;
  }
  return true;
}

std::array<std::uint64_t, 2> HeadOf(const std::uint8_t* record) {
  std::array<std::uint64_t, 2> head;
  std::memcpy(head.data(), record, sizeof head);
  return head;
}

// Returns a checksum of the bytes that every record has. Uses independent products, because it runs
// at each launch.
std::uint32_t CheckOf(const std::uint8_t* record) {
  std::uint64_t words[5];
  std::memcpy(words, record, sizeof words);
  const std::uint64_t sum = words[0] * 0x9E3779B97F4A7C15u ^ words[1] * 0xC2B2AE3D27D4EB4Fu ^
                            words[2] * 0x165667B19E3779F9u ^ words[3] * 0x27D4EB2F165667C5u ^
                            words[4] * 0x85EBCA77C2B2AE63u;
  return static_cast<std::uint32_t>(sum >> 32);
}

bool IsShared(const Buffer& buffer) {
  return buffer.lease->shared.load(std::memory_order_relaxed);
}

[[noreturn]] void Touched() {
  Die("the client has written to, cleared or freed a buffer that CUPTI owns");
}

}  // namespace

void TakeOwnership(Buffer& buffer, bool client_zeroes) {
  bool again = false;
  Registry& r = registry();
  {
    const std::lock_guard lock(r.mutex);
    Lent& lent = r.out[buffer.data];
    if (lent.lease == nullptr) lent.lease = std::make_shared<Lease>();
    buffer.lease = lent.lease;
    again = ++lent.times > 1;
    if (again) lent.lease->shared.store(true, std::memory_order_relaxed);
    ++r.sums.lent;
    if (again) ++r.sums.lent_twice;
  }
  if (again && settings().guard) SetReach(buffer, PROT_READ | PROT_WRITE);
  if (!client_zeroes) std::memset(buffer.data, 0, buffer.size);
  buffer.zeroed = RestIsZero(buffer);
  if (buffer.zeroed || again) return;
  const std::lock_guard lock(r.mutex);
  ++r.sums.unzeroed;
}

void Reclaim(Buffer& buffer) {
  if (buffer.guarded) {
    SetReach(buffer, PROT_READ | PROT_WRITE);
    buffer.guarded = false;
  }
  if (buffer.entries.empty() || IsShared(buffer)) return;
  if (HeadOf(buffer.data) != buffer.first_head ||
      HeadOf(buffer.data + buffer.entries.back().offset) != buffer.last_head) {
    Touched();
  }
}

void Seal(Buffer& buffer) {
  Entry& entry = buffer.entries.back();
  entry.check = CheckOf(buffer.data + entry.offset);
  buffer.last_head = HeadOf(buffer.data + entry.offset);
  if (buffer.entries.size() == 1) buffer.first_head = buffer.last_head;
  if (settings().guard && !IsShared(buffer)) {
    SetReach(buffer, PROT_NONE);
    buffer.guarded = true;
  }
}

void GiveUpOwnership(Buffer& buffer) {
  if (!IsMapped(buffer)) Die("the client has unmapped a buffer that CUPTI owns");
  Reclaim(buffer);
  if (!IsShared(buffer)) {
    for (const Entry& entry : buffer.entries) {
      if (CheckOf(buffer.data + entry.offset) != entry.check) Touched();
    }
    if (buffer.zeroed && !RestIsZero(buffer)) Touched();
  }
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  ++r.sums.returned;
  const auto lent = r.out.find(buffer.data);
  if (--lent->second.times == 0) r.out.erase(lent);
}

Ownership OwnershipSoFar() {
  const std::lock_guard lock(registry().mutex);
  return registry().sums;
}

}  // namespace fake_cupti
