// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/domain.h"

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
