// SPDX-License-Identifier: Apache-2.0
//
// GateTable is the layout of `gate.table` in a session folder: what the collector has decided, for the
// launch callback of every traced process to read in a few nanoseconds. A launch context (see
// context_key.h) points to the credit slot of the line that launches of that context are offered to;
// if the slot has an open credit and accepts the launch's random draw, the launch is captured and
// spends the credit.
//
//   contexts   open addressing, linear probing    slots     granted and spent only grow
//   ┌──────────────┬──────┐                       ┌───────────────┐
//   │ key 9f31..   │ slot ├──────────────────────►│ granted    12 │   12 - 11 = one credit left
//   │ key 0 (free) │      │                       │ spent      11 │
//   └──────────────┴──────┘                       │ accept    10 %│   one launch in ten spends it
//                                                 └───────────────┘
//
// One table serves all processes of a session: keys are hashes of content, not ids, so that what one
// process taught the collector is known to the next. With kGateByProcess the name's hash has the
// process's id in it, and each finds its own alone. Why credits: docs/design/gate.md.
//
// THREADS: one writer, the collector (Publish, Grant). Any number of readers and spenders in any
// process (Find, TrySpend), without locks.
// INVARIANTS
//   1. An entry's key is written once, 0 -> key, and never changes: a probe needs no second look.
//   2. spent <= granted at every successful TrySpend, so captures in flight never exceed the credits.
//
// Used by the injected library: needs libc alone.
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "shm/context_key.h"

namespace stemtap::shm {

inline constexpr std::uint64_t kGateMagic = 0x3154474150415453;  // "STAPAGT1"
inline constexpr std::uint32_t kGateVersion = 4;

// Bits of GateFile::flags, set before any process can see the file.
inline constexpr std::uint32_t kGateByProcess = 1;  // names are hashed with ProcessNameHash

// 2^17 contexts at 16 bytes are 2 MiB, half of it filled at most: twice the 30,000 contexts that the
// busiest profiles show (names x shapes x predecessors). A full table refuses new contexts, which are
// counted and fall back to the more general key.
inline constexpr std::uint32_t kGateContexts = 1u << 17;
// Bounds the look-up. At half load the longest run of a good hash stays below this.
inline constexpr std::uint32_t kGateMaxProbe = 32;
// KernelRecord::credit_slot has 16 bits. Slot 0 is never granted: "known, and nothing to capture".
inline constexpr std::uint32_t kGateSlots = 1u << 16;

inline constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};  // Find: the context is not known
inline constexpr std::uint32_t kClosedSlot = 0;              // known, never captured

struct GateEntry {
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint32_t> slot{kNoSlot};
  std::uint32_t reserved = 0;
};

inline constexpr std::uint32_t kAcceptAll = ~std::uint32_t{0};

// Returns the CreditSlot::accept that a uniform 32-bit draw meets with `probability`, rounded to a
// multiple of 2^-32. The smallest is 2^-32: to stop captures, withdraw the credits. Values that are not
// below 1 (NaN included) return kAcceptAll.
constexpr std::uint32_t AcceptOf(double probability) noexcept {
  if (!(probability < 1.0)) return kAcceptAll;
  const double draws = probability * 0x1.0p32 + 0.5;
  return draws < 2.0 ? 0 : static_cast<std::uint32_t>(static_cast<std::uint64_t>(draws) - 1);
}

// CreditSlot counts the captures that one credit line was granted and that launches have spent. 16 bytes,
// so that a slot never crosses a cache line.
struct alignas(16) CreditSlot {
  // Written by the collector, read by traced processes: Grant pairs with TrySpend.
  std::atomic<std::uint32_t> granted{0};
  std::atomic<std::uint32_t> spent{0};  // added to by traced processes, read by the collector
  // A launch spends an open credit only if its draw is at most this. Written by the collector, read by
  // traced processes; published by the release store of `granted`.
  std::atomic<std::uint32_t> accept{kAcceptAll};
  std::uint32_t reserved = 0;
};
static_assert(sizeof(CreditSlot) == 16);

class GateTable {
 public:
  // Where the context with `key` points to; kNoSlot if it is not known. REQUIRES: key != 0.
  std::uint32_t Find(std::uint64_t key) const noexcept {
    std::uint32_t at = Home(key);
    for (std::uint32_t probe = 0; probe < kGateMaxProbe; ++probe) {
      // Acquire: matched by the release in Publish, so that the slot of a key seen is its slot.
      const std::uint64_t found = contexts_[at].key.load(std::memory_order_acquire);
      if (found == key) {
        // Relaxed: any slot that was ever published for this key is a valid answer.
        return contexts_[at].slot.load(std::memory_order_relaxed);
      }
      if (found == 0) return kNoSlot;
      at = (at + 1) & (kGateContexts - 1);
    }
    return kNoSlot;
  }

