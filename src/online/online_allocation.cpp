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
// met the bound at the last decision often did not meet it at the end. Together with kBiasShare it
// must be below 1: with 0.85 and 0.2, five of six demos stated more than 5 %; with 0.8 and 0.15,
// none of six did.
constexpr double kPlannedShare = 0.8;

// The launches of a period or cluster without captures are represented by others, with a known
// bias. Captures are made so that the sum of these biases is at most this share of the error bound.
constexpr double kBiasShare = 0.15;
// A capture of a cluster removes a bias only if it changes the estimate by at least this share of
// it. With 0, `warm-up` at a lag of 10,000 captured 2.3 times as much, with the same bounds; with
// 0.4, the bounds of `drift in many` were 7 % instead of 4 %.
constexpr double kMinChange = 0.1;

// Metrics other than time may change during the run although durations do not. Captures are made so
// late that a metric that rises by kRise from the first to the last launch of each kernel would be
// estimated at most this share of the error bound too low if `extrapolate` did not remove the
// trend. With 0.2, up to 32 % of the weight of steady streams was in one tenth of the run; with
// 0.05, up to 22 %, for 1.05 to 1.2 times the captured time.
constexpr double kRise = 0.2;
constexpr double kLateShare = 0.05;
// The value of such a bias, relative to its value in the bound. With 1, clusters that nothing
// predicts were not captured again, and the rise was estimated 5 % low.
constexpr double kRenewalWorth = 2.0;

// The captures of a period are at most this many times as dense as the captures of a plan.
constexpr double kMaxDensity = 2.0;

// Halvings of the interval that contains the price of variance. The sizes are whole numbers, so
// further digits do not change them.
constexpr int kBisections = 40;

// Returns the target with the z of the certificate, which is what the plan will state.
sampling::ErrorTarget CertifiedTarget(const sampling::SamplingOptions& options) {
  return {options.error_bound, sampling::CertifiedZ(options.confidence)};
}

// Returns the minimum number of captures of a cluster.
std::uint64_t MinCaptures(const Cluster& cluster, const sampling::SamplingOptions& options) {
  const double direct_ns = cluster.moments.mean() + options.price.FixedPerFactor();
  const bool expensive = cluster.price_ns() > kMaxPrice * direct_ns;
  return cluster.captured > 0 && expensive ? 1 : options.min_samples;
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

// Returns the least value in [0, most] above which `holds` is true, or slightly more; `most` if
// there is none.
template <typename Condition>
double Least(double most, const Condition& holds) {
  double low = 0.0;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = 0.5 * (low + most);
    (holds(middle) ? most : low) = middle;
  }
  return most;
}

// Part is launches of a cluster, with what the variance of their estimate depends on. S^2 is of the
// whole cluster: if durations are skewed, a period whose launches happen to vary little also has a
// low mean. If its captures were kept for that reason, estimates would be low.
struct Part {
  double launches = 0.0;
  double spread = 0.0;  // N^2 S^2

  Part() = default;
  Part(std::uint64_t count, const Cluster& cluster) : launches(static_cast<double>(count)) {
    spread = launches * launches * sampling::Stratum(cluster.moments).sample_variance();
  }
  double Variance(double samples) const {
    return samples < launches ? spread * (1.0 / samples - 1.0 / launches) : 0.0;
  }
};

// Choice is the captures that a cluster may get in the current period.
struct Choice {
  std::size_t place = 0;      // in the result
  double cost = 0.0;          // of a capture
  double captured = 0.0;      // captures in the current period, as independent ones
  double repeated = 0.0;      // further captures in it, which say nothing more
  double before = 0.0;        // captures in earlier periods
  double least = 0.0;         // captures that must be made in the current period, unless another
                              // cluster's captures represent this one
  bool replaces = false;      // captures of the current period represent the whole cluster
  bool asked = false;         // a further capture is open or in flight
  Part all;                   // of the cluster
  Part current;               // what captures of the current period represent
  double fixed = 0.0;         // variance of the rest of the cluster
  double without = INFINITY;  // variance if the current period has no captures; infinite if then
                              // no capture represents the cluster
  // What a capture in the current period would remove from the sums over all clusters; 0 if there
  // is one.
  double bias_ns = 0.0;
  double lateness_ns = 0.0;
  double chosen = 0.0;  // captures in the current period

