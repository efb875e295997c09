// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/recorded_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "shm/correlation.h"

namespace stemtap::formats {
namespace {

// Correlation ids of all recorded profiles available to us never decrease along a stream. One
// launch in a hundred is more than racing threads can cause, and less than if ids have another
// meaning or a counter restarts.
constexpr double kMaxContradictions = 0.01;

}  // namespace

shm::KernelRecord RecordedLaunches::Unknown() {
  shm::KernelRecord record;
  record.device = shm::kUnknown16;
  record.start_ns = shm::kUnknownTime;
  record.stream = shm::kUnknown32;
  record.shared_bytes = shm::kUnknown32;
  return record;
}

std::uint32_t RecordedLaunches::Name(std::string_view name) {
  assert(!name.empty());
  if (name.size() > shm::kMaxNameBytes) {
    ++names_cut_;
    name = name.substr(0, shm::kMaxNameBytes);
  }
  return names_.Intern(name);
}

void RecordedLaunches::Add(const shm::KernelRecord& record, std::uint32_t name_id,
                           const std::vector<double>& metrics) {
  assert(metrics.size() == metric_names_.size());
  metrics_.resize(metric_names_.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) metrics_[i].push_back(metrics[i]);
  records_.push_back(record);
  records_.back().name_id = name_id;
  if (process_ids_.size() > 1) processes_.push_back(process_);
}

void RecordedLaunches::SetProcess(std::uint64_t id) {
  const auto next = static_cast<std::uint32_t>(process_ids_.size());
  process_ = process_ids_.try_emplace(id, next).first->second;
  if (process_ids_.size() > 1) processes_.resize(records_.size(), 0);
}

std::size_t RecordedLaunches::NumberStreams() {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (shm::KernelRecord& record : records_) {
    if (record.stream == shm::kUnknown32) continue;
    const auto next = static_cast<std::uint32_t>(numbers.size());
    record.stream = numbers.try_emplace(record.stream, next).first->second;
  }
  return numbers.size();
}

void RecordedLaunches::Finish(std::string_view source) {
  if (names_cut_ > 0) {
    Warn(fmt::format("{}: {} a name of more than {} bytes; it is truncated", source,
                     Plural(names_cut_, "launch has", "launches have"), shm::kMaxNameBytes));
  }
  const auto earlier = [](const shm::KernelRecord& a, const shm::KernelRecord& b) {
    return a.start_ns < b.start_ns;
  };
  if (!std::is_sorted(records_.begin(), records_.end(), earlier)) {
    std::vector<std::size_t> order(records_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return earlier(records_[a], records_[b]);
    });
    Reorder(order);
  }
  const std::uint64_t first = records_.empty() ? 0 : records_.front().start_ns;
  if (first == shm::kUnknownTime) return;  // without starts, only the file order is known
  for (shm::KernelRecord& record : records_) {
    if (record.start_ns != shm::kUnknownTime) record.start_ns -= first;
  }
  CountDoubles(source);
  NumberDevices(source);
  OrderByLaunch(source);
  CountSharedIds(source);
}

void RecordedLaunches::CountDoubles(std::string_view source) {
  const auto cells = [&](std::size_t i) {
    const shm::KernelRecord& r = records_[i];
    return std::tuple(ProcessOf(i), r.device, r.stream, r.correlation_id, r.graph_node, r.name_id,
                      r.duration_ns, std::to_array(r.grid), std::to_array(r.block));
  };
  std::uint64_t doubles = 0;
  std::vector<std::size_t> same_start;
  for (std::size_t first = 0;
       first < records_.size() && records_[first].start_ns != shm::kUnknownTime;
       first += same_start.size()) {
    same_start.clear();
    for (std::size_t i = first;
         i < records_.size() && records_[i].start_ns == records_[first].start_ns; ++i) {
      same_start.push_back(i);
    }
    if (same_start.size() == 1) continue;
    std::sort(same_start.begin(), same_start.end(),
              [&](std::size_t a, std::size_t b) { return cells(a) < cells(b); });
    for (std::size_t k = 1; k < same_start.size(); ++k) {
      // Without an id, launches of 0 ns can be equal if times are whole microseconds.
      const shm::KernelRecord& r = records_[same_start[k]];
      if (r.correlation_id == 0 && r.duration_ns == 0) continue;
      doubles += cells(same_start[k - 1]) == cells(same_start[k]) ? 1 : 0;
    }
  }
  if (doubles == 0) return;
  Warn(fmt::format(
      "{}: {} another launch in every cell; if the file contains its events twice, totals are "
      "too large",
      source, Plural(doubles, "launch equals", "launches equal")));
}

