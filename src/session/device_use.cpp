// SPDX-License-Identifier: Apache-2.0
#include "session/device_use.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

namespace stemtap::session {
namespace {

// Adds ascending stretches to `slices`. Usually all are within one slice, which takes one step.
void AddBusy(std::span<const BusyStretch> stretches, stats::TimeSlices& slices) {
  if (stretches.empty()) return;
  stats::TimeSlices::Slice sum = {stretches.size(), 0};
  for (const BusyStretch& stretch : stretches) sum.duration_ns += stretch.end - stretch.start;
  if (slices.AddWithin(stretches.front().start, stretches.back().end, sum)) return;
  for (const BusyStretch& stretch : stretches) {
    slices.AddSpread(stretch.start, stretch.end - stretch.start);
  }
}

// Extends `stretch` by another one that overlaps or touches it.
void Extend(const BusyStretch& other, BusyStretch& stretch) {
  if (other.start < stretch.start) {
    stretch.start = other.start;
    stretch.first = other.first;
  }
  if (other.end > stretch.end) {
    stretch.end = other.end;
    stretch.last = other.last;
  }
}

// GapNames returns names of kernels until they take DeviceUse::kMaxGapNameBytes.
class GapNames {
 public:
  explicit GapNames(const model::NameTable& names) : names_(names) {}

  // Returns the name, or an empty string if it is not known or takes too many bytes.
  std::string Of(std::uint32_t id) {
    if (id >= names_.size() || names_.name(id).size() > left_) return {};
    left_ -= names_.name(id).size();
    return names_.name(id);
  }

 private:
  const model::NameTable& names_;
  std::size_t left_ = DeviceUse::kMaxGapNameBytes;
};

}  // namespace

std::span<const BusyStretch> BusyTime::AddAnywhere(BusyStretch run) {
  last_end_ = std::max(last_end(), run.end);
  first_start_ = std::min(first_start_, run.start);
  if (run.start < closed_end_) {
    cut_ns_ += std::min(run.end, closed_end_) - run.start;
    run.start = closed_end_;
    if (run.start >= run.end) return {};
  }
  if (open_count_ == 0 || run.start > open_[open_count_ - 1].end) {
    open_[open_count_++] = run;
  } else if (run.start >= open_[open_count_ - 1].start) {
    Extend(run, open_[open_count_ - 1]);
  } else {
    Merge(run);
  }
  if (open_count_ < kMaxOpen) return {};
  const auto half = open_.begin() + closed_.size();
  std::copy(open_.begin(), half, closed_.begin());
  std::copy(half, open_.end(), open_.begin());
  open_count_ -= closed_.size();
  for (const BusyStretch& stretch : closed_) closed_ns_ += stretch.end - stretch.start;
  closed_end_ = closed_.back().end;
  return closed_;
}

void BusyTime::Merge(BusyStretch run) {
  // Merges `run` with the intervals that overlap or touch it.
  const auto open_end = open_.begin() + open_count_;
  const auto first =
      std::lower_bound(open_.begin(), open_end, run.start,
                       [](const BusyStretch& s, std::uint64_t at) { return s.end < at; });
  auto behind = first;
  while (behind != open_end && behind->start <= run.end) Extend(*behind++, run);
  if (first == behind) {
    std::copy_backward(first, open_end, open_end + 1);
    ++open_count_;
  } else {
    open_count_ = std::copy(behind, open_end, first + 1) - open_.begin();
  }
  *first = run;
}

std::uint64_t BusyTime::busy_ns() const {
  std::uint64_t sum = closed_ns_;
  for (const BusyStretch& stretch : open()) sum += stretch.end - stretch.start;
  return sum;
}

void IdleTime::Add(std::span<const BusyStretch> stretches, std::span<const Unobserved> unobserved) {
  for (const BusyStretch& busy : stretches) {
    const std::uint64_t from = std::exchange(busy_until_, std::max(busy_until_, busy.end));
    const std::uint32_t before = std::exchange(last_kernel_, busy.last);
    if (from == 0 || busy.start <= from) continue;
    const std::uint64_t idle_ns = busy.start - from;
    const auto off = std::ranges::upper_bound(unobserved, from, {}, &Unobserved::end_ns);
    if (off != unobserved.end() && off->begin_ns < busy.start) {
      unobserved_ns_ += idle_ns;
      continue;
    }
    std::size_t bin = 0;
    while (bin + 1 < bins_.size() && idle_ns >= model::kIdleEdges[bin + 1]) ++bin;
    ++bins_[bin].gaps;
    bins_[bin].idle_ns += idle_ns;
    if (idle_ns > listed_ns_) List({from, idle_ns, before, busy.first});
  }
}

void IdleTime::List(const Gap& gap) {
  const auto shorter = std::find_if(longest_.begin(), longest_.end(), [&](const auto& known) {
    return known.duration_ns < gap.duration_ns;
  });
  longest_.insert(shorter, gap);
  if (longest_.size() > model::kMaxIdleGaps) longest_.pop_back();
  if (longest_.size() == model::kMaxIdleGaps) listed_ns_ = longest_.back().duration_ns;
}

std::vector<model::IdleBin> IdleTime::Bins() const {
  std::vector<model::IdleBin> bins;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (bins_[i].gaps == 0) continue;
    bins.push_back(bins_[i]);
    bins.back().lower_ns = model::kIdleEdges[i];
  }
  return bins;
}

