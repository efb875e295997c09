// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/observed.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace stemtap::analysis {
namespace {

struct Members {
  double samples = 0.0;
  double inside = 0.0;

  void Add(const ObservedCluster& cluster) {
    for (const ObservedSample& sample : cluster.seen) {
      samples += 1.0;
      if (sample.in_domain) inside += 1.0;
    }
  }
  // Returns the share of the samples in the domain; `prior` counts as one sample.
  double ShareWith(double prior) const { return (inside + prior) / (samples + 1.0); }
  // Returns the sum of squared differences of the membership (0 or 1) from its mean.
  double Squares() const { return samples > 0.0 ? inside * (samples - inside) / samples : 0.0; }
  double Degrees() const { return samples > 1.0 ? samples - 1.0 : 0.0; }
};

}  // namespace

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

double LogWidth(const ObservedCluster& cluster) {
  return std::log(std::clamp(RelativeWidth(cluster), 0.01, 2.0));
}

void SelectKernel(std::span<ObservedCluster> clusters, std::size_t kernel) {
  for (ObservedCluster& cluster : clusters) {
    cluster.share = cluster.kernel == kernel ? 1.0 : 0.0;
    for (ObservedSample& sample : cluster.seen) sample.in_domain = cluster.kernel == kernel;
  }
}

void EstimateShares(std::span<ObservedCluster> clusters) {
  std::vector<Members> kernels;
  Members all;
  for (const std::span<const ObservedCluster> kernel : ByKernel(clusters)) {
    Members& own = kernels.emplace_back();
    for (const ObservedCluster& cluster : kernel) {
      own.Add(cluster);
      all.Add(cluster);
    }
  }
  if (!(all.samples > 0.0)) return;
  const double share = all.inside / all.samples;
  // Without evidence from its own samples, a kernel is assumed to be mixed like the run. Other
  // kernels are no evidence: ranges often contain all launches of some kernels and a part of
  // others.
  const double mixing = share * (1.0 - share);
  std::size_t k = 0;
  for (std::size_t h = 0; h < clusters.size(); ++h) {
    if (h > 0 && clusters[h].kernel != clusters[h - 1].kernel) ++k;
    Members own;
    own.Add(clusters[h]);
    clusters[h].share = own.ShareWith(kernels[k].ShareWith(share));
    clusters[h].mixing = (kernels[k].Squares() + mixing) / (kernels[k].Degrees() + 1.0);
  }
}

}  // namespace stemtap::analysis
