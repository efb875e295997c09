// SPDX-License-Identifier: Apache-2.0
//
// Alignment says which launch of one run is the same launch in another: same device, kernel name, grid,
// block and shared memory, in the same place of the order.
//
// ORDER: launches of different devices are never compared. The order within a stream is the program's;
// how streams interleave is not. So a device's launches are compared in the order recorded first, and
// where that differs stream by stream; the one that leaves fewer launches unpaired is kept, the streams
// when equal.
//
// IDENTITY is held to 64 bits: two of a million different shapes of launch collide with probability
// 3e-8. A property that either run does not know of some launch is compared nowhere; `ignored` says so.
// See docs/formats/align.md.
//
// UNITS: durations in ns.  THREADS: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/alignment/run.h"

namespace stemtap {

inline constexpr std::uint32_t kNoPartner = 0xFFFFFFFFu;

// How the launches of a device compare.
enum class LaunchOrder {
  kIdentical,    // the same launches in the same order, on streams that correspond
  kInterleaved,  // the same in every stream; only how streams interleave differs
  kDifferent,
};

// A kernel of one device, and how often each run launches it.
struct KernelCount {
  std::string name;
  std::uint16_t device = 0;  // of run A, or of B where A has no such device; kUnknown16
  std::uint64_t count_a = 0;
  std::uint64_t count_b = 0;
  std::uint64_t duration_a_ns = 0;
  std::uint64_t duration_b_ns = 0;
};

struct DeviceAlignment {
  std::uint16_t device_a = 0;  // kUnknown16 where devices are not known
  std::uint16_t device_b = 0;
  bool in_a = true;  // false: run A has no launch on it; its numbers are those of B
  bool in_b = true;
  LaunchOrder order = LaunchOrder::kIdentical;
  bool by_stream = false;  // the pairs were found stream by stream
  std::uint64_t launches_a = 0;
  std::uint64_t launches_b = 0;
  std::uint64_t paired = 0;
  // Where the order first differs: positions in line_a and line_b, which hold the launch indices of
  // the device, or of the stream that differs, in order. REQUIRES: order is not kIdentical.
  std::vector<std::uint32_t> line_a;
  std::vector<std::uint32_t> line_b;
  std::size_t first_a = 0;
  std::size_t first_b = 0;
};

struct Alignment {
  LaunchOrder order = LaunchOrder::kIdentical;  // the worst of the devices'
  std::vector<DeviceAlignment> devices;         // ascending
  std::vector<std::uint32_t> partner_of_a;      // launch index in B, or kNoPartner
  std::vector<std::uint32_t> partner_of_b;
  std::uint64_t paired = 0;
  std::uint64_t only_in_a = 0;
  std::uint64_t only_in_b = 0;
  std::uint64_t kernels = 0;         // names, in either run
  std::vector<KernelCount> differs;  // kernels of nondeterministic count, most time first
  std::vector<std::string> ignored;  // properties that were compared nowhere
  // Names were cut before they were compared, since no whole name was common: see ComparableName.
  bool names_cut = false;
};

// A kernel's name without the marks that compilers and disassemblers put behind it: " [clone ...]",
// " (.kd)" and ".kd".
std::string ComparableName(const std::string& name);

Alignment AlignRuns(const Run& a, const Run& b);

}  // namespace stemtap