void RecordedLaunches::CountSharedIds(std::string_view source) {
  std::vector<const shm::KernelRecord*> last(std::max<std::size_t>(process_ids_.size(), 1),
                                             nullptr);
  std::uint64_t shared = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const shm::KernelRecord& r = records_[i];
    const shm::KernelRecord*& previous = last[ProcessOf(i)];
    const bool by_graph = r.graph_id != 0 || r.graph_node != 0;
    if (previous != nullptr && !by_graph && r.correlation_id != 0 &&
        r.correlation_id == previous->correlation_id && r.device == previous->device &&
        r.stream != previous->stream) {
      ++shared;
    }
    previous = &r;
  }
  if (shared == 0) return;
  Warn(fmt::format(
      "{}: {} a correlation id with a launch on another stream, outside of graphs; the order of "
      "start is used, which may differ from the launch order",
      source, Plural(shared, "launch shares", "launches share")));
}

void RecordedLaunches::NumberDevices(std::string_view source) {
  if (processes_.empty()) return;
  std::vector<std::size_t> rank(process_ids_.size(),
                                records_.size());  // first launch of each process
  for (std::size_t i = records_.size(); i-- > 0;) rank[processes_[i]] = i;
  const auto device_of = [&](std::size_t i) {
    return std::pair(rank[processes_[i]], records_[i].device);
  };
  std::map<std::pair<std::size_t, std::uint16_t>, std::uint16_t> devices;  // old to new
  std::set<std::uint16_t> ordinals;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].device == shm::kUnknown16) continue;
    devices.try_emplace(device_of(i));
    ordinals.insert(records_[i].device);
  }
  if (devices.size() == ordinals.size()) return;  // no two processes share an ordinal
  std::size_t next = 0;
  for (auto& [old, number] : devices) {
    number = static_cast<std::uint16_t>(std::min<std::size_t>(next++, shm::kUnknown16));
  }
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].device != shm::kUnknown16) records_[i].device = devices.at(device_of(i));
  }
  Warn(
      fmt::format("{}: {} processes use the same device ordinals, which may be different GPUs; "
                  "devices are renumbered per process, 0 to {}",
                  source, process_ids_.size(), devices.size() - 1));
}

void RecordedLaunches::OrderByLaunch(std::string_view source) {
  std::vector<std::uint64_t> launch(records_.size());
  std::vector<std::uint64_t> last(std::max<std::size_t>(process_ids_.size(), 1), 0);
  bool has_ids = false;
  bool has_nodes = false;
  bool sorted = true;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    has_nodes = has_nodes || records_[i].graph_node != 0;
    const std::uint32_t id = records_[i].correlation_id;
    std::uint64_t& previous = last[ProcessOf(i)];
    launch[i] = previous;
    if (id == 0) continue;  // unknown: it stays after the previous launch
    launch[i] = shm::LaunchNumber(id, previous);
    sorted = sorted && launch[i] >= previous;
    has_ids = true;
    previous = launch[i];
  }
  if (has_ids && sorted && !has_nodes) return;

  std::vector<std::uint64_t> below = IdsBelowEarlierOnes(launch);
  std::vector<std::uint64_t> launches(last.size(), 0);
  for (std::size_t i = 0; i < records_.size(); ++i) ++launches[ProcessOf(i)];
  // If a process's ids are not launch order, all of its launches get the same number, which keeps
  // their order.
  bool doubted = false;
  for (std::size_t process = 0; process < last.size(); ++process) {
    const bool trusted = static_cast<double>(below[process]) <=
                         kMaxContradictions * static_cast<double>(launches[process]);
    if (trusted) below[process] = 0;
    doubted = doubted || !trusted;
  }
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (below[ProcessOf(i)] != 0) launch[i] = 0;
  }
  if ((!has_ids || doubted) && SeveralStreams()) {
    Warn(fmt::format(
        "{}: launches are numbered in order of start, which may differ from the launch order on "
        "several streams: {}",
        source, doubted ? "correlation ids contradict the streams" : "no correlation ids"));
  }
  if (!has_ids) return;

  const auto before = [&](std::size_t a, std::size_t b) {
    if (launch[a] != launch[b]) return launch[a] < launch[b];
    // Kernels of a graph are ordered by node: node numbers are the same at each launch, starts are
    // not.
    return launch[a] != 0 && records_[a].graph_node < records_[b].graph_node;
  };
  std::vector<std::size_t> order(records_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (processes_.empty()) {
    std::stable_sort(order.begin(), order.end(), before);
  } else {
    // Each process is sorted separately and keeps its positions.
    std::vector<std::size_t> places = order;
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t a, std::size_t b) { return processes_[a] < processes_[b]; });
    std::vector<std::size_t> launched = places;
    std::stable_sort(launched.begin(), launched.end(), [&](std::size_t a, std::size_t b) {
      return processes_[a] != processes_[b] ? processes_[a] < processes_[b] : before(a, b);
    });
    for (std::size_t i = 0; i < places.size(); ++i) order[places[i]] = launched[i];
  }
  Reorder(order);
}

