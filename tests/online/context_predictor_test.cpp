// SPDX-License-Identifier: Apache-2.0
#include "online/context_predictor.h"

#include <doctest/doctest.h>

#include <vector>

namespace stemtap::online {
namespace {

// There are two clusters, split at bin 100.
std::size_t ClusterOf(std::uint32_t bin) {
  return bin < 100 ? 0 : 1;
}

std::vector<ContextPredictor::Context> Changed(ContextPredictor& contexts,
                                               bool everything = false) {
  std::vector<ContextPredictor::Context> changed;
  contexts.ForEachChanged(everything, [&](ContextPredictor::Context& c) { changed.push_back(c); });
  return changed;
}

TEST_CASE("two launches that agree make a prediction, and one does not") {
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

TEST_CASE("a context whose durations change is relearned within twice the maximum votes") {
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
  CHECK(launches <= 2 * ContextPredictor::kMaxVotes);
}

TEST_CASE("outliers do not change a prediction") {
  ContextPredictor contexts(1);
  for (int i = 0; i < 1000; ++i) contexts.Observe(7, 8, i % 10 == 9 ? 150 : 50, ClusterOf);
  const auto all = Changed(contexts, true);
  REQUIRE(all.size() == 3);
  for (const auto& c : all) {
    CHECK(ClusterOf(c.candidate_bin) == 0);
    CHECK(c.votes >= ContextPredictor::kTrustedVotes);
  }
}

TEST_CASE("a graph node becomes a context if its history mispredicts") {
  ContextPredictor contexts(1);
  // Nodes 20, 21 and 22 share a history; node 22 is in the other cluster.
  for (int i = 0; i < 100; ++i) {
    contexts.Observe(7, 8, 50, ClusterOf, 20);
    contexts.Observe(7, 8, 60, ClusterOf, 21);
    contexts.Observe(7, 8, 150, ClusterOf, 22);
    contexts.Observe(9, 8, 50, ClusterOf, 30);  // predicted by its history
  }
  std::size_t nodes = 0;
  for (const auto& c : Changed(contexts, true)) {
    CHECK(c.key != 30);
    if (c.key < 20) continue;
    ++nodes;
    REQUIRE(c.votes >= ContextPredictor::kTrustedVotes);
    CHECK(ClusterOf(c.candidate_bin) == (c.key == 22 ? 1 : 0));
  }
  CHECK(nodes >= 1);
}

TEST_CASE("graph nodes leave room for histories") {
  ContextPredictor contexts(1);
  for (std::uint64_t i = 1; i <= 100000; ++i) {
    contexts.Observe(7, 8, i % 2 == 0 ? 50 : 150, ClusterOf, i * 0x9E3779B97F4A7C15u);
  }
  CHECK(contexts.size() == ContextPredictor::kMaxNodes + 2);
  CHECK(contexts.refused() == 0);
}

TEST_CASE("the number of contexts is limited, and rejected contexts are counted") {
  ContextPredictor contexts(1);
  for (std::uint64_t key = 1; key <= 100000; ++key) {
    contexts.Observe(key * 0x9E3779B97F4A7C15u, 8, 50, ClusterOf);
  }
  CHECK(contexts.size() == ContextPredictor::kMaxContexts);
  // Key 8 is one of the contexts.
  CHECK(contexts.refused() == 100001 - ContextPredictor::kMaxContexts);
}

}  // namespace
}  // namespace stemtap::online
