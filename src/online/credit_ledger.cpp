// SPDX-License-Identifier: Apache-2.0
#include "online/credit_ledger.h"

#include <algorithm>

namespace stemtap::online {

void CreditLedger::Return(std::uint32_t kernel, std::uint32_t slot) {
  for (Line& line : lines_[kernel]) {
    if (line.slot != shm::kClosedSlot && line.slot == slot) ++line.returned;
  }
}

void CreditLedger::StartOver() {
  for (const std::vector<Line>& lines : lines_) {
    for (const Line& line : lines) {
      if (line.slot != shm::kClosedSlot) gate_.Grant(line.slot, gate_.spent(line.slot));
    }
  }
  lines_.clear();
  slots_ = 0;
}

bool CreditLedger::Grant(std::uint32_t kernel, std::size_t at, std::uint32_t credits,
                         std::uint32_t accept, std::uint64_t observed) {
  std::vector<Line>& lines = lines_[kernel];
  if (at >= lines.size()) lines.resize(at + 1);
  Line& line = lines[at];
  const bool opened = credits != 0 && line.slot == shm::kClosedSlot && slots_ + 1 < shm::kGateSlots;
  if (opened) {
    line.slot = next_slot_;
    next_slot_ = next_slot_ + 1 < shm::kGateSlots ? next_slot_ + 1 : 1;
    ++slots_;
    if (line.slot == most_granted_.size()) most_granted_.push_back(0);
    line.before = std::min(gate_.spent(line.slot), most_granted_[line.slot]);
  }
  if (line.slot == shm::kClosedSlot) {
    slots_refused_ += credits != 0;
    return false;
  }
  WriteOffLost(line, observed);
  const std::uint32_t granted = line.before + line.returned + line.lost + credits;
  most_granted_[line.slot] = std::max(most_granted_[line.slot], granted);
  gate_.Grant(line.slot, granted, accept);
  return opened;
}

// A record can be dropped after its credit was spent: CUPTI drops it, or its process is killed. The
// slot would then be out of credit permanently.
void CreditLedger::WriteOffLost(Line& line, std::uint64_t observed) const {
  // A process can write any number.
  const std::uint32_t spent = std::min(gate_.spent(line.slot), most_granted_[line.slot]);
  const std::uint32_t accounted = line.before + line.returned + line.lost;
  const auto in_flight = static_cast<std::int32_t>(spent - accounted);
  if (in_flight < 0) {
    // A record that was written off has arrived.
    line.lost -= std::min(line.lost, accounted - spent);
  } else if (in_flight == 0) {
    line.waiting_since = 0;
  } else if (line.waiting_since == 0 || line.returned != line.returned_then) {
    line.waiting_since = observed;
    line.returned_then = line.returned;
  } else if (observed > 2 * line.waiting_since + kMaxFeedback) {
    line.lost += static_cast<std::uint32_t>(in_flight);
    line.waiting_since = 0;
  }
}

}  // namespace stemtap::online
