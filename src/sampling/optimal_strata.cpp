// SPDX-License-Identifier: Apache-2.0
#include "sampling/optimal_strata.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "sampling/cut_table.h"
#include "sampling/sizes.h"

namespace stemtap::sampling {
namespace {

// The price search stops when its feasible end costs at most this share more than the lower bound
constexpr double kGoodGap = 0.002;
// or when the ratio of its two prices is this small. The remaining gap is then due to integer sizes
// and strata.
constexpr double kNarrow = 1.002;
constexpr int kMaxPrices = 40;
// Limits of the local search. It resizes all strata for each change, so a round takes time
// quadratic in the number of strata.
constexpr std::size_t kMaxStrataSearched = 96;
constexpr int kMaxRounds = 12;
// Maximum numbers of decisions about a part in which the ends of the bracket differ. A decision
// costs two price searches.
constexpr int kMaxDecisions = 12;
constexpr int kMaxQuickDecisions = 3;
// Above this number of cells no decisions are made: one expensive stratum matters little, and each
// search takes long.
constexpr std::size_t kMaxCellsDecided = 50'000;

struct Problem {
  std::vector<CutTable> tables;  // by kernel
  double budget = 0.0;           // of variance
  double floor = 1.0;
};

// Row is a sequence of cells of a kernel's table, from `first` on, whose cuts are not decided yet.
struct Row {
  std::size_t kernel = 0;
  std::uint32_t first = 0;
  CutTable table;
};

// Decided is a stratum that is fixed: cells [first, end) of a kernel's table.
struct Decided {
  std::size_t kernel = 0;
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

// Priced is the best cut of every row at one price.
struct Priced {
  double lambda = 0.0;
  double cost = 0.0;
  double variance = 0.0;
  std::vector<Cut> cuts;
};

// Bracket is the pair of prices on both sides of the budget at the end of the search.
struct Bracket {
  Priced within;
  Priced beyond;  // no cuts if the price 0 is within the budget
  double lower_bound = 0.0;
};

void SumUp(Priced& priced) {
  priced.cost = 0.0;
  priced.variance = 0.0;
  for (const Cut& cut : priced.cuts) {
    priced.cost += cut.cost;
    priced.variance += cut.variance;
  }
}

Priced SolveAt(std::span<const Row> rows, double lambda, double floor,
               const ParallelFor& parallel) {
  Priced priced;
  priced.lambda = lambda;
  priced.cuts.resize(rows.size());
  // A task solves several rows, because one row takes only a few microseconds.
  constexpr std::size_t kRun = 64;
  parallel((rows.size() + kRun - 1) / kRun, [&](std::size_t run) {
    CutTable::Scratch scratch;
    const std::size_t end = std::min((run + 1) * kRun, rows.size());
    for (std::size_t i = run * kRun; i < end; ++i) {
      rows[i].table.Solve(lambda, floor, priced.cuts[i], scratch);
    }
  });
  SumUp(priced);
  return priced;
}

// Returns a first guess of the price: the price that meets the budget if every row is one stratum
// with real-valued sizes. It is too high, because cuts make variance cheaper.
double GuessPrice(std::span<const Row> rows, double budget) {
  double roots = 0.0;
  for (const Row& row : rows) {
    if (row.table.size() == 0) continue;
    const SizingTerm term = row.table.Term(0, row.table.size());
    roots += std::sqrt(term.variance * term.cost);
  }
  const double root = roots / budget;
  return root * root;
}

// Searches for the price that meets the budget, starting at `lambda`; 0 means that there is no
// known starting point.
Bracket SearchPrice(std::span<const Row> rows, double budget, double floor, double lambda,
                    const ParallelFor& parallel) {
  Bracket bracket;
  // The lower bound of the cost that a price proves.
  const auto dual = [budget](const Priced& at) {
    return at.cost + at.lambda * (at.variance - budget);
  };
  Priced free = SolveAt(rows, 0.0, floor, parallel);
  bracket.lower_bound = free.cost;
  if (free.variance <= budget) {
    bracket.within = std::move(free);
    return bracket;
  }
  bracket.beyond = std::move(free);
  bool found = false;
  double next = lambda > 0.0 ? lambda : GuessPrice(rows, budget);
  double step = lambda > 0.0 ? 1.5 : 8.0;
  for (int tries = 0; tries < kMaxPrices && std::isfinite(next); ++tries) {
    Priced at = SolveAt(rows, next, floor, parallel);
    bracket.lower_bound = std::max(bracket.lower_bound, dual(at));
    if (at.variance <= budget) {
      bracket.within = std::move(at);
      found = true;
    } else {
      bracket.beyond = std::move(at);
    }
    const Priced& within = bracket.within;
    const Priced& beyond = bracket.beyond;
    if (!found) {
      next *= step;
      step *= step;
      continue;
    }
    if (within.cost - bracket.lower_bound <= kGoodGap * within.cost) break;
    if (beyond.lambda == 0.0) {
      next /= step;
      step *= step;
      continue;
    }
    const double width = std::log(within.lambda / beyond.lambda);
    if (width <= std::log(kNarrow)) break;
    // Variance is close to a power of the price. Interpolate to the budget, but stay at least a
    // tenth of the width away from both ends.
    const double high = std::log(beyond.variance / budget);
    const double low = std::log(std::max(within.variance, budget * 1e-6) / budget);
    next = beyond.lambda * std::exp(width * std::clamp(high / (high - low), 0.1, 0.9));
  }
  if (!found) {
    // Because of rounding, no price is high enough: sample everything.
    bracket.within = Priced();
    bracket.within.lambda = next;
    for (const Row& row : rows) {
      const auto end = static_cast<std::uint32_t>(row.table.size());
      const SizingTerm whole = row.table.Term(0, end);
      bracket.within.cuts.push_back({{end}, {whole.count}, whole.count * whole.cost, 0.0});
    }
    SumUp(bracket.within);
  }
  return bracket;
}

// Solution is the strata of all kernels with integer sizes.
struct Solution {
  std::vector<std::vector<std::uint32_t>> ends;  // by kernel
  std::vector<double> sizes;                     // by stratum, over all kernels
  double cost = INFINITY;
};

std::vector<SizingTerm> TermsOf(const Problem& problem,
                                const std::vector<std::vector<std::uint32_t>>& ends) {
  std::vector<SizingTerm> terms;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    std::uint32_t first = 0;
    for (const std::uint32_t end : ends[k]) {
      terms.push_back(problem.tables[k].Term(first, end));
      first = end;
    }
  }
  return terms;
}

Solution WholeSolution(const Problem& problem, std::span<const Row> rows,
                       const std::vector<Cut>& cuts, std::span<const Decided> decided) {
  Solution solution;
  solution.ends.resize(problem.tables.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::uint32_t end : cuts[i].ends) {
      solution.ends[rows[i].kernel].push_back(rows[i].first + end);
    }
  }
  for (const Decided& d : decided) solution.ends[d.kernel].push_back(d.end);
  for (auto& ends : solution.ends) std::sort(ends.begin(), ends.end());
  solution.cost =
      SizeWhole(TermsOf(problem, solution.ends), problem.budget, problem.floor, solution.sizes);
  return solution;
}

// Starts from the cuts within the budget and replaces kernels by their cheaper cuts beyond the
// budget as long as the budget allows, in order of saved cost per added variance.
std::vector<Cut> Mix(const Priced& within, const Priced& beyond, double budget) {
  struct Exchange {
    double rate;
    std::size_t kernel;
  };
  std::vector<Exchange> exchanges;
  for (std::size_t k = 0; k < within.cuts.size(); ++k) {
    const double saved = within.cuts[k].cost - beyond.cuts[k].cost;
    const double more = beyond.cuts[k].variance - within.cuts[k].variance;
    if (saved > 0.0 && more > 0.0) exchanges.push_back({saved / more, k});
  }
  std::sort(exchanges.begin(), exchanges.end(), [](const Exchange& a, const Exchange& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.kernel < b.kernel;
  });
  std::vector<Cut> cuts = within.cuts;
  double variance = within.variance;
  for (const Exchange& e : exchanges) {
    const double more = beyond.cuts[e.kernel].variance - within.cuts[e.kernel].variance;
    if (variance + more > budget) continue;
    variance += more;
    cuts[e.kernel] = beyond.cuts[e.kernel];
  }
  return cuts;
}

// Tries every single change of the strata (move a cut by any number of cells, merge two strata,
// split one) whose price at lambda is below the gap. Resizes all strata for each change and keeps
// the cheapest, until no change helps.
void SearchLocally(const Problem& problem, double lambda, double lower_bound, Solution& best) {
  const auto priced = [&](const CutTable& table, std::uint32_t first, std::uint32_t end) {
    const SizingTerm term = table.Term(first, end);
    const double size = BestSize(term, lambda, problem.floor);
    return size * term.cost + lambda * term.VarianceAt(size);
  };
  std::vector<double> sizes;
  for (int round = 0; round < kMaxRounds; ++round) {
    const double before = best.cost;
    for (std::size_t k = 0; k < best.ends.size(); ++k) {
      const CutTable& table = problem.tables[k];
      // Candidate lists of ends that differ from the current list in one stratum or one cut.
      std::vector<std::vector<std::uint32_t>> candidates;
      const std::vector<std::uint32_t>& now = best.ends[k];
      const double gap = best.cost - lower_bound;
      for (std::size_t s = 0; s < now.size(); ++s) {
        const std::uint32_t first = s == 0 ? 0 : now[s - 1];
        const std::uint32_t end = now[s];
        const double alone = priced(table, first, end);
        for (std::uint32_t cut = first + 1; cut < end; ++cut) {
          if (priced(table, first, cut) + priced(table, cut, end) - alone >= gap) continue;
          candidates.push_back(now);
          candidates.back().insert(candidates.back().begin() + static_cast<std::ptrdiff_t>(s), cut);
        }
        if (s + 1 == now.size()) continue;
        const std::uint32_t last = now[s + 1];
        const double both = alone + priced(table, end, last);
        if (priced(table, first, last) - both < gap) {
          candidates.push_back(now);
          candidates.back().erase(candidates.back().begin() + static_cast<std::ptrdiff_t>(s));
        }
        for (std::uint32_t cut = first + 1; cut < last; ++cut) {
          if (cut == end || priced(table, first, cut) + priced(table, cut, last) - both >= gap) {
            continue;
          }
          candidates.push_back(now);
          candidates.back()[s] = cut;
        }
      }
      const std::vector<std::uint32_t> kept = best.ends[k];
      std::vector<std::uint32_t> winner = kept;
      for (std::vector<std::uint32_t>& candidate : candidates) {
        best.ends[k] = std::move(candidate);
        const double cost =
            SizeWhole(TermsOf(problem, best.ends), problem.budget, problem.floor, sizes);
        if (cost < best.cost * (1.0 - 1e-12)) {
          best.cost = cost;
          best.sizes = sizes;
          winner = best.ends[k];
        }
      }
      best.ends[k] = std::move(winner);
    }
    if (best.cost >= before) return;
  }
}

// Difference is a part of a row that the two ends of the bracket cut or size differently.
struct Difference {
  std::size_t row = 0;
  std::uint32_t first = 0;  // cells of the row
  std::uint32_t end = 0;
  double saved = 0.0;  // cost that the end beyond the budget saves in this part
};

// Returns the part where the end beyond the budget saves the most.
Difference GreatestDifference(std::span<const Row> rows, const Priced& within,
                              const Priced& beyond) {
  Difference greatest;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Cut& a = within.cuts[r];
    const Cut& b = beyond.cuts[r];
    if (a.ends == b.ends && a.sizes == b.sizes) continue;
    std::uint32_t first = 0;
    std::size_t i = 0;
    std::size_t j = 0;
    double saved = 0.0;
    const auto cost = [&](const Cut& cut, std::size_t s) {
      const std::uint32_t begin = s == 0 ? 0 : cut.ends[s - 1];
      return cut.sizes[s] * rows[r].table.Term(begin, cut.ends[s]).cost;
    };
    while (i < a.ends.size() && j < b.ends.size()) {
      if (a.ends[i] < b.ends[j]) {
        saved += cost(a, i++);
      } else if (b.ends[j] < a.ends[i]) {
        saved -= cost(b, j++);
      } else {
        // Both cut here, so the part since the last common cut is complete.
        saved += cost(a, i) - cost(b, j);
        if (saved > greatest.saved) greatest = {r, first, a.ends[i], saved};
        first = a.ends[i];
        saved = 0.0;
        ++i;
        ++j;
      }
    }
  }
  return greatest;
}

