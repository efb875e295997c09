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
#include <vector>

#include "base/csv.h"
#include "base/text.h"

namespace stemtap::formats {

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

std::optional<std::uint32_t> RecordedLaunches::NumberOfProcess(std::uint64_t id) const {
  const auto at = process_ids_.find(id);
  return at == process_ids_.end() ? std::nullopt : std::optional(at->second);
}

void RecordedLaunches::SetRanges(std::span<const std::uint32_t> ranges,
                                 std::span<const std::string> paths) {
  // A kernel in further ranges is in "(other)", as in the injected library, so that ranges with
  // numbers in their names do not fill the memory with names.
  constexpr std::size_t kMaxRangedNames = shm::kMaxNames;
  const auto other = static_cast<std::uint32_t>(paths.size() + 1);
  const auto key_of = [](std::uint32_t name, std::uint32_t range) {
    return std::uint64_t{name} << 32 | range;
  };
  std::unordered_map<std::uint64_t, std::uint32_t> ids;  // by name id and range
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    std::uint64_t key = key_of(records_[i].name_id, ranges[i]);
    if (ranges[i] != shm::kNoRange && keys.size() >= kMaxRangedNames && !ids.contains(key)) {
      key = key_of(records_[i].name_id, other);
    }
    if (ids.try_emplace(key, 0).second) keys.push_back(key);
  }
  // The order of the names stays the same.
  std::sort(keys.begin(), keys.end());
  model::NameTable names;
  for (const std::uint64_t key : keys) {
    const auto range = static_cast<std::uint32_t>(key);
    const std::string_view path = range == shm::kNoRange ? std::string_view()
                                  : range == other       ? shm::kOtherRangePath
                                                         : std::string_view(paths[range - 1]);
    ids[key] = names.Intern(names_.name(static_cast<std::uint32_t>(key >> 32)), 0, path);
  }
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const std::uint32_t name = records_[i].name_id;
    const auto at = ids.find(key_of(name, ranges[i]));
    records_[i].name_id = at != ids.end() ? at->second : ids.at(key_of(name, other));
  }
  names_ = std::move(names);
  marks_.ranges = true;
}

void RecordedLaunches::SetSteps(std::vector<std::uint64_t> steps) {
  steps_ = std::move(steps);
  marks_.steps = true;
}

void RecordedLaunches::WarnOfCount(std::string_view source, std::uint64_t count,
                                   std::string_view one, std::string_view many,
                                   std::string_view what) {
  if (count > 0) Warn(fmt::format("{}: {}{}", source, Plural(count, one, many), what));
}

void RecordedLaunches::WarnOfLine(std::string_view source, const Tally& tally,
                                  std::string_view warning) {
  if (tally.count > 0) Warn(fmt::format("{}:{}: {}", source, tally.first, warning));
}

void RecordedLaunches::WarnOfByte(std::string_view source, const Tally& tally,
                                  std::string_view warning) {
  if (tally.count > 0) Warn(fmt::format("{}: byte {}: {}", source, tally.first, warning));
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
  WarnOfCount(source, names_cut_, "launch has", "launches have",
              fmt::format(" a name of more than {} bytes; it is truncated", shm::kMaxNameBytes));
  const bool any_start = std::any_of(
      records_.begin(), records_.end(),
      [](const shm::KernelRecord& record) { return record.start_ns != shm::kUnknownTime; });
  if (!any_start) return;  // only the file order is known
  SortByStart();
  CountDoubles(source);
  NumberDevices(source);
  {
    const LaunchIds ids(records_, processes_);
    CorrectTimes(ids, source);
    OrderByLaunch(ids, source);
  }
  SetOrigin();
  CountSharedIds(source);
}

