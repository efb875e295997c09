// SPDX-License-Identifier: Apache-2.0
#include "sampling/design.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

#include "sampling/certificate.h"
#include "sampling/cut_table.h"
#include "sampling/kernel_pool.h"
#include "sampling/optimal_strata.h"
#include "sampling/sizes.h"

namespace stemtap::sampling {
namespace {

// Allocates sizes jointly over the strata of `kernels`.
void SizeTogether(std::span<std::vector<StratumRange>> kernels, const SamplingOptions& options) {
  std::vector<Stratum> strata;
  for (const std::vector<StratumRange>& kernel : kernels) {
    for (const StratumRange& s : kernel) strata.emplace_back(s.moments);
  }
  const std::vector<std::uint64_t> sizes =
      Allocate(strata, options.target(), Population::kFinite, options.min_samples);
  std::size_t next = 0;
  for (std::vector<StratumRange>& kernel : kernels) {
    for (StratumRange& s : kernel) s.sample_size = sizes[next++];
  }
}

// Maximum number of tries per set of strata to bring the certified bound to the error bound, and
// the ratio of the two that is close enough.
constexpr int kMaxTries = 8;
constexpr double kNear = 0.99;
// Multiples of the error bound at which ROOT's strata are tried. At the error bound itself, ROOT's
// strata reach the minimum of one sample each while their error is still far below the bound.
constexpr double kRootLooseness[] = {1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 10.0, 15.0};
// Above this number of cells ROOT's strata are not tried: one expensive stratum does not matter.
constexpr std::size_t kMaxCellsForRoot = 20'000;

using Strata = std::vector<std::vector<StratumRange>>;

double NormalBoundOf(const Strata& strata, double z) {
  std::vector<Stratum> wholes;
  std::vector<std::uint64_t> sizes;
  for (const auto& kernel : strata) {
    for (const StratumRange& s : kernel) {
      wholes.emplace_back(s.moments);
      sizes.push_back(s.sample_size);
    }
  }
  return ErrorBound(wholes, sizes, z);
}

// Returns the normal bound of the strata of which more than half is sampled. The certificate allows
// a plan to sample 99.8 % of 100,000 launches together with one launch that takes as long as all of
// them: the launch is rarely left out, and the error is then 100 %. Such a plan saves almost
// nothing.
double LeftOutBoundOf(const Strata& strata, double z) {
  double variance = 0.0;
  double total = 0.0;
  for (const auto& kernel : strata) {
    for (const StratumRange& s : kernel) {
      total += s.moments.sum();
      if (2 * s.sample_size <= s.moments.count()) continue;
      variance += EstimateVariance(Stratum(s.moments), s.sample_size);
    }
  }
  return total > 0.0 ? z * std::sqrt(variance) / total : 0.0;
}

// The time of strata without samples counts in full.
double CertifiedBoundOf(std::span<const KernelCells> kernels, const Strata& strata,
                        double confidence) {
  std::vector<SampledStratum> sampled;
  double total = 0.0;
  double uncovered = 0.0;
  for (std::size_t k = 0; k < strata.size(); ++k) {
    for (const StratumRange& s : strata[k]) {
      total += s.moments.sum();
      if (s.sample_size == 0) {
        uncovered += s.moments.sum();
        continue;
      }
      sampled.push_back({std::span(kernels[k]).subspan(s.first, s.end - s.first),
                         Stratum(s.moments), s.sample_size});
    }
  }
  return total > 0.0 ? (CertifiedError(sampled, 0.0, confidence) + uncovered) / total : 0.0;
}

// Returns the captured time of a kernel plus `fixed_ns` per sample.
double CaptureCost(const std::vector<StratumRange>& kernel, double fixed_ns) {
  double cost = 0.0;
  for (const StratumRange& s : kernel) {
    cost += static_cast<double>(s.sample_size) * (s.moments.mean() + fixed_ns);
  }
  return cost;
}

// Returns the captured time plus `fixed_ns` and the overhead of each sample.
double CaptureCost(const Strata& strata, double fixed_ns) {
  double total = 0.0;
  double launches = 0.0;
  for (const auto& kernel : strata) {
    for (const StratumRange& s : kernel) {
      total += s.moments.sum();
      launches += static_cast<double>(s.moments.count());
    }
  }
  const double each_ns = fixed_ns + SampleOverhead(total, launches);
  double cost = 0.0;
  for (const auto& kernel : strata) cost += CaptureCost(kernel, each_ns);
  return cost;
}

bool SameCuts(const Strata& a, const Strata& b) {
  const auto same = [](const std::vector<StratumRange>& x, const std::vector<StratumRange>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const StratumRange& p, const StratumRange& q) { return p.end == q.end; });
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

// Adjust changes the sizes that a solver chose before they are judged.
using Adjust = std::function<void(Strata&)>;

// The strata of the papers' methods keep their sizes.
void KeepSizes(Strata&) {}

// Adds the samples that show the spread of other metrics, unless the bound is for each kernel.
// `options`: of one total.
Adjust PairsFor(const SamplingOptions& options) {
  if (options.bound != BoundScope::kWorkload) return KeepSizes;
  return [fixed_ns = options.price.FixedPerFactor()](Strata& strata) {
    AddSpreadPairs(strata, fixed_ns);
  };
}

struct Candidate {
  Strata strata;
  double cost = INFINITY;
  double bound = INFINITY;
};

// Calls `solve` with looser and tighter bounds until the certified bound just meets the error
// bound. Keeps the cheapest strata that meet it in `best`. Each try is judged with its pairs: one
// more sample has a smaller variance, but the quantile of the sum can be larger.
void Tune(std::span<const KernelCells> kernels, const SamplingOptions& options,
          const std::function<Strata(double)>& solve, const Adjust& adjust, Candidate& best) {
  const double error_bound = options.error_bound;
  const double z = options.target().z;
  double feasible = 0.0;
  double infeasible = INFINITY;
  double ask = error_bound;
  for (int i = 0; i < kMaxTries; ++i) {
    Candidate tried;
    tried.strata = solve(ask);
    adjust(tried.strata);
    tried.cost = CaptureCost(tried.strata, options.price.FixedPerFactor());
    tried.bound = CertifiedBoundOf(kernels, tried.strata, options.confidence);
    const bool meets = tried.bound <= error_bound && LeftOutBoundOf(tried.strata, z) <= error_bound;
    // A tighter bound only costs more.
    if (!meets && tried.cost >= best.cost) return;
    const double ratio = tried.bound > 0.0 ? error_bound / tried.bound : INFINITY;
    if (meets) {
      feasible = std::max(feasible, ask);
      if (tried.cost < best.cost) best = std::move(tried);
      if (ratio <= 1.0 / kNear || ask >= 4.0 * error_bound) return;
    } else {
      infeasible = std::min(infeasible, ask);
    }
    double next = ask * std::min(ratio * (1.0 + kNear) / 2.0, 2.0);
    // Any bound above this solution's normal bound gives the same solution again.
    if (!meets) next = std::min(next, 0.999 * NormalBoundOf(tried.strata, z));
    if (next <= feasible || next >= infeasible) {
      if (!std::isfinite(infeasible)) return;
      if (feasible == 0.0) {
        next = 0.8 * infeasible;
      } else {
        if (feasible >= kNear * infeasible) return;
        next = std::sqrt(feasible * infeasible);
      }
    }
    ask = next;
  }
}

// If the certified bound changes in large steps, the tries of Tune may not have been enough. Calls
// `solve` with ever tighter bounds until `best` meets the error bound.
void MeetBound(std::span<const KernelCells> kernels, const SamplingOptions& options,
               const std::function<Strata(double)>& solve, const Adjust& adjust, Candidate& best) {
  for (double ask = 0.5 * options.error_bound; !std::isfinite(best.cost); ask *= 0.5) {
    best.strata = solve(ask > 1e-12 ? ask : 0.0);
    adjust(best.strata);
    best.bound = CertifiedBoundOf(kernels, best.strata, options.confidence);
    if (best.bound <= options.error_bound || ask <= 1e-12) {
      best.cost = CaptureCost(best.strata, options.price.FixedPerFactor());
    }
  }
}

// Returns a function that computes new sizes for fixed `strata` and a given error bound.
std::function<Strata(double)> SizedAnew(Strata strata, const SamplingOptions& options) {
  return [strata = std::move(strata), &options](double error_bound) {
    std::vector<SizingTerm> terms;
    double total = 0.0;
    double launches = 0.0;
    for (const auto& kernel : strata) {
      for (const StratumRange& s : kernel) {
        const Stratum whole(s.moments);
        const auto n = static_cast<double>(whole.count);
        terms.push_back({n, whole.mean, n * n * whole.sample_variance()});
        total += whole.sum();
        launches += n;
      }
    }
    for (SizingTerm& term : terms) {
      term.cost += SampleOverhead(total, launches) + options.price.FixedPerFactor();
    }
    const double tolerance = error_bound * total / options.target().z;
    std::vector<double> sizes;
    SizeWhole(terms, tolerance * tolerance, static_cast<double>(options.min_samples), sizes);
    Strata sized = strata;
    std::size_t next = 0;
    for (auto& kernel : sized) {
      for (StratumRange& s : kernel) s.sample_size = static_cast<std::uint64_t>(sizes[next++]);
    }
    return sized;
  };
}

Strata DesignOptimal(std::span<const KernelCells> kernels, const SamplingOptions& options,
                     const ParallelFor& parallel) {
  Candidate best;
  double multiplier = 0.0;
  const double z = options.target().z;
  const std::vector<CellsView> views = ViewsOf(kernels);
  const auto solve = [&](double error_bound) {
    Design solved = SolveOptimalStrata(views, {error_bound, z}, options.min_samples, multiplier,
                                       Effort::kThorough, parallel, options.price.FixedPerFactor());
    multiplier = solved.multiplier;
    return std::move(solved.kernels);
  };
  const Adjust adjust = PairsFor(options);
  Tune(kernels, options, solve, adjust, best);
  std::size_t cells = 0;
  for (const KernelCells& kernel : kernels) cells += kernel.size();
  // The minimum cost: one stratum per kernel with the minimum number of samples.
  Strata least(kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const stats::Moments all = MomentsOf(kernels[k]);
    if (all.count() == 0) continue;
    least[k].push_back({0, kernels[k].size(), all, std::min(options.min_samples, all.count())});
  }
  adjust(least);
  const bool improvable =
      best.cost > CaptureCost(least, options.price.FixedPerFactor()) * (1.0 + 1e-9);
  if (cells <= kMaxCellsForRoot && improvable) {
    Strata before;
    for (const double looseness : kRootLooseness) {
      Strata root(kernels.size());
      parallel(kernels.size(), [&](std::size_t i) {
        root[i] = Stratify(Method::kRoot, kernels[i], {options.error_bound * looseness, z});
      });
      if (SameCuts(root, before)) continue;
      before = root;
      Tune(kernels, options, SizedAnew(std::move(root), options), adjust, best);
    }
  }
  MeetBound(kernels, options, solve, adjust, best);
  return std::move(best.strata);
}

// Returns the strata of a paper's method. Its sizes assume the central limit theorem. If their
// certified bound misses the error bound, the same strata get the sizes for a tighter bound.
Strata DesignByRule(std::span<const KernelCells> kernels, const SamplingOptions& options,
                    const ParallelFor& parallel) {
  Candidate best;
  best.strata = StratifyWorkload(ViewsOf(kernels), options, 0.0, parallel).kernels;
  if (CertifiedBoundOf(kernels, best.strata, options.confidence) <= options.error_bound) {
    return std::move(best.strata);
  }
  const auto solve = [strata = best.strata, &options](double error_bound) {
    SamplingOptions tighter = options;
    tighter.error_bound = error_bound;
    Strata sized = strata;
    SizeStrata(sized, tighter);
    return sized;
  };
  Tune(kernels, options, solve, KeepSizes, best);
  MeetBound(kernels, options, solve, KeepSizes, best);
  return std::move(best.strata);
}

// Shares of the error bound that uncovered time may use and that are tried. The rest remains for
// sampling errors, so the cheapest share can be any.
constexpr double kUncoveredShares[] = {0.8, 0.6, 0.4, 0.3, 0.2, 0.14, 0.1, 0.05, 0.02};

// Returns which kernels to leave uncovered so that their time is at most `max_ns`: the kernels of
// `strata` whose samples cost most per ns of the kernel, as long as they fit.
std::vector<bool> ExpensiveKernels(const Strata& strata, double fixed_ns, double max_ns) {
  std::vector<double> times_ns;
  std::vector<double> prices;
  for (const auto& kernel : strata) {
    double time_ns = 0.0;
    for (const StratumRange& s : kernel) time_ns += s.moments.sum();
    times_ns.push_back(time_ns);
    prices.push_back(time_ns > 0.0 ? CaptureCost(kernel, fixed_ns) / time_ns : 0.0);
  }
  std::vector<bool> expensive(strata.size(), false);
  for (const std::size_t k : KernelsWithin(times_ns, prices, max_ns)) expensive[k] = true;
  return expensive;
}

// Returns the best strata if the kernels in `uncovered` get no samples, or no strata if their time
// leaves nothing of the error bound.
Strata DesignWithout(const std::vector<bool>& uncovered, std::span<const KernelCells> kernels,
                     const SamplingOptions& options, const ParallelFor& parallel) {
  std::vector<KernelCells> covered;
  double covered_ns = 0.0;
  double uncovered_ns = 0.0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const double time_ns = MomentsOf(kernels[k]).sum();
    (uncovered[k] ? uncovered_ns : covered_ns) += time_ns;
    if (!uncovered[k]) covered.push_back(kernels[k]);
  }
  SamplingOptions rest = options;
  rest.error_bound =
      (options.error_bound * (covered_ns + uncovered_ns) - uncovered_ns) / covered_ns;
  if (!(rest.error_bound > 0.0)) return {};
  Strata designed = DesignOptimal(covered, rest, parallel);
  Strata strata(kernels.size());
  std::size_t next = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (uncovered[k]) {
      strata[k].push_back({0, kernels[k].size(), MomentsOf(kernels[k]), 0});
    } else {
      strata[k] = std::move(designed[next++]);
    }
  }
  return strata;
}