  Choice(const Cluster& cluster, const sampling::SamplingOptions& options)
      : cost(cluster.price_ns()),
        captured(cluster.periods.back().independent()),
        repeated(static_cast<double>(cluster.periods.back().captured) - captured),
        before(static_cast<double>(cluster.captured - cluster.periods.back().captured)),
        replaces(before == 0.0 || cluster.decision.enough <= 1),
        asked(cluster.captured > 0 && cluster.decision.target > cluster.captured),
        all(cluster.moments.count(), cluster),
        current(replaces ? cluster.moments.count() : cluster.periods.back().launches.count(),
                cluster) {
    least = std::max(0.0, static_cast<double>(MinCaptures(cluster, options)) - before);
  }
  double Variance(double samples) const {
    return samples > 0.0 ? fixed + current.Variance(samples) : without;
  }
  // Returns the variance of a plan without any captures so far, if scale^2 is the value of a unit
  // of variance.
  double VarianceAnew(double scale) const {
    const double samples = std::floor(scale * std::sqrt(all.spread / cost));
    return all.Variance(std::clamp(samples, 1.0, std::max(all.launches, 1.0)));
  }
  // Returns the best number of captures, with `scale` as above.
  double Best(double scale) const {
    const double low = std::max({captured, std::min(least, current.launches), 1.0});
    const double best = std::clamp(std::floor(scale * std::sqrt(current.spread / cost)), low,
                                   std::max(low, current.launches));
    if (captured > 0.0 || std::isinf(without) || (before > 0.0 && least > 0.0)) return best;
    return (without - Variance(best)) * scale * scale > cost * best ? best : 0.0;
  }
};

// TargetProblem collects the clusters that share one error bound.
struct TargetProblem {
  std::vector<Choice> choices;
  double total_ns = 0.0;
  double bias_ns = 0.0;         // contains uncovered time as a negative value (JoinStrata)
  double lateness_ns = 0.0;     // bias of a metric that rises by kRise
  double unreachable_ns = 0.0;  // bias of unreachable clusters

