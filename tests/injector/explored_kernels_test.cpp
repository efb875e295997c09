// SPDX-License-Identifier: Apache-2.0
#include "gate/explored_kernels.h"

#include <doctest/doctest.h>

#include <memory>

namespace stemtap::inject {
namespace {

constexpr shm::GateAnswer kExploratory = {0, shm::kFlagCaptured | shm::kFlagExploratory};
constexpr shm::GateAnswer kByCredit = {7, shm::kFlagCaptured};

// Hashes that share one home entry and differ in bits of the lower half.
constexpr std::uint64_t HashOf(std::uint64_t kernel) {
  return (std::uint64_t{5} << 32) | (kernel << 8) | 1;
}

TEST_CASE("a kernel has one exploratory capture") {
  const auto explored = std::make_unique<ExploredKernels>();
  CHECK(explored->MayExplore(HashOf(1)));
  CHECK(explored->Captured(HashOf(1), kExploratory));
  CHECK_FALSE(explored->MayExplore(HashOf(1)));
  CHECK_FALSE(explored->Captured(HashOf(1), kExploratory));
  CHECK(explored->MayExplore(HashOf(2)));
  CHECK(explored->Captured(HashOf(2), kExploratory));
}

TEST_CASE("a capture by credit leaves its kernel unexplored") {
  const auto explored = std::make_unique<ExploredKernels>();
  CHECK(explored->Captured(HashOf(1), kByCredit));
  CHECK(explored->MayExplore(HashOf(1)));
}

TEST_CASE("a returned kernel may be explored once more, and no other kernel") {
  const auto explored = std::make_unique<ExploredKernels>();
  for (std::uint64_t kernel = 0; kernel < 4; ++kernel) {
    REQUIRE(explored->Captured(HashOf(kernel), kExploratory));
  }
  explored->Return(HashOf(1));
  explored->Return(HashOf(9));  // unknown
  for (std::uint64_t kernel = 0; kernel < 4; ++kernel) {
    CHECK(explored->MayExplore(HashOf(kernel)) == (kernel == 1));
  }
  CHECK_FALSE(explored->Captured(HashOf(3), kExploratory));
  CHECK(explored->Captured(HashOf(1), kExploratory));
  CHECK_FALSE(explored->MayExplore(HashOf(1)));
  CHECK_FALSE(explored->Captured(HashOf(1), kExploratory));
}

TEST_CASE("kernels that do not fit are never explored") {
  const auto explored = std::make_unique<ExploredKernels>();
  std::uint64_t kernel = 0;
  while (explored->Captured(HashOf(kernel), kExploratory)) ++kernel;
  CHECK(kernel == 16);
  CHECK_FALSE(explored->MayExplore(HashOf(kernel)));
  explored->Return(HashOf(kernel));
  CHECK_FALSE(explored->MayExplore(HashOf(kernel)));
  explored->Return(HashOf(0));
  CHECK(explored->MayExplore(HashOf(0)));
  CHECK_FALSE(explored->MayExplore(HashOf(kernel)));
}

}  // namespace
}  // namespace stemtap::inject
