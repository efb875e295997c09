// SPDX-License-Identifier: Apache-2.0
//
// Tests the check that records of an unknown CUPTI version must pass.
#include <doctest/doctest.h>

#include "recording/decoder.h"

namespace stemtap::inject {
namespace {

shm::KernelRecord Kernel() {
  shm::KernelRecord kernel;
  kernel.start_ns = 1'700'000'000'000'000'000;
  kernel.duration_ns = 5'000;
  kernel.correlation_id = 1;
  for (int i = 0; i < 3; ++i) {
    kernel.grid[i] = 1;
    kernel.block[i] = 1;
  }
  return kernel;
}

TEST_CASE("kernels at the limits of CUDA are plausible") {
  shm::KernelRecord kernel = Kernel();
  CHECK(LooksRight(kernel));
  kernel.grid[0] = 2147483647;
  kernel.block[0] = 1024;
  kernel.device = 63;
  kernel.duration_ns = 0;
  CHECK(LooksRight(kernel));
  kernel.block[0] = 16;
  kernel.block[1] = 1;
  kernel.block[2] = 64;
  kernel.correlation_id = 0xFFFFFFFF;
  CHECK(LooksRight(kernel));
}

TEST_CASE("impossible kernels are not plausible") {
  const auto with = [](auto change) {
    shm::KernelRecord kernel = Kernel();
    change(kernel);
    return LooksRight(kernel);
  };
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(with([i](auto& k) { k.grid[i] = 0; }));
    CHECK_FALSE(with([i](auto& k) { k.grid[i] = 0x80000000; }));
    CHECK_FALSE(with([i](auto& k) { k.block[i] = 0; }));
    CHECK_FALSE(with([i](auto& k) { k.block[i] = 1025; }));
  }
  CHECK_FALSE(with([](auto& k) { k.block[0] = 33, k.block[1] = 32; }));
  CHECK_FALSE(with([](auto& k) { k.correlation_id = 0; }));
  CHECK_FALSE(with([](auto& k) { k.device = shm::kUnknown16; }));
  // end < start wraps around. A pointer that is read as a time is far in the future.
  CHECK_FALSE(with([](auto& k) { k.duration_ns = ~std::uint64_t{0} - 5; }));
  CHECK_FALSE(with([](auto& k) { k.duration_ns = 0x00007F0012345678; }));
  CHECK_FALSE(LooksRight(shm::KernelRecord{}));
}

}  // namespace
}  // namespace stemtap::inject