// As DesignOptimal, but leaves up to options.max_uncovered of the time without samples where that
// is cheaper.
Strata DesignWithUncovered(std::span<const KernelCells> kernels, const SamplingOptions& options,
                           const ParallelFor& parallel) {
  const double fixed_ns = options.price.FixedPerFactor();
  Strata best = DesignOptimal(kernels, options, parallel);
  const Strata whole = best;
  double total = 0.0;
  for (const KernelCells& kernel : kernels) total += MomentsOf(kernel).sum();
  std::vector<bool> before(kernels.size(), false);
  for (const double share : kUncoveredShares) {
    const double max_share = std::min(share * options.error_bound, options.max_uncovered);
    std::vector<bool> uncovered = ExpensiveKernels(whole, fixed_ns, max_share * total);
    if (uncovered == before) continue;
    before = std::move(uncovered);
    if (std::find(before.begin(), before.end(), true) == before.end()) break;
    Strata tried = DesignWithout(before, kernels, options, parallel);
    if (!tried.empty() && CaptureCost(tried, fixed_ns) < CaptureCost(best, fixed_ns)) {
      best = std::move(tried);
    }
  }
  return best;
}

// Calls solve(kernels of a total, parallel) for each total, and returns the strata by kernel.
template <typename Kernel, typename Solve>
Strata SolveByTotal(std::span<const Kernel> kernels, const SamplingOptions& options,
                    std::span<const std::uint32_t> ranges, const ParallelFor& parallel,
                    const Solve& solve) {
  if (options.bound == BoundScope::kWorkload) return solve(kernels, parallel);
  const std::vector<std::vector<std::size_t>> totals =
      KernelsByTotal(options.bound, kernels.size(), ranges);
  Strata strata(kernels.size());
  const auto solve_one = [&](const std::vector<std::size_t>& total, const ParallelFor& tasks) {
    std::vector<Kernel> of;
    for (const std::size_t k : total) of.push_back(kernels[k]);
    Strata solved = solve(std::span<const Kernel>(of), tasks);
    for (std::size_t i = 0; i < total.size(); ++i) strata[total[i]] = std::move(solved[i]);
  };
  if (options.bound == BoundScope::kKernel) {
    parallel(totals.size(), [&](std::size_t i) { solve_one(totals[i], Serially); });
  } else {
    for (const std::vector<std::size_t>& total : totals) solve_one(total, parallel);
  }
  return strata;
}

}  // namespace