void DeviceUse::Add(const shm::KernelRecord& record, std::uint16_t process) {
  const std::uint32_t key = std::uint32_t{process} << 16 | record.device;
  if (last_ == nullptr || key != last_key_) SelectDevice(key);
  Device& device = *last_;
  if (record.graph_id != 0) {
    ++device.graph_kernels;
    device.graph_duration_ns += record.duration_ns;
  }
  if (device.last == nullptr || device.last->stream != record.stream) {
    SelectStream(record.stream, device);
  }
  ++device.last->launches;
  device.last->duration_ns += record.duration_ns;
  if (record.start_ns == shm::kUnknownTime) return;
  const std::uint64_t end = record.start_ns + record.duration_ns;
  if (end < record.start_ns) return;  // an overflow, which no clock reaches
  launches_.AddSpread(record.start_ns, record.duration_ns);
  const std::span<const BusyStretch> closed = device.busy.Add(record.start_ns, end, record.name_id);
  if (!closed.empty()) AddFinal(closed, device);
}

void DeviceUse::SelectDevice(std::uint32_t key) {
  auto at = devices_.find(key);
  if (at == devices_.end()) {
    const std::uint32_t first = key & ~std::uint32_t{shm::kUnknown16};
    const std::uint32_t unknown = first | shm::kUnknown16;
    const auto known = std::distance(devices_.lower_bound(first), devices_.lower_bound(unknown));
    const bool full =
        static_cast<std::size_t>(known) >= kMaxDevices || devices_.size() >= kMaxAllDevices;
    at = devices_.try_emplace(full ? unknown : key).first;
    if (devices_.size() <= model::Activity::kMaxDevices && !at->second.busy_over_time) {
      at->second.busy_over_time.emplace(model::Activity::kMaxSlices);
    }
  }
  last_ = &at->second;
  last_key_ = key;
}

void DeviceUse::SelectStream(std::uint32_t stream, Device& device) {
  auto at = device.streams.find(stream);
  if (at == device.streams.end()) {
    if (device.streams.size() >= kMaxStreams || streams_ >= kMaxAllStreams) {
      stream = shm::kUnknown32;
    }
    bool is_new = false;
    std::tie(at, is_new) = device.streams.try_emplace(stream, StreamTotals{stream, 0, 0});
    streams_ += is_new;
  }
  device.last = &at->second;
}

void DeviceUse::AddFinal(std::span<const BusyStretch> stretches, Device& device) {
  AddBusy(stretches, busy_);
  if (device.busy_over_time) AddBusy(stretches, *device.busy_over_time);
  device.idle.Add(stretches, UnobservedOf(last_key_));
}

