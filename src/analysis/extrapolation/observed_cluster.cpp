// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/observed_cluster.h"

#include <algorithm>
#include <cmath>

namespace stemtap::analysis {

std::vector<std::span<const ObservedCluster>> ByKernel(std::span<const ObservedCluster> clusters) {
  std::vector<std::span<const ObservedCluster>> kernels;
  for (std::size_t begin = 0; begin < clusters.size();) {
    std::size_t end = begin + 1;
    while (end < clusters.size() && clusters[end].kernel == clusters[begin].kernel) ++end;
    kernels.push_back(clusters.subspan(begin, end - begin));
    begin = end;
  }
  return kernels;
}

double UnseenShare(const ObservedCluster& cluster) {
  return std::max(0.0, 1.0 - static_cast<double>(cluster.seen.size()) / cluster.count);
}

bool IsSingle(const ObservedCluster& cluster) {
  return cluster.seen.size() == 1 && cluster.count > 1.0;
}

double LogDuration(double duration_ns) {
  return std::log(std::max(duration_ns, 1.0));
}

double RelativeWidth(const ObservedCluster& cluster) {
  return cluster.stddev_ns / std::max(cluster.mean_ns, 1.0);
}

}  // namespace stemtap::analysis
