// SPDX-License-Identifier: Apache-2.0
#include "online/online_allocation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "online/completion.h"
#include "sampling/certificate.h"

namespace stemtap::online {
namespace {

// A kernel is cut again if the captures of the current cut would cost more than this many times the
// captures of the best cut. With a smaller value, cuts follow chance, and each new cluster needs
// its own captures. With a larger value, a kernel with few long launches early in the run keeps a
// wide cluster whose captures are mostly from that time: with one sample per cluster, estimates of
// unpredictable workloads were up to 0.8 % low at 1.2.
constexpr double kRecutGain = 1.05;
// The same if clusters need several samples, each of which costs more. At 1.05, estimates of
// unpredictable workloads were 1 % high.
constexpr double kRecutGainOfSeveral = 1.2;

// If a capture costs more than this many mean launches of its cluster, one capture is enough,
// whatever --min-samples is.
constexpr double kMaxPrice = 2.0;

// The value of the bias of a joined cluster, as a share of the value of uncovered time. Biases of
// neighboring clusters mostly cancel, so a capture removes less than the bias of its cluster. At 1,
// llm-serve at 1 % cost 1.25 times as much, with the same bounds.
constexpr double kJoinedWorth = 0.25;

// Targets are set for this share of the error bound. A live run ends one feedback delay after the
// last decision, and the launches in between may be longer than before: with 1, the captures that
// met the bound at the last decision often did not meet it at the end.
constexpr double kPlannedShare = 0.85;

// Returns the target with the z of the certificate, which is what the plan will state.
sampling::ErrorTarget CertifiedTarget(const sampling::SamplingOptions& options) {
  return {options.error_bound, sampling::CertifiedZ(options.confidence)};
}

// Returns the minimum number of captures of a cluster.
std::uint64_t MinCaptures(const OnlineCluster& cluster, std::uint64_t min_samples) {
  const bool expensive = cluster.price_ns() > kMaxPrice * cluster.moments.mean();
  return cluster.captured > 0 && expensive ? 1 : min_samples;
}

// BoundTerms sums the parts of a bound.
struct BoundTerms {
  double variance = 0.0;
  double bias = 0.0;  // contains uncovered time as a negative value (JoinStrata)
  double uncovered = 0.0;
  double total = 0.0;

  void Add(const JointStratum& joint) {
    total += joint.all.sum();
    variance += JointVariance(joint);
    if (!joint.covered()) uncovered += joint.all.sum();
  }
  double Bound(double z) const {
    return z * std::sqrt(variance) + std::fabs(bias + uncovered) + uncovered;
  }
};

// TargetProblem collects the clusters that share one error bound.
struct TargetProblem {
  std::vector<sampling::Stratum> strata;
  std::vector<double> costs;
  std::vector<std::uint64_t> had;
  std::vector<std::uint64_t> min_sizes;
  std::vector<std::size_t> places;  // in the result
  double total_ns = 0.0;
  double bias_ns = 0.0;
  double unreachable_ns = 0.0;  // bias of unreachable clusters

  void Add(const OnlineCluster& cluster, std::uint64_t min_samples, std::size_t place) {
    strata.emplace_back(cluster.moments);
    costs.push_back(cluster.price_ns());
    had.push_back(cluster.captured);
    min_sizes.push_back(MinCaptures(cluster, min_samples));
    places.push_back(place);
  }
  void Solve(const sampling::ErrorTarget& target, std::vector<ClusterTarget>& targets) const {
    const double allowed = kPlannedShare * target.error_bound * total_ns;
    const double margin = std::max(allowed - std::fabs(unreachable_ns), allowed / 2) / target.z;
    const std::vector<std::uint64_t> sizes =
        CompleteSizes(strata, costs, had, min_sizes, margin * margin);
    for (std::size_t i = 0; i < sizes.size(); ++i) targets[places[i]].target = sizes[i];
  }
};

// Returns the sizes of the strata of a cut.
std::vector<ClusterTarget> SizesOf(const sampling::WorkloadStrata& cut) {
  std::vector<ClusterTarget> targets;
  for (const std::vector<sampling::StratumRange>& strata : cut.kernels) {
    for (const sampling::StratumRange& s : strata) targets.push_back({s.sample_size, false});
  }
  return targets;
}

}  // namespace

double CapturedTime(const sampling::WorkloadStrata& cut) {
  double captured_ns = 0.0;
  for (const std::vector<sampling::StratumRange>& strata : cut.kernels) {
    for (const sampling::StratumRange& s : strata) {
      if (s.sample_size == s.moments.count()) continue;
      captured_ns += static_cast<double>(s.sample_size) * s.moments.mean();
    }
  }
  return captured_ns;
}

std::vector<JointStratum> JoinClusters(std::span<const OnlineCluster> clusters,
                                       CountedCaptures counted, double& bias_ns) {
  std::vector<SampledRange> strata;
  for (const OnlineCluster& cluster : clusters) {
    if (counted == CountedCaptures::kAll) {
      strata.push_back({cluster.moments, cluster.representing(), cluster.explored});
    } else {
      strata.push_back({cluster.moments, cluster.captured, {}});
    }
  }
  return JoinStrata(strata, bias_ns);
}

std::vector<stats::Moments> StrataFrom(sampling::CellsView cells,
                                       std::span<const std::size_t> first_cells) {
  std::vector<stats::Moments> strata(first_cells.size());
  for (std::size_t c = 0; c < first_cells.size(); ++c) {
    const std::size_t end = c + 1 < first_cells.size() ? first_cells[c + 1] : cells.size();
    for (std::size_t i = first_cells[c]; i < end; ++i) strata[c].Merge(cells[i]);
  }
  return strata;
}

bool IsWorthCutting(sampling::CellsView cells, std::span<const std::size_t> current,
                    std::span<const sampling::StratumRange> best, std::uint64_t min_samples) {
  double best_ns = 0.0;
  // Time of strata that the best cut samples completely, such as a single long launch. Every cut
  // needs it, and it would hide the difference between the cuts.
  double whole_ns = 0.0;
  double budget = 0.0;
  for (const sampling::StratumRange& s : best) {
    best_ns += static_cast<double>(s.sample_size) * s.moments.mean();
    if (s.sample_size == s.moments.count()) whole_ns += s.moments.sum();
    budget += sampling::EstimateVariance(sampling::Stratum(s.moments), s.sample_size);
  }
  std::vector<sampling::Stratum> strata;
  std::vector<double> costs;
  for (const stats::Moments& all : StrataFrom(cells, current)) {
    strata.emplace_back(all);
    costs.push_back(all.mean());
  }
  const std::vector<std::uint64_t> none(strata.size(), 0);
  const std::vector<std::uint64_t> min_sizes(strata.size(), min_samples);
  const std::vector<std::uint64_t> sizes = CompleteSizes(strata, costs, none, min_sizes, budget);
  double current_ns = 0.0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    current_ns += static_cast<double>(sizes[i]) * costs[i];
  }
  const double gain = min_samples > 1 ? kRecutGainOfSeveral : kRecutGain;
  return current_ns - whole_ns > gain * (best_ns - whole_ns);
}

