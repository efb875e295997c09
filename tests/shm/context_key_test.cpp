// SPDX-License-Identifier: Apache-2.0
#include "shm/context_key.h"

#include <doctest/doctest.h>

#include <set>

namespace stemtap::shm {
namespace {

TEST_CASE("every part of a launch configuration changes the key") {
  const std::uint64_t name = NameHash("gemm", 4);
  const LaunchConfig base{{1, 2, 3}, {4, 5, 6}};
  std::set<std::uint64_t> keys = {ConfigKey(name, base)};
  for (int part = 0; part < 6; ++part) {
    LaunchConfig changed = base;
    if (part < 3) ++changed.grid[part];
    if (part >= 3) ++changed.block[part - 3];
    keys.insert(ConfigKey(name, changed));
  }
  keys.insert(ConfigKey(NameHash("norm", 4), base));
  CHECK(keys.size() == 8);
}

TEST_CASE("swapped extents give different keys") {
  const std::uint64_t name = NameHash("gemm", 4);
  CHECK(ConfigKey(name, {{1, 2, 1}, {1, 1, 1}}) != ConfigKey(name, {{2, 1, 1}, {1, 1, 1}}));
  CHECK(ConfigKey(name, {{1, 1, 1}, {1, 2, 1}}) != ConfigKey(name, {{1, 1, 1}, {1, 1, 2}}));
}

TEST_CASE("the history consists of the two previous kernels in order") {
  const std::uint64_t a = NameHash("a", 1);
  const std::uint64_t b = NameHash("b", 1);
  const std::uint64_t c = NameHash("c", 1);
  CHECK(Advance(Advance(0, a), b) != Advance(Advance(0, b), a));
  CHECK(Advance(Advance(Advance(0, c), a), b) == Advance(Advance(0, a), b));
}

TEST_CASE("keys are never 0, and a million keys do not collide") {
  std::set<std::uint64_t> keys;
  const std::uint64_t name = NameHash("k", 1);
  for (std::uint32_t x = 0; x < 1000; ++x) {
    for (std::uint32_t y = 0; y < 1000; ++y) {
      keys.insert(ConfigKey(name, {{x, y, 1}, {256, 1, 1}}));
    }
  }
  // With 10^6 keys of 64 bits, the probability of a collision is 3e-8.
  CHECK(keys.size() == 1000000);
  CHECK(keys.count(0) == 0);
}

}  // namespace
}  // namespace stemtap::shm