  // Chooses the captures with which the variance meets `budget`. The captures that were made may
  // leave so much variance that only a multiple of a plan's captures would meet it. The budget is
  // then met in a later period.
  void MeetVariance(double budget) {
    const auto sum = [this](auto variance_of) {
      double variance = 0.0;
      for (const Choice& choice : choices) variance += variance_of(choice);
      return variance;
    };
    const auto met = [&](double scale) {
      return sum([&](const Choice& c) { return c.Variance(c.Best(scale)); }) <= budget;
    };
    double scale = 0.0;
    if (!met(0.0)) {
      double census = 0.0;
      for (const Choice& c : choices) {
        if (c.all.spread > 0.0) {
          census = std::max(census, c.all.launches / std::sqrt(c.all.spread / c.cost));
        }
      }
      const double anew = Least(census, [&](double s) {
        return sum([&](const Choice& c) { return c.VarianceAnew(s); }) <= budget;
      });
      scale = Least(kMaxDensity * anew, met);
    }
    for (Choice& choice : choices) choice.chosen = choice.Best(scale);
  }
  // Chooses captures of clusters that have none in the current period until the absolute value of
  // `sum` is at most `limit`. Each removes `part` from the sum. Those that remove most per cost are
  // first, and those whose cost exceeds `worth` per ns are left out.
  void Limit(double Choice::*part, double sum, double limit, double worth) {
    std::vector<Choice*> removing;
    for (Choice& choice : choices) {
      if (choice.chosen > 0.0) {
        sum -= choice.*part;
      } else {
        removing.push_back(&choice);
      }
    }
    std::erase_if(removing, [&](const Choice* choice) {
      return choice->*part * sum <= 0.0 || choice->cost > worth * std::fabs(choice->*part);
    });
    std::stable_sort(removing.begin(), removing.end(), [&](const Choice* a, const Choice* b) {
      if (a->asked != b->asked) return a->asked;
      return std::fabs(a->*part) / a->cost > std::fabs(b->*part) / b->cost;
    });
    const double sign = sum < 0.0 ? -1.0 : 1.0;
    for (Choice* const choice : removing) {
      if (sign * sum <= limit) return;
      sum -= choice->*part;
      choice->chosen = 1.0;
    }
  }
  void Solve(const sampling::ErrorTarget& target, const AllocationState& state,
             std::vector<Decision>& targets) {
    const double bound = target.error_bound * total_ns;
    const double allowed = kPlannedShare * bound;
    const double margin = std::max(allowed - std::fabs(unreachable_ns), allowed / 2) / target.z;
    MeetVariance(state.bound_met ? INFINITY : margin * margin / state.share);
    const double worth = kRenewalWorth * state.BiasWorth(target.error_bound);
    Limit(&Choice::bias_ns, bias_ns, kBiasShare * bound, worth);
    // Late captures are chance; early ones are not.
    if (lateness_ns < 0.0) {
      Limit(&Choice::lateness_ns, lateness_ns, kLateShare * bound, worth);
    }
    for (const Choice& choice : choices) {
      // Captures that were made are whole; less than a thousandth is rounding.
      const double current = choice.chosen > 0.0 ? choice.chosen + choice.repeated : 0.0;
      targets[choice.place].target =
          static_cast<std::uint64_t>(choice.before + std::ceil(current - 1e-3));
    }
  }
};

// Run is the positions of a kernel's launches.
struct Run {
  std::span<const std::uint64_t> begins;  // KernelPeriods
  double launches = 0.0;

  // Returns the position in the middle of a period.
  double Middle(std::size_t period) const {
    const double end =
        period + 1 < begins.size() ? static_cast<double>(begins[period + 1]) : launches;
    return 0.5 * (static_cast<double>(begins[period]) + end);
  }
  // Returns the error of the estimate of a metric whose total is `total` and that rises by kRise
  // during the run, if a capture at position `at` represents launches at `mean`.
  double Lateness(double total, double at, double mean) const {
    return kRise * total * (at - mean) / launches;
  }
};

// Returns the mean position of the launches of `joint`.
double MeanPosition(std::span<const Cluster> clusters, const JointStratum& joint, const Run& run) {
  double sum = 0.0;
  for (std::size_t p = joint.first_period; p < joint.end_period; ++p) {
    for (std::size_t i = joint.first; i < joint.end; ++i) {
      sum += static_cast<double>(clusters[i].periods[p].launches.count()) * run.Middle(p);
    }
  }
  return sum / static_cast<double>(joint.all.count());
}

