// SPDX-License-Identifier: Apache-2.0
//
// Alignment maps the launches of one run to the same launches of another run: same device, kernel
// name, grid, block, and shared memory, at the same position in the order.
//
// ORDER: Launches of different devices are never compared. The program determines the order within
// a stream, but not how streams interleave. The launches of a device are therefore compared in
// recorded order first and, if that differs, stream by stream. The comparison with fewer unpaired
// launches is used; on a tie, the comparison by stream.
//
// IDENTITY is a 64-bit hash: among a million distinct launch configurations, two collide with a
// probability of 3e-8. A property that is unknown for any launch of either run is not compared at
// all; `ignored` lists it. See docs/formats/align.md.
//
// UNITS: durations in ns.  THREADS: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/name_table.h"
#include "model/profile.h"

namespace stemtap::analysis {

// Fields that the source does not provide have the kUnknown... values of shm/record.h.
struct RunLaunch {
  std::uint64_t duration_ns = 0;
  std::uint32_t name_id = 0;  // into Run::names
  std::uint32_t stream = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t grid[3] = {0, 0, 0};
  std::uint16_t block[3] = {0, 0, 0};
  std::uint16_t device = 0;
};

// Run contains the data of a recorded run that alignment needs: name, configuration, device,
// stream, and duration of each launch in launch order, 40 bytes per launch.
struct Run {
  model::NameTable names;
  std::vector<RunLaunch> launches;
  std::vector<std::string> warnings;
};

// Reads the rest of `reader`. `source` is the name in error messages. A run with more than 2^31 - 2
// launches is an error, because launch indices have 32 bits here.
Result<Run> LoadRun(model::ProfileReader& reader, const std::string& source);

inline constexpr std::uint32_t kNoPartner = 0xFFFFFFFFu;

// LaunchOrder is the result of the comparison of one device.
enum class LaunchOrder {
  kIdentical,    // the same launches in the same order, on streams that correspond
  kInterleaved,  // the same in every stream, but the streams interleave differently
  kDifferent,
};

// KernelCount is a kernel of one device with its number of launches in each run.
struct KernelCount {
  std::string name;
  std::uint16_t device = 0;  // of run A, or of run B if run A does not use it; may be kUnknown16
  std::uint64_t count_a = 0;
  std::uint64_t count_b = 0;
  std::uint64_t duration_a_ns = 0;
  std::uint64_t duration_b_ns = 0;
};

struct DeviceAlignment {
  std::uint16_t device_a = 0;  // kUnknown16 if devices are unknown
  std::uint16_t device_b = 0;
  bool in_a = true;  // false: run A has no launches on it
  bool in_b = true;
  LaunchOrder order = LaunchOrder::kIdentical;
  bool by_stream = false;  // the pairs are from the comparison by stream
  std::uint64_t launches_a = 0;
  std::uint64_t launches_b = 0;
  std::uint64_t paired = 0;
  // The first difference in the order: positions in line_a and line_b, which contain the launch
  // indices of the device, or of the stream that differs. REQUIRES: order is not kIdentical.
  std::vector<std::uint32_t> line_a;
  std::vector<std::uint32_t> line_b;
  std::size_t first_a = 0;
  std::size_t first_b = 0;
};

struct Alignment {
  LaunchOrder order = LaunchOrder::kIdentical;  // the worst result of any device
  std::vector<DeviceAlignment> devices;         // ascending
  std::vector<std::uint32_t> partner_of_a;      // launch index in B, or kNoPartner
  std::vector<std::uint32_t> partner_of_b;
  std::uint64_t paired = 0;
  std::uint64_t only_in_a = 0;
  std::uint64_t only_in_b = 0;
  std::uint64_t kernels = 0;         // names in either run
  std::vector<KernelCount> differs;  // kernels whose counts differ, by descending time
  std::vector<std::string> ignored;  // properties that were not compared
  // Compiler suffixes were removed from names before the comparison, because the runs have no full
  // name in common. See ComparableName.
  bool names_cut = false;
};

// Returns a kernel name without the suffixes of compilers and disassemblers: " [clone ...]", "
// (.kd)", and ".kd".
std::string ComparableName(const std::string& name);

Alignment AlignRuns(const Run& a, const Run& b);

}  // namespace stemtap::analysis
