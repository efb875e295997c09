// SPDX-License-Identifier: Apache-2.0
//
// GateTable is the layout of `gate.table` in a session directory. It contains the decisions of the
// collector; the launch callback of every traced process reads them in a few nanoseconds. A launch
// context (see context_key.h) points to a credit slot. If the slot has an open credit and accepts
// the random draw of the launch, the launch is captured and spends the credit.
//
//   contexts   open addressing, linear probing    slots     one per credit line
//   ┌──────────────┬──────┐                       ┌───────────────┐
//   │ key 9f31..   │ slot ├──────────────────────►│ granted    12 │   12 - 11 = one credit left
//   │ key 0 (free) │      │                       │ spent      11 │
//   └──────────────┴──────┘                       │ accept    10 %│   one launch in ten spends it
//                                                 └───────────────┘
//
// All processes of a session share one table. Keys are hashes of content, not ids, so what the
// collector learned from one process applies to the others. With kGateByProcess, the name hash
// includes the process id, and each process finds only its own contexts. docs/design/gate.md
// explains why the gate uses credits.
//
// THREADS: one writer, the collector (Publish, Grant). Any number of readers and spenders in any
// process (Find, TrySpend), without locks.
// INVARIANTS, unless a process damages the table, which each process of the session can write
//   1. An entry's key is written once, 0 -> key, and never changes, so a probe reads it only once.
//   2. TrySpend finds spent < granted, so captures in flight never exceed the credits. A smaller
//      Grant withdraws credits; spent may then exceed granted.
//
// Used by the injected library: needs libc only.
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

// Bits of GateFile::flags, which are set before the file is visible to other processes.
inline constexpr std::uint32_t kGateByProcess = 1;  // names are hashed with ProcessNameHash
inline constexpr std::uint32_t kGateByCredit = 2;   // no exploratory captures

// 2^17 contexts of 16 bytes take 2 MiB. Half of the table is twice the 30,000 contexts (kernels x
// launch configurations x predecessors) of the largest profiles. A full table rejects new contexts,
// which are counted and fall back to the more general key.
inline constexpr std::uint32_t kGateContexts = 1u << 17;
// Bounds the lookup. At half load, the longest probe sequence of a good hash is shorter.
inline constexpr std::uint32_t kGateMaxProbe = 32;
// KernelRecord::credit_slot has 16 bits. Slot 0 is never granted credits.
inline constexpr std::uint32_t kGateSlots = 1u << 16;

inline constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};  // Find: the context is unknown
inline constexpr std::uint32_t kClosedSlot = 0;              // the context is known, never captured

struct GateEntry {
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint32_t> slot{kNoSlot};
  std::uint32_t reserved = 0;
};

inline constexpr std::uint32_t kAcceptAll = ~std::uint32_t{0};

// Returns the CreditSlot::accept that a uniform 32-bit draw satisfies with `probability`, rounded
// to a multiple of 2^-32 and at least 2^-32. To stop captures, withdraw the credits. Returns
// kAcceptAll for NaN and for probabilities of 1 or more.
constexpr std::uint32_t AcceptOf(double probability) noexcept {
  if (!(probability < 1.0)) return kAcceptAll;
  const double draws = probability * 0x1.0p32 + 0.5;
  return draws < 2.0 ? 0 : static_cast<std::uint32_t>(static_cast<std::uint64_t>(draws) - 1);
}

// CreditSlot counts the credits that were granted to one credit line and the credits that launches
// have spent. Its size is 16 bytes, so a slot never crosses a cache line.
struct alignas(16) CreditSlot {
  // Written by the collector, read by traced processes: Grant pairs with TrySpend.
  std::atomic<std::uint32_t> granted{0};
  std::atomic<std::uint32_t> spent{0};  // incremented by traced processes, read by the collector
  // A launch spends an open credit only if its draw is at most this. Written by the collector, read
  // by traced processes; published by the release store of `granted`.
  std::atomic<std::uint32_t> accept{kAcceptAll};
  std::uint32_t reserved = 0;
};
static_assert(sizeof(CreditSlot) == 16);

