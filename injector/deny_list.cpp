// SPDX-License-Identifier: Apache-2.0
#include "deny_list.h"

#include <cstddef>
#include <cstdint>

namespace stemtap::inject {
namespace {

enum class Letters : std::uint8_t {
  kExact,  // short words, which chance hits: "nccl" in another case is in asyncClusterCopy
  kAnyCase
};

struct Row {
  const char* part;  // of the name, mangled or not; lower case for kAnyCase
  Letters letters;
  const char* why;
};

constexpr const char* kNccl = "NCCL: it waits for other GPUs";
constexpr const char* kCollective = "a collective: it waits for other GPUs";
constexpr const char* kPeers = "it waits for other GPUs";

// Words are matched anywhere. Multi-word ones stand in both spellings, AllReduce and all_reduce.
constexpr Row kRows[] = {
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

char Lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool StartsWith(const char* text, const Row& row) noexcept {
  for (std::size_t i = 0; row.part[i] != 0; ++i) {
    const char c = row.letters == Letters::kAnyCase ? Lower(text[i]) : text[i];
    if (c != row.part[i]) return false;  // the end of the text included
  }
  return true;
}

}  // namespace

const char* WhyDenied(const char* symbol) noexcept {
  for (const char* at = symbol; *at != 0; ++at) {
    for (const Row& row : kRows) {
      if (StartsWith(at, row)) return row.why;
    }
  }
  return nullptr;
}

}  // namespace stemtap::inject