bool MeetsBound(std::span<const ClustersView> kernels, const sampling::SamplingOptions& options) {
  const sampling::ErrorTarget target = CertifiedTarget(options);
  const bool by_kernel = options.bound == sampling::BoundScope::kKernel;
  BoundTerms terms;
  const auto met = [&] { return terms.Bound(target.z) <= target.error_bound * terms.total; };
  for (const ClustersView& kernel : kernels) {
    if (by_kernel) terms = {};
    terms.total += kernel.explored_ns;
    for (const JointStratum& joint :
         JoinClusters(kernel.clusters, CountedCaptures::kCurrent, terms.bias)) {
      const std::uint64_t needed = std::min(
          MinCaptures(kernel.clusters[joint.home], options.min_samples), joint.sampled.count());
      if (joint.covered() && joint.samples < needed) return false;
      terms.Add(joint);
    }
    if (by_kernel && !met()) return false;
  }
  return by_kernel || met();
}

double BoundOf(std::span<const ClustersView> kernels, const sampling::SamplingOptions& options) {
  BoundTerms terms;
  for (const ClustersView& kernel : kernels) {
    for (const JointStratum& joint :
         JoinClusters(kernel.clusters, CountedCaptures::kAll, terms.bias)) {
      terms.Add(joint);
    }
  }
  return terms.Bound(CertifiedTarget(options).z);
}

std::vector<ClusterTarget> AllocateTargets(std::span<const ClustersView> kernels,
                                           const sampling::WorkloadStrata& best, double duration_ns,
                                           const sampling::SamplingOptions& options) {
  if (options.method == sampling::Method::kStem) return SizesOf(best);
  const sampling::ErrorTarget target = CertifiedTarget(options);
  const bool by_kernel = options.bound == sampling::BoundScope::kKernel;
  // The value of 1 ns of bias in captured time. If the planned captures buy the whole error bound,
  // each part of the bound costs its share.
  const double uncovered_worth = CapturedTime(best) / (target.error_bound * duration_ns);
  std::vector<ClusterTarget> targets;
  TargetProblem problem;
  for (const ClustersView& kernel : kernels) {
    if (by_kernel) problem = {};
    problem.total_ns += kernel.explored_ns;
    for (const JointStratum& joint :
         JoinClusters(kernel.clusters, CountedCaptures::kCurrent, problem.bias_ns)) {
      const double estimate = joint.covered() ? joint.sampled.mean() : 0.0;
      const double worth = joint.covered() ? kJoinedWorth * uncovered_worth : uncovered_worth;
      for (std::size_t i = joint.first; i < joint.end; ++i) {
        const OnlineCluster& cluster = kernel.clusters[i];
        const double bias =
            static_cast<double>(cluster.moments.count()) * (estimate - cluster.moments.mean());
        const bool unreachable = cluster.captured == 0 && !cluster.source.predicted() &&
                                 cluster.price_ns() > worth * std::fabs(bias);
        problem.total_ns += cluster.moments.sum();
        if (unreachable) {
          problem.unreachable_ns += bias;
        } else {
          problem.Add(cluster, options.min_samples, targets.size());
        }
        targets.push_back({1, unreachable});
      }
    }
    if (by_kernel) problem.Solve(target, targets);
  }
  if (!by_kernel) problem.Solve(target, targets);
  return targets;
}

}  // namespace stemtap::online
