// SPDX-License-Identifier: Apache-2.0
//
// GatePublisher is the only writer of the gate table: it publishes which credit line each context
// of a kernel belongs to, and grants the lines their credits.
//
// INVARIANT  For each line, returned captures + open credits + captures in flight never exceed what
// its clusters needed when the credits were granted, plus the captures written off as lost.
//
// THREADS: none.  SOURCE: docs/math/online-bound.md, "Credit lines".
#pragma once

#include <cstdint>
#include <vector>

#include "online/credit_ledger.h"
#include "online/kernel_state.h"
#include "online/release_policy.h"
#include "shm/gate_table.h"

namespace stemtap::online {

class GatePublisher {
 public:
  // `gate` must outlive the publisher and have no other writer.
  explicit GatePublisher(shm::GateTable& gate) : gate_(gate), ledger_(gate) {}

  // Adds a kernel. Ids are assigned in order.
  void AddKernel() {
    ledger_.AddKernel();
    is_name_known_.push_back(false);
  }

  // Records that a capture of kernel `id` has returned, which spent a credit of `slot`.
  void Return(std::uint32_t id, std::uint32_t slot) { ledger_.Return(id, slot); }

  // Grants the credits that the clusters of kernel `id` need and publishes the contexts that
  // changed. `observed` is the number of launches observed so far.
  void Publish(std::uint32_t id, KernelState& kernel, std::uint64_t observed, Pace pace);

  // Numbers of failed attempts to publish a context and to get a slot for a line.
  std::uint64_t contexts_refused() const { return contexts_refused_; }
  std::uint64_t slots_refused() const { return ledger_.slots_refused(); }

 private:
  void GrantCredits(std::uint32_t id, KernelState& kernel, std::uint64_t observed, Pace pace);
  void PublishContexts(std::uint32_t id, KernelState& kernel);

  shm::GateTable& gate_;
  CreditLedger ledger_;
  // By kernel: whether the name was published, if the name is not the kernel's root key.
  std::vector<bool> is_name_known_;
  std::uint64_t contexts_refused_ = 0;
};

}  // namespace stemtap::online
