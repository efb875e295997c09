// SPDX-License-Identifier: Apache-2.0
//
// Decodes the part of a CUPTI kernel record that has kept its place since CUDA 10.1: whatever
// header we were built with, records of CUDA 10.1 to 13.x are read alike. Pure functions over
// bytes.
//
//   off 16 start   24 end   40 device   48 stream   52 grid   64 block   76 static   80 dynamic shared
//      92 correlation   104 name        144 graph node (CUDA 11.0 on)   156 graph (CUDA 11.1 on)
//
// Of a graph launch timed as one (CUDA 11.7 on):
//
//   off 4 correlation    8 start   16 end   24 device   28 graph   36 stream
//
// Of what CUPTI says that it cost:
//
//   off 4 kind          24 start   32 end
//
// Checked against the headers of the build by static_assert in cupti_api.cpp.
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
  kIncomplete,     // end == 0: it was still running
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

// Fills all of `out` but name_id, whatever the times are (then duration_ns means nothing): a
// captured launch is recognised by its correlation id even if its record is of no use. `name` stays
// CUPTI's and is valid until the buffer's callback returns. `has_graph`: the record is long enough
// for the graph fields. REQUIRES: `record` is a kernel record of at least 144 bytes (160 with
// has_graph).
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

// As DecodeKernel, of a graph launch timed as one: it has no shape, and no name but its number.
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

// What CUPTI says that it cost the program, in ns: its instrumentation, its flushes and what it does
// when contexts and modules are made. The rest of what these records tell of (the driver's compiler,
// lazy loading) would have been there without it, and buffer requests we time ourselves.
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

// Whether what was decoded may be a kernel, or a graph, at all. Asked for the first records of a CUPTI that is
// newer than any known one: if a field had moved, one of these would hardly hold.
inline bool LooksRight(const shm::KernelRecord& kernel) noexcept {
  constexpr std::uint64_t kHour = 3'600'000'000'000;
  constexpr std::uint32_t kMostDevices = 1024;
  constexpr std::uint32_t kMostThreads = 1024;  // per block, since CUDA 2.0
  if (kernel.correlation_id == 0 || kernel.device >= kMostDevices) return false;
  if (kernel.duration_ns > kHour) return false;
  if ((kernel.flags & shm::kFlagGraph) != 0) return true;
  std::uint32_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (kernel.grid[i] == 0 || kernel.grid[i] > 0x7FFFFFFF) return false;
    if (kernel.block[i] == 0 || kernel.block[i] > kMostThreads) return false;
    threads *= kernel.block[i];
    if (threads > kMostThreads) return false;
  }
  return true;
}

}  // namespace stemtap::inject
