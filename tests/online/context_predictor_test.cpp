// SPDX-License-Identifier: Apache-2.0
#include "online/context_predictor.h"

#include <doctest/doctest.h>

#include <vector>

namespace stemtap {
namespace {

// Two clusters, cut at bin 100.
std::size_t ClusterOf(std::uint32_t bin) {
  return bin < 100 ? 0 : 1;
}

std::vector<ContextPredictor::Context> Changed(ContextPredictor& contexts,
                                               bool everything = false) {
  std::vector<ContextPredictor::Context> changed;
  contexts.ForEachChanged(everything, [&](ContextPredictor::Context& c) { changed.push_back(c); });
  return changed;
}

TEST_CASE("one sight is no prediction, two are") {
  ContextPredictor contexts(1);
  contexts.Observe(7, 8, 50, ClusterOf);
  CHECK(Changed(contexts).empty());
  contexts.Observe(7, 8, 60, ClusterOf);
  const auto changed = Changed(contexts);
  REQUIRE(changed.size() == 3);  // name, configuration, history
  for (const auto& c : changed) {
    CHECK((c.key == 1 || c.key == 7 || c.key == 8));
    CHECK(ClusterOf(c.candidate_bin) == 0);
  }
  CHECK(Changed(contexts).empty());
}

TEST_CASE("a context whose durations move is predicted anew within twice the vote cap") {
  ContextPredictor contexts(1);
  for (int i = 0; i < 10000; ++i) contexts.Observe(7, 8, 50, ClusterOf);
  Changed(contexts);
  int launches = 0;
  std::vector<ContextPredictor::Context> changed;
  do {
    contexts.Observe(7, 8, 150, ClusterOf);
    ++launches;
    changed = Changed(contexts);
    REQUIRE(launches < 100);
  } while (changed.empty() || changed[0].votes < ContextPredictor::kTrustedVotes ||
           ClusterOf(changed[0].candidate_bin) != 1);
  CHECK(launches <= 2 * ContextPredictor::kMostVotes);
}

TEST_CASE("outliers do not unseat a prediction") {
  ContextPredictor contexts(1);
  for (int i = 0; i < 1000; ++i) contexts.Observe(7, 8, i % 10 == 9 ? 150 : 50, ClusterOf);
  const auto all = Changed(contexts, true);
  REQUIRE(all.size() == 3);
  for (const auto& c : all) {
    CHECK(ClusterOf(c.candidate_bin) == 0);
    CHECK(c.votes >= ContextPredictor::kTrustedVotes);
  }
}

TEST_CASE("contexts are bounded, what is beyond is counted") {
  ContextPredictor contexts(1);
  for (std::uint64_t key = 1; key <= 100000; ++key) {
    contexts.Observe(key * 0x9E3779B97F4A7C15u, 8, 50, ClusterOf);
  }
  CHECK(contexts.size() == ContextPredictor::kMostContexts);
  CHECK(contexts.refused() == 100001 - ContextPredictor::kMostContexts);  // 8 is one of them
}

}  // namespace
}  // namespace stemtap
