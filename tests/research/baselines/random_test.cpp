// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/random.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "base/rng.h"
#include "made_profile.h"

namespace stemtap::research {
namespace {

using test::MadeProfile;

MadeProfile Spread(int launches) {
  MadeProfile made;
  Rng rng(11);
  for (int i = 0; i < launches; ++i) made.Add("kernel", 1'000 + rng.Below(9'000));
  return made;
}

TEST_CASE("random sampling is unbiased and samples the stated share of the time") {
  const MadeProfile made = Spread(2000);
  const double share = 0.05;
  const auto method = MakeRandom(made.input(), share);
  double square_sum = 0.0;
  for (const shm::KernelRecord& r : made.profile.records) {
    square_sum += std::pow(static_cast<double>(r.duration_ns), 2);
  }
  // Var(T_hat) = sum d^2 (1 - p) / p, so the relative standard error over R seeds is known.
  const int runs = 4000;
  const double sd = std::sqrt(square_sum * (1 - share) / share / runs) / made.total();
  double estimate = 0.0;
  double sampled = 0.0;
  for (int seed = 0; seed < runs; ++seed) {
    const MethodSample sample = method->Draw(static_cast<std::uint64_t>(seed));
    estimate += made.Estimate(sample) / made.total() / runs;
    for (const WeightedInvocation& s : sample.invocations) {
      sampled += static_cast<double>(made.profile.records[s.index].duration_ns) / runs;
      REQUIRE(s.weight == 1.0 / share);
    }
  }
  // With six standard errors, correct code fails with a probability of about 2e-9.
  CHECK(std::abs(estimate - 1.0) < 6.0 * sd);
  CHECK(std::abs(sampled / made.total() / share - 1.0) < 6.0 * sd);
}

TEST_CASE("a share of 1 samples everything, is deterministic and has no bound") {
  const MadeProfile made = Spread(20);
  const auto all = MakeRandom(made.input(), 1.0);
  CHECK(all->deterministic());
  CHECK(all->Draw(1).invocations.size() == 20);
  CHECK(made.Estimate(all->Draw(1)) == made.total());
  CHECK(std::isnan(all->bound()));
  CHECK(!MakeRandom(made.input(), 0.5)->deterministic());
}

}  // namespace
}  // namespace stemtap::research
