// SPDX-License-Identifier: Apache-2.0
#include "online/gate_publisher.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stemtap::online {

void GatePublisher::StartOver(std::deque<KernelState>& kernels) {
  for (KernelState& kernel : kernels) {
    kernel.contexts().ForEachChanged(true, [&](ContextPredictor::Context& context) {
      if (context.published_slot != shm::kNoSlot) gate_.Publish(context.key, shm::kNoSlot);
    });
    for (const std::uint64_t key : kernel.more_name_keys()) gate_.Publish(key, shm::kNoSlot);
  }
  ledger_.StartOver();
  is_refused_.clear();
  contexts_refused_ = 0;
}

void GatePublisher::Publish(std::uint32_t id, KernelState& kernel, std::uint64_t observed,
                            Pace pace) {
  GrantCredits(id, kernel, observed, pace);
  PublishContexts(id, kernel);
}

void GatePublisher::GrantCredits(std::uint32_t id, KernelState& kernel, std::uint64_t observed,
                                 Pace pace) {
  UpdateWaits(kernel.clusters());
  // What another run asks for is spread over the runs of its job, and over their time by when it
  // asks. With the window of kSpread, captures of the last cuts were not made before the job ended.
  // If captures perturb launches, more seem to be needed at first, and later ones are for better
  // cuts: with kUrgent, 3 of 10 jobs made 128 to 256 captures instead of 39 to 78.
  if (kernel.is_directed()) pace = kernel.sketch().imputes() ? Pace::kSpread : Pace::kUrgent;
  const std::vector<LineCredits> lines =
      CreditsOfLines(kernel.clusters(), kernel.offered(), pace, kernel.correlations().Length());
  for (std::size_t line = 0; line < lines.size(); ++line) {
    // Contexts without a slot can be published when their line gets one.
    const std::uint32_t credits = kernel.AllowedOf(lines[line].credits);
    if (ledger_.Grant(id, line, credits, lines[line].accept, observed)) {
      kernel.RequestPublication();
    }
  }
}

void GatePublisher::PublishContexts(std::uint32_t id, KernelState& kernel) {
  const bool everything = kernel.TakePublicationRequest();
  bool refused = false;
  kernel.contexts().ForEachChanged(everything, [&](ContextPredictor::Context& context) {
    std::uint32_t slot = shm::kNoSlot;
    if (context.trusted() || context.key == kernel.root_key()) {
      const std::size_t line = context.trusted()
                                   ? kernel.LineOf(kernel.ClusterOf(context.candidate_bin))
                                   : KernelClusters::kCommonLine;
      slot = ledger_.SlotOf(id, line);
    }
    if (context.key == kernel.root_key()) {
      for (const std::uint64_t key : kernel.more_name_keys()) refused |= !TryPublish(key, slot);
    }
    if (slot == context.published_slot) return;
    if (TryPublish(context.key, slot)) {
      context.published_slot = slot;
    } else {
      refused = true;
    }
  });
  if (refused) is_refused_[id] = true;
  if (kernel.root_key() != kernel.name_key()) PublishName(kernel.name_key());
}

void GatePublisher::PublishName(std::uint64_t name_key) {
  const auto [name, added] = names_.try_emplace(name_key, false);
  if (added) name->second = TryPublish(name_key, shm::kClosedSlot);
}

void GatePublisher::RetryRefused(std::deque<KernelState>& kernels) {
  if (contexts_refused_ == 0) return;
  for (auto& [key, published] : names_) {
    if (!published) published = TryPublish(key, shm::kClosedSlot);
  }
  for (std::size_t id = 0; id < kernels.size(); ++id) {
    if (!is_refused_[id]) continue;
    is_refused_[id] = false;
    kernels[id].RequestPublication();
  }
}

bool GatePublisher::TryPublish(std::uint64_t key, std::uint32_t slot) {
  const bool published = gate_.Publish(key, slot);
  contexts_refused_ += !published;
  return published;
}

}  // namespace stemtap::online
