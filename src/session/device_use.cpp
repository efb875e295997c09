// SPDX-License-Identifier: Apache-2.0
#include "session/device_use.h"

#include <algorithm>
#include <cstddef>

namespace stemtap::session {

std::span<const BusyStretch> BusyTime::Add(std::uint64_t start, std::uint64_t end) {
  if (start < closed_end_) {
    cut_ns_ += std::min(end, closed_end_) - start;
    start = closed_end_;
    if (start >= end) return {};
  }
  if (open_.empty() || start > open_.back().end) {  // the common case: one stream
    open_.push_back({start, end});
  } else if (start >= open_.back().start) {
    open_.back().end = std::max(open_.back().end, end);
  } else {
    Merge(start, end);
  }
  if (open_.size() < kMaxOpen) return {};
  const auto half = open_.begin() + kMaxOpen / 2;
  closed_.assign(open_.begin(), half);
  open_.erase(open_.begin(), half);
  for (const BusyStretch& stretch : closed_) closed_ns_ += stretch.end - stretch.start;
  closed_end_ = closed_.back().end;
  return closed_;
}

void BusyTime::Merge(std::uint64_t start, std::uint64_t end) {
  // Merges [start, end) with the intervals that overlap or touch it.
  const auto first =
      std::lower_bound(open_.begin(), open_.end(), start,
                       [](const BusyStretch& s, std::uint64_t at) { return s.end < at; });
  auto behind = first;
  while (behind != open_.end() && behind->start <= end) {
    start = std::min(start, behind->start);
    end = std::max(end, behind->end);
    ++behind;
  }
  if (first == behind) {
    open_.insert(first, {start, end});
  } else {
    *first = {start, end};
    open_.erase(first + 1, behind);
  }
}

std::uint64_t BusyTime::busy_ns() const {
  std::uint64_t sum = closed_ns_;
  for (const BusyStretch& stretch : open_) sum += stretch.end - stretch.start;
  return sum;
}

void IdleTime::Add(const BusyStretch& busy) {
  const std::uint64_t from = busy_until_;
  busy_until_ = std::max(busy_until_, busy.end);
  if (from == 0 || busy.start <= from) return;
  const model::IdleGap gap = {from, busy.start - from};
  std::size_t bin = 0;
  while (bin + 1 < bins_.size() && gap.duration_ns >= model::kIdleEdges[bin + 1]) ++bin;
  ++bins_[bin].gaps;
  bins_[bin].idle_ns += gap.duration_ns;
  const bool is_full = longest_.size() == model::kMaxIdleGaps;
  if (is_full && gap.duration_ns <= longest_.back().duration_ns) return;
  const auto shorter = std::find_if(longest_.begin(), longest_.end(), [&](const auto& known) {
    return known.duration_ns < gap.duration_ns;
  });
  longest_.insert(shorter, gap);
  if (is_full) longest_.pop_back();
}

void IdleTime::Store(DeviceTotals& totals) const {
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (bins_[i].gaps == 0) continue;
    totals.idle.push_back(bins_[i]);
    totals.idle.back().lower_ns = model::kIdleEdges[i];
  }
  totals.longest_gaps = longest_;
}

void DeviceUse::Add(const shm::KernelRecord& record, std::uint16_t process) {
  const std::uint32_t key = std::uint32_t{process} << 16 | record.device;
  if (last_ == nullptr || key != last_key_) {
    last_ = &devices_[key];
    last_key_ = key;
  }
  Device& device = *last_;
  ++device.launches;
  device.graph_kernels += record.graph_id != 0;
  device.duration_ns += record.duration_ns;
  if (device.last == nullptr || device.last->stream != record.stream) {
    auto at = device.streams.find(record.stream);
    if (at == device.streams.end()) {
      const bool full = device.streams.size() >= kMaxStreams;
      const std::uint32_t stream = full ? shm::kUnknown32 : record.stream;
      at = device.streams.try_emplace(stream, StreamTotals{stream, 0, 0}).first;
    }
    device.last = &at->second;
  }
  ++device.last->launches;
  device.last->duration_ns += record.duration_ns;
  if (record.start_ns == shm::kUnknownTime) return;
  const std::uint64_t end = record.start_ns + record.duration_ns;
  if (end < record.start_ns) return;  // an overflow, which no clock reaches
  device.first_start = std::min(device.first_start, record.start_ns);
  device.last_end = std::max(device.last_end, end);
  launches_.AddSpread(record.start_ns, record.duration_ns);
  for (const BusyStretch& stretch : device.busy.Add(record.start_ns, end)) {
    busy_.AddSpread(stretch.start, stretch.end - stretch.start);
    device.idle.Add(stretch);
  }
}

std::vector<DeviceTotals> DeviceUse::Totals() const {
  std::vector<DeviceTotals> all;
  for (const auto& [key, device] : devices_) {
    DeviceTotals totals;
    totals.process = static_cast<std::uint16_t>(key >> 16);
    totals.device = static_cast<std::uint16_t>(key);
    totals.launches = device.launches;
    totals.graph_kernels = device.graph_kernels;
    totals.duration_ns = device.duration_ns;
    totals.busy_ns = device.busy.busy_ns();
    totals.cut_ns = device.busy.cut_ns();
    totals.span_ns =
        device.last_end > device.first_start ? device.last_end - device.first_start : 0;
    if (device.last_end != 0) totals.start_ns = device.first_start;
    IdleTime idle = device.idle;
    for (const BusyStretch& stretch : device.busy.open()) idle.Add(stretch);
    idle.Store(totals);
    for (const auto& [number, stream] : device.streams) totals.streams.push_back(stream);
    all.push_back(std::move(totals));
  }
  return all;
}

model::Activity DeviceUse::Activity() const {
  model::Activity activity;
  stats::TimeSlices busy = busy_;
  for (const auto& [key, device] : devices_) {
    for (const BusyStretch& stretch : device.busy.open()) {
      busy.AddSpread(stretch.start, stretch.end - stretch.start);
    }
    activity.devices += device.last_end != 0;
  }
  if (launches_.slices().empty() || busy.slices().empty()) return {};

  // Both have the same starts, up to the starts that are too far from the others.
  const auto low_of = [](const stats::TimeSlices& of) { return of.first() << of.shift(); };
  const auto high_of = [](const stats::TimeSlices& of) {
    return (of.first() + of.slices().size() - 1) << of.shift();
  };
  const std::uint64_t low = std::min(low_of(launches_), low_of(busy));
  const std::uint64_t high = std::max(high_of(launches_), high_of(busy));
  const std::uint32_t shift = stats::TimeSlices::ShiftFor(std::max(launches_.shift(), busy.shift()),
                                                          low, high, model::Activity::kMaxSlices);
  const std::uint64_t first = low >> shift;
  std::array<stats::TimeSlices::Slice, model::Activity::kMaxSlices> all{};
  std::array<stats::TimeSlices::Slice, model::Activity::kMaxSlices> of_busy{};
  launches_.AddTo(shift, first, all);
  busy.AddTo(shift, first, of_busy);
  activity.start_ns = first << shift;
  activity.width_ns = std::uint64_t{1} << shift;
  activity.count = static_cast<std::uint32_t>((high >> shift) - first + 1);
  for (std::uint32_t i = 0; i < activity.count; ++i) {
    if (all[i].launches == 0 && all[i].duration_ns == 0 && of_busy[i].duration_ns == 0) continue;
    activity.slices.push_back({i, all[i].launches, all[i].duration_ns, of_busy[i].duration_ns});
  }
  return activity;
}

}  // namespace stemtap::session
