// SPDX-License-Identifier: Apache-2.0
#include "recording/mark_sender.h"

namespace stemtap::inject {

bool MarkSender::Define(const RangePaths& paths, std::uint32_t range, RingWriter& writer) noexcept {
  char path[shm::kMaxRangeBytes];
  const std::uint32_t length = paths.Write(range, path);
  // The thread that added a range was interrupted. The next launch in this range has a path.
  if (length == 0) return true;
  if (!writer.MakeRoom(shm::NameRecordCount(length) + 2)) return false;
  ring_ids_[range] = ++defined_;
  writer.StageName(shm::RecordKind::kRange, defined_, path, length, 0);
  return true;
}

bool MarkSender::Stage(const RangePaths& paths, const shm::LaunchMark& mark,
                       std::uint32_t correlation_id, RingWriter& writer) noexcept {
  shm::MarkRecord record;
  record.step = mark.step;
  record.correlation_id = correlation_id;
  if (mark.range_id != shm::kNoRange) {
    if (ring_ids_[mark.range_id] == 0 && !Define(paths, mark.range_id, writer)) return false;
    record.range_id = ring_ids_[mark.range_id];
  }
  if (!writer.MakeRoom(2)) return false;
  if (record.range_id != shm::kNoRange || record.step != shm::kNoStep) writer.StageMark(record);
  return true;
}

}  // namespace stemtap::inject