std::vector<std::vector<std::size_t>> KernelsByTotal(BoundScope scope, std::size_t kernels,
                                                     std::span<const std::uint32_t> ranges) {
  std::vector<std::vector<std::size_t>> totals;
  std::unordered_map<std::uint32_t, std::size_t> place;  // of a range in `totals`
  for (std::size_t k = 0; k < kernels; ++k) {
    std::size_t at = scope == BoundScope::kKernel ? k : 0;
    if (scope == BoundScope::kRange) at = place.emplace(ranges[k], totals.size()).first->second;
    if (at == totals.size()) totals.emplace_back();
    totals[at].push_back(k);
  }
  return totals;
}

void SizeStrata(std::span<std::vector<StratumRange>> kernels, const SamplingOptions& options) {
  if (options.method == Method::kStem) {
    const ErrorTarget target = options.target();
    for (std::vector<StratumRange>& kernel : kernels) {
      for (StratumRange& s : kernel) {
        const std::uint64_t own = SampleSize(s.moments.mean(), s.moments.stddev(),
                                             target.error_bound, target.z, kFloorClt);
        s.sample_size = std::min(std::max(own, options.min_samples), s.moments.count());
      }
    }
  } else if (options.bound == BoundScope::kKernel) {
    for (std::vector<StratumRange>& kernel : kernels) SizeTogether({&kernel, 1}, options);
  } else {
    SizeTogether(kernels, options);
  }
}

