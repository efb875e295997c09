// SPDX-License-Identifier: Apache-2.0
//
// DeviceUse computes the utilization of each device of each process: its launches, the sum of their
// durations, and its busy time, which is the length of the union of their intervals [start, end).
// It also counts the launches and durations of each stream. Concurrent kernels count twice in the
// sum and once in the busy time.
//
// Launches may be slightly out of order. A device keeps the last 64 to 128 busy intervals. A launch
// that begins before all of them is counted only from their beginning on, so the busy time can be
// too small but never too large (`cut_ns` is the maximum error).
//
// UNITS: ns. THREADS: one caller.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "session/process_report.h"
#include "shm/record.h"

namespace stemtap::session {

// BusyTime computes the length of a union of intervals.
class BusyTime {
 public:
  // REQUIRES: start <= end.
  void Add(std::uint64_t start, std::uint64_t end);

  std::uint64_t busy_ns() const;
  std::uint64_t cut_ns() const { return cut_ns_; }

 private:
  // 2 KiB per device. In a launch window of 65,536 records (launch_sequencer.h), few records are
  // out of order by more than the number of concurrent kernels, which is at most 128 on a GPU.
  static constexpr std::size_t kMaxOpen = 128;

  struct Stretch {
    std::uint64_t start;
    std::uint64_t end;
  };
  void Merge(std::uint64_t start, std::uint64_t end);

  std::vector<Stretch> open_;    // ascending, disjoint, not adjacent
  std::uint64_t closed_ns_ = 0;  // total of the intervals before them
  std::uint64_t closed_end_ = 0;
  std::uint64_t cut_ns_ = 0;
};

class DeviceUse {
 public:
  // Maximum streams per device. If a program keeps creating streams, the rest share one entry.
  static constexpr std::size_t kMaxStreams = 1024;

  void Add(const shm::KernelRecord& record, std::uint16_t process);

  // Returns the totals by process, then by device.
  std::vector<DeviceTotals> Totals() const;

 private:
  struct Device {
    std::uint64_t launches = 0;
    std::uint64_t graph_kernels = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t first_start = ~std::uint64_t{0};
    std::uint64_t last_end = 0;
    BusyTime busy;
    std::map<std::uint32_t, StreamTotals> streams;
    StreamTotals* last = nullptr;  // last used entry of streams
  };

  std::map<std::uint32_t, Device> devices_;  // by process << 16 | device
  std::uint32_t last_key_ = 0;
  Device* last_ = nullptr;
};

}  // namespace stemtap::session
