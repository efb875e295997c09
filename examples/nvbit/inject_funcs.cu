// SPDX-License-Identifier: Apache-2.0
//
// The device side of stemtap_nvbit.cpp: called before each instruction of an instrumented launch.
#include <cstdint>

extern "C" __device__ __noinline__ void stemtap_count_warp(int predicate, uint64_t counter) {
  const int active = __ballot_sync(__activemask(), 1);
  const int executing = __ballot_sync(__activemask(), predicate);
  int lane;
  asm volatile("mov.u32 %0, %laneid;" : "=r"(lane));
  // The first active lane counts for its warp, unless all lanes are predicated off.
  if (lane == __ffs(active) - 1 && executing != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(counter), 1ull);
  }
}