Design StratifyWorkload(std::span<const CellsView> kernels, const SamplingOptions& options,
                        double multiplier, const ParallelFor& parallel,
                        std::span<const std::uint32_t> ranges) {
  Design result;
  const ErrorTarget target = options.target();
  if (options.method == Method::kOptimal) {
    const double fixed_ns = options.price.FixedPerFactor();
    const ErrorTarget certified = {options.error_bound, CertifiedZ(options.confidence)};
    if (options.bound == BoundScope::kWorkload) {
      return SolveOptimalStrata(kernels, certified, options.min_samples, multiplier, Effort::kQuick,
                                parallel, fixed_ns);
    }
    result.kernels = SolveByTotal(kernels, options, ranges, parallel,
                                  [&](std::span<const CellsView> of, const ParallelFor& tasks) {
                                    return SolveOptimalStrata(of, certified, options.min_samples,
                                                              0.0, Effort::kQuick, tasks, fixed_ns)
                                        .kernels;
                                  });
    return result;
  }
  result.kernels = SolveByTotal(kernels, options, ranges, parallel,
                                [&](std::span<const CellsView> of, const ParallelFor& tasks) {
                                  Strata strata(of.size());
                                  tasks(of.size(), [&](std::size_t i) {
                                    strata[i] = Stratify(options.method, of[i], target);
                                  });
                                  SizeStrata(strata, options);
                                  return strata;
                                });
  return result;
}