class GateTable {
 public:
  // Returns the slot of the context `key`, or kNoSlot if it is unknown. REQUIRES: key != 0.
  std::uint32_t Find(std::uint64_t key) const noexcept {
    std::uint32_t at = Home(key);
    for (std::uint32_t probe = 0; probe < kGateMaxProbe; ++probe) {
      // Acquire: pairs with the release in Publish, so the slot of a visible key is initialized.
      const std::uint64_t found = contexts_[at].key.load(std::memory_order_acquire);
      if (found == key) {
        // Relaxed: every slot that was published for this key is a valid result.
        return contexts_[at].slot.load(std::memory_order_relaxed);
      }
      if (found == 0) return kNoSlot;
      at = (at + 1) & (kGateContexts - 1);
    }
    return kNoSlot;
  }

  // Spends one credit of `slot` if one is open and the slot accepts the draw of the launch. Returns
  // whether it did. `draw` returns a uniform 32-bit number; it is called at most once, and only if
  // a credit is open.
  // REQUIRES: slot < kGateSlots.
  template <std::invocable Draw>
  bool TrySpend(std::uint32_t slot, Draw&& draw) noexcept {
    CreditSlot& credit = slots_[slot];
    // Acquire: pairs with the release in Grant, so a new credit is not spent under the previous
    // `accept`.
    const std::uint32_t granted = credit.granted.load(std::memory_order_acquire);
    std::uint32_t spent = credit.spent.load(std::memory_order_relaxed);
    if (!IsOpen(granted, spent)) return false;
    if (draw() > credit.accept.load(std::memory_order_relaxed)) return false;
    do {
      // Relaxed: `spent` does not publish other data.
      if (credit.spent.compare_exchange_weak(spent, spent + 1, std::memory_order_relaxed)) {
        return true;
      }
    } while (IsOpen(granted, spent));
    return false;
  }
  bool TrySpend(std::uint32_t slot, std::uint32_t draw) noexcept {
    return TrySpend(slot, [draw] { return draw; });
  }

  // Returns a credit that was spent but not used. Slot 0 stands for no credit.
  void Refund(std::uint32_t slot) noexcept {
    if (slot == kClosedSlot) return;
    slots_[slot].spent.fetch_sub(1, std::memory_order_relaxed);  // relaxed as in TrySpend
  }

  // Points the context `key` to `slot`, or to kNoSlot, which makes lookups continue with the more
  // general key. Returns false if the table has no room for a new key. Writer only.
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
        // Release: publishes the slot stored above. Pairs with the acquire in Find.
        contexts_[at].key.store(key, std::memory_order_release);
        return true;
      }
      at = (at + 1) & (kGateContexts - 1);
    }
    return false;
  }

  // Sets the total number of credits ever granted to `slot` and the draws that its open credits
  // accept (AcceptOf). A smaller number withdraws unspent credits. Writer only.
  void Grant(std::uint32_t slot, std::uint32_t granted_in_total,
             std::uint32_t accept = kAcceptAll) noexcept {
    slots_[slot].accept.store(accept, std::memory_order_relaxed);
    // Release: publishes `accept`. Pairs with the acquire in TrySpend.
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
  // The 32-bit difference is correct even if the counters wrap.
  static bool IsOpen(std::uint32_t granted, std::uint32_t spent) noexcept {
    return static_cast<std::int32_t>(granted - spent) > 0;
  }

  // Uses the upper bits of the key, which are mixed best (context_key.h).
  static std::uint32_t Home(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key >> (64 - std::bit_width(kGateContexts - 1)));
  }

  GateEntry contexts_[kGateContexts];
  CreditSlot slots_[kGateSlots];
};

struct GateFile {
  std::uint64_t magic = kGateMagic;
  std::uint32_t version = kGateVersion;
  std::uint32_t flags = 0;
  std::uint64_t file_bytes = 0;
  // Seed of the launch draws (launch_draw.h), set before the file is visible to other processes.
  std::uint64_t seed = 0;
  alignas(64) GateTable table;
};
static_assert(offsetof(GateFile, table) == 64);

}  // namespace stemtap::shm
