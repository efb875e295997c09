// SPDX-License-Identifier: Apache-2.0
#include "online/kernel_captures.h"

namespace stemtap::online {

void KernelCaptures::Impute(const KernelSketch& sketch) {
  if (!sketch.imputes()) return;
  explored_ns_ = 0;
  for (CapturedLaunch& launch : by_credit_) sketch.Impute(launch, false);
  for (CapturedLaunch& launch : explored_) {
    sketch.Impute(launch, true);
    explored_ns_ += launch.sample.record.duration_ns;
  }
}

void KernelCaptures::CountIn(KernelClusters& clusters, const KernelPeriods& periods) const {
  for (const CapturedLaunch& launch : explored_) {
    clusters.list()[clusters.ClusterOf(launch.bin)].explored.Add(
        static_cast<double>(launch.sample.record.duration_ns));
  }
  for (const CapturedLaunch& launch : by_credit_) {
    const std::uint64_t position = launch.place.position;
    clusters.list()[clusters.ClusterOf(launch.bin)].AddCapture(periods.PeriodOf(position),
                                                               position);
  }
}

}  // namespace stemtap::online
