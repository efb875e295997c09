// SPDX-License-Identifier: Apache-2.0
//
// cuOccupancy*, from the limits of an H100 and the attributes of the function.
#include <algorithm>

#include "cuda/objects.h"
#include "cuda/occupancy.h"
#include "cuda/state.h"

namespace fake_gpu {
namespace {

constexpr std::uint64_t kWarp = 32;
constexpr std::uint64_t kThreadsPerMultiprocessor = 2048;
constexpr std::uint64_t kThreadsPerBlock = 1024;
constexpr std::uint64_t kBlocksPerMultiprocessor = 32;
constexpr std::uint64_t kRegistersPerMultiprocessor = 65536;
constexpr std::uint64_t kSharedPerBlock = 227 * 1024;
constexpr int kPortableClusterBlocks = 8;

}  // namespace

std::uint64_t BlocksPerMultiprocessor(std::uint64_t threads, std::uint64_t shared_bytes,
                                      std::uint64_t registers) {
  if (threads == 0 || threads > kThreadsPerBlock || shared_bytes > kSharedPerBlock) return 0;
  threads = (threads + kWarp - 1) / kWarp * kWarp;
  std::uint64_t blocks =
      std::min({kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / threads,
                kSharedPerMultiprocessor / (shared_bytes + kReservedSharedPerBlock)});
  if (registers != 0)
    blocks = std::min(blocks, kRegistersPerMultiprocessor / (registers * threads));
  return blocks;
}

namespace {

int Blocks(const CUfunc_st& function, int threads, std::size_t shared_bytes) {
  if (threads <= 0) return 0;
  return static_cast<int>(BlocksPerMultiprocessor(static_cast<std::uint64_t>(threads), shared_bytes,
                                                  function.registers));
}

// Finds the block size with the most resident threads; of several, the largest.
int BestBlockSize(const CUfunc_st& function, CUoccupancyB2DSize shared_of, std::size_t shared_bytes,
                  int limit) {
  int best = 0;
  int most_threads = 0;
  for (int threads = limit; threads > 0; threads -= threads % 32 == 0 ? 32 : threads % 32) {
    const std::size_t shared = shared_of == nullptr ? shared_bytes : shared_of(threads);
    const int resident = threads * Blocks(function, threads, shared);
    if (resident > most_threads) {
      most_threads = resident;
      best = threads;
    }
  }
  return best;
}

int ClusterBlocks(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& one = config.attrs[i];
    if (one.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    return static_cast<int>(one.value.clusterDim.x * one.value.clusterDim.y *
                            one.value.clusterDim.z);
  }
  return 1;
}

}  // namespace
}  // namespace fake_gpu

using namespace fake_gpu;

FAKE_GPU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int threads, size_t shared_bytes, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(blocks != nullptr && function != nullptr && threads > 0,
                   CUDA_ERROR_INVALID_VALUE);
  *blocks = Blocks(*function, threads, shared_bytes);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                     CUfunction function,
                                                                     int threads,
                                                                     size_t shared_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                              shared_bytes, 0);
}

FAKE_GPU_EXPORT CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* min_grid, int* threads,
                                                                   CUfunction function,
                                                                   CUoccupancyB2DSize shared_of,
                                                                   size_t shared_bytes, int limit,
                                                                   unsigned) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(min_grid != nullptr && threads != nullptr && function != nullptr,
                   CUDA_ERROR_INVALID_VALUE);
  const int most = static_cast<int>(kThreadsPerBlock);
  *threads =
      BestBlockSize(*function, shared_of, shared_bytes, limit <= 0 ? most : std::min(limit, most));
  const std::size_t shared = shared_of == nullptr ? shared_bytes : shared_of(*threads);
  *min_grid = Blocks(*function, *threads, shared) * static_cast<int>(kMultiprocessors);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int* min_grid, int* threads,
                                                          CUfunction function,
                                                          CUoccupancyB2DSize shared_of,
                                                          size_t shared_bytes, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, threads, function, shared_of,
                                                   shared_bytes, limit, 0);
}

FAKE_GPU_EXPORT CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function,
                                                                 int blocks, int threads) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(bytes != nullptr && function != nullptr && blocks > 0 && threads > 0,
                   CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(Blocks(*function, threads, 0) >= blocks, CUDA_ERROR_INVALID_VALUE);
  const std::uint64_t share = kSharedPerMultiprocessor / static_cast<std::uint64_t>(blocks);
  *bytes = std::min(kSharedPerBlock, share - kReservedSharedPerBlock);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                                      const CUlaunchConfig* config) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(clusters != nullptr && function != nullptr && config != nullptr,
                   CUDA_ERROR_INVALID_VALUE);
  const auto threads = static_cast<int>(config->blockDimX * config->blockDimY * config->blockDimZ);
  *clusters = Blocks(*function, threads, config->sharedMemBytes) *
              static_cast<int>(kMultiprocessors) / std::max(1, ClusterBlocks(*config));
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function,
                                                            const CUlaunchConfig* config) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(blocks != nullptr && function != nullptr && config != nullptr,
                   CUDA_ERROR_INVALID_VALUE);
  *blocks = kPortableClusterBlocks;
  return CUDA_SUCCESS;
}
