// SPDX-License-Identifier: Apache-2.0
#include "online/completion.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

namespace stemtap::online {
namespace {

// Term is one stratum of the problem. b / m is its variance without the constant of the finite
// population.
struct Term {
  double b = 0.0;     // N^2 S^2
  double rate = 0.0;  // sqrt(b / cost): the size at s = 1
  double low = 0.0;
  double high = 0.0;

  double Size(double s) const { return std::clamp(s * rate, low, high); }
};

double Spread(std::span<const Term> terms, double s) {
  double sum = 0.0;
  for (const Term& t : terms) {
    if (t.b > 0.0) sum += t.b / t.Size(s);
  }
  return sum;
}

// Returns, from above, the smallest s whose sizes meet `budget`. 64 bisections reach the last bits
// of any ratio.
double SolveScale(std::span<const Term> terms, double budget) {
  double top = 0.0;
  for (const Term& t : terms) {
    if (t.b > 0.0 && t.rate > 0.0) top = std::max(top, t.high / t.rate);
  }
  double bottom = 0.0;
  for (int i = 0; i < 64; ++i) {
    const double middle = 0.5 * (bottom + top);
    if (middle <= bottom || middle >= top) break;
    (Spread(terms, middle) <= budget ? top : bottom) = middle;
  }
  return top;
}

}  // namespace

std::vector<std::uint64_t> CompleteSizes(std::span<const sampling::Stratum> strata,
                                         std::span<const double> costs,
                                         std::span<const std::uint64_t> had,
                                         std::span<const std::uint64_t> min_sizes, double budget) {
  std::vector<std::uint64_t> sizes(strata.size());
  std::vector<Term> terms(strata.size());
  double whole = 0.0;  // sum b / N, the constant of the finite population
  for (std::size_t i = 0; i < strata.size(); ++i) {
    const std::uint64_t n = strata[i].count;
    sizes[i] = std::min(std::max(had[i], min_sizes[i]), n);
    Term& t = terms[i];
    t.low = static_cast<double>(sizes[i]);
    t.high = static_cast<double>(n);
    t.b = t.high * t.high * strata[i].sample_variance();
    if (t.b > 0.0) {
      t.rate = std::sqrt(t.b / costs[i]);
      whole += t.b / t.high;
    }
  }
  const double allowed = std::max(budget, 0.0) + whole;
  double spread = Spread(terms, 0.0);
  if (spread <= allowed) return sizes;

  const double scale = SolveScale(terms, allowed);
  spread = 0.0;
  // Variance removed by one more sample, per cost. The best step is on top; ties go to the first
  // stratum.
  using Step = std::pair<double, std::size_t>;
  const auto worse = [](const Step& a, const Step& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  };
  std::priority_queue<Step, std::vector<Step>, decltype(worse)> steps(worse);
  const auto gain = [&](std::size_t i) {
    const auto m = static_cast<double>(sizes[i]);
    return terms[i].b / (m * (m + 1.0)) / costs[i];
  };
  for (std::size_t i = 0; i < strata.size(); ++i) {
    if (terms[i].b <= 0.0) continue;
    sizes[i] = std::max(sizes[i], static_cast<std::uint64_t>(terms[i].Size(scale)));
    spread += terms[i].b / static_cast<double>(sizes[i]);
    if (sizes[i] < strata[i].count) steps.emplace(gain(i), i);
  }
  while (spread > allowed && !steps.empty()) {
    const std::size_t i = steps.top().second;
    steps.pop();
    const auto m = static_cast<double>(sizes[i]);
    spread -= terms[i].b / (m * (m + 1.0));
    if (++sizes[i] < strata[i].count) steps.emplace(gain(i), i);
  }
  return sizes;
}

}  // namespace stemtap::online