// Fixes `part` of a row as in `cut` and leaves the rest of the row undecided. Returns the variance
// of the fixed strata.
double Decide(const Difference& part, const Cut& cut, std::vector<Row>& rows,
              std::vector<Decided>& decided) {
  const Row row = std::move(rows[part.row]);
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(part.row));
  double variance = 0.0;
  std::uint32_t first = 0;
  for (std::size_t s = 0; s < cut.ends.size(); ++s) {
    const std::uint32_t end = cut.ends[s];
    if (first >= part.first && end <= part.end) {
      decided.push_back({row.kernel, row.first + first, row.first + end});
      variance += row.table.Term(first, end).VarianceAt(cut.sizes[s]);
    }
    first = end;
  }
  if (part.first > 0) rows.push_back({row.kernel, row.first, row.table.Slice(0, part.first)});
  if (part.end < row.table.size()) {
    rows.push_back({row.kernel, row.first + part.end, row.table.Slice(part.end, row.table.size())});
  }
  return variance;
}

// Branch is one of the two ways to decide a part, with the solution of the remaining problem.
struct Branch {
  std::vector<Row> rows;
  std::vector<Decided> decided;
  double budget = 0.0;
  Bracket bracket;
  Solution solution;
};

// Solves the undecided rows of `branch` and keeps the best integer solution from the two ends of
// the bracket and their mixture.
void Complete(const Problem& problem, double lambda, const ParallelFor& parallel, Branch& branch) {
  branch.bracket = SearchPrice(branch.rows, branch.budget, problem.floor, lambda, parallel);
  const Priced& within = branch.bracket.within;
  const Priced& beyond = branch.bracket.beyond;
  branch.solution = WholeSolution(problem, branch.rows, within.cuts, branch.decided);
  if (beyond.cuts.empty()) return;
  for (const auto& cuts : {beyond.cuts, Mix(within, beyond, branch.budget)}) {
    Solution other = WholeSolution(problem, branch.rows, cuts, branch.decided);
    if (other.cost < branch.solution.cost) branch.solution = std::move(other);
  }
}

