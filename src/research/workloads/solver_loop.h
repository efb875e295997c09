// SPDX-License-Identifier: Apache-2.0
//
// SolverLoop is the script of an iterative solver that repeatedly launches the same eight kernels,
// 12 launches per iteration. It is the base of the scripts of phases, outliers and warmup, which
// add their disturbances to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "research/workloads/launch.h"

namespace stemtap::research {

class SolverLoop {
 public:
  static constexpr std::size_t kKernels = 8;
  static constexpr std::size_t kPerIteration = 12;

  const Launch& launch() const { return launches_[at_]; }
  void Advance() { at_ = at_ + 1 == kPerIteration ? 0 : at_ + 1; }
  static std::string_view Name(std::uint32_t kernel) { return kTable[kernel].name; }
  // The host reads the residual before each iteration.
  std::uint64_t Gap(std::uint64_t gap_draw) const { return at_ == 0 ? 3'000 + gap_draw * 2 : 0; }

 protected:
  bool begins_iteration() const { return at_ == 0; }
  std::array<Launch, kPerIteration>& launches() { return launches_; }

 private:
  static constexpr Kernel kTable[kKernels] = {
      {"void shale::sparse::spmv_rows_kernel<float, int, 32>(shale::Csr<float, int>, float const*, "
       "float*)",
       kComputeStream,
       {256, 1, 1},
       0,
       3,
       Bound::kMemory},
      {"void shale::blas::dot_partial_kernel<float, 256>(int, float const*, float const*, float*)",
       kComputeStream,
       {256, 1, 1},
       1'024,
       4,
       Bound::kMemory},
      {"void shale::reduce::finish_sum_kernel<float, 1024>(int, float const*, float*)",
       kComputeStream,
       {1'024, 1, 1},
       4'096,
       5,
       Bound::kLatency},
      {"void shale::blas::axpy_kernel<float, 4>(int, float, float const*, float*)",
       kComputeStream,
       {256, 1, 1},
       0,
       3,
       Bound::kMemory},
      {"void shale::dense::block_gemm_kernel<float, 64, 64, 16>(int, int, int, float const*, float "
       "const*, float*)",
       kComputeStream,
       {256, 1, 1},
       32'768,
       2,
       Bound::kCompute},
      {"void shale::stencil::star7_kernel<float, 32, 8>(int3, float const*, float*)",
       kComputeStream,
       {32, 8, 1},
       5'440,
       3,
       Bound::kMemory},
      {"void shale::precondition::triangular_solve_level_kernel<float, int>(shale::Csr<float, "
       "int>, "
       "int const*, float*)",
       kComputeStream,
       {128, 1, 1},
       0,
       6,
       Bound::kLatency},
      {"void shale::util::set_scalar_kernel<float>(float*, float)",
       kComputeStream,
       {32, 1, 1},
       0,
       5,
       Bound::kLatency},
  };

  static Launch Make(std::uint32_t kernel, std::uint64_t blocks, std::uint64_t median_ns) {
    return MakeLaunch(kTable[kernel], kernel, {blocks, 1, 1}, median_ns);
  }

  // Some kernels occur more than once per iteration; axpy occurs with two sizes.
  std::array<Launch, kPerIteration> launches_ = {
      Make(7, 1, 1'600),     Make(0, 4'096, 42'000), Make(1, 512, 6'400),    Make(2, 1, 2'900),
      Make(3, 1'024, 7'200), Make(3, 128, 2'600),    Make(5, 2'048, 18'500), Make(6, 64, 11'000),
      Make(6, 64, 11'000),   Make(4, 400, 55'000),   Make(1, 512, 6'400),    Make(2, 1, 2'900)};
  std::size_t at_ = 0;
};

}  // namespace stemtap::research