// Adds the launches of `joint`, which captures of `cluster` represent, to the choice of the
// cluster. Returns the error of the estimate of a metric that rises.
double AddRepresented(std::span<const Cluster> clusters, const JointStratum& joint, const Run& run,
                      Choice& choice) {
  const Cluster& cluster = clusters[joint.home];
  const ClusterPeriod& home = cluster.periods[joint.home_period];
  const stats::Moments& now = cluster.periods.back().launches;
  const double at = home.positions / static_cast<double>(home.captured);
  const auto all = static_cast<double>(joint.all.count());
  const auto current = static_cast<double>(now.count());
  const double mean_ns = joint.sampled.mean();
  // With the mean of the captured period, captures of short launches would be kept longest, and
  // estimates would be low.
  const double cluster_ns = cluster.moments.mean();
  const double samples = joint.independent;
  const double variance = Part(joint.all.count(), cluster).Variance(samples);
  if (choice.captured == 0.0 && choice.replaces) {
    choice.without = variance;
    // A capture now changes the estimate by `change`. If that is hardly anything, the bias is from
    // launches whose time is over.
    const double change = now.count() > 0 ? all * (mean_ns - now.mean()) : 0.0;
    if (change * joint.bias_ns > 0.0 && std::fabs(change) > kMinChange * std::fabs(joint.bias_ns)) {
      choice.bias_ns = joint.bias_ns;
    }
    choice.lateness_ns = run.Lateness(all * cluster_ns, at, run.launches);
  } else if (choice.captured == 0.0 && joint.end_period == cluster.periods.size()) {
    choice.without = choice.fixed + variance;
    choice.bias_ns = current * (mean_ns - now.mean());
    choice.lateness_ns =
        run.Lateness(current * cluster_ns, at, run.Middle(cluster.periods.size() - 1));
    choice.fixed += Part(joint.all.count() - now.count(), cluster).Variance(samples);
  } else if (!choice.replaces && joint.end_period != cluster.periods.size()) {
    choice.fixed += variance;
  }
  return run.Lateness(all * cluster_ns, at, MeanPosition(clusters, joint, run));
}

// Returns the kernels of each total that the bound applies to.
std::vector<std::vector<std::size_t>> TotalsOf(std::span<const KernelFacts> kernels,
                                               const sampling::SamplingOptions& options) {
  return sampling::KernelsByTotal(options.bound, kernels.size(), RangesOf(kernels));
}

// Returns the number of clusters of all kernels before each kernel, and of all.
std::vector<std::size_t> FirstClusters(std::span<const KernelFacts> kernels) {
  std::vector<std::size_t> first = {0};
  for (const KernelFacts& kernel : kernels) first.push_back(first.back() + kernel.clusters.size());
  return first;
}

// Returns the state of the kernels of a range: in a range that takes little time, bias is worth
// more.
AllocationState StateOf(std::span<const KernelFacts> kernels, std::span<const std::size_t> range,
                        const AllocationState& all, double error_bound) {
  AllocationState state = all;
  state.duration_ns = state.planned_ns = 0.0;
  for (const std::size_t k : range) {
    state.duration_ns += kernels[k].explored_ns;
    for (const Cluster& cluster : kernels[k].clusters) state.duration_ns += cluster.moments.sum();
    if (k < all.planned_of.size()) state.planned_ns += all.planned_of[k];
  }
  // The kernels of a new range may have no planned captures yet.
  return state.BiasWorth(error_bound) > all.BiasWorth(error_bound) ? state : all;
}

// Adds the clusters of a kernel to a problem, and decides which are unreachable. The decisions are
// in `targets` from `place` on.
void AddChoices(const KernelFacts& kernel, std::size_t place, const AllocationState& state,
                const sampling::SamplingOptions& options, TargetProblem& problem,
                std::vector<Decision>& targets) {
  const double uncovered_worth = state.BiasWorth(options.error_bound);
  problem.total_ns += kernel.explored_ns;
  Run run{kernel.begins};
  std::vector<Choice> choices;
  for (const Cluster& cluster : kernel.clusters) {
    problem.total_ns += cluster.moments.sum();
    run.launches += static_cast<double>(cluster.moments.count());
    choices.emplace_back(cluster, options);
  }
  for (const JointStratum& joint :
       JoinClusters(kernel.clusters, CountedCaptures::kCurrent, problem.bias_ns)) {
    if (joint.covered()) {
      problem.lateness_ns += AddRepresented(kernel.clusters, joint, run, choices[joint.home]);
    }
    if (joint.end_period != kernel.begins.size()) continue;
    for (std::size_t i = joint.first; i < joint.end; ++i) {
      const Cluster& cluster = kernel.clusters[i];
      const double estimate = joint.covered() ? joint.sampled.mean() : 0.0;
      const double worth = joint.covered() ? kJoinedWorth * uncovered_worth : uncovered_worth;
      const double bias =
          static_cast<double>(cluster.moments.count()) * (estimate - cluster.moments.mean());
      const bool costly = !cluster.source.predicted() || options.price.fixed_ns > 0.0;
      const bool unreachable =
          cluster.captured == 0 && costly && cluster.price_ns() > worth * std::fabs(bias);
      Choice& choice = choices[i];
      choice.place = place + i;
      if (cluster.captured == 0 && joint.covered() && state.bound_met) {
        choice.without = 0.0;  // what represents it is good enough
        choice.bias_ns = bias;
      }
      targets[choice.place] = {.unreachable = unreachable, .enough = cluster.decision.enough};
      if (unreachable) {
        problem.unreachable_ns += bias;
      } else {
        problem.choices.push_back(choice);
      }
    }
  }
}

}  // namespace