Problem ProblemOf(std::span<const CellsView> kernels, const ErrorTarget& target,
                  std::uint64_t min_samples, double fixed_ns, const ParallelFor& parallel) {
  Problem problem;
  problem.floor = static_cast<double>(std::max<std::uint64_t>(min_samples, 1));
  problem.tables.resize(kernels.size());
  double total = 0.0;
  double launches = 0.0;
  for (const CellsView kernel : kernels) {
    for (const stats::Moments& cell : kernel) {
      total += cell.sum();
      launches += static_cast<double>(cell.count());
    }
  }
  const double overhead = SampleOverhead(total, launches) + fixed_ns;
  parallel(kernels.size(),
           [&](std::size_t i) { problem.tables[i] = CutTable(kernels[i], overhead); });
  const double tolerance = target.error_bound * total / target.z;
  problem.budget = tolerance * tolerance;
  return problem;
}

// Fixes the part where the two ends of the bracket of `branch` differ most in both ways and solves
// the rest for each. Updates `best` and continues with the better branch. Returns false if there is
// nothing to decide.
bool DecideNext(const Problem& problem, const ParallelFor& parallel, Branch& branch,
                Solution& best) {
  const Bracket& bracket = branch.bracket;
  if (bracket.beyond.cuts.empty()) return false;
  const Difference part = GreatestDifference(branch.rows, bracket.within, bracket.beyond);
  if (part.end == 0) return false;
  Branch ways[2];
  for (int way = 0; way < 2; ++way) {
    const Priced& side = way == 0 ? bracket.beyond : bracket.within;
    ways[way].rows = branch.rows;
    ways[way].decided = branch.decided;
    ways[way].budget =
        branch.budget - Decide(part, side.cuts[part.row], ways[way].rows, ways[way].decided);
    if (ways[way].budget < 0.0) continue;
    Complete(problem, bracket.within.lambda, parallel, ways[way]);
    if (ways[way].solution.cost < best.cost) best = ways[way].solution;
  }
  Branch& better = ways[0].solution.cost <= ways[1].solution.cost ? ways[0] : ways[1];
  if (!std::isfinite(better.solution.cost)) return false;
  branch = Branch(std::move(better));
  return true;
}

