// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_category.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "base/text.h"
#include "model/brief_name.h"
#include "model/graph_name.h"

namespace stemtap::model {
namespace {

using Category = KernelCategory;

constexpr std::size_t kMaxPatterns = 24;

// Rule lists patterns in lower case. A pattern that begins with ^ matches the start of the text.
struct Rule {
  Category category;
  std::array<std::string_view, kMaxPatterns> patterns;  // the rest is empty
};

// The first match wins, so the order separates names that contain several patterns: a fused Triton
// kernel lists the operations that it replaces, and an elementwise kernel of PyTorch may copy.
constexpr Rule kRules[] = {
    // Triton's kind of kernel (pointwise, for each, reduction, persistent reduction, split scan,
    // template). A template of attention has the name of the operation.
    {Category::kElementwise, {"^triton_poi", "^triton_for"}},
    {Category::kReduction, {"^triton_red", "^triton_per", "^triton_spl"}},
    {Category::kAttention, {"flex_attention", "flex_decoding"}},
    {Category::kGemm, {"^triton_mm", "^triton_tem", "^triton_bmm"}},

    {Category::kCommunication,
     {"nccl", "rccl", "nvshmem", "rocshmem", "symmetric_memory", "allreduce", "all_reduce",
      "allgather", "all_gather", "reducescatter", "reduce_scatter", "alltoall", "all_to_all",
      "cross_device_reduce", "sendrecv", "deep_ep", "deepep", "multimem_", "ggml_cuda_ar_"}},
    // Stores to a cache of keys and values, which is not attention.
    {Category::kCopy, {"reshape_and_cache", "store_kv", "append_paged", "copy_pages"}},
    {Category::kNormalization,
     {"rmsnorm", "rms_norm", "layernorm", "layer_norm", "batchnorm", "batch_norm", "groupnorm",
      "group_norm", "instancenorm", "instance_norm", "qknorm", "qk_norm", "weight_norm", "norm_f32",
      "bn_fw", "bn_bw"}},
    // PyTorch's steps of normalizations and of their gradients.
    {Category::kNormalization,
     {"gradgammabeta", "gammabeta", "rowwisemoments", "fusedparamscuda", "internalgradients"}},
    {Category::kAttention,
     {"attention", "attn", "fmha", "flash_fwd", "flash_bwd", "flash::", "splitkv", "sdpa", "mla_",
      "_mla", "rescale_qkv"}},
    // Recurrent forms of attention, and the choice of keys for it.
    {Category::kAttention, {"gated_delta_net", "rwkv_wkv", "lightning_indexer"}},
    {Category::kCopy,
     {"memcpy", "memset", "copy_kernel", "copy__", "batchedcopy", "copypacked", "fillfunctor",
      "fill_kernel", "convert", "^cpy_", "get_rows", "set_rows"}},
    // cuDNN has its own Fourier transforms for convolutions.
    {Category::kConvolution,
     {"convol",    "conv1d",     "conv2d",        "conv3d",     "conv_",      "_conv",
      "dgrad",     "wgrad",      "fprop",         "scudnn",     "winograd",   "igemm_fwd",
      "igemm_bwd", "igemm_wrw",  "implicit_gemm", "im2col",     "col2im",     "vol2col",
      "vol2im",    "fft1d_r2c_", "fft1d_c2r_",    "fft2d_r2c_", "fft2d_c2r_", "cask_cudnn::"}},
    {Category::kGemm,
     {"gemm", "gemv", "matmul", "mul_mat", "cijk_", "nvjet", "bmm_", "_mm_kernel", "splitkreduce",
      "cublas", "cutlass", "xmma", "epilogue::impl", "fused_moe", "semi_structured", "spmm",
      "csrmv", "csrmm"}},
    // Factorizations and triangular systems.
    {Category::kGemm,
     {"trsm", "trsv", "trmm", "getf2", "getrf", "potrf", "solve_tri", "batched_panel"}},
    {Category::kElementwise,
     {"elementwise", "_elemwise", "pointwise", "rotary", "rope", "multi_tensor_apply",
      "scalepackedtensor", "subtensorop", "bin_bcast", "unary_op", "unary_gated_op",
      "timestep_embed", "op_dense_", "op_intersection", "lstm_cell", "gru_cell"}},
    // Resampling of images and other filters of FFmpeg.
    {Category::kElementwise,
     {"upsample", "upscale", "grid_sampler", "^subsample_", "yadif", "bwdif", "^overlay_"}},
    // Reductions whose names also have a pattern of the copies below.
    {Category::kReduction,
     {"topk", "top_k", "kthvalue", "median", "argsort", "_scan_", "_loss", "max_pool"}},
    {Category::kCopy,
     {"transpose", "nchwtonhwc", "nhwctonchw", "permute", "gather", "scatter", "index", "_indices",
      "embedding", "concat", "copy", "_cat_", "pad_", "_pad", "roll_", "flip_", "swap", "dup_",
      "coalesce"}},
    // Copies of matrices and rows, conversions, and PyTorch's gradients of embeddings.
    {Category::kCopy,
     {"laswp", "laset", "lacpy", "krn_partial", "partial_segment", "compute_grad_weight",
      "_to_bfloat16", "bfloat16_to_"}},
    {Category::kReduction,
     {"reduc", "softmax", "soft_max", "argmax", "argmin", "sort", "scan", "cumsum", "histogram",
      "pool", "adaptive_average", "loss", "moments", "routing", "moe_align", "moe_sum", "finalize",
      "sampling", "unique"}},
    {Category::kReduction,
     {"multinomial", "lpnorm", "lpmax", "cdist", "pdist", "_sum_", "minmax", "compute_mode",
      "criterion", "count_equal", "thumbnail", "adaptivemax", "adaptiveaverage", "mm_ids_helper",
      "checkfornan"}},
    // Steps of scans, selections and segments in CUB, Thrust and PyTorch.
    {Category::kReduction,
     {"deviceselect", "partition", "adjacentdifference", "adjacent_difference", "block_sums",
      "transform_vals"}},
    {Category::kElementwise,
     {"relu", "gelu", "silu", "swiglu", "glu_", "sigmoid", "tanh", "act_and_mul", "activation",
      "dropout", "adam", "sgd", "quant", "_fp8", "cast", "clamp", "softcap", "snake", "xielu"}},
    {Category::kElementwise,
     {"distribution", "random",     "rand_uniform", "rand_normal", "philox",
      "triu_tril",    "tri_kernel", "diag_kernel",  "arange",      "mask",
      "bias",         "axpy",       "add_",         "mul_",        "scale_f32",
      "acc_f32",      "lascl",      "scal_kernel",  "renorm",      "cross_kernel"}},
    // Operations in template arguments that have no other pattern.
    {Category::kElementwise,
     {"for_each", "foreach", "parallel_for", "transform_kernel", "apply_kernel"}},
};

// Functions that apply an operation in their template arguments to each element. The operation can
// be a copy or part of a normalization.
constexpr std::string_view kWrappers[] = {"elementwise", "pointwiseapply"};

bool Matches(std::string_view text, std::string_view pattern) {
  if (pattern.front() == '^') return text.starts_with(pattern.substr(1));
  return text.find(pattern) != std::string_view::npos;
}

Category FirstMatch(std::string_view text) {
  for (const Rule& rule : kRules) {
    for (const std::string_view pattern : rule.patterns) {
      if (pattern.empty()) break;
      if (Matches(text, pattern)) return rule.category;
    }
  }
  return Category::kOther;
}

// Returns the name of the function in a brief name: all that is not in brackets.
std::string FunctionOf(std::string_view brief) {
  std::string function;
  int depth = 0;
  for (const char c : brief) {
    if (c == '<') ++depth;
    if (depth == 0) function += c;
    if (c == '>') depth = std::max(0, depth - 1);
  }
  return function;
}

bool IsWrapper(std::string_view function) {
  return std::any_of(std::begin(kWrappers), std::end(kWrappers),
                     [&](std::string_view wrapper) { return Matches(function, wrapper); });
}

// Returns the text in lower case, without the name of the library FBGEMM: many of its kernels are
// not matrix products.
std::string Searchable(std::string_view text) {
  std::string lower = LowerCase(text);
  constexpr std::string_view kLibrary = "fbgemm";
  for (std::size_t at = 0; (at = lower.find(kLibrary, at)) != std::string::npos;) {
    lower.erase(at, kLibrary.size());
  }
  return lower;
}

}  // namespace

KernelCategory CategoryOf(std::string_view name) {
  // A graph runs kernels of many categories.
  if (IsGraphName(name)) return Category::kOther;
  const std::string function = Searchable(FunctionOf(BriefName(name)));
  const Category category = IsWrapper(function) ? Category::kOther : FirstMatch(function);
  if (category != Category::kOther) return category;
  return FirstMatch(Searchable(BriefName(name, {.scopes = true})));
}

}  // namespace stemtap::model
