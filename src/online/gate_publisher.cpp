// SPDX-License-Identifier: Apache-2.0
#include "online/gate_publisher.h"

#include <cstddef>
#include <vector>

namespace stemtap::online {

void GatePublisher::Publish(std::uint32_t id, KernelState& kernel, std::uint64_t observed,
                            Pace pace) {
  GrantCredits(id, kernel, observed, pace);
  PublishContexts(id, kernel);
}

void GatePublisher::GrantCredits(std::uint32_t id, KernelState& kernel, std::uint64_t observed,
                                 Pace pace) {
  UpdateWaits(kernel.clusters());
  const std::vector<LineCredits> lines =
      CreditsOfLines(kernel.clusters(), kernel.offered(), pace);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    // Contexts without a slot can be published when their line gets one.
    if (ledger_.Grant(id, line, lines[line].credits, lines[line].accept, observed)) {
      kernel.RequestPublication();
    }
  }
}

void GatePublisher::PublishContexts(std::uint32_t id, KernelState& kernel) {
  const bool everything = kernel.TakePublicationRequest();
  kernel.contexts().ForEachChanged(everything, [&](ContextPredictor::Context& context) {
    std::uint32_t slot = shm::kNoSlot;
    if (context.trusted() || context.key == kernel.root_key()) {
      const std::size_t line = context.trusted()
                                   ? kernel.LineOf(kernel.ClusterOf(context.candidate_bin))
                                   : KernelClusters::kCommonLine;
      slot = ledger_.SlotOf(id, line);
    }
    if (context.key == kernel.root_key()) {
      for (const std::uint64_t key : kernel.more_name_keys()) gate_.Publish(key, slot);
    }
    if (slot == context.published_slot) return;
    context.published_slot = slot;
    if (!gate_.Publish(context.key, slot)) ++contexts_refused_;
  });
  if (kernel.root_key() != kernel.name_key() && !is_name_known_[id]) {
    // The name covers kernels of many configurations: publish it as known, without a prediction.
    gate_.Publish(kernel.name_key(), shm::kClosedSlot);
    is_name_known_[id] = true;
  }
}

}  // namespace stemtap::online
