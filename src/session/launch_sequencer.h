// SPDX-License-Identifier: Apache-2.0
//
// LaunchSequencer restores the order in which one process launched its kernels. Records arrive in
// completion order, buffer by buffer, with streams and threads interleaved. CUPTI's correlation id
// increases with every call of the process, and the node id orders the kernels of one graph launch.
//
//   arrive   71 73 72 | 75 74 ...        held, sorted       released after the next flush of the
//                                        71 72 73 74 75     process, after kHoldMs, or when more
//                                                           than kWindow records are held
//
// A record that arrives after a later launch was released is passed on at once and counted as late.
// From then on, only the limits of time and size release records.
//
// THREADS: none.  SOURCE: docs/design/launch-order.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "shm/record.h"

namespace stemtap::session {

class LaunchSequencer {
 public:
  // Two flush periods of the injector (200 ms each): covers kernels that run during one flush. A
  // shorter time makes their records late; a longer one delays feedback to the gate.
  static constexpr std::int64_t kHoldMs = 400;
  // 65,536 records of 80 bytes take 5 MiB per process at any rate.
  static constexpr std::size_t kWindow = std::size_t{1} << 16;

  // Adds records in order of arrival; name_id is passed through.
  void Add(const std::vector<shm::KernelRecord>& arrived, std::int64_t now_ms);

  // Reports that a flush of the process has ended and that its records have been added. A thread's
  // half-filled buffer waits for the next flush, so all launches up to the latest one that arrived
  // before this flush began are here and can be released.
  void Flushed(std::int64_t now_ms);

  // Appends the records that can be released (all records if `all`) to `out`, in launch
  // order.
  void Release(std::int64_t now_ms, bool all, std::vector<shm::KernelRecord>& out);

  std::size_t held() const { return held_.size(); }
  std::uint64_t late() const { return late_; }

 private:
  struct Held {
    std::uint64_t launch;  // correlation id, unwrapped to 64 bits
    std::int64_t arrived_ms;
    shm::KernelRecord record;
  };
  static bool Before(const Held& a, const Held& b) {
    return a.launch != b.launch ? a.launch < b.launch : a.record.graph_node < b.record.graph_node;
  }
  std::uint64_t Unwrap(std::uint32_t correlation_id);

  std::deque<Held> held_;       // sorted by Before
  std::uint64_t newest_ = 0;    // latest launch seen, 0 before the first
  std::uint64_t released_ = 0;  // latest launch released
  std::uint64_t late_ = 0;
  std::int64_t flushed_ms_ = std::numeric_limits<std::int64_t>::min();  // end of the last flush
  std::uint64_t complete_ = 0;  // all launches up to this one have arrived
  std::vector<shm::KernelRecord> late_records_;
};

}  // namespace stemtap::session