  // Takes one credit of `slot` if one is open and the slot accepts the launch's draw. `draw` returns a
  // uniform 32-bit number; it is called at most once, and only if a credit is open.
  // REQUIRES: slot < kGateSlots.
  template <std::invocable Draw>
  bool TrySpend(std::uint32_t slot, Draw&& draw) noexcept {
    CreditSlot& credit = slots_[slot];
    // Acquire: matched by the release in Grant, so that a new credit is not spent under the acceptance
    // of the credits before it.
    const std::uint32_t granted = credit.granted.load(std::memory_order_acquire);
    std::uint32_t spent = credit.spent.load(std::memory_order_relaxed);
    if (!IsOpen(granted, spent)) return false;
    if (draw() > credit.accept.load(std::memory_order_relaxed)) return false;
    do {
      // Relaxed: no other data is published through a spent credit.
      if (credit.spent.compare_exchange_weak(spent, spent + 1, std::memory_order_relaxed)) {
        return true;
      }
    } while (IsOpen(granted, spent));
    return false;
  }
  bool TrySpend(std::uint32_t slot, std::uint32_t draw) noexcept {
    return TrySpend(slot, [draw] { return draw; });
  }

  // Gives back a credit that was taken and could not be used.
  void Refund(std::uint32_t slot) noexcept {
    slots_[slot].spent.fetch_sub(1, std::memory_order_relaxed);  // as TrySpend
  }

  // Points the context `key` to `slot` (or to kNoSlot: ask the more general key). False if the table
  // has no room for a new key. Writer only.
  bool Publish(std::uint64_t key, std::uint32_t slot) noexcept {
    std::uint32_t at = Home(key);
    for (std::uint32_t probe = 0; probe < kGateMaxProbe; ++probe) {
      const std::uint64_t found = contexts_[at].key.load(std::memory_order_relaxed);
      if (found == key) {
        contexts_[at].slot.store(slot, std::memory_order_relaxed);
        return true;
      }
      if (found == 0) {
        contexts_[at].slot.store(slot, std::memory_order_relaxed);
        // Release: the slot above is visible to whoever sees the key. Matched by Find.
        contexts_[at].key.store(key, std::memory_order_release);
        return true;
      }
      at = (at + 1) & (kGateContexts - 1);
    }
    return false;
  }

  // Sets how many credits `slot` was given over its life, and which draws its open credits accept
  // (AcceptOf). Lowering the number withdraws credits that no launch has spent yet. Writer only.
  void Grant(std::uint32_t slot, std::uint32_t granted_in_total,
             std::uint32_t accept = kAcceptAll) noexcept {
    slots_[slot].accept.store(accept, std::memory_order_relaxed);
    // Release: publishes `accept`. Matched by the acquire in TrySpend.
    slots_[slot].granted.store(granted_in_total, std::memory_order_release);
  }

  std::uint32_t granted(std::uint32_t slot) const noexcept {
    return slots_[slot].granted.load(std::memory_order_relaxed);
  }
  std::uint32_t spent(std::uint32_t slot) const noexcept {
    return slots_[slot].spent.load(std::memory_order_relaxed);
  }
  std::uint32_t accept(std::uint32_t slot) const noexcept {
    return slots_[slot].accept.load(std::memory_order_relaxed);
  }

 private:
  // The difference is taken in 32 bits so that both counters may wrap.
  static bool IsOpen(std::uint32_t granted, std::uint32_t spent) noexcept {
    return static_cast<std::int32_t>(granted - spent) > 0;
  }

  // Its upper bits (context_key.h).
  static std::uint32_t Home(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key >> (64 - std::bit_width(kGateContexts - 1)));
  }

  GateEntry contexts_[kGateContexts];
  CreditSlot slots_[kGateSlots];
};

// Where the launch with these keys points to: the most specific context that is known decides
// (context_key.h). kNoSlot: not even its name is known.
inline std::uint32_t FindLaunch(const GateTable& table, std::uint64_t history_key,
                                std::uint64_t config_key, std::uint64_t name_hash) noexcept {
  std::uint32_t slot = table.Find(history_key);
  if (slot == kNoSlot) slot = table.Find(config_key);
  if (slot == kNoSlot) slot = table.Find(NameKey(name_hash));
  return slot;
}

struct GateFile {
  std::uint64_t magic = kGateMagic;
  std::uint32_t version = kGateVersion;
  std::uint32_t flags = 0;
  std::uint64_t file_bytes = 0;
  // Seed of the launch draws (launch_draw.h), set before any process can see the file.
  std::uint64_t seed = 0;
  alignas(64) GateTable table;
};
static_assert(offsetof(GateFile, table) == 64);

}  // namespace stemtap::shm
