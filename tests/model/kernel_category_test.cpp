// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_category.h"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/importers/registry.h"
#include "support/shared_data.h"

namespace stemtap::model {
namespace {

using Category = KernelCategory;

TEST_CASE("names of real kernels have the expected category") {
  // Names from recorded profiles, truncated at the end.
  const std::pair<const char*, Category> known[] = {
      {"volta_sgemm_128x64_nt", Category::kGemm},
      {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", Category::kGemm},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x256_MI16x16x1", Category::kGemm},
      {"_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", Category::kGemm},
      {"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>", Category::kGemm},
      {"void ck::kernel_moe_gemm<ck::GridwiseMoeGemm<ck::tensor_layout::gemm>>", Category::kGemm},
      {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x1_tn_align8>"
       "(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x1_tn_align8::Params)",
       Category::kGemm},
      {"triton_tem_fused_addmm_relu_3", Category::kGemm},
      {"void cublasLt::epilogue::impl::globalKernel<8, 32, float, float>", Category::kGemm},
      {"volta_scudnn_128x64_relu_interior_nn_v1", Category::kConvolution},
      {"void fft2d_r2c_32x32<float, false, 1u, false>(float2*, float const*, int, "
       "cudnn::reduced_divisor, bool, int2)",
       Category::kConvolution},
      {"void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7>", Category::kConvolution},
      {"igemm_bwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x64x32", Category::kConvolution},
      {"sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32", Category::kConvolution},
      {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", Category::kAttention},
      {"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausal", Category::kAttention},
      {"void paged_attention_ll4mi_QKV_mfma16_kernel<0, (vllm::Fp8KVCacheDataType)0>",
       Category::kAttention},
      {"triton_tem_fused_flex_attention_0", Category::kAttention},
      {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", Category::kCommunication},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", Category::kCommunication},
      {"void vllm::cross_device_reduce_1stage<__half, 8>", Category::kCommunication},
      {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2>", Category::kNormalization},
      {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EEEvPT0_", Category::kNormalization},
      {"kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnorm", Category::kNormalization},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>",
       Category::kElementwise},
      {"triton_poi_fused_addmm_cat_gelu_view_25", Category::kElementwise},
      {"void rotary_embedding_kernel<c10::BFloat16, true>", Category::kElementwise},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", Category::kReduction},
      {"void (anonymous namespace)::softmax_warp_forward<float>", Category::kReduction},
      {"triton_red_fused__to_copy_add_addmm_mean_24", Category::kReduction},
      {"void cub::DeviceRadixSortOnesweepKernel<cub::Policy800>", Category::kReduction},
      {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>",
       Category::kCopy},
      {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>", Category::kCopy},
      {"void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>", Category::kCopy},
      {"void fbgemm_gpu::permute_2D_data_kernel<false, int, int>", Category::kCopy},
      {"void cudnn::ops::nchwToNhwcKernel<float, float, float>", Category::kCopy},
      {"triton_per_fused_native_layer_norm_5", Category::kReduction},
      {"triton_for_fused_0", Category::kElementwise},
      {"Subsample_Bilinear_yuv420p_yuv420p", Category::kElementwise},
      {"_float_to_bfloat16_cuda_kernel", Category::kCopy},
      // Only a template argument or a parameter has a word of another category.
      {"void moe::dev::finalize::finalizeKernel<KernelParams<cutlass::bfloat16_t, 4> >(Params)",
       Category::kReduction},
      {"void cub::DeviceReduceKernel<cub::ArgIndexInputIterator<float*, int> >(cublasParams)",
       Category::kReduction},
      {"void mine(cudnn::reduced_divisor)", Category::kOther},
      // An elementwise kernel of PyTorch has its operation in its arguments.
      {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)",
       Category::kCopy},
      {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
       "11FillFunctorIfEESt5arrayIPcLm1EEEEviT0"
       "_T1_",
       Category::kCopy},
      {"Fan2(float *, float *, float *, int, int, int)", Category::kOther},
      {"", Category::kOther},
  };
  for (const auto& [name, category] : known) {
    CAPTURE(name);
    CHECK(NameOf(CategoryOf(name)) == std::string(NameOf(category)));
  }
}

// Returns the share of the time of a recorded profile in each category.
std::array<double, kKernelCategories> SharesOf(const std::filesystem::path& file) {
  auto opened = formats::OpenProfile(file.string());
  REQUIRE_MESSAGE(opened.ok(), opened.error().message);
  ProfileReader& reader = *opened.value();
  ProfileBatch batch;
  std::map<std::uint32_t, double> by_name;
  double all = 0.0;
  for (;;) {
    const Result<std::size_t> read = reader.Read(batch, 16384);
    REQUIRE(read.ok());
    if (read.value() == 0) break;
    for (const shm::KernelRecord& record : batch.records) {
      by_name[record.name_id] += static_cast<double>(record.duration_ns);
      all += static_cast<double>(record.duration_ns);
    }
  }
  std::array<double, kKernelCategories> shares{};
  for (const auto& [id, duration_ns] : by_name) {
    shares[static_cast<std::size_t>(CategoryOf(reader.names().name(id)))] += duration_ns / all;
  }
  return shares;
}

TEST_CASE("nearly all of the time in deep-learning profiles has a category") {
  const auto profiles = SharedPath("data/profiles");
  STEMTAP_SKIP_WITHOUT(profiles);
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(profiles)) {
    const std::string name = entry.path().filename().string();
    bool learns = false;
    for (const char* family : {"deepseek", "hta_", "kineto_", "nsysai_", "param_",
                               "particle_transformer_bs16", "tracelens_", "triosim_"}) {
      learns = learns || name.starts_with(family);
    }
    if (!learns || !name.ends_with(".csv.gz")) continue;
    ++found;
    CAPTURE(name);
    const auto shares = SharesOf(entry.path());
    CHECK(shares[static_cast<std::size_t>(Category::kOther)] < 0.005);
    if (name.starts_with("hta_sampled_2rank")) {
      CHECK(shares[static_cast<std::size_t>(Category::kCommunication)] > 0.5);
    }
  }
  CHECK(found >= 20);
}

}  // namespace
}  // namespace stemtap::model
