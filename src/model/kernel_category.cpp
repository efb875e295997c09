// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_category.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace stemtap::model {
namespace {

using Category = KernelCategory;

constexpr std::size_t kMaxPatterns = 32;

// Rule lists patterns in lower case. A pattern that begins with ^ matches the start of the name.
struct Rule {
  Category category;
  std::array<std::string_view, kMaxPatterns> patterns;  // the rest is empty
};

// The first match wins, so the order separates names that contain several patterns: a fused Triton
// kernel lists the operations that it replaces, and an elementwise kernel of PyTorch may copy.
constexpr Rule kRules[] = {
    // Triton's kind of kernel (pointwise, reduction, persistent reduction, template).
    {Category::kElementwise, {"^triton_poi"}},
    {Category::kReduction, {"^triton_red", "^triton_per"}},
    {Category::kGemm, {"^triton_mm", "^triton_tem", "^triton_bmm"}},
    {Category::kCommunication,
     {"nccl", "rccl", "nvshmem", "rocshmem", "allreduce", "all_reduce", "allgather", "all_gather",
      "reducescatter", "reduce_scatter", "alltoall", "all_to_all", "cross_device_reduce",
      "sendrecv", "deep_ep", "deepep"}},
    // Stores to a cache of keys and values, which is not attention.
    {Category::kCopy, {"reshape_and_cache", "store_kv", "append_paged", "copy_pages"}},
    {Category::kNormalization,
     {"rmsnorm", "rms_norm", "layernorm", "layer_norm", "batchnorm", "batch_norm", "groupnorm",
      "group_norm", "instancenorm", "instance_norm", "qknorm", "qk_norm", "bn_fw", "bn_bw",
      "gradgammabeta", "gammabetabackward", "rowwisemoments"}},
    {Category::kAttention,
     {"attention", "attn", "fmha", "flash_fwd", "flash_bwd", "flash::", "splitkv", "sdpa", "mla_",
      "_mla"}},
    {Category::kCopy,
     {"memcpy", "memset", "copy_kernel", "copy__", "batchedcopy", "copypacked", "fillfunctor",
      "fill_kernel", "convert"}},
    {Category::kConvolution,
     {"convol", "conv1d", "conv2d", "conv3d", "conv_", "_conv", "dgrad", "wgrad", "fprop", "scudnn",
      "winograd", "igemm_fwd", "igemm_bwd", "igemm_wrw", "implicit_gemm", "im2col", "col2im"}},
    {Category::kGemm,
     {"gemm", "gemv", "matmul", "cijk_", "nvjet", "bmm_", "_mm_kernel", "splitkreduce", "cublas",
      "cutlass", "xmma", "fused_moe"}},
    {Category::kElementwise,
     {"elementwise", "pointwise", "rotary", "rope", "multi_tensor_apply", "scalepackedtensor",
      "subtensorop"}},
    {Category::kCopy,
     {"transpose", "nchwtonhwc", "nhwctonchw", "permute", "gather", "scatter", "index", "_indices",
      "embedding", "concat", "copy", "_cat_", "pad_", "roll_", "flip_"}},
    {Category::kReduction,
     {"reduc",    "softmax", "argmax",  "argmin",    "topk",    "top_k",
      "sort",     "scan",    "cumsum",  "histogram", "pool",    "adaptive_average",
      "loss",     "moments", "routing", "moe_align", "moe_sum", "finalize",
      "sampling", "unique"}},
    {Category::kElementwise,
     {"relu",    "gelu",   "silu",      "swiglu", "sigmoid", "tanh", "act_and_mul", "activation",
      "dropout", "adam",   "sgd",       "quant",  "_fp8",    "cast", "clamp",       "distribution",
      "random",  "philox", "triu_tril", "mask",   "bias",    "axpy", "add_",        "mul_"}},
};

bool Matches(std::string_view name, std::string_view pattern) {
  if (pattern.front() == '^') return name.starts_with(pattern.substr(1));
  return name.find(pattern) != std::string_view::npos;
}

}  // namespace

KernelCategory CategoryOf(std::string_view name) {
  std::string lower = LowerCase(name);
  // Kernels of the library FBGEMM are often not matrix products, although its namespace matches.
  constexpr std::string_view kLibrary = "fbgemm";
  for (std::size_t at = 0; (at = lower.find(kLibrary, at)) != std::string::npos;) {
    lower.erase(at, kLibrary.size());
  }
  for (const Rule& rule : kRules) {
    for (const std::string_view pattern : rule.patterns) {
      if (pattern.empty()) break;
      if (Matches(lower, pattern)) return rule.category;
    }
  }
  return Category::kOther;
}

}  // namespace stemtap::model
