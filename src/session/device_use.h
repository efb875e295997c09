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
// It also records when the devices were busy, in at most 256 slices of time, and how long they were
// idle between which kernels. Memory is O(devices + streams), which are limited.
//
// UNITS: ns. THREADS: one caller.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/name_table.h"
#include "model/overview.h"
#include "session/session.h"
#include "shm/record.h"
#include "stats/time_slices.h"

namespace stemtap::session {

// BusyStretch is an interval [start, end) in which at least one kernel ran.
struct BusyStretch {
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t first;  // name id of the kernel that began at `start`
  std::uint32_t last;   // of the kernel that ended at `end`
};

// BusyTime computes a union of intervals.
class BusyTime {
 public:
  // Returns the stretches that this call made final: ascending, and after all earlier ones. They
  // are valid until the next call. REQUIRES: start <= end.
  std::span<const BusyStretch> Add(std::uint64_t start, std::uint64_t end, std::uint32_t kernel) {
    const BusyStretch run = {start, end, kernel, kernel};
    // The common case: kernels that do not overlap.
    if (start <= last_end_ || open_count_ >= kMaxOpen - 1) return AddAnywhere(run);
    open_[open_count_++] = run;
    last_end_ = end;
    return {};
  }

  std::uint64_t busy_ns() const;
  // Returns the stretches that later intervals may still change, after all final ones.
  std::span<const BusyStretch> open() const { return {open_.data(), open_count_}; }
  std::uint64_t cut_ns() const { return cut_ns_; }
  // The first start and the last end of all intervals; 2^64 - 1 and 0 if there are none.
  std::uint64_t first_start() const { return first_start_; }
  std::uint64_t last_end() const { return first_start_ == kNone ? 0 : last_end_; }

 private:
  // 4.5 KiB per device. In a launch window of 65,536 records (launch_sequencer.h), few records are
  // out of order by more than the number of concurrent kernels, which is at most 128 on a GPU.
  static constexpr std::size_t kMaxOpen = 128;

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::span<const BusyStretch> AddAnywhere(BusyStretch run);
  void Merge(BusyStretch run);

  std::uint64_t first_start_ = kNone;
  std::uint64_t last_end_ = kNone;  // the end of the last open stretch; kNone is never exceeded
  std::size_t open_count_ = 0;
  std::array<BusyStretch, kMaxOpen> open_;        // ascending, disjoint, not adjacent
  std::array<BusyStretch, kMaxOpen / 2> closed_;  // the stretches that the last call made final
  std::uint64_t closed_ns_ = 0;                   // total of all final stretches
  std::uint64_t closed_end_ = 0;
  std::uint64_t cut_ns_ = 0;
};

// IdleTime counts the gaps between the busy stretches of a device by their length.
class IdleTime {
 public:
  // An interval in which kernels were not observed.
  struct Unobserved {
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
  };

  // A gap that overlaps one of `unobserved` is not idle time: what the device did is unknown.
  // REQUIRES: stretches are added in ascending order, and `unobserved` is ascending.
  void Add(std::span<const BusyStretch> stretches, std::span<const Unobserved> unobserved);
  // Returns the total of the gaps that are not known to be idle.
  std::uint64_t unobserved_ns() const { return unobserved_ns_; }
  // Returns the bins that are not empty.
  std::vector<model::IdleBin> Bins() const;

  struct Gap {
    std::uint64_t start_ns;
    std::uint64_t duration_ns;
    std::uint32_t before;  // name ids of the kernels before and after the gap
    std::uint32_t after;
  };
  // Returns the longest gaps, descending.
  std::span<const Gap> longest() const { return longest_; }

 private:
  void List(const Gap& gap);

  std::array<model::IdleBin, model::kIdleBins> bins_ = {};
  std::vector<Gap> longest_;     // descending
  std::uint64_t listed_ns_ = 0;  // longer gaps are among the longest
  std::uint64_t unobserved_ns_ = 0;
  std::uint64_t busy_until_ = 0;   // 0: no stretch yet
  std::uint32_t last_kernel_ = 0;  // name id of the kernel that ended then
};

class DeviceUse {
 public:
  // Maximum devices per process, four times as many as the largest machines have, and of all
  // processes: 2,048 processes with 8 devices each. Further devices of a process share one entry
  // with an unknown number. A device takes 6 KiB, and the first Activity::kMaxDevices 4 KiB more.
  static constexpr std::size_t kMaxDevices = 64;
  static constexpr std::size_t kMaxAllDevices = std::size_t{1} << 14;
  // Maximum streams per device, and of all devices. If a program keeps creating streams, the rest
  // share one entry of the device. A stream takes 80 bytes.
  static constexpr std::size_t kMaxStreams = 1024;
  static constexpr std::size_t kMaxAllStreams = std::size_t{1} << 16;

  // Maximum times without recording that are remembered for each process. A gap is compared with
  // them when its stretches are final, at most 128 stretches later.
  static constexpr std::size_t kMaxUnobserved = 4096;

  // Bytes of the kernel names in the longest gaps of all devices. Gaps beyond them have no names;
  // otherwise long names would let session.json grow beyond what readers accept.
  static constexpr std::size_t kMaxGapNameBytes = std::size_t{16} << 20;

  void Add(const shm::KernelRecord& record, std::uint16_t process);

  // Reports that the kernels of a process are not observed from a time on, or that they are again.
  // Calls alternate. Call before launches that began after `time_ns` are added.
  void BeginUnobserved(std::uint16_t process, std::uint64_t time_ns);
  void EndUnobserved(std::uint16_t process, std::uint64_t time_ns);

  // Returns the totals by process, then by device. `names` has the names of the records' name ids.
  std::vector<DeviceTotals> Totals(const model::NameTable& names = {}) const;

  // Returns the launches and the busy time of all devices over time.
  model::Activity Activity() const;

 private:
  struct Device {
    std::uint64_t graph_kernels = 0;
    std::uint64_t graph_duration_ns = 0;
    BusyTime busy;
    IdleTime idle;  // of the final stretches
    // Final stretches over time, of the first Activity::kMaxDevices devices.
    std::optional<stats::TimeSlices> busy_over_time;
    std::map<std::uint32_t, StreamTotals> streams;
    StreamTotals* last = nullptr;  // last used entry of streams
  };

  // Rare steps of Add. They are separate functions, so that Add saves fewer registers.
  void SelectDevice(std::uint32_t key);
  void SelectStream(std::uint32_t stream, Device& device);
  void AddFinal(std::span<const BusyStretch> stretches, Device& device);
  std::span<const IdleTime::Unobserved> UnobservedOf(std::uint32_t key) const;
  // Divides the busy times of single devices into the slices of `activity`.
  void AddDevices(model::Activity& activity) const;

  std::map<std::uint32_t, Device> devices_;  // by process << 16 | device
  std::map<std::uint16_t, std::vector<IdleTime::Unobserved>> unobserved_;  // by process
  stats::TimeSlices launches_{model::Activity::kMaxSlices};
  stats::TimeSlices busy_{model::Activity::kMaxSlices};  // final stretches of all devices
  std::size_t streams_ = 0;                              // of all devices
  std::uint32_t last_key_ = 0;
  Device* last_ = nullptr;
};

}  // namespace stemtap::session