double CostOf(std::span<const sampling::StratumRange> cut, double fixed_ns) {
  double cost = 0.0;
  for (const sampling::StratumRange& s : cut) {
    if (s.sample_size == s.moments.count()) continue;
    cost += static_cast<double>(s.sample_size) * (s.moments.mean() + fixed_ns);
  }
  return cost;
}

std::vector<JointStratum> JoinClusters(std::span<const Cluster> clusters, CountedCaptures counted,
                                       double& bias_ns) {
  std::vector<SampledRange> strata;
  for (const Cluster& cluster : clusters) {
    const bool all = counted == CountedCaptures::kAll;
    strata.push_back({cluster.moments, cluster.captured, all ? cluster.explored : stats::Moments(),
                      cluster.periods, cluster.decision.enough});
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
                    std::span<const sampling::StratumRange> best,
                    const sampling::SamplingOptions& options) {
  const double fixed_ns = options.price.FixedPerFactor();
  double best_ns = 0.0;
  // Time of strata that the best cut samples completely, such as a single long launch. Every cut
  // needs it, and it would hide the difference between the cuts.
  double whole_ns = 0.0;
  double budget = 0.0;
  for (const sampling::StratumRange& s : best) {
    const double cost = static_cast<double>(s.sample_size) * (s.moments.mean() + fixed_ns);
    best_ns += cost;
    if (s.sample_size == s.moments.count()) whole_ns += cost;
    budget += sampling::EstimateVariance(sampling::Stratum(s.moments), s.sample_size);
  }
  std::vector<sampling::Stratum> strata;
  std::vector<double> costs;
  for (const stats::Moments& all : StrataFrom(cells, current)) {
    strata.emplace_back(all);
    costs.push_back(all.mean() + fixed_ns);
  }
  const std::vector<std::uint64_t> none(strata.size(), 0);
  const std::vector<std::uint64_t> min_sizes(strata.size(), options.min_samples);
  const std::vector<std::uint64_t> sizes = CompleteSizes(strata, costs, none, min_sizes, budget);
  double current_ns = 0.0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    current_ns += static_cast<double>(sizes[i]) * costs[i];
  }
  const double gain = options.min_samples > 1 ? kRecutGainOfSeveral : kRecutGain;
  return current_ns - whole_ns > gain * (best_ns - whole_ns);
}

std::vector<std::uint32_t> RangesOf(std::span<const KernelFacts> kernels) {
  std::vector<std::uint32_t> ranges;
  for (const KernelFacts& kernel : kernels) ranges.push_back(kernel.range);
  return ranges;
}

