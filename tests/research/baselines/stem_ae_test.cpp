// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/stem_ae.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "base/rng.h"
#include "made_profile.h"

namespace stemtap::research {
namespace {

using test::MadeProfile;

// Returns the number of samples of each cluster. The key is the shortest duration of the cluster.
std::map<std::uint64_t, std::uint64_t> Sizes(const MadeProfile& made,
                                             const PreparedMethod& method) {
  std::vector<std::uint64_t> shortest(method.cluster_count(), ~std::uint64_t{0});
  std::vector<std::uint64_t> samples(method.cluster_count(), 0);
  for (std::size_t i = 0; i < made.groups.size(); ++i) {
    std::uint64_t& least = shortest[method.clusters()[i]];
    least = std::min(least, made.profile.records[i].duration_ns);
  }
  for (const std::uint64_t i : test::Indices(method.Draw(1))) ++samples[method.clusters()[i]];
  std::map<std::uint64_t, std::uint64_t> sizes;
  for (std::size_t c = 0; c < samples.size(); ++c) sizes[shortest[c]] = samples[c];
  return sizes;
}

TEST_CASE("for a cluster without variance, stem-ae has no sample and stem-ae-1 has one") {
  MadeProfile made;
  for (int i = 0; i < 100; ++i) made.Add("equal", 500);
  for (int i = 0; i < 100; ++i) made.Add("spread", 900 + 2 * static_cast<std::uint64_t>(i));
  made.Add("once", 7);
  const auto method = PrepareStemAe(made.input());
  REQUIRE(method.ok());
  CHECK(Sizes(made, *method.value()).at(500) == 0);
  CHECK(Sizes(made, *method.value()).at(7) == 1);
  CHECK(method.value()->bound() == made.options.error_bound);
  const auto one = PrepareStemAeOne(made.input());
  REQUIRE(one.ok());
  CHECK(Sizes(made, *one.value()).at(500) == 1);
  // The time of the equal launches is missing from every estimate of stem-ae.
  double missing = 0.0;
  double complete = 0.0;
  constexpr int kRuns = 2000;
  for (int seed = 0; seed < kRuns; ++seed) {
    const auto s = static_cast<std::uint64_t>(seed);
    missing += (made.total() - made.Estimate(method.value()->Draw(s))) / kRuns;
    complete += (made.total() - made.Estimate(one.value()->Draw(s))) / kRuns;
  }
  // The standard error of each mean is about 100 x 58 / sqrt(2000) = 130 ns. The limit is six.
  CHECK(std::fabs(missing - 50'000) < 800);
  CHECK(std::fabs(complete) < 800);
}

TEST_CASE("stem-ae computes sizes by Eq. 3 of STEM+ROOT for one cluster and for two halves") {
  // A kernel has 60 launches of 100 and 140 ns, 40 of 1000 and 1200 ns: mean 512, deviation 487.0:
  // ceil((1.96 x 487.0 / (0.05 x 512))^2) = 1391 samples as a whole. The halves have means 120 and
  // 1100, deviations 20 and 100: sum = 60 x 20 x sqrt(120) + 40 x 100 x sqrt(1100) = 145,810,
  // budget = 51,200 x 0.05 / 1.96 = 1306.1: ceil(0.085473 x 1200 / sqrt(120)) = 10 and
  // ceil(0.085473 x 4000 / sqrt(1100)) = 11 samples, which cost less. Each half is then split into
  // equal durations, which cost nothing.
  MadeProfile made;
  for (int i = 0; i < 30; ++i) {
    made.Add("k", 100);
    made.Add("k", 140);
  }
  for (int i = 0; i < 20; ++i) {
    made.Add("k", 1000);
    made.Add("k", 1200);
  }
  const auto method = PrepareStemAe(made.input());
  REQUIRE(method.ok());
  const std::map<std::uint64_t, std::uint64_t> none = {{100, 0}, {140, 0}, {1000, 0}, {1200, 0}};
  CHECK(Sizes(made, *method.value()) == none);

  // At a loose bound, uniform durations are not worth a split: deviation 28.9, mean 1049.5, (1.96 x
  // 28.9 / (0.05 x 1049.5))^2 = 1.16.
  MadeProfile uniform;
  for (std::uint64_t i = 0; i < 100; ++i) uniform.Add("k", 1000 + i);
  CHECK(Sizes(uniform, *PrepareStemAe(uniform.input()).value()) ==
        std::map<std::uint64_t, std::uint64_t>{{1000, 1}, {1050, 1}});
}

TEST_CASE("stem-ae cuts names at the first parenthesis and omits excluded launches") {
  MadeProfile made;
  for (std::uint64_t i = 0; i < 40; ++i) {
    made.Add("void f<(int)4>(float*)", 1000 + 10 * (i % 4));
    made.Add("void f<(int)8>(float*)", 1000 + 10 * (i % 4));
    made.Add("_Z1gPf", 3000 + i);
    made.Add("g(int)", 3000 + i);
    made.Add("left out", 9000 + i);
  }
  made.Exclude("left out");
  const auto method = PrepareStemAeOne(made.input());
  REQUIRE(method.ok());
  const std::span<const std::uint32_t> clusters = method.value()->clusters();
  for (std::size_t i = 0; i < 200; i += 5) {
    CHECK(clusters[i] == clusters[i + 1]);
    CHECK(clusters[i + 2] == clusters[i + 3]);
    CHECK(clusters[i + 4] == model::kExcludedKernel);
  }
  for (const std::uint64_t index : test::Indices(method.value()->Draw(3))) CHECK(index % 5 != 4);
}

TEST_CASE("stem-ae accepts durations of 0 and any bound") {
  MadeProfile made;
  for (int i = 0; i < 50; ++i) made.Add("zero", 0);
  for (std::uint64_t i = 0; i < 50; ++i) made.Add("some", i % 2);
  for (std::uint64_t i = 0; i < 50; ++i) made.Add("spread", 100 + 7 * i);
  for (const double bound : {1e-9, 0.05, 64.0}) {
    made.options.error_bound = bound;
    const auto method = PrepareStemAe(made.input());
    REQUIRE(method.ok());
    CHECK(test::Indices(method.value()->Draw(1)).size() <= 150);
  }
}

}  // namespace
}  // namespace stemtap::research