Design DesignSample(std::span<const KernelCells> kernels, const SamplingOptions& options,
                    const ParallelFor& parallel, std::span<const std::uint32_t> ranges) {
  Design design;
  // The total of a range is solved as the total of a workload.
  SamplingOptions of_total = options;
  if (options.bound == BoundScope::kRange) of_total.bound = BoundScope::kWorkload;
  const auto solve = [&of_total](std::span<const KernelCells> of, const ParallelFor& tasks) {
    if (of_total.method != Method::kOptimal) return DesignByRule(of, of_total, tasks);
    const bool by_choice = of_total.max_uncovered > 0.0 && of_total.bound == BoundScope::kWorkload;
    return by_choice ? DesignWithUncovered(of, of_total, tasks)
                     : DesignOptimal(of, of_total, tasks);
  };
  design.kernels = SolveByTotal(kernels, options, ranges, parallel, solve);
  for (const auto& kernel : design.kernels) {
    for (const StratumRange& s : kernel) design.spread_samples += s.is_pair;
  }
  design.bound = CertifiedBoundOf(kernels, design.kernels, options.confidence);
  for (const auto& kernel : design.kernels) {
    design.costs.push_back(CaptureCost(kernel, options.price.FixedPerFactor()));
    design.cost += design.costs.back();
  }
  return design;
}

}  // namespace stemtap::sampling
