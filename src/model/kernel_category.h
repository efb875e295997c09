// SPDX-License-Identifier: Apache-2.0
//
// KernelCategory is what a kernel computes, guessed from its name. The patterns cover the kernels
// of PyTorch, llama.cpp, cuDNN, cuBLAS, CUTLASS, FBGEMM, Triton, NCCL, RCCL, MIOpen, Composable
// Kernel, vLLM, SGLang, FlashInfer and FFmpeg; a kernel that a user named is kOther unless its name
// contains a common word.
// docs/formats/report.md has the table.
//
// THREADS: none; the functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stemtap::model {

enum class KernelCategory : std::uint8_t {
  kGemm,
  kConvolution,
  kAttention,
  kCommunication,
  kNormalization,
  kElementwise,
  kReduction,
  kCopy,
  kOther,
};
// Names in files.
inline constexpr const char* kKernelCategoryNames[] = {
    "gemm",        "convolution", "attention", "communication", "normalization",
    "elementwise", "reduction",   "copy",      "other"};
inline constexpr std::size_t kKernelCategories = 9;
constexpr const char* NameOf(KernelCategory category) {
  return kKernelCategoryNames[static_cast<std::size_t>(category)];
}

// Returns the category of the first rule that has a pattern in the function of `name`, or else in
// its namespaces and template arguments, ignoring the case of ASCII letters. Parameters have no
// influence. `name` may be mangled. O(length of the name * number of patterns).
KernelCategory CategoryOf(std::string_view name);

}  // namespace stemtap::model
