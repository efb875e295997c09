// SPDX-License-Identifier: Apache-2.0
#include "shm/deny_list.h"

#include <doctest/doctest.h>

#include <string>

namespace stemtap::shm {
namespace {

TEST_CASE("kernels that wait for other GPUs are denied in any spelling") {
  for (const char* name :
       {// NCCL
        "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "_Z40ncclDevKernel_AllGather_RING_LL_NvlsSharp",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "NCCL_Broadcast", "void my_NcclThing<int>()",
        // NVSHMEM
        "_Z6nvshmemx_barrier", "NVSHMEMI_transfer_rma", "void nvshmemi_proxy()",
        // vLLM and SGLang
        "_ZN4vllm24cross_device_reduce_1stageI6__halfLi2EEEvPNS_8RankDataE",
        "void vllm::cross_device_reduce_2stage<float, 8>(vllm::RankData*)",
        // TensorRT-LLM, FasterTransformer, FlashInfer
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, true>()",
        "void twoShotAllReduceKernel<float>()", "_ZN8ar_fusion32allreduce_fusion_kernel_oneshot",
        "moeAllToAllKernel", "ALLREDUCE", "lowPrecisionAllReduce",
        // PyTorch
        "void c10d::symmetric_memory::barrier_kernel<32>()", "multimem_all_reduce_kernel",
        "two_shot_all_reduce_kernel", "reduce_scatter_out_kernel", "void ReduceScatterRing()",
        "all_gather_into_tensor_kernel",
        // Transformer Engine, DeepEP, MSCCL
        "userbuffers_fp16_sum_inplace_gpu_mc_rs", "void deep_ep::intranode::dispatch<8>()",
        "mscclKernel_Sum_half_LL", "mscclpp::putPackets", "allreduce"}) {
    CAPTURE(std::string(name));
    CHECK(WhyDenied(name) != nullptr);
  }
}

TEST_CASE("kernels that do not wait for other GPUs are not denied") {
  for (const char* name :
       {"", "n", "ncc", "allreduc", "void gemm<128>()", "asyncClusterCopy", "async_cluster_copy",
        "syncClear", "void reduce<float, 256>(float const*, float*, int)", "_Z9softmax_fPKfPfi",
        "at::native::reduce_kernel<512, 1, ReduceOp<float>>", "scatter_reduce_two_pass",
        "void gather_all_rows()", "void at::native::index_elementwise_kernel", "smem_multi",
        "warpReduceAll", "device_reduce_kernel", "cub::DeviceReduceKernel"}) {
    CAPTURE(std::string(name));
    CHECK(WhyDenied(name) == nullptr);
  }
}

TEST_CASE("the reason contains the library of the kernel and that it waits for other GPUs") {
  CHECK(std::string(WhyDenied("ncclDevKernel_AllReduce")) == "NCCL: it waits for other GPUs");
  CHECK(std::string(WhyDenied("vllm::cross_device_reduce")) ==
        "a collective: it waits for other GPUs");
}

}  // namespace
}  // namespace stemtap::shm