// Returns the strata of a kernel with the sizes from `sizes` on.
std::vector<StratumRange> StrataOf(CellsView cells, const CutTable& table,
                                   std::span<const std::uint32_t> ends, const double* sizes) {
  std::vector<StratumRange> strata;
  std::size_t first = 0;
  for (const std::uint32_t cut : ends) {
    StratumRange range{first, table.Start(cut), {}, 0};
    range.moments = MomentsOf(cells.subspan(first, range.end - first));
    range.sample_size = std::min(static_cast<std::uint64_t>(*sizes++), range.moments.count());
    strata.push_back(range);
    first = range.end;
  }
  return strata;
}

}  // namespace

Design SolveOptimalStrata(std::span<const CellsView> kernels, const ErrorTarget& target,
                          std::uint64_t min_samples, double multiplier, Effort effort,
                          const ParallelFor& parallel, double fixed_ns) {
  const Problem problem = ProblemOf(kernels, target, min_samples, fixed_ns, parallel);
  Branch branch;
  branch.budget = problem.budget;
  std::size_t cells = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!kernels[k].empty()) branch.rows.push_back({k, 0, problem.tables[k]});
    cells += problem.tables[k].size();
  }
  Complete(problem, multiplier, parallel, branch);
  Design result;
  result.lower_bound = branch.bracket.lower_bound;
  result.multiplier = branch.bracket.within.lambda;
  Solution best = branch.solution;
  const auto good = [&] {
    return std::isfinite(best.cost) && best.cost - result.lower_bound <= kGoodGap * best.cost;
  };

  const int decisions = cells > kMaxCellsDecided   ? 0
                        : effort == Effort::kQuick ? kMaxQuickDecisions
                                                   : kMaxDecisions;
  for (int depth = 0; depth < decisions && !good(); ++depth) {
    if (!DecideNext(problem, parallel, branch, best)) break;
  }
  std::size_t strata = 0;
  for (const auto& ends : best.ends) strata += ends.size();
  if (effort == Effort::kThorough && !good() && strata <= kMaxStrataSearched) {
    SearchLocally(problem, result.multiplier, result.lower_bound, best);
  }

  result.cost = best.cost;
  const double* sizes = best.sizes.data();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    result.kernels.push_back(StrataOf(kernels[k], problem.tables[k], best.ends[k], sizes));
    sizes += best.ends[k].size();
  }
  return result;
}

}  // namespace stemtap::sampling
