// SPDX-License-Identifier: Apache-2.0
#include "session/launch_sequencer.h"

#include <algorithm>

#include "shm/correlation.h"

namespace stemtap::session {

std::uint64_t LaunchSequencer::Unwrap(std::uint32_t correlation_id) {
  const std::uint64_t launch = shm::LaunchNumber(correlation_id, newest_);
  newest_ = std::max(newest_, launch);
  return launch;
}

void LaunchSequencer::Add(const std::vector<shm::KernelRecord>& arrived, std::int64_t now_ms) {
  const std::size_t before = held_.size();
  bool sorted = true;
  for (const shm::KernelRecord& record : arrived) {
    const Held held{Unwrap(record.correlation_id), now_ms, record};
    if (held.launch < released_) {
      ++late_;
      late_records_.push_back(record);
      continue;
    }
    if (sorted && !held_.empty() && Before(held, held_.back())) sorted = false;
    held_.push_back(held);
  }
  if (sorted) return;  // the common case: one thread, one stream
  const auto middle = held_.begin() + static_cast<std::ptrdiff_t>(before);
  std::stable_sort(middle, held_.end(), Before);
  std::inplace_merge(held_.begin(), middle, held_.end(), Before);
}

void LaunchSequencer::Flushed(std::int64_t now_ms) {
  // Records that arrived by the end of the previous flush arrived before this flush began.
  const auto latest = std::find_if(held_.rbegin(), held_.rend(), [&](const Held& held) {
    return held.arrived_ms <= flushed_ms_;
  });
  if (latest != held_.rend()) complete_ = latest->launch;
  flushed_ms_ = now_ms;
}

void LaunchSequencer::Release(std::int64_t now_ms, bool all, std::vector<shm::KernelRecord>& out) {
  out.insert(out.end(), late_records_.begin(), late_records_.end());
  late_records_.clear();
  const auto is_due = [&](const Held& held) {
    return now_ms - held.arrived_ms >= kHoldMs || (late_ == 0 && held.launch <= complete_);
  };
  while (!held_.empty() && (all || held_.size() > kWindow || is_due(held_.front()))) {
    out.push_back(held_.front().record);
    released_ = held_.front().launch;
    held_.pop_front();
  }
}

}  // namespace stemtap::session