// Returns per process how many launches have a lower id than a launch that started earlier on the
// same stream. A stream runs its launches one by one, so if ids are launch order, the count is 0
// unless threads raced to launch on the stream.
std::vector<std::uint64_t> RecordedLaunches::IdsBelowEarlierOnes(
    const std::vector<std::uint64_t>& launch) const {
  struct Stream {
    std::uint64_t highest = 0;  // of launches that started before `newest`
    std::uint64_t pending = 0;  // of launches that started at `newest`
    std::uint64_t newest = 0;   // start
  };
  std::map<std::tuple<std::size_t, std::uint16_t, std::uint32_t>, Stream> streams;
  std::vector<std::uint64_t> below(std::max<std::size_t>(process_ids_.size(), 1), 0);
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const shm::KernelRecord& record = records_[i];
    if (record.stream == shm::kUnknown32) continue;
    Stream& stream = streams[{ProcessOf(i), record.device, record.stream}];
    if (record.start_ns != stream.newest) {
      stream.highest = std::max(stream.highest, stream.pending);
      stream.newest = record.start_ns;
    }
    below[ProcessOf(i)] += launch[i] < stream.highest;
    stream.pending = std::max(stream.pending, launch[i]);
  }
  return below;
}

// Returns whether launches of one device ran on several streams and may therefore be out of order.
bool RecordedLaunches::SeveralStreams() const {
  std::map<std::pair<std::size_t, std::uint16_t>, std::uint32_t> stream_of;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const shm::KernelRecord& record = records_[i];
    if (record.stream == shm::kUnknown32) continue;
    const auto [at, is_new] = stream_of.try_emplace({ProcessOf(i), record.device}, record.stream);
    if (!is_new && at->second != record.stream) return true;
  }
  return false;
}

void RecordedLaunches::Reorder(const std::vector<std::size_t>& order) {
  const auto reorder = [&](auto& column) {
    auto sorted = column;
    for (std::size_t i = 0; i < column.size(); ++i) sorted[i] = column[order[i]];
    column.swap(sorted);
  };
  reorder(records_);
  if (!processes_.empty()) reorder(processes_);
  for (std::vector<double>& column : metrics_) reorder(column);
}

Result<std::size_t> RecordedLaunches::ReadSome(model::ProfileBatch& batch, std::size_t limit) {
  const std::size_t count = std::min(limit, records_.size() - next_);
  const auto part = [&](const auto& column) {
    const auto first = column.begin() + static_cast<std::ptrdiff_t>(next_);
    return std::pair(first, first + static_cast<std::ptrdiff_t>(count));
  };
  const auto [first, end] = part(records_);
  batch.records.assign(first, end);
  batch.metrics.resize(metric_names_.size());
  metrics_.resize(metric_names_.size());
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    const auto [from, to] = part(metrics_[i]);
    batch.metrics[i].assign(from, to);
  }
  next_ += count;
  return count;
}

}  // namespace stemtap::formats
