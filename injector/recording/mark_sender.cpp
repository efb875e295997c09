// SPDX-License-Identifier: Apache-2.0
#include "recording/mark_sender.h"

namespace stemtap::inject {

void MarkSender::Define(std::uint32_t range) noexcept {
  char path[shm::kMaxRangeBytes];
  const std::uint32_t length = ranges_->Write(*paths_, range, path);
  // The thread that added a range was interrupted. The next launch in this range has a path.
  if (length == 0) return;
  const std::uint16_t id = defined_ + 1;
  if (definitions_->Write(shm::RecordKind::kRange, id, path, length, 0) ==
      DefinitionWriter::Result::kWritten) {
    ring_ids_[range] = defined_ = id;
  } else if (range != RangePaths::kOther) {  // counted already
    files_->Count(shm::Loss::kRangesRefused);
  }
}

bool MarkSender::Stage(const shm::LaunchMark& mark, std::uint32_t correlation_id,
                       RingWriter& writer) noexcept {
  shm::MarkRecord record;
  record.step = mark.step;
  record.correlation_id = correlation_id;
  if (mark.range_id != shm::kNoRange) record.range_id = RingIdOf(mark.range_id);
  if (!writer.MakeRoom(2)) return false;
  if (record.range_id != shm::kNoRange || record.step != shm::kNoStep) writer.StageMark(record);
  return true;
}

}  // namespace stemtap::inject
