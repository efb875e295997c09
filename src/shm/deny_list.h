// SPDX-License-Identifier: Apache-2.0
//
// The deny list contains kernels that are never captured, because they wait for kernels on other
// GPUs. If such a kernel is slowed down, serialized or replayed while its peers wait for it, all
// ranks of the program hang. This is the only such table: the gate in the traced process uses it,
// and the collector does not request a second pass for kernels that the gate does not capture.
//
// A false match is cheap: the kernel is never captured, and the plan counts its time as uncovered.
// A missing match can hang the job; then only the watchdog remains.
//
// THREADS: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stemtap::shm {
namespace deny_list {

enum class Letters : std::uint8_t {
  kExact,  // for short words: asyncClusterCopy contains "nccl" in another case
  kAnyCase
};

struct Row {
  const char* part;  // substring of the name, mangled or not; lower case for kAnyCase
  Letters letters;
  const char* why;
};

inline constexpr const char* kNccl = "NCCL: it waits for other GPUs";
inline constexpr const char* kCollective = "a collective: it waits for other GPUs";
inline constexpr const char* kPeers = "it waits for other GPUs";

// Matches are substrings. Multi-word terms are listed in both spellings, AllReduce and all_reduce.
inline constexpr Row kRows[] = {
    {"nccl", Letters::kExact, kNccl},
    {"NCCL", Letters::kExact, kNccl},
    {"Nccl", Letters::kExact, kNccl},
    {"nvshmem", Letters::kAnyCase, "NVSHMEM: it waits for other GPUs"},
    // MSCCL, MSCCL++
    {"mscclpp", Letters::kAnyCase, kCollective},
    {"msccl", Letters::kExact, kCollective},
    // TensorRT-LLM, FasterTransformer, FlashInfer, PyTorch's symmetric memory
    {"allreduce", Letters::kAnyCase, kCollective},
    {"all_reduce", Letters::kAnyCase, kCollective},
    {"allgather", Letters::kAnyCase, kCollective},
    {"all_gather", Letters::kAnyCase, kCollective},
    {"alltoall", Letters::kAnyCase, kCollective},
    {"all_to_all", Letters::kAnyCase, kCollective},
    {"reducescatter", Letters::kAnyCase, kCollective},
    {"reduce_scatter", Letters::kAnyCase, kCollective},
    {"cross_device_reduce", Letters::kAnyCase, kCollective},  // vLLM, SGLang
    {"symmetric_memory", Letters::kAnyCase, kPeers},          // c10d: barriers and signals
    {"multimem", Letters::kAnyCase, kPeers},                  // NVLink multicast
    {"userbuffers", Letters::kAnyCase, kPeers},               // Transformer Engine
    {"deep_ep", Letters::kAnyCase, kPeers},                   // DeepEP: dispatch, combine
};

constexpr char Lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool StartsWith(std::string_view text, const Row& row) noexcept {
  for (std::size_t i = 0; row.part[i] != 0; ++i) {
    if (i == text.size()) return false;
    const char c = row.letters == Letters::kAnyCase ? Lower(text[i]) : text[i];
    if (c != row.part[i]) return false;
  }
  return true;
}

}  // namespace deny_list

// Returns why a kernel of this name must not be captured, as the end of a sentence, or nullptr if
// it may be captured.
constexpr const char* WhyDenied(std::string_view symbol) noexcept {
  for (; !symbol.empty(); symbol.remove_prefix(1)) {
    for (const deny_list::Row& row : deny_list::kRows) {
      if (deny_list::StartsWith(symbol, row)) return row.why;
    }
  }
  return nullptr;
}

}  // namespace stemtap::shm
