// SPDX-License-Identifier: Apache-2.0
//
// GateClient makes the gate decision of each launch: in a traced process, in the collector during a
// replay, and in a tracer.
//
//   Decide ─► context known ──► open credit, draw accepted ─► capture by credit
//          └► kernel unknown ─► not explored yet ───────────► exploratory capture
//   TakeToken ─► Captured ─► Return if the capture does not lead to a launch and its record
//
// `Explored` stores which kernels had their exploratory capture, by a key of its choice:
//   bool MayExplore(kernel)         whether a kernel without statistics is captured at this launch
//   bool Captured(kernel, answer)   a capture is made; false: another thread explored it first
//   void Return(kernel)             after Captured: the capture did not lead to a record
//
// THREADS: as `Explored`; otherwise any, lock-free, without allocation.
//
// Used by the injected library: needs libc only.
#pragma once

#include <cstdint>

#include "shm/gate_table.h"
#include "shm/launch_keys.h"
#include "shm/record.h"
#include "shm/token_bucket.h"

namespace stemtap::shm {

struct GatePolicy {
  std::uint32_t captures_per_second = 0;  // maximum; 0: unlimited
};

struct GateAnswer {
  std::uint16_t credit_slot = 0;  // slot whose credit the capture spent; 0: none
  std::uint8_t flags = 0;         // shm::kFlag...; 0: do not capture

  bool captures() const noexcept { return flags != 0; }
  bool exploratory() const noexcept { return (flags & kFlagExploratory) != 0; }
};

template <typename Explored>
class GateClient {
 public:
  // Without Init, captures per second are unlimited.
  void Init(const GatePolicy& policy) noexcept { tokens_.Init(policy.captures_per_second); }

  // Decides one launch and spends its credit. `draw` returns the draw of the launch
  // (launch_draw.h); it is called only if a credit is open. If the answer is to capture, the caller
  // calls Captured, or refunds the credit.
  template <typename Kernel, typename Draw>
  GateAnswer Decide(GateTable& table, const LaunchKeys& keys, Kernel kernel, Draw&& draw) noexcept {
    const std::uint32_t slot = FindLaunch(table, keys);
    if (slot == kNoSlot) {
      // The collector does not know the kernel yet. Its first launch is captured, so that a run
      // shorter than the feedback delay still has samples.
      if (!explored_.MayExplore(kernel)) return {};
      return {0, kFlagCaptured | kFlagExploratory};
    }
    // The table is shared memory: a slot out of range is damage.
    if (slot == kClosedSlot || slot >= kGateSlots || !table.TrySpend(slot, draw)) return {};
    return {static_cast<std::uint16_t>(slot), kFlagCaptured};
  }

  // Returns whether another capture per second is allowed now.
  bool TakeToken(std::uint64_t now_ns) noexcept { return tokens_.TryTake(now_ns); }
  void GiveBackToken() noexcept { tokens_.GiveBack(); }
  bool limited() const noexcept { return tokens_.limited(); }

  // For exploratory captures: returns whether the kernel still needs one.
  template <typename Kernel>
  bool MayExplore(Kernel kernel) noexcept {
    return explored_.MayExplore(kernel);
  }
  // Records that the launch is captured. Returns false if another thread has explored the kernel.
  template <typename Kernel>
  bool Captured(Kernel kernel, GateAnswer answer) noexcept {
    return explored_.Captured(kernel, answer);
  }

  // Returns the credit of a capture that Captured has recorded but that did not lead to a launch
  // and its record; an exploratory capture is made later.
  template <typename Kernel>
  void Return(GateTable& table, Kernel kernel, GateAnswer answer) noexcept {
    table.Refund(answer.credit_slot);
    if (answer.exploratory()) explored_.Return(kernel);
  }

 private:
  TokenBucket tokens_;
  Explored explored_;
};

}  // namespace stemtap::shm
