// SPDX-License-Identifier: Apache-2.0
//
// GatePublisher is the only writer of the contexts and the credits in the gate table: it publishes
// which credit line each context of a kernel belongs to, and grants the lines their credits. Gates
// only spend and refund credits.
//
// A table without room refuses contexts. Refused contexts are published again at the next
// allocation, whose number grows with the logarithm of the launches.
//
// INVARIANT  For each line, returned captures + open credits + captures in flight never exceed what
// its clusters needed when the credits were granted, plus the captures written off as lost.
//
// THREADS: none.  SOURCE: docs/math/online-bound.md, "Credit lines".
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
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
    is_refused_.push_back(false);
  }

  // Withdraws what was published for `kernels`, by id, and forgets them. Names stay published.
  void StartOver(std::deque<KernelState>& kernels);

  // Publishes a name as known, without a prediction, so that gates do not explore it: the name of
  // an excluded kernel, or of kernels of many configurations. Only the first call has an effect.
  void PublishName(std::uint64_t name_key);

  // Records that a capture of kernel `id` has returned, which spent a credit of `slot`.
  void Return(std::uint32_t id, std::uint32_t slot) { ledger_.Return(id, slot); }

  // Closes a cluster that has enough captures, or opens it again. Returns whether it changed.
  static bool UpdateClosed(Cluster& cluster) {
    const bool was_closed = std::exchange(cluster.request.closed, cluster.has_enough());
    return cluster.request.closed != was_closed;
  }
  // Ends the wait of a cluster for a capture, which was made. The next one gets a new window.
  static void EndWait(Cluster& cluster) { cluster.request.waiting_since = 0; }

  // Grants the credits that the clusters of kernel `id` need and publishes the contexts that
  // changed. `observed` is the number of launches observed so far.
  void Publish(std::uint32_t id, KernelState& kernel, std::uint64_t observed, Pace pace);

  // Publishes refused names again, and requests that Publish does so for the contexts of `kernels`,
  // by id.
  void RetryRefused(std::deque<KernelState>& kernels);

  // Returns the highest number of credits ever granted to a slot in total.
  std::uint32_t MostGranted(std::uint32_t slot) const { return ledger_.MostGranted(slot); }

  // Numbers of failed attempts to publish a context and to get a slot for a line.
  std::uint64_t contexts_refused() const { return contexts_refused_; }
  std::uint64_t slots_refused() const { return ledger_.slots_refused(); }

 private:
  void GrantCredits(std::uint32_t id, KernelState& kernel, std::uint64_t observed, Pace pace);
  void PublishContexts(std::uint32_t id, KernelState& kernel);
  // Returns whether the table has room for the context; counts a failure.
  bool TryPublish(std::uint64_t key, std::uint32_t slot);

  shm::GateTable& gate_;
  CreditLedger ledger_;
  std::vector<bool> is_refused_;                   // by kernel: a context of it was refused
  std::unordered_map<std::uint64_t, bool> names_;  // keys of PublishName; whether it succeeded
  std::uint64_t contexts_refused_ = 0;
};

}  // namespace stemtap::online