bool MeetsBound(std::span<const KernelFacts> kernels, const sampling::SamplingOptions& options) {
  const sampling::ErrorTarget target = CertifiedTarget(options);
  for (const std::vector<std::size_t>& total : TotalsOf(kernels, options)) {
    BoundTerms terms;
    for (const std::size_t k : total) {
      const KernelFacts& kernel = kernels[k];
      terms.total += kernel.explored_ns;
      for (const JointStratum& joint :
           JoinClusters(kernel.clusters, CountedCaptures::kCurrent, terms.bias)) {
        const Cluster& home = kernel.clusters[joint.home];
        const std::uint64_t needed = std::min(MinCaptures(home, options), home.moments.count());
        if (joint.covered() && home.captured < needed) return false;
        terms.Add(joint);
      }
    }
    if (terms.Bound(target.z) > target.error_bound * terms.total) return false;
  }
  return true;
}

double BoundOf(std::span<const KernelFacts> kernels, const sampling::SamplingOptions& options) {
  BoundTerms terms;
  for (const KernelFacts& kernel : kernels) {
    for (const JointStratum& joint :
         JoinClusters(kernel.clusters, CountedCaptures::kAll, terms.bias)) {
      terms.Add(joint);
    }
  }
  return terms.Bound(CertifiedTarget(options).z);
}

double GreatestRangeBound(std::span<const KernelFacts> kernels,
                          const sampling::SamplingOptions& options) {
  double greatest = 0.0;
  for (const std::vector<std::size_t>& range :
       sampling::KernelsByTotal(sampling::BoundScope::kRange, kernels.size(), RangesOf(kernels))) {
    std::vector<KernelFacts> of;
    double total_ns = 0.0;
    for (const std::size_t k : range) {
      of.push_back(kernels[k]);
      total_ns += kernels[k].explored_ns;
      for (const Cluster& cluster : kernels[k].clusters) total_ns += cluster.moments.sum();
    }
    if (total_ns > 0.0) greatest = std::max(greatest, BoundOf(of, options) / total_ns);
  }
  return greatest;
}

std::vector<std::uint64_t> EnoughCaptures(std::span<const KernelFacts> kernels,
                                          const sampling::SamplingOptions& options) {
  const sampling::ErrorTarget target = CertifiedTarget(options);
  const std::vector<std::size_t> first = FirstClusters(kernels);
  std::vector<std::uint64_t> enough(first.back());
  for (const std::vector<std::size_t>& total : TotalsOf(kernels, options)) {
    std::vector<sampling::Stratum> strata;
    std::vector<double> costs;
    double total_ns = 0.0;
    for (const std::size_t k : total) {
      total_ns += kernels[k].explored_ns;
      for (const Cluster& cluster : kernels[k].clusters) {
        strata.emplace_back(cluster.moments);
        costs.push_back(cluster.price_ns());
        total_ns += cluster.moments.sum();
      }
    }
    const double margin = kPlannedShare * target.error_bound * total_ns / target.z;
    const std::vector<std::uint64_t> sizes = CompleteSizes(
        strata, costs, std::vector<std::uint64_t>(strata.size(), 0),
        std::vector<std::uint64_t>(strata.size(), options.min_samples), margin * margin);
    auto next = sizes.begin();
    for (const std::size_t k : total) {
      for (std::size_t i = first[k]; i < first[k + 1]; ++i) enough[i] = *next++;
    }
  }
  return enough;
}

std::vector<Decision> AllocateTargets(std::span<const KernelFacts> kernels,
                                      const AllocationState& state,
                                      const sampling::SamplingOptions& options) {
  const sampling::ErrorTarget target = CertifiedTarget(options);
  const std::vector<std::size_t> first = FirstClusters(kernels);
  std::vector<Decision> targets(first.back());
  for (const std::vector<std::size_t>& total : TotalsOf(kernels, options)) {
    AllocationState of_total = state;
    if (options.bound == sampling::BoundScope::kRange) {
      of_total = StateOf(kernels, total, state, options.error_bound);
    }
    TargetProblem problem;
    for (const std::size_t k : total) {
      AddChoices(kernels[k], first[k], of_total, options, problem, targets);
    }
    problem.Solve(target, of_total, targets);
  }
  return targets;
}

}  // namespace stemtap::online
