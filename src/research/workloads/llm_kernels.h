// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the synthetic language models (llm-decode, llm-serve).
#pragma once

#include <cstdint>

#include "research/workloads/launch.h"

namespace stemtap::research {

inline constexpr std::uint32_t kLlmCopyStream = 13;

enum KernelKind : std::uint8_t {
  kEmbedding,
  kLayerNorm,
  kGemmPrefill,
  kGemmDecode,
  kRope,
  kKvAppend,
  kKvPageCopy,
  kAttentionPrefill,
  kAttentionDecode,
  kAttentionReduce,
  kResidual,
  kGelu,
  kSoftmax,
  kArgmax,
  kKernelKinds
};

// The names are fictitious and imitate the length and style of template-heavy libraries.
inline constexpr Kernel kLlmKernels[kKernelKinds] = {
    {"void quarry::nn::embedding_gather_kernel<quarry::half_t, int, 8>(quarry::TensorView<"
     "quarry::half_t const, 2>, quarry::TensorView<int const, 1>, "
     "quarry::TensorView<quarry::half_t, "
     "2>, int)",
     kComputeStream,
     {256, 1, 1},
     0,
     4,
     Bound::kMemory},
    {"void quarry::nn::layer_norm_rows_kernel<quarry::half_t, float, 8, "
     "quarry::reduce::WarpThenBlock<float, 8> >(quarry::TensorView<quarry::half_t const, 2>, "
     "quarry::TensorView<float const, 1>, quarry::TensorView<float const, 1>, float, "
     "quarry::TensorView<quarry::half_t, 2>)",
     kComputeStream,
     {256, 1, 1},
     1'088,
     3,
     Bound::kMemory},
    {"void basalt::gemm::PipelinedKernel<basalt::gemm::Mainloop<basalt::Tile<128, 128, 64>, "
     "basalt::WarpGrid<2, 4, 1>, basalt::half_t, basalt::RowMajor, basalt::half_t, "
     "basalt::ColumnMajor, float, basalt::AsyncCopyStages<4> >, basalt::gemm::EpilogueLinear<"
     "basalt::half_t, 8, float, basalt::epilogue::Identity>, basalt::gemm::SwizzledTiles<8> >("
     "basalt::gemm::PipelinedKernel<basalt::gemm::Mainloop<basalt::Tile<128, 128, 64>, "
     "basalt::WarpGrid<2, 4, 1>, basalt::half_t, basalt::RowMajor, basalt::half_t, "
     "basalt::ColumnMajor, float, basalt::AsyncCopyStages<4> >, basalt::gemm::EpilogueLinear<"
     "basalt::half_t, 8, float, basalt::epilogue::Identity>, basalt::gemm::SwizzledTiles<8> "
     ">::Params)",
     kComputeStream,
     {256, 1, 1},
     131'072,
     1,
     Bound::kCompute},
    {"void basalt::gemv::SkinnyKernel<basalt::gemv::Rows<1>, basalt::Tile<1, 64, 512>, "
     "basalt::half_t, basalt::half_t, float, basalt::gemv::WeightStream<basalt::half_t, 16, "
     "basalt::CacheHint::EvictFirst>, basalt::epilogue::Identity>(basalt::gemv::Problem, "
     "basalt::half_t const*, basalt::half_t const*, basalt::half_t*, float, float)",
     kComputeStream,
     {128, 1, 1},
     16'896,
     2,
     Bound::kMemory},
    {"void quarry::nn::rotary_embedding_kernel<quarry::half_t, 128, true>(quarry::TensorView<"
     "quarry::half_t, 3>, quarry::TensorView<quarry::half_t, 3>, quarry::TensorView<float const, "
     "2>, "
     "int const*)",
     kComputeStream,
     {64, 2, 1},
     0,
     3,
     Bound::kMemory},
    {"void quarry::kvcache::append_paged_kernel<quarry::half_t, 16, "
     "128>(quarry::kvcache::PageTable<"
     "quarry::half_t, 16>, quarry::TensorView<quarry::half_t const, 3>, quarry::TensorView<"
     "quarry::half_t const, 3>, int const*)",
     kComputeStream,
     {128, 1, 1},
     0,
     4,
     Bound::kLatency},
    {"void quarry::kvcache::copy_pages_kernel<quarry::half_t, 16, "
     "uint4>(quarry::kvcache::PageTable<"
     "quarry::half_t, 16>, quarry::kvcache::PageTable<quarry::half_t, 16>, int2 const*, int)",
     kLlmCopyStream,
     {512, 1, 1},
     0,
     5,
     Bound::kMemory},
    {"void basalt::attention::FusedForward<basalt::attention::Shape<128, 128, 128>, "
     "basalt::half_t, "
     "float, basalt::attention::CausalMask, basalt::attention::OnlineSoftmax<float, true>, "
     "basalt::attention::PagedKeys<16>, 8>(basalt::attention::ForwardParams)",
     kComputeStream,
     {256, 1, 1},
     98'304,
     2,
     Bound::kCompute},
    {"void basalt::attention::SplitDecode<basalt::attention::Shape<1, 64, 128>, basalt::half_t, "
     "float, basalt::attention::NoMask, basalt::attention::OnlineSoftmax<float, true>, "
     "basalt::attention::PagedKeys<16>, 4>(basalt::attention::DecodeParams)",
     kComputeStream,
     {128, 1, 1},
     36'864,
     3,
     Bound::kMemory},
    {"void basalt::attention::CombineSplits<basalt::half_t, float, 128, 32>(float const*, float "
     "const*, basalt::half_t*, int, int)",
     kComputeStream,
     {128, 1, 1},
     512,
     4,
     Bound::kLatency},
    {"void quarry::pointwise::vectorized_kernel<8, quarry::pointwise::AddInto<quarry::half_t>, "
     "quarry::Pack<quarry::half_t*, 2> >(int, quarry::pointwise::AddInto<quarry::half_t>, "
     "quarry::Pack<quarry::half_t*, 2>)",
     kComputeStream,
     {128, 1, 1},
     0,
     4,
     Bound::kMemory},
    {"void quarry::pointwise::vectorized_kernel<8, quarry::pointwise::GeluTanh<quarry::half_t, "
     "float>, quarry::Pack<quarry::half_t*, 2> >(int, quarry::pointwise::GeluTanh<quarry::half_t, "
     "float>, quarry::Pack<quarry::half_t*, 2>)",
     kComputeStream,
     {128, 1, 1},
     0,
     4,
     Bound::kMemory},
    {"void quarry::sample::softmax_with_temperature_kernel<quarry::half_t, float, 1024>("
     "quarry::TensorView<quarry::half_t const, 2>, float, quarry::TensorView<float, 2>)",
     kComputeStream,
     {1024, 1, 1},
     4'224,
     3,
     Bound::kLatency},
    {"void quarry::reduce::block_arg_reduce_kernel<float, long, quarry::reduce::ArgMax<float, "
     "long>, "
     "1024>(quarry::TensorView<float const, 2>, quarry::TensorView<long, 1>)",
     kComputeStream,
     {1024, 1, 1},
     12'288,
     5,
     Bound::kLatency},
};

}  // namespace stemtap::research
