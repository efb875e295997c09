// SPDX-License-Identifier: Apache-2.0
#include "session/launch_tracker.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace stemtap::session {
namespace {

constexpr std::uint64_t kName = 0x9E3779B97F4A7C15;

using Graphs = LaunchTracker::Graphs;

shm::KernelRecord OnStream(std::uint32_t stream) {
  shm::KernelRecord record;
  record.stream = stream;
  return record;
}

TEST_CASE("histories of more streams than the limit are forgotten") {
  LaunchTracker tracker(Graphs::kInHistories);
  const auto history = [&](std::uint32_t stream) {
    return tracker.Next(OnStream(stream), kName).history;
  };
  const std::uint64_t first = history(0);
  for (std::uint32_t s = 1; s < LaunchTracker::kMaxStreams - 1; ++s) CHECK(history(s) == first);
  CHECK(history(0) != first);
  CHECK(history(LaunchTracker::kMaxStreams) == first);
  CHECK(history(0) == first);
}

TEST_CASE("kernels of graphs have keys of their nodes and are in histories only if they are seen") {
  shm::KernelRecord node = OnStream(0);
  node.graph_id = 7;
  node.graph_node = 3;
  const std::uint64_t before = LaunchTracker(Graphs::kOutside).Next(OnStream(0), kName).history;
  LaunchTracker seen(Graphs::kInHistories);
  CHECK(seen.Next(node, kName).node != 0);
  CHECK(seen.Next(OnStream(0), kName).history != before);
  LaunchTracker unseen(Graphs::kOutside);
  CHECK(unseen.Next(node, kName).node == 0);
  CHECK(unseen.Next(OnStream(0), kName).history == before);
}

}  // namespace
}  // namespace stemtap::session
