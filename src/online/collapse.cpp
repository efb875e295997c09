// SPDX-License-Identifier: Apache-2.0
#include "online/collapse.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stem/certificate.h"

namespace stemtap {
namespace {

// A stratum without a capture that has somewhere to go.
struct Orphan {
  std::size_t kernel;
  std::size_t stratum;
  double price;  // variance for its time when it alone joins
};

// Strata first..last of a kernel as one, with the captures of all.
double JointVariance(const KernelCoverage& kernel, std::size_t first, std::size_t last) {
  Moments all;
  std::uint64_t had = 0;
  for (std::size_t i = first; i <= last; ++i) {
    all.Merge(kernel.strata[i]);
    had += kernel.had[i];
  }
  return EstimateVariance(Stratum(all), had);
}

}  // namespace

std::vector<std::size_t> NearestCovered(const KernelCoverage& kernel) {
  const std::size_t count = kernel.strata.size();
  std::vector<std::size_t> below(count, kNoHome);
  std::vector<std::size_t> home(count, kNoHome);
  for (std::size_t i = 0; i < count; ++i) {
    below[i] = kernel.had[i] > 0 ? i : i > 0 ? below[i - 1] : kNoHome;
  }
  std::size_t above = kNoHome;
  for (std::size_t i = count; i-- > 0;) {
    if (kernel.had[i] > 0) above = i;
    home[i] = below[i] == kNoHome ? above : below[i];
    if (below[i] == kNoHome || above == kNoHome) continue;
    const double mean = kernel.strata[i].mean();
    if (kernel.strata[above].mean() - mean < mean - kernel.strata[below[i]].mean()) {
      home[i] = above;
    }
  }
  return home;
}

std::vector<std::vector<std::size_t>> CollapseStrata(std::span<const KernelCoverage> kernels,
                                                     const CollapseLimits& limits) {
  std::vector<std::vector<std::size_t>> homes(kernels.size());
  std::vector<std::vector<std::size_t>> place(kernels.size());
  std::vector<Orphan> orphans;
  double variance = 0.0;
  double uncovered = 0.0;
  double total = 0.0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const KernelCoverage& kernel = kernels[k];
    homes[k] = NearestCovered(kernel);
    place[k].resize(kernel.strata.size());
    std::iota(place[k].begin(), place[k].end(), std::size_t{0});
    for (std::size_t i = 0; i < kernel.strata.size(); ++i) {
      const double time = kernel.strata[i].sum();
      total += time;
      if (kernel.had[i] > 0) {
        variance += JointVariance(kernel, i, i);
        continue;
      }
      uncovered += time;
      const std::size_t home = homes[k][i];
      if (home == kNoHome) continue;
      const double joint = JointVariance(kernel, std::min(i, home), std::max(i, home)) -
                           JointVariance(kernel, home, home);
      orphans.push_back({k, i, time > 0.0 ? joint / time : joint > 0.0 ? INFINITY : 0.0});
    }
  }
  std::sort(orphans.begin(), orphans.end(), [](const Orphan& a, const Orphan& b) {
    if (a.price != b.price) return a.price < b.price;
    return a.kernel != b.kernel ? a.kernel < b.kernel : a.stratum < b.stratum;
  });

  // They join one after the other. `bounds[i]` is the bound, in ns, when the first i have joined.
  const std::vector<std::vector<std::size_t>> alone = place;
  const auto join = [&](const Orphan& o) {
    const KernelCoverage& kernel = kernels[o.kernel];
    std::vector<std::size_t>& at = place[o.kernel];
    const std::size_t home = homes[o.kernel][o.stratum];
    if (at[o.stratum] == home) return;
    std::size_t first = home;
    std::size_t last = home;
    while (first > 0 && at[first - 1] == home) --first;
    while (last + 1 < at.size() && at[last + 1] == home) ++last;
    variance -= JointVariance(kernel, first, last);
    // Those between come along: what belongs together is contiguous.
    for (; first > o.stratum; uncovered -= kernel.strata[first].sum()) at[--first] = home;
    for (; last < o.stratum; uncovered -= kernel.strata[last].sum()) at[++last] = home;
    variance += JointVariance(kernel, first, last);
  };
  const auto bound = [&] { return limits.z * std::sqrt(std::max(variance, 0.0)) + uncovered; };
  std::vector<double> bounds = {bound()};
  for (const Orphan& orphan : orphans) {
    join(orphan);
    bounds.push_back(bound());
  }
  const double allowed = std::max(limits.allowed * total,
                                  limits.worth * *std::min_element(bounds.begin(), bounds.end()));
  std::size_t joined = orphans.size();
  while (joined > 0 && bounds[joined] > allowed) --joined;
  if (joined == orphans.size()) return place;
  place = alone;
  for (std::size_t i = 0; i < joined; ++i) join(orphans[i]);
  return place;
}

}  // namespace stemtap
