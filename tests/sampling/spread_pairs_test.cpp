// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "sampling/sizes.h"

namespace stemtap::sampling {
namespace {

// Returns a cluster of `count` launches of `mean` - `deviation` or `mean` + `deviation` ns.
StratumRange Cluster(std::uint64_t count, double mean, double deviation,
                     std::uint64_t sample_size = 1) {
  StratumRange stratum;
  for (std::uint64_t i = 0; i < count; ++i) {
    stratum.moments.Add(i % 2 == 0 ? mean - deviation : mean + deviation);
  }
  stratum.sample_size = sample_size;
  return stratum;
}

TEST_CASE("pairs are in the cheapest narrow clusters") {
  std::vector<std::vector<StratumRange>> kernels = {
      {Cluster(100, 1000.0, 10.0), Cluster(100, 20.0, 10.0)}, {Cluster(100, 30.0, 1.0)}};
  CHECK(AddSpreadPairs(kernels) == 1);
  CHECK(kernels[0][0].sample_size == 1);  // expensive
  CHECK(kernels[0][1].sample_size == 1);  // wide
  CHECK(kernels[1][0].sample_size == 2);
  CHECK(kernels[1][0].is_pair);
}

TEST_CASE("a cluster of one launch gets no second sample") {
  std::vector<std::vector<StratumRange>> kernels = {{Cluster(1, 10.0, 0.0)},
                                                    {Cluster(10, 1000.0, 0.0)}};
  CHECK(AddSpreadPairs(kernels) == 0);
}

TEST_CASE("16 narrow clusters with several samples are enough") {
  std::vector<std::vector<StratumRange>> kernels(1);
  for (int i = 0; i < 5; ++i) kernels[0].push_back(Cluster(100, 1e6, 0.0, 3));
  for (int i = 0; i < 40; ++i) kernels[0].push_back(Cluster(100, 10.0, 0.0));
  CHECK(AddSpreadPairs(kernels) == 11);
}

TEST_CASE("only the first pair may cost up to a fifth of the captured time") {
  std::vector<std::vector<StratumRange>> one = {{Cluster(100, 190.0, 0.0)},
                                                {Cluster(100, 810.0, 0.0)}};
  CHECK(AddSpreadPairs(one) == 1);
  std::vector<std::vector<StratumRange>> two = {
      {Cluster(100, 95.0, 0.0)}, {Cluster(100, 95.0, 0.0)}, {Cluster(100, 810.0, 0.0)}};
  CHECK(AddSpreadPairs(two) == 1);
  std::vector<std::vector<StratumRange>> none = {{Cluster(100, 210.0, 0.0)},
                                                 {Cluster(100, 790.0, 0.0)}};
  CHECK(AddSpreadPairs(none) == 0);
}

}  // namespace
}  // namespace stemtap::sampling
