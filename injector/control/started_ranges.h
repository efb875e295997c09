// SPDX-License-Identifier: Apache-2.0
//
// StartedRanges is the open ranges of the process that belong to no thread: NVTX's start/end
// ranges. Any thread may end a range, in any order.
//
// THREADS: any, lock-free.
#pragma once

#include <atomic>
#include <cstdint>

namespace stemtap::inject {

class StartedRanges {
 public:
  // Opens a range with this path. Returns its id, which is unique and not 0.
  std::uint64_t Start(std::uint32_t path) noexcept;
  // Closes a range. Ignored if the id is of no open range.
  void End(std::uint64_t id) noexcept;

  // Returns the path of the open range that was started last, or shm::kNoRange.
  std::uint32_t Latest() const noexcept;

  // Maximum ranges that are open at once. A captured launch outside push/pop ranges reads all
  // places. Ranges beyond it are counted; as long as they are the latest, Latest returns
  // RangePaths::kOther.
  static constexpr std::uint32_t kRanges = 64;

 private:
  // An id is the number of the range, and its place or kRanges.
  static constexpr std::uint64_t kPlaceBits = 7;
  // An entry is the number of the range and its path.
  static constexpr std::uint64_t kPathBits = 16;

  std::atomic<std::uint64_t> started_{0};  // so far; relaxed, gives unique numbers
  // 0: free. The thread that starts a range stores it (release: publishes the path), the thread
  // that ends it stores 0, and launching threads read it (acquire).
  std::atomic<std::uint64_t> entries_[kRanges] = {};
  // Ranges without a place: how many are open, and the number of the latest. Relaxed.
  std::atomic<std::uint64_t> further_{0};
  std::atomic<std::uint64_t> latest_further_{0};
};

}  // namespace stemtap::inject