std::span<const IdleTime::Unobserved> DeviceUse::UnobservedOf(std::uint32_t key) const {
  const auto found = unobserved_.find(static_cast<std::uint16_t>(key >> 16));
  if (found == unobserved_.end()) return {};
  return found->second;
}

void DeviceUse::BeginUnobserved(std::uint16_t process, std::uint64_t time_ns) {
  std::vector<IdleTime::Unobserved>& intervals = unobserved_[process];
  if (intervals.size() == kMaxUnobserved) {
    intervals.erase(intervals.begin(), intervals.begin() + kMaxUnobserved / 2);
  }
  intervals.push_back({time_ns, ~std::uint64_t{0}});
}

void DeviceUse::EndUnobserved(std::uint16_t process, std::uint64_t time_ns) {
  const auto found = unobserved_.find(process);
  if (found != unobserved_.end()) found->second.back().end_ns = time_ns;
}

std::vector<DeviceTotals> DeviceUse::Totals(const model::NameTable& names) const {
  std::vector<DeviceTotals> all;
  GapNames gap_names(names);
  for (const auto& [key, device] : devices_) {
    DeviceTotals totals;
    totals.process = static_cast<std::uint16_t>(key >> 16);
    totals.device = static_cast<std::uint16_t>(key);
    totals.graph_kernels = device.graph_kernels;
    totals.graph_duration_ns = device.graph_duration_ns;
    totals.busy_ns = device.busy.busy_ns();
    totals.cut_ns = device.busy.cut_ns();
    const std::uint64_t start = device.busy.first_start();
    const std::uint64_t end = device.busy.last_end();
    totals.span_ns = end > start ? end - start : 0;
    if (end != 0) totals.start_ns = start;
    IdleTime idle = device.idle;
    idle.Add(device.busy.open(), UnobservedOf(key));
    totals.span_ns -= std::min(totals.span_ns, idle.unobserved_ns());
    totals.idle = idle.Bins();
    for (const IdleTime::Gap& gap : idle.longest()) {
      totals.longest_gaps.push_back(
          {gap.start_ns, gap.duration_ns, gap_names.Of(gap.before), gap_names.Of(gap.after)});
    }
    for (const auto& [number, stream] : device.streams) {
      totals.launches += stream.launches;
      totals.duration_ns += stream.duration_ns;
      totals.streams.push_back(stream);
    }
    all.push_back(std::move(totals));
  }
  return all;
}

model::Activity DeviceUse::Activity() const {
  model::Activity activity;
  stats::TimeSlices busy = busy_;
  for (const auto& [key, device] : devices_) {
    AddBusy(device.busy.open(), busy);
    activity.devices += device.busy.last_end() != 0;
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
  if (activity.devices > 1) AddDevices(activity);
  return activity;
}

void DeviceUse::AddDevices(model::Activity& activity) const {
  const auto shift = static_cast<std::uint32_t>(std::countr_zero(activity.width_ns));
  const std::uint64_t first = activity.start_ns >> shift;
  for (const auto& [key, device] : devices_) {
    if (!device.busy_over_time || device.busy.last_end() == 0) continue;
    stats::TimeSlices busy = *device.busy_over_time;
    AddBusy(device.busy.open(), busy);
    // The slices of all devices leave out starts that are far from the others.
    if (busy.shift() > shift) continue;
    std::array<std::uint64_t, model::Activity::kMaxSlices> busy_ns{};
    for (std::size_t i = 0; i < busy.slices().size(); ++i) {
      const std::uint64_t at = ((busy.first() + i) >> (shift - busy.shift())) - first;
      if (at < activity.count) busy_ns[at] += busy.slices()[i].duration_ns;
    }
    model::DeviceActivity& of = activity.by_device.emplace_back();
    of.process = key >> 16;
    of.device = static_cast<std::uint16_t>(key);
    for (std::uint32_t i = 0; i < activity.count; ++i) {
      if (busy_ns[i] != 0) of.slices.push_back({i, busy_ns[i]});
    }
  }
}

}  // namespace stemtap::session
