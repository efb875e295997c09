// SPDX-License-Identifier: Apache-2.0
//
// Decodes the part of a CUPTI kernel record whose layout has not changed since CUDA 10.1. Records
// of CUDA 10.1 to 13.x are read alike, whichever header the library was built with. Pure functions
// over bytes.
//
//   off 16 start   24 end   40 device   48 stream   52 grid   64 block   76 static shared
//       80 dynamic shared   92 correlation   104 name   144 graph node (CUDA 11.0 on)
//       156 graph (CUDA 11.1 on)
//
// Graph launches timed as one (CUDA 11.7 on):
//
//   off 4 correlation    8 start   16 end   24 device   28 graph   36 stream
//
// CUPTI's own overhead:
//
//   off 4 kind          24 start   32 end
//
// static_asserts in cupti_api.cpp check the offsets against the headers of the build.
//
// THREADS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "shm/record.h"

namespace stemtap::inject {

inline constexpr std::size_t kOffsetStart = 16;
inline constexpr std::size_t kOffsetEnd = 24;
inline constexpr std::size_t kOffsetDevice = 40;
inline constexpr std::size_t kOffsetStream = 48;
inline constexpr std::size_t kOffsetGrid = 52;
inline constexpr std::size_t kOffsetBlock = 64;
inline constexpr std::size_t kOffsetStaticShared = 76;
inline constexpr std::size_t kOffsetDynamicShared = 80;
inline constexpr std::size_t kOffsetCorrelation = 92;
inline constexpr std::size_t kOffsetName = 104;
inline constexpr std::size_t kOffsetGraphNode = 144;
inline constexpr std::size_t kOffsetGraph = 156;

inline constexpr std::size_t kOffsetGraphCorrelation = 4;
inline constexpr std::size_t kOffsetGraphStart = 8;
inline constexpr std::size_t kOffsetGraphEnd = 16;
inline constexpr std::size_t kOffsetGraphDevice = 24;
inline constexpr std::size_t kOffsetGraphGraph = 28;
inline constexpr std::size_t kOffsetGraphStream = 36;

inline constexpr std::size_t kOffsetOverheadKind = 4;
inline constexpr std::size_t kOffsetOverheadStart = 24;
inline constexpr std::size_t kOffsetOverheadEnd = 32;
inline constexpr std::uint32_t kOverheadFlush = 1u << 16;
inline constexpr std::uint32_t kOverheadInstrumentation = 2u << 16;
inline constexpr std::uint32_t kOverheadResource = 3u << 16;

enum class Decoded {
  kKernel,
  kNoTimestamps,   // start == end == 0
  kIncomplete,     // end == 0: the kernel was still running
  kBadTimestamps,  // end < start
};

template <typename T>
void LoadField(const void* record, std::size_t offset, T& into) noexcept {
  // Records are only 8-byte aligned and packed.
  std::memcpy(&into, static_cast<const unsigned char*>(record) + offset, sizeof(into));
}

inline std::uint16_t DeviceNumber(std::uint32_t device) noexcept {
  return device < shm::kUnknown16 ? static_cast<std::uint16_t>(device) : shm::kUnknown16;
}

inline Decoded CheckTimes(std::uint64_t start, std::uint64_t end) noexcept {
  if (end == 0) return start == 0 ? Decoded::kNoTimestamps : Decoded::kIncomplete;
  return end < start ? Decoded::kBadTimestamps : Decoded::kKernel;
}

// Decodes a kernel record. Fills all of `out` except name_id, even if the times are invalid (then
// duration_ns is meaningless), because a captured launch is recognized by its correlation id.
// `name` points into CUPTI's memory and is valid until the buffer's callback returns. `has_graph`
// means that the record contains the graph fields. REQUIRES: `record` is a kernel record of at
// least 144 bytes (160 with has_graph).
inline Decoded DecodeKernel(const void* record, bool has_graph, shm::KernelRecord& out,
                            const char*& name) noexcept {
  const auto load = [record](std::size_t offset, auto& into) { LoadField(record, offset, into); };
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  load(kOffsetStart, start);
  load(kOffsetEnd, end);
  out = shm::KernelRecord{};
  out.start_ns = start;
  out.duration_ns = end - start;
  std::uint32_t device = 0;
  load(kOffsetDevice, device);
  out.device = DeviceNumber(device);
  load(kOffsetStream, out.stream);
  load(kOffsetGrid, out.grid);
  std::uint32_t block[3];
  load(kOffsetBlock, block);
  for (int i = 0; i < 3; ++i) out.block[i] = static_cast<std::uint16_t>(block[i]);  // CUDA: <= 1024
  std::uint32_t static_shared = 0;
  std::uint32_t dynamic_shared = 0;
  load(kOffsetStaticShared, static_shared);
  load(kOffsetDynamicShared, dynamic_shared);
  out.shared_bytes = static_shared + dynamic_shared;
  load(kOffsetCorrelation, out.correlation_id);
  load(kOffsetName, name);
  if (has_graph) {
    std::uint64_t node = 0;
    load(kOffsetGraphNode, node);
    load(kOffsetGraph, out.graph_id);
    out.graph_node = static_cast<std::uint32_t>(node);
  }
  return CheckTimes(start, end);
}

// Decodes a graph launch timed as one. It has no grid or block, and its only name is the graph id.
inline Decoded DecodeGraph(const void* record, shm::KernelRecord& out) noexcept {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t device = 0;
  out = shm::KernelRecord{};
  LoadField(record, kOffsetGraphStart, start);
  LoadField(record, kOffsetGraphEnd, end);
  LoadField(record, kOffsetGraphDevice, device);
  LoadField(record, kOffsetGraphCorrelation, out.correlation_id);
  LoadField(record, kOffsetGraphGraph, out.graph_id);
  LoadField(record, kOffsetGraphStream, out.stream);
  out.flags = shm::kFlagGraph;
  out.start_ns = start;
  out.duration_ns = end - start;
  out.device = DeviceNumber(device);
  out.shared_bytes = shm::kUnknown32;
  return CheckTimes(start, end);
}

// Returns the overhead in ns that CUPTI reports for its instrumentation, its flushes, and its work
// when contexts and modules are created. Other records (the driver's compiler, lazy loading)
// describe costs that exist without CUPTI. Buffer requests are timed by DurationEngine.
inline std::uint64_t DecodeOverhead(const void* record) noexcept {
  std::uint32_t kind = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  LoadField(record, kOffsetOverheadKind, kind);
  LoadField(record, kOffsetOverheadStart, start);
  LoadField(record, kOffsetOverheadEnd, end);
  const bool ours =
      kind == kOverheadFlush || kind == kOverheadInstrumentation || kind == kOverheadResource;
  return ours && end > start ? end - start : 0;
}

// Returns whether a decoded record can be a kernel or a graph. Applied to the first records of an
// unknown newer CUPTI: if a field had moved, some record would fail the check.
inline bool LooksRight(const shm::KernelRecord& kernel) noexcept {
  constexpr std::uint64_t kHour = 3'600'000'000'000;
  constexpr std::uint32_t kMaxDevices = 1024;
  constexpr std::uint32_t kMaxThreads = 1024;  // per block, since CUDA 2.0
  if (kernel.correlation_id == 0 || kernel.device >= kMaxDevices) return false;
  if (kernel.duration_ns > kHour) return false;
  if ((kernel.flags & shm::kFlagGraph) != 0) return true;
  std::uint32_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (kernel.grid[i] == 0 || kernel.grid[i] > 0x7FFFFFFF) return false;
    if (kernel.block[i] == 0 || kernel.block[i] > kMaxThreads) return false;
    threads *= kernel.block[i];
    if (threads > kMaxThreads) return false;
  }
  return true;
}

}  // namespace stemtap::inject
