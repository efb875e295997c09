// SPDX-License-Identifier: Apache-2.0
#include "recording/ring_writer.h"

#include <string.h>

namespace stemtap::inject {

void RingWriter::Lose(shm::Loss loss) noexcept {
  AddTo(files_->ring().header.seen, 1);
  files_->Count(loss);
}

bool RingWriter::MakeRoom(std::uint32_t records) noexcept {
  if (count_ + records > kStaged) Push();
  if (room_ >= records) return true;
  Push();
  room_ = files_->ring().queue.write_available();
  return room_ >= records;
}

// REQUIRES: MakeRoom returned true, and count_ < kStaged.
void RingWriter::Stage(const void* record) noexcept {
  ::memcpy(staged_ + std::size_t{count_++} * shm::kRecordBytes, record, shm::kRecordBytes);
  --room_;
}

void RingWriter::Push() noexcept {
  // The ring has room for all: it was checked before each was staged, and only this side fills the
  // ring.
  files_->ring().queue.push(reinterpret_cast<const shm::Record*>(staged_), count_);
  count_ = 0;
  // Counted after the push, so that a process that is killed before it does not report the staged
  // records as kept.
  if (kernels_ == 0) return;
  AddTo(files_->ring().header.kept, kernels_);
  AddTo(files_->ring().header.seen, kernels_);
  kernels_ = 0;
}

}  // namespace stemtap::inject
