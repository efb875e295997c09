// SPDX-License-Identifier: Apache-2.0
// Tests golden vectors that were computed independently of this code (exactly or by brute force).
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "sampling/design.h"
#include "sampling/optimal_strata.h"
#include "sampling/sizes.h"
#include "sampling/strata.h"
#include "sampling/weights.h"
#include "stats/normal.h"
#include "support/shared_data.h"

namespace stemtap::sampling {
namespace {

nlohmann::json Load(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

std::vector<stats::Moments> CellsOf(const std::vector<double>& values) {
  std::vector<stats::Moments> cells;
  for (const double v : values) cells.emplace_back(1, v, 0.0);
  return cells;
}

double SquaresWithin(std::span<const double> values) {
  stats::Moments m;
  for (const double v : values) m.Add(v);
  return m.m2();
}

TEST_CASE("the sample size of one cluster matches the golden values") {
  const std::string path = SharedPath("vectors/sample_size.json");
  STEMTAP_SKIP_WITHOUT(path);
  const auto vectors = Load(path);
  for (const auto& c : vectors["cases"]) {
    CAPTURE(c.dump());
    CHECK(SampleSize(c["mean"], c["stddev"], c["error_bound"], stats::TwoSidedZ(c["confidence"]),
                     c["floor"]) == c["sample_size"].get<std::uint64_t>());
  }
}

// Returns the optimum without size limits: the paper's KKT formula. Strata without spread get 0.
std::vector<double> AllocateUnboxed(std::span<const Stratum> strata, const ErrorTarget& target) {
  double total = 0.0;
  for (const Stratum& s : strata) total += s.sum();
  const double tolerance = target.error_bound * total / target.z;
  double roots = 0.0;
  std::vector<double> sizes;
  for (const Stratum& s : strata) {
    const auto n = static_cast<double>(s.count);
    roots += std::sqrt(s.mean * n * n * s.variance);
    sizes.push_back(s.mean > 0.0 ? std::sqrt(n * n * s.variance / s.mean) : 0.0);
  }
  for (double& size : sizes) size *= roots / (tolerance * tolerance);
  return sizes;
}

TEST_CASE("unclamped and clamped allocations match the golden values") {
  const std::string path = SharedPath("vectors/allocation.json");
  STEMTAP_SKIP_WITHOUT(path);
  const auto vectors = Load(path);
  for (const auto& c : vectors["cases"]) {
    std::vector<Stratum> strata;
    for (std::size_t i = 0; i < c["count"].size(); ++i) {
      const double sd = c["stddev"][i];
      strata.emplace_back(c["count"][i].get<std::uint64_t>(), c["mean"][i].get<double>(), sd * sd);
    }
    const ErrorTarget target{c["error_bound"], stats::TwoSidedZ(c["confidence"])};
    const auto check = [&](const std::vector<double>& sizes, const char* name) {
      for (std::size_t i = 0; i < strata.size(); ++i) {
        CAPTURE(name);
        CAPTURE(i);
        // The file has nine decimals.
        CHECK(std::fabs(sizes[i] - c[name][i].get<double>()) <=
              1e-6 * c[name][i].get<double>() + 1e-9);
      }
    };
    check(AllocateUnboxed(strata, target), "unboxed_real");
    check(AllocateReal(strata, target, Population::kInfinite), "with_replacement_real");
    check(AllocateReal(strata, target, Population::kFinite), "finite_population_real");
  }
}

TEST_CASE("the best division into two parts matches the golden values") {
  const std::string path = SharedPath("vectors/best_cut.json");
  STEMTAP_SKIP_WITHOUT(path);
  const auto vectors = Load(path);
  for (const auto& c : vectors["cases"]) {
    const auto values = c["sorted_values"].get<std::vector<double>>();
    const std::size_t left = BestCut(CellsOf(values));
    const std::span<const double> all(values);
    const double within = SquaresWithin(all.first(left)) + SquaresWithin(all.subspan(left));
    const double golden = c["within_sum_of_squares"];
    CAPTURE(left);
    CHECK(within <= golden * (1.0 + 1e-9) + 1e-9);
  }
}

TEST_CASE("ROOT's leaves and their sample sizes match the golden values") {
  const std::string path = SharedPath("vectors/root.json");
  STEMTAP_SKIP_WITHOUT(path);
  const auto vectors = Load(path);
  for (const auto& c : vectors["cases"]) {
    const auto values = c["sorted_values"].get<std::vector<double>>();
    const ErrorTarget target{c["error_bound"], stats::TwoSidedZ(c["confidence"])};
    const auto leaves = Stratify(Method::kRoot, CellsOf(values), target);
    REQUIRE(leaves.size() == c["leaves"].size());
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      CHECK(leaves[i].first == c["leaves"][i]["first"].get<std::size_t>());
      CHECK(leaves[i].end - 1 == c["leaves"][i]["last"].get<std::size_t>());
      CHECK(leaves[i].sample_size == c["leaves"][i]["sample_size"].get<std::uint64_t>());
    }
  }
}

TEST_CASE("plain and calibrated weights match the golden values") {
  const std::string path = SharedPath("vectors/weights.json");
  STEMTAP_SKIP_WITHOUT(path);
  const auto vectors = Load(path);
  for (const auto& c : vectors["cases"]) {
    stats::Moments all;
    stats::Moments captured;
    const auto durations = c["durations"].get<std::vector<double>>();
    for (const double d : durations) all.Add(d);
    for (const std::size_t i : c["captured_indices"]) captured.Add(durations[i]);
    CHECK(PlainWeight(all.count(), captured.count()) ==
          doctest::Approx(c["plain_weight"].get<double>()).epsilon(1e-12));
    CHECK(CalibratedWeight(all.count(), all.mean(), captured.count(), captured.mean()) ==
          doctest::Approx(c["calibrated_weight"].get<double>()).epsilon(1e-12));
  }
}

// The file uses the variance N^2 sigma^2 / m (1 - m/N). This code uses S^2, which is larger, so a
// sample within this budget is also within the budget of the file.
TEST_CASE("optimal strata match the golden values") {
  const std::string path = SharedPath("vectors/optimal.json");
  STEMTAP_SKIP_WITHOUT(path);
  const auto vectors = Load(path);
  double ratios = 0.0;
  for (const auto& c : vectors["cases"]) {
    CAPTURE(c.dump());
    std::vector<std::vector<stats::Moments>> rows;
    double total = 0.0;
    for (const auto& kernel : c["kernels"]) {
      rows.emplace_back();
      for (const double d : kernel.get<std::vector<double>>()) {
        total += d;
        const stats::Moments one(1, d, 0.0);
        if (rows.back().empty() || rows.back().back().mean() != d) {
          rows.back().push_back(one);
        } else {
          rows.back().back().Merge(one);
        }
      }
    }
    const ErrorTarget target{c["error_bound"], stats::TwoSidedZ(c["confidence"])};
    const Design solved =
        SolveOptimalStrata(ViewsOf(rows), target, 1, 0.0, Effort::kThorough, Serially);
    double cost = 0.0;
    double variance = 0.0;
    for (const auto& kernel : solved.kernels) {
      for (const StratumRange& s : kernel) {
        const auto n = static_cast<double>(s.moments.count());
        const auto m = static_cast<double>(s.sample_size);
        cost += m * s.moments.mean();
        variance += n * n * s.moments.variance() / m * (1.0 - m / n);
      }
    }
    CHECK(target.z * std::sqrt(variance) <= target.error_bound * total * (1 + 1e-9));
    const double ratio = cost / c["optimal_sampled_duration"].get<double>();
    CHECK(ratio <= 1.25);
    ratios += ratio;
  }
  CHECK(ratios / static_cast<double>(vectors["cases"].size()) <= 1.05);
}

}  // namespace
}  // namespace stemtap::sampling
