// SPDX-License-Identifier: Apache-2.0
#include "session/capture_marks.h"

namespace stemtap::session {

void CaptureMarks::Add(std::uint64_t index, const NamedMark& mark) {
  if (mark.empty()) return;
  const bool fits = bytes_ + mark.range.size() <= kMaxBytes;
  const std::size_t before = ranges_.size();
  const std::uint32_t range = ranges_.Intern(fits ? mark.range : shm::kOtherRangePath);
  if (ranges_.size() != before) bytes_ += ranges_.name(range).size();
  marks_[index] = {range, mark.step};
}

NamedMark CaptureMarks::Of(std::uint64_t index) const {
  const auto found = marks_.find(index);
  if (found == marks_.end()) return {};
  return {ranges_.name(found->second.range), found->second.step};
}

}  // namespace stemtap::session
