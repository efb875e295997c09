// SPDX-License-Identifier: Apache-2.0
#include "online/context_predictor.h"

#include <doctest/doctest.h>

#include <vector>

namespace stemtap {
namespace {

// Two clusters, cut at bin 100.
std::size_t ClusterOf(std::uint32_t bin) { return bin < 100 ? 0 : 1; }

std::vector<ContextPredictor::Context> Changed(ContextPredictor& contexts, bool everything = false) {
  std::vector<ContextPredictor::Context> changed;
  contexts.ForEachChanged(everything, [&](ContextPredictor::Context& c) { changed.push_back(c); });
  return changed;
}

TEST_CASE("one sight is no prediction, two are") {
  ContextPredictor contexts;
  contexts.Observe(7, 50, ClusterOf);
  CHECK(Changed(contexts).empty());
  contexts.Observe(7, 60, ClusterOf);
  const auto changed = Changed(contexts);
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].key == 7);
  CHECK(ClusterOf(changed[0].candidate_bin) == 0);
  CHECK(Changed(contexts).empty());
}

TEST_CASE("a context whose durations move is predicted anew within twice the vote cap") {
  ContextPredictor contexts;
  for (int i = 0; i < 10000; ++i) contexts.Observe(7, 50, ClusterOf);
  Changed(contexts);
  int launches = 0;
  std::vector<ContextPredictor::Context> changed;
  do {
    contexts.Observe(7, 150, ClusterOf);
    ++launches;
    changed = Changed(contexts);
    REQUIRE(launches < 100);
  } while (changed.empty() || changed[0].votes < ContextPredictor::kTrustedVotes ||
           ClusterOf(changed[0].candidate_bin) != 1);
  CHECK(launches <= 2 * ContextPredictor::kMostVotes);
}

TEST_CASE("outliers do not unseat a prediction") {
  ContextPredictor contexts;
  for (int i = 0; i < 1000; ++i) contexts.Observe(7, i % 10 == 9 ? 150 : 50, ClusterOf);
  const auto all = Changed(contexts, true);
  REQUIRE(all.size() == 1);
  CHECK(ClusterOf(all[0].candidate_bin) == 0);
  CHECK(all[0].votes >= ContextPredictor::kTrustedVotes);
}

TEST_CASE("contexts are bounded, what is beyond is counted") {
  ContextPredictor contexts;
  for (std::uint64_t key = 1; key <= 100000; ++key) {
    contexts.Observe(key * 0x9E3779B97F4A7C15u, 50, ClusterOf);
  }
  CHECK(contexts.size() == ContextPredictor::kMostContexts);
  CHECK(contexts.refused() == 100000 - ContextPredictor::kMostContexts);
}

}  // namespace
}  // namespace stemtap
