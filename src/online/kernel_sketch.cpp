// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_sketch.h"

#include <algorithm>
#include <cmath>

namespace stemtap::online {
namespace {

// Square deviations of a cell, in ns². 2^42 launches that deviate by a second each have 2^102. The
// limit keeps a cell within what another run accepts (src/fleet/packing.cpp).
constexpr double kMaxSquares = 0x1p103;

}  // namespace

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
  launch.bin =
      known && !by_regime ? native_->GroupBinOf(launch.captured) : stats::LogSketch::BinOf(mean);
  const std::uint64_t local = native_->LocalMeanOf(launch.captured);
  launch.sample.record.duration_ns = local != 0 && known ? local : mean;
}

stats::LogSketch SketchOfCells(const BinnedCells& cells) {
  stats::LogSketch sketch;
  for (std::size_t i = 0; i < cells.bins.size(); ++i) {
    const stats::Moments& cell = cells.moments[i];
    if (cell.count() == 0) continue;
    const auto lower_ns = static_cast<double>(stats::LogSketch::LowerEdge(cells.bins[i]));
    stats::LogSketch::Bin bin;
    bin.count = cell.count();
    bin.offset_sum = static_cast<std::uint64_t>(std::llround(
        std::clamp((cell.mean() - lower_ns) * static_cast<double>(cell.count()), 0.0, 0x1p62)));
    // The least sum of squares with this sum, rounded up, and the deviations from the mean.
    const auto sum = static_cast<stats::uint128>(bin.offset_sum);
    bin.offset_square_sum = (sum * sum + bin.count - 1) / bin.count +
                            static_cast<stats::uint128>(std::clamp(cell.m2(), 0.0, kMaxSquares));
    sketch.AddBin(cells.bins[i], bin);
  }
  return sketch;
}

void KernelSketch::UpdateCells() {
  cells_at_ = launches();
  cells_.bins.clear();
  cells_.moments =
      imputes() ? native_->Cells(cells_.bins) : sampling::CellsOf(durations_, &cells_.bins);
}

}  // namespace stemtap::online
