// SPDX-License-Identifier: Apache-2.0
#include "session/device_use.h"

#include <algorithm>

namespace stemtap::session {

void BusyTime::Add(std::uint64_t start, std::uint64_t end) {
  if (start < closed_end_) {
    cut_ns_ += std::min(end, closed_end_) - start;
    start = closed_end_;
    if (start >= end) return;
  }
  if (open_.empty() || start > open_.back().end) {  // the common case: one stream
    open_.push_back({start, end});
  } else if (start >= open_.back().start) {
    open_.back().end = std::max(open_.back().end, end);
  } else {
    Merge(start, end);
  }
  if (open_.size() < kMaxOpen) return;
  const auto half = open_.begin() + kMaxOpen / 2;
  for (auto stretch = open_.begin(); stretch != half; ++stretch) {
    closed_ns_ += stretch->end - stretch->start;
  }
  closed_end_ = (half - 1)->end;
  open_.erase(open_.begin(), half);
}

void BusyTime::Merge(std::uint64_t start, std::uint64_t end) {
  // Merges [start, end) with the intervals that overlap or touch it.
  const auto first =
      std::lower_bound(open_.begin(), open_.end(), start,
                       [](const Stretch& stretch, std::uint64_t at) { return stretch.end < at; });
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
  for (const Stretch& stretch : open_) sum += stretch.end - stretch.start;
  return sum;
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
  device.busy.Add(record.start_ns, end);
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
    for (const auto& [number, stream] : device.streams) totals.streams.push_back(stream);
    all.push_back(std::move(totals));
  }
  return all;
}

}  // namespace stemtap::session
