// SPDX-License-Identifier: Apache-2.0
//
// CreditLedger tracks the credits of every kernel's credit lines: granted, spent, returned, and
// lost. A line is the account of one gate slot. Every launch of a kernel is offered to one line:
// the line of the cluster that its context predicts, or the common line if no context predicts it
// or the predictions of that cluster are unreliable. Which launches of a line are captured is a
// random draw that does not depend on their durations.
//
// INVARIANT  For each line, granted = before + returned + lost + open credits of the last Grant.
//
// THREADS: none.  SOURCE: docs/math/online.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/gate_table.h"

namespace stemtap::online {

class CreditLedger {
 public:
  // A capture is written off if no record of its line has arrived while the number of observations
  // has doubled and then grown by this many launches: half a second at two million launches per
  // second. (In a replay, credits are granted only after as many launches as the feedback delay.)
  static constexpr std::uint64_t kMaxFeedback = 1 << 20;

  // `gate` must outlive the ledger.
  explicit CreditLedger(shm::GateTable& gate) : gate_(gate) {}

  void AddKernel() { lines_.emplace_back(); }

  // Forgets all kernels and withdraws the open credits. Slots keep their counters, which only grow,
  // because launches and records on their way refer to them.
  void StartOver();

  // Returns the gate slot of a line, or shm::kClosedSlot if it has none.
  std::uint32_t SlotOf(std::uint32_t kernel, std::size_t line) const {
    return line < lines_[kernel].size() ? lines_[kernel][line].slot : shm::kClosedSlot;
  }

  // Records that the record of a capture has arrived, which spent a credit of `slot`.
  void Return(std::uint32_t kernel, std::uint32_t slot);

  // Sets the open credits of a line, which accept draws up to `accept` (shm::AcceptOf). A line gets
  // its slot with its first credits. `observed` is the number of launches observed so far. Returns
  // whether the line has got a slot.
  bool Grant(std::uint32_t kernel, std::size_t line, std::uint32_t credits, std::uint32_t accept,
             std::uint64_t observed);

  // Returns the highest number of credits ever granted to a slot in total. Launches cannot have
  // spent more.
  std::uint32_t MostGranted(std::uint32_t slot) const {
    return slot < most_granted_.size() ? most_granted_[slot] : 0;
  }

  // Number of failed attempts to get a slot.
  std::uint64_t slots_refused() const { return slots_refused_; }

 private:
  struct Line {
    std::uint32_t slot = shm::kClosedSlot;
    std::uint32_t before = 0;    // credits of the slot that were spent before the line got it
    std::uint32_t returned = 0;  // captures whose records arrived
    std::uint32_t lost = 0;      // captures written off because their records did not arrive
    // Numbers of observed launches and of returned captures when the current wait for captures in
    // flight began. waiting_since is 0 if no capture is in flight.
    std::uint64_t waiting_since = 0;
    std::uint32_t returned_then = 0;
  };

  void WriteOffLost(Line& line, std::uint64_t observed) const;

  shm::GateTable& gate_;
  std::vector<std::vector<Line>> lines_;           // by kernel
  std::vector<std::uint32_t> most_granted_ = {0};  // by slot
  // The next slot to use. After the last one, the first ones are used again: their captures were
  // made in earlier windows.
  std::uint32_t next_slot_ = 1;
  std::uint32_t slots_ = 0;  // in use
  std::uint64_t slots_refused_ = 0;
};

}  // namespace stemtap::online
