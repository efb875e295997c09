// SPDX-License-Identifier: Apache-2.0
//
// StreamHistories remembers the last two kernels launched on each (process, device, stream).
//
// THREADS: one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "shm/context_key.h"
#include "shm/record.h"

namespace stemtap::session {

class StreamHistories {
 public:
  // 65,536 histories take 4 MiB, more streams than any program uses at a time. If a program keeps
  // creating streams, all histories are cleared.
  static constexpr std::size_t kMaxStreams = std::size_t{1} << 16;

  // Appends the kernel to the history of its stream. Returns the history before it.
  shm::LaunchHistory Advance(const shm::KernelRecord& record, std::uint64_t name_hash,
                             std::uint16_t process = 0) {
    shm::LaunchHistory& history = Of(record, process);
    const shm::LaunchHistory before = history;
    history = shm::Advance(before, name_hash);
    return before;
  }

  // The reference is valid until the next call.
  shm::LaunchHistory& Of(const shm::KernelRecord& record, std::uint16_t process = 0) {
    const std::uint64_t key =
        (std::uint64_t{process} << 48) | (std::uint64_t{record.device} << 32) | record.stream;
    if (key != last_key_ || last_ == nullptr) {
      if (histories_.size() >= kMaxStreams) histories_.clear();
      last_key_ = key;
      last_ = &histories_[key];
    }
    return *last_;
  }

 private:
  std::unordered_map<std::uint64_t, shm::LaunchHistory> histories_;
  std::uint64_t last_key_ = 0;
  shm::LaunchHistory* last_ = nullptr;
};

}  // namespace stemtap::session
