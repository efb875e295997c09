// SPDX-License-Identifier: Apache-2.0
//
// Writes the names of CUDA graphs, by which level graph calls them:
//
//   graph of 213 kernels, 24 x _Z8rms_normPKfPf #1a2b3c4d5e6f7081     by structure
//   graph 12 of process 4711 #5e6f7081                                by number
//
// src/model/graph_name.h reads these names.
//
// THREADS: none; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

// GraphSummary is what the name of a graph contains.
struct GraphSummary {
  std::uint64_t hash = 0;        // of the structure
  std::uint32_t kernels = 0;     // kernel nodes, also of child graphs
  std::uint32_t of_kernel = 0;   // nodes of the most frequent kernel
  const char* kernel = nullptr;  // its name; nullptr without kernels
};

// Maximum bytes of a kernel name in the name of a graph. A longer one ends in "...". With 160, the
// function and its first template arguments remain of the names of CUTLASS. If larger, the table of
// names takes more memory; if smaller, tables do not show what a graph does.
inline constexpr std::size_t kMaxKernelInGraphName = 160;

// Bytes of a buffer for the name of a graph. The rest of the text has at most 71 bytes.
inline constexpr std::size_t kGraphNameBytes = 240;

// Writes the name by structure. Returns its length.
std::uint32_t WriteGraphName(const GraphSummary& graph, char (&name)[kGraphNameBytes]) noexcept;

// Writes the name by number. `tag` distinguishes processes with equal ids. Returns its length.
std::uint32_t WriteGraphNumber(std::uint32_t graph_id, std::int32_t pid, std::uint32_t tag,
                               char (&name)[kGraphNameBytes]) noexcept;

// Returns how many of the first `max_bytes` bytes of a kernel name to keep: complete characters,
// and complete identifiers of a mangled name, so that its brief name has no parts of words.
std::size_t CutKernelName(const char* name, std::size_t length, std::size_t max_bytes) noexcept;

}  // namespace stemtap::inject