// Launches without a start are placed after the launch before them in the file.
void RecordedLaunches::SortByStart() {
  if (std::is_sorted(records_.begin(), records_.end(),
                     [](const shm::KernelRecord& a, const shm::KernelRecord& b) {
                       return a.start_ns < b.start_ns;
                     }) &&
      records_.back().start_ns != shm::kUnknownTime) {
    return;
  }
  std::vector<std::uint64_t> at;
  at.reserve(records_.size());
  std::uint64_t previous = 0;
  for (const shm::KernelRecord& record : records_) {
    if (record.start_ns != shm::kUnknownTime) previous = record.start_ns;
    at.push_back(previous);
  }
  if (std::is_sorted(at.begin(), at.end())) return;
  std::vector<std::size_t> order(records_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return at[a] < at[b]; });
  at = {};
  Reorder(order);
}

void RecordedLaunches::SetOrigin() {
  std::uint64_t first = shm::kUnknownTime;
  for (const shm::KernelRecord& record : records_) first = std::min(first, record.start_ns);
  for (shm::KernelRecord& record : records_) {
    if (record.start_ns != shm::kUnknownTime) record.start_ns -= first;
  }
}

std::string RecordedLaunches::Shown(std::size_t launch) const {
  const shm::KernelRecord& record = records_[launch];
  return fmt::format("'{}' with {} {}", ShownCell(names_.name(record.name_id)), id_name_,
                     record.correlation_id - id_offset_);
}

void RecordedLaunches::CorrectTimes(const LaunchIds& ids, std::string_view source) {
  const Overruns overruns = CutOverruns(records_, processes_, ids, serial_streams_);
  if (overruns.cut > 0) {
    Warn(
        fmt::format("{}: {} after the next launch of the same stream ended, the first is {}; cut "
                    "to the start of that launch, which removes {:.3f} ms",
                    source, Plural(overruns.cut, "launch ends", "launches end"),
                    Shown(overruns.first_cut), static_cast<double>(overruns.cut_ns) * 1e-6));
  }
  WarnOfCount(
      source, overruns.kept, "launch ends", "launches end",
      fmt::format(" after the next launch of the same stream number ended, by {:.3f} ms; kept, "
                  "because the number seems to cover several streams",
                  static_cast<double>(overruns.kept_ns) * 1e-6));
  if (ids.misplaced().empty()) return;
  Warn(fmt::format("{}: {} a start that contradicts the {}s, the first is {}; ordered by id",
                   source, Plural(ids.misplaced().size(), "launch has", "launches have"), id_name_,
                   Shown(ids.misplaced().front())));
  const std::uint64_t length = LengthWithout(ids.misplaced());
  std::uint64_t too_long = 0;
  for (const std::size_t i : ids.misplaced()) {
    shm::KernelRecord& record = records_[i];
    const bool is_too_long = record.duration_ns > length;
    if (ids.IsFar(record) || is_too_long) record.start_ns = shm::kUnknownTime;
    if (!is_too_long) continue;
    record.duration_ns = 0;
    ++too_long;
  }
  WarnOfCount(source, too_long, "of these launches is", "of these launches are",
              " longer than the recording; counted with 0 ns");
}

// Returns the time from the first to the last start of all launches but those in `left_out`.
std::uint64_t RecordedLaunches::LengthWithout(std::span<const std::size_t> left_out) const {
  std::uint64_t first = shm::kUnknownTime;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (!left_out.empty() && left_out.front() == i) {
      left_out = left_out.subspan(1);
      continue;
    }
    if (records_[i].start_ns == shm::kUnknownTime) continue;
    first = std::min(first, records_[i].start_ns);
    last = std::max(last, records_[i].start_ns);
  }
  return last - std::min(first, last);
}

