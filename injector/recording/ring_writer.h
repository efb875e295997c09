// SPDX-License-Identifier: Apache-2.0
//
// RingWriter pushes records into the ring, in batches, and counts the kernel records that were kept
// or lost.
//
// THREADS: one producer at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/record.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class RingWriter {
 public:
  void Init(SessionFiles& files) noexcept { files_ = &files; }

  // Returns whether the ring can take `records` more besides the staged ones. May push the staged
  // ones.
  bool MakeRoom(std::uint32_t records) noexcept;

  // REQUIRES: MakeRoom returned true for the kernel, with its mark.
  void StageKernel(const shm::KernelRecord& kernel) noexcept {
    Stage(&kernel);
    ++kernels_;
  }
  // The next record must be the record of the kernel.
  void StageMark(const shm::MarkRecord& mark) noexcept { Stage(&mark); }
  void Push() noexcept;

  // Counts a kernel record that is not staged.
  void Lose(shm::Loss loss) noexcept;

 private:
  // Records pushed into the ring at a time: 16 KiB, half of an L1 cache.
  static constexpr std::uint32_t kStaged = 256;

  void Stage(const void* record) noexcept;

  SessionFiles* files_ = nullptr;
  // Storage for kStaged shm::Records, as bytes because a Record's initial state is not all zero
  // bits (see entry.cpp).
  alignas(shm::Record) unsigned char staged_[kStaged * shm::kRecordBytes] = {};
  std::uint32_t count_ = 0;
  std::uint32_t kernels_ = 0;  // kernel records among the staged records
  // Minimum free records in the ring besides the staged ones; the reader only adds room.
  std::size_t room_ = 0;
};

}  // namespace stemtap::inject
