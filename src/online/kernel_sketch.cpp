// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_sketch.h"

namespace stemtap::online {

Capture KernelSketch::AddCaptured(const Observation& seen) {
  const std::uint64_t recorded = seen.record.duration_ns;
  Capture launch{{seen.index, seen.occurrence, seen.record, 0.0, true}, recorded};
  const std::uint32_t context = native_->ContextOf(seen.history_key, seen.config_key);
  launch.captured = native_->AddCaptured(context, recorded, !launch.explored());
  Impute(launch, true);  // until the next UpdateCells
  return launch;
}

void KernelSketch::Impute(Capture& launch, bool by_regime) const {
  const bool known = durations_.count() != 0;
  const std::uint64_t mean = !known      ? launch.recorded_ns
                             : by_regime ? native_->CapturedMeanOf(launch.captured)
                                         : native_->GroupMeanOf(launch.captured);
  launch.bin = stats::LogSketch::BinOf(mean);
  const std::uint64_t local = native_->LocalMeanOf(launch.captured);
  launch.sample.record.duration_ns = local != 0 && known ? local : mean;
}

void KernelSketch::UpdateCells() {
  cells_at_ = launches();
  cells_.bins.clear();
  cells_.moments =
      imputes() ? native_->Cells(cells_.bins) : sampling::CellsOf(durations_, &cells_.bins);
}

}  // namespace stemtap::online