void RecordedLaunches::CountDoubles(std::string_view source) {
  const auto cells = [&](std::size_t i) {
    const shm::KernelRecord& r = records_[i];
    return std::tuple(ProcessOf(i), r.device, r.stream, r.correlation_id, r.graph_node, r.name_id,
                      r.duration_ns, std::to_array(r.grid), std::to_array(r.block));
  };
  std::uint64_t doubles = 0;
  std::vector<std::size_t> same_start;
  for (std::size_t first = 0; first < records_.size(); first += same_start.size()) {
    same_start.assign(1, first);
    if (records_[first].start_ns == shm::kUnknownTime) continue;
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
  WarnOfCount(source, doubles, "launch equals", "launches equal",
              " another launch in every cell; if the file contains its events twice, totals are "
              "too large");
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
  WarnOfCount(source, shared, "launch shares", "launches share",
              " a correlation id with a launch on another stream, outside of graphs; the order of "
              "start is used, which may differ from the launch order");
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

void RecordedLaunches::OrderByLaunch(const LaunchIds& ids, std::string_view source) {
  const bool has_nodes =
      std::any_of(records_.begin(), records_.end(),
                  [](const shm::KernelRecord& record) { return record.graph_node != 0; });
  if (ids.any() && ids.sorted() && !has_nodes) return;
  if ((!ids.any() || ids.doubted()) && SeveralStreams()) {
    Warn(fmt::format(
        "{}: launches are numbered in order of start, which may differ from the launch order on "
        "several streams: {}",
        source, ids.doubted() ? id_name_ + "s contradict the streams" : "no correlation ids"));
  }
  if (!ids.any()) return;

  const std::vector<std::uint64_t>& number = ids.numbers();
  const auto before = [&](std::size_t a, std::size_t b) {
    if (number[a] != number[b]) return number[a] < number[b];
    // Kernels of a graph are ordered by node: node numbers are the same at each launch, starts are
    // not.
    return number[a] != 0 && records_[a].graph_node < records_[b].graph_node;
  };
  std::vector<std::size_t> order(records_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (processes_.empty()) {
    std::stable_sort(order.begin(), order.end(), before);
  } else {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return processes_[a] != processes_[b] ? processes_[a] < processes_[b] : before(a, b);
    });
    order = AtPlacesOfProcesses(order, ids.misplaced());
  }
  Reorder(order);
}

// Merges processes, which are one after another in `launched`, each in launch order. Each process
// keeps the places that its launches have in order of start.
std::vector<std::size_t> RecordedLaunches::AtPlacesOfProcesses(
    const std::vector<std::size_t>& launched, std::span<const std::size_t> misplaced) const {
  std::vector<std::pair<std::uint64_t, std::size_t>> starts;
  std::vector<std::size_t> next(process_ids_.size(), launched.size());  // in `launched`
  for (std::size_t k = launched.size(); k-- > 0;) {
    const std::size_t i = launched[k];
    next[processes_[i]] = k;
    const bool wrong = std::binary_search(misplaced.begin(), misplaced.end(), i);
    starts.emplace_back(wrong ? shm::kUnknownTime : records_[i].start_ns, i);
  }
  std::reverse(starts.begin(), starts.end());
  // Launches without a right start are placed in the middle between their neighbors.
  for (std::size_t k = 0; k < starts.size(); ++k) {
    if (starts[k].first != shm::kUnknownTime) continue;
    const std::uint32_t process = processes_[starts[k].second];
    std::size_t end = k;
    const auto is_process = [&](std::size_t at) {
      return at < starts.size() && processes_[starts[at].second] == process;
    };
    while (is_process(end) && starts[end].first == shm::kUnknownTime) ++end;
    const std::uint64_t after = is_process(end) ? starts[end].first : 0;
    std::uint64_t start = k > 0 && is_process(k - 1) ? starts[k - 1].first : after;
    if (after > start) start += (after - start) / 2;
    for (; k < end; ++k) starts[k].first = start;
  }
  std::sort(starts.begin(), starts.end());
  std::vector<std::size_t> order;
  order.reserve(launched.size());
  for (const auto& [start, i] : starts) order.push_back(launched[next[processes_[i]]++]);
  return order;
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
  if (!steps_.empty()) reorder(steps_);
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
  if (!steps_.empty()) {
    const auto [step, last] = part(steps_);
    batch.steps.assign(step, last);
  }
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
