// SPDX-License-Identifier: Apache-2.0
//
// The deny-list: kernels that are never captured, because they wait for others. A kernel that is
// slowed down, serialised or replayed on one GPU while its peers on other GPUs wait for it hangs
// the program, and all its ranks with it. The table is here, and there is no other: the gate in the
// program goes by it, and the collector asks no second pass for what that gate will not capture.
//
// A name that is denied by mistake costs little: its kernel is never captured, which the plan counts
// as uncovered time. One that is let through by mistake may cost the job; the watchdog is left then.
//
// THREADS: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stemtap::shm {
namespace deny_list {

enum class Letters : std::uint8_t {
  kExact,  // short words, which chance hits: "nccl" in another case is in asyncClusterCopy
  kAnyCase
};

struct Row {
  const char* part;  // of the name, mangled or not; lower case for kAnyCase
  Letters letters;
  const char* why;
};

inline constexpr const char* kNccl = "NCCL: it waits for other GPUs";
inline constexpr const char* kCollective = "a collective: it waits for other GPUs";
inline constexpr const char* kPeers = "it waits for other GPUs";

// Words are matched anywhere. Multi-word ones stand in both spellings, AllReduce and all_reduce.
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

// Why a kernel of this name must not be captured, as the end of a sentence; nullptr if it may be.
constexpr const char* WhyDenied(std::string_view symbol) noexcept {
  for (; !symbol.empty(); symbol.remove_prefix(1)) {
    for (const deny_list::Row& row : deny_list::kRows) {
      if (deny_list::StartsWith(symbol, row)) return row.why;
    }
  }
  return nullptr;
}

}  // namespace stemtap::shm
