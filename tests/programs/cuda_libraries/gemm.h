// SPDX-License-Identifier: Apache-2.0
//
// Gemm is a matrix product, as cuBLAS and cuBLASLt receive it. It launches one kernel, whose name
// states types, transpositions, tile and a class of k, as the names of real kernels do.
#pragma once

#include <library_types.h>

#include <bit>
#include <cstdint>
#include <string>

#include "kernel_launch.h"

namespace cuda_libraries {

struct Gemm {
  cudaDataType a = CUDA_R_32F, c = CUDA_R_32F;
  bool transposes_a = false, transposes_b = false;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
};

inline std::string TypeName(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return "f16";
    case CUDA_R_16BF:
      return "bf16";
    case CUDA_R_32F:
      return "f32";
    case CUDA_R_64F:
      return "f64";
    case CUDA_R_8I:
      return "i8";
    case CUDA_R_8F_E4M3:
      return "e4m3";
    case CUDA_R_8F_E5M2:
      return "e5m2";
    case CUDA_C_32F:
      return "c32";
    case CUDA_C_64F:
      return "c64";
    default:
      return "type" + std::to_string(static_cast<int>(type));
  }
}

// Returns the edge of the tile for a matrix edge: the next power of two, from 16 to 128.
inline unsigned TileOf(std::int64_t edge) {
  const auto rounded = std::bit_ceil(static_cast<std::uint64_t>(edge));
  return rounded < 16 ? 16 : rounded > 128 ? 128 : static_cast<unsigned>(rounded);
}

inline CUresult Launch(const Gemm& gemm, CUstream stream) {
  if (gemm.m <= 0 || gemm.n <= 0 || gemm.batch <= 0) return CUDA_SUCCESS;
  const unsigned tile_m = TileOf(gemm.m);
  const unsigned tile_n = TileOf(gemm.n);
  const auto tiles = [](std::int64_t edge, unsigned tile) {
    return static_cast<unsigned>((edge + tile - 1) / tile);
  };
  const std::uint64_t k = std::bit_ceil(static_cast<std::uint64_t>(gemm.k < 32 ? 32 : gemm.k));
  std::string name = "sim_gemm_" + TypeName(gemm.a) + "_" + TypeName(gemm.c) + "_";
  name += gemm.transposes_a ? 't' : 'n';
  name += gemm.transposes_b ? 't' : 'n';
  name += "_" + std::to_string(tile_m) + "x" + std::to_string(tile_n) + "_k" + std::to_string(k);
  return LaunchKernel(name,
                      {.grid_x = tiles(gemm.m, tile_m),
                       .grid_y = tiles(gemm.n, tile_n),
                       .grid_z = static_cast<unsigned>(gemm.batch),
                       .threads = tile_m * tile_n >= 8192 ? 256u : 128u,
                       .shared_bytes = (tile_m + tile_n) * 64 * 4},
                      stream);
}

}  // namespace cuda_libraries
