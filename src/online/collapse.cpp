// SPDX-License-Identifier: Apache-2.0
#include "online/collapse.h"

#include <algorithm>
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

// Returns the home of each stratum. `bias_ns`: of the kernels before this one.
std::vector<std::size_t> HomesOf(std::span<const SampledRange> strata, double bias_ns) {
  std::vector<std::size_t> homes(strata.size());
  std::size_t below = kNone;
  for (std::size_t i = 0; i < strata.size();) {
    std::size_t above = i;
    while (above < strata.size() && strata[above].samples == 0) ++above;
    const bool found = above < strata.size();
    JoinGap(strata, i, above, below, found ? above : kNone, bias_ns, homes);
    for (; i < above; ++i) {
      const stats::Moments& launches = strata[i].launches;
      if (homes[i] != i) {
        bias_ns += BiasOf(launches, strata[homes[i]].launches);
      } else if (MayRepresent(launches, strata[i].explored)) {
        bias_ns += BiasOf(launches, strata[i].explored);
      } else {
        bias_ns -= launches.sum();
      }
    }
    if (found) homes[i++] = below = above;
  }
  return homes;
}

// Appends the results for the strata of `whole`, which have the same home.
void SplitByPeriod(std::span<const SampledRange> strata, const JointStratum& whole, double& bias_ns,
                   std::vector<JointStratum>& joined) {
  const SampledRange& home = strata[whole.home];
  if (home.samples == 0 || home.periods.empty()) {
    JointStratum joint = whole;
    joint.samples = home.samples;
    joint.sampled = home.launches;
    if (home.samples == 0 && MayRepresent(home.launches, home.explored)) {
      joint.by_explored = true;
      joint.samples = home.explored.count();
      joint.sampled = home.explored;
    }
    joint.independent = static_cast<double>(joint.samples);
    for (std::size_t i = joint.first; i < joint.end; ++i) joint.all.Merge(strata[i].launches);
    joint.bias_ns = joint.covered() ? BiasOf(joint.all, joint.sampled) : 0.0;
    bias_ns += joint.covered() ? joint.bias_ns : -joint.all.sum();
    joined.push_back(joint);
    return;
  }
  // The first period whose captures are used.
  std::size_t first_used = whole.end_period - 1;
  std::uint64_t newest = home.periods[first_used].captured;
  while (first_used > 0 && newest < home.enough) newest += home.periods[--first_used].captured;
  std::size_t period = 0;
  while (period < whole.end_period) {
    JointStratum joint = whole;
    joint.first_period = period;
    joint.home_period = std::max(period, first_used);
    while (home.periods[joint.home_period].captured == 0) ++joint.home_period;
    period = joint.home_period + 1;
    while (period < whole.end_period && home.periods[period].captured == 0) ++period;
    joint.end_period = period;
    joint.samples = home.periods[joint.home_period].captured;
    joint.independent = home.periods[joint.home_period].independent();
    joint.sampled = home.periods[joint.home_period].launches;
    for (std::size_t i = joint.first; i < joint.end; ++i) {
      for (std::size_t p = joint.first_period; p < period; ++p) {
        joint.all.Merge(strata[i].periods[p].launches);
        if (i == joint.home && p != joint.home_period) {
          joint.other_periods.Merge(strata[i].periods[p].launches);
        }
      }
    }
    joint.bias_ns = BiasOf(joint.all, joint.sampled);
    bias_ns += joint.bias_ns;
    joined.push_back(joint);
  }
}

}  // namespace

bool MayRepresent(const stats::Moments& stratum, const stats::Moments& substitute) {
  return substitute.count() > 0 &&
         std::fabs(substitute.mean() - stratum.mean()) <= kMaxJoinDifference * stratum.mean();
}

std::vector<JointStratum> JoinStrata(std::span<const SampledRange> strata, double& bias_ns) {
  const std::vector<std::size_t> homes = HomesOf(strata, bias_ns);
  std::vector<JointStratum> joined;
  JointStratum whole;
  for (; whole.end < strata.size();) {
    whole.first = whole.end;
    whole.home = homes[whole.first];
    while (whole.end < strata.size() && homes[whole.end] == whole.home) ++whole.end;
    whole.end_period = std::max<std::size_t>(strata[whole.home].periods.size(), 1);
    SplitByPeriod(strata, whole, bias_ns, joined);
  }
  return joined;
}

double JointVariance(const JointStratum& joint) {
  if (!joint.covered()) return 0.0;
  const double scale =
      static_cast<double>(joint.all.count()) / static_cast<double>(joint.sampled.count());
  return scale * scale *
         sampling::EstimateVariance(sampling::Stratum(joint.sampled), joint.samples) *
         static_cast<double>(joint.samples) / joint.independent;
}

}  // namespace stemtap::online
