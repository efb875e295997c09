// SPDX-License-Identifier: Apache-2.0
#include "online/collapse.h"

#include <cmath>

#include "sampling/certificate.h"

namespace stemtap::online {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

// Returns the expected error of the stratum's estimated sum if the mean of `substitute` is used.
double BiasOf(const stats::Moments& stratum, const stats::Moments& substitute) {
  return static_cast<double>(stratum.count()) * (substitute.mean() - stratum.mean());
}

// Sets the homes of the empty strata [first, end): the strata whose captures represent them.
// `below` and `above` are the sampled strata next to them, or kNone. Strata that neither can
// represent are their own home.
void JoinGap(std::span<const SampledRange> strata, std::size_t first, std::size_t end,
             std::size_t below, std::size_t above, double bias_ns,
             std::vector<std::size_t>& homes) {
  // Means are ascending, so `below` can represent the strata [first, down) and `above` the strata
  // [up, end). The strata [up, down) can join either; `split` divides them.
  std::size_t down = first;
  while (below != kNone && down < end &&
         MayRepresent(strata[down].launches, strata[below].launches)) {
    ++down;
  }
  std::size_t up = end;
  while (above != kNone && up > first &&
         MayRepresent(strata[up - 1].launches, strata[above].launches)) {
    --up;
  }
  std::size_t split = down;
  if (up < down) {
    for (std::size_t i = first; i < up; ++i) {
      bias_ns += BiasOf(strata[i].launches, strata[below].launches);
    }
    for (std::size_t i = up; i < end; ++i) {
      bias_ns += BiasOf(strata[i].launches, strata[above].launches);
    }
    split = up;
    double least = std::fabs(bias_ns);
    for (std::size_t i = up; i < down; ++i) {
      bias_ns += BiasOf(strata[i].launches, strata[below].launches) -
                 BiasOf(strata[i].launches, strata[above].launches);
      if (std::fabs(bias_ns) >= least) continue;
      least = std::fabs(bias_ns);
      split = i + 1;
    }
    up = split;
  }
  for (std::size_t i = first; i < end; ++i) homes[i] = i < split ? below : i < up ? i : above;
}

}  // namespace

bool MayRepresent(const stats::Moments& stratum, const stats::Moments& substitute) {
  return substitute.count() > 0 &&
         std::fabs(substitute.mean() - stratum.mean()) <= kMaxJoinDifference * stratum.mean();
}

std::vector<JointStratum> JoinStrata(std::span<const SampledRange> strata, double& bias_ns) {
  std::vector<JointStratum> joined;
  std::vector<std::size_t> homes(strata.size());
  std::size_t below = kNone;
  std::size_t known = 0;  // homes [0, known) are set
  for (std::size_t i = 0; i < strata.size(); ++i) {
    if (i == known) {
      std::size_t above = i;
      while (above < strata.size() && strata[above].samples == 0) ++above;
      JoinGap(strata, i, above, below, above < strata.size() ? above : kNone, bias_ns, homes);
      if (above < strata.size()) homes[above] = below = above;
      known = above + 1;
    }
    const SampledRange& stratum = strata[i];
    const SampledRange& home = strata[homes[i]];
    if (joined.empty() || joined.back().home != homes[i]) {
      JointStratum& joint = joined.emplace_back();
      joint.first = i;
      joint.home = homes[i];
      joint.samples = home.samples;
      joint.sampled = home.launches;
      if (home.samples == 0 && MayRepresent(home.launches, home.explored)) {
        joint.by_explored = true;
        joint.samples = home.explored.count();
        joint.sampled = home.explored;
      }
    }
    JointStratum& joint = joined.back();
    joint.end = i + 1;
    joint.all.Merge(stratum.launches);
    if (!joint.covered()) {
      bias_ns -= stratum.launches.sum();
      continue;
    }
    const double bias = BiasOf(stratum.launches, joint.sampled);
    joint.bias_ns += bias;
    bias_ns += bias;
  }
  return joined;
}

double JointVariance(const JointStratum& joint) {
  if (!joint.covered()) return 0.0;
  const double scale =
      static_cast<double>(joint.all.count()) / static_cast<double>(joint.sampled.count());
  return scale * scale *
         sampling::EstimateVariance(sampling::Stratum(joint.sampled), joint.samples);
}

}  // namespace stemtap::online
