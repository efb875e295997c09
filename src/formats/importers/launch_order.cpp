// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/launch_order.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "shm/correlation.h"

namespace stemtap::formats {
namespace {

// Maximum share of a process's launches that may contradict its ids with starts that are not far.
// If it is smaller, a few wrong starts make all ids useless. If it is larger, the launches of a
// small second program are distributed over the launches of the first.
constexpr double kMaxMisplaced = 0.1;

// The same including starts that are far from all others, which no second program explains. Beyond
// half of the launches, it is open which starts are wrong.
constexpr double kMaxMisplacedFar = 0.5;

// Maximum share of launches that contradict a stream and have the id of another launch. CUPTI uses
// an id once, so these are ids of several programs or of a tool that counts something else. The
// recorded profiles available to us contain none.
constexpr double kMaxReused = 0.01;

// A start is far if its distance to the shortest time that contains half of all starts is more than
// this many times that time, and more than kFarNs. A smaller factor would include launches before a
// long pause of the program; with a larger one, wrong starts move the origin of the times. Launches
// wait in queues for seconds at most.
constexpr std::uint64_t kFarFactor = 1000;
constexpr std::uint64_t kFarNs = 60'000'000'000;

bool HasPlace(const shm::KernelRecord& record) {
  return record.stream != shm::kUnknown32 && record.start_ns != shm::kUnknownTime &&
         record.correlation_id != 0;
}

}  // namespace

bool LaunchIds::Evidence::Trusted() const {
  const auto all = static_cast<double>(launches);
  return static_cast<double>(near) <= kMaxMisplaced * all &&
         static_cast<double>(near + far) <= kMaxMisplacedFar * all &&
         static_cast<double>(std::min(reused, near)) <= kMaxReused * all;
}

LaunchIds::LaunchIds(std::span<const shm::KernelRecord> records,
                     std::span<const std::uint32_t> processes)
    : records_(records), processes_(processes) {
  Number();
  if (!any_ || sorted_) return;
  FindFar();
  if (AnyFar() || AnyBelowEarlierOne()) Compare();
}

void LaunchIds::Number() {
  numbers_.resize(records_.size());
  const std::uint32_t most =
      processes_.empty() ? 0 : *std::max_element(processes_.begin(), processes_.end());
  std::vector<std::uint64_t> last(std::size_t{most} + 1, 0);
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const std::uint32_t id = records_[i].correlation_id;
    std::uint64_t& previous = last[ProcessOf(i)];
    numbers_[i] = previous;
    if (id == 0) continue;  // unknown: it stays after the previous launch
    numbers_[i] = shm::LaunchNumber(id, previous);
    sorted_ = sorted_ && numbers_[i] >= previous;
    any_ = true;
    previous = numbers_[i];
  }
}

// Returns whether a launch has a lower id than a launch that started earlier on its stream.
bool LaunchIds::AnyBelowEarlierOne() const {
  struct Stream {
    std::uint64_t highest = 0;  // of launches that started before `newest`
    std::uint64_t pending = 0;  // of launches that started at `newest`
    std::uint64_t newest = 0;   // start
  };
  std::map<std::tuple<std::size_t, std::uint16_t, std::uint32_t>, Stream> streams;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const shm::KernelRecord& record = records_[i];
    if (!HasPlace(record)) continue;
    Stream& stream = streams[{ProcessOf(i), record.device, record.stream}];
    if (record.start_ns != stream.newest) {
      stream.highest = std::max(stream.highest, stream.pending);
      stream.newest = record.start_ns;
    }
    if (numbers_[i] < stream.highest) return true;
    stream.pending = std::max(stream.pending, numbers_[i]);
  }
  return false;
}

void LaunchIds::Compare() {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const shm::KernelRecord& record = records_[i];
    if (record.correlation_id == 0 || record.start_ns == shm::kUnknownTime) continue;
    Evidence& evidence = evidence_[ProcessOf(i)];
    ++evidence.launches;
    if (IsFar(record)) continue;
    evidence.lowest = std::min(evidence.lowest, numbers_[i]);
    evidence.highest = std::max(evidence.highest, numbers_[i]);
  }
  CompareFar();
  CompareNear();
  const auto doubted = [&](std::size_t i) {
    const auto at = evidence_.find(ProcessOf(i));
    return at != evidence_.end() && !at->second.Trusted();
  };
  for (const auto& [process, evidence] : evidence_) doubted_ = doubted_ || !evidence.Trusted();
  if (doubted_) {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (doubted(i)) numbers_[i] = 0;
    }
  }
  std::erase_if(misplaced_, doubted);
  std::sort(misplaced_.begin(), misplaced_.end());
  evidence_.clear();
}

// A launch long before most others has a lower id than all of them, and a launch long after them a
// higher one, on any stream.
void LaunchIds::CompareFar() {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].correlation_id == 0 || !IsFar(records_[i])) continue;
    Evidence& evidence = evidence_[ProcessOf(i)];
    const bool early = records_[i].start_ns < near_first_ns_;
    if (early ? numbers_[i] <= evidence.lowest : numbers_[i] >= evidence.highest) continue;
    ++evidence.far;
    misplaced_.push_back(i);
  }
}

void LaunchIds::CompareNear() {
  const std::vector<std::size_t> shared = WithSharedIds();
  const std::vector<std::size_t> by_stream = ByStream();
  for (std::size_t first = 0; first < by_stream.size();) {
    const auto stream_of = [&](std::size_t i) {
      return std::tuple(ProcessOf(i), records_[i].device, records_[i].stream);
    };
    std::size_t end = first;
    while (end < by_stream.size() && stream_of(by_stream[end]) == stream_of(by_stream[first])) {
      ++end;
    }
    CompareStream(std::span(by_stream).subspan(first, end - first), shared);
    first = end;
  }
}

// Returns the launches with a stream, an id and a start that is not far, grouped by stream, each
// stream in order of start. Launches with equal starts are in order of ids, because they do not
// contradict each other.
std::vector<std::size_t> LaunchIds::ByStream() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (HasPlace(records_[i]) && !IsFar(records_[i])) order.push_back(i);
  }
  const auto key = [&](std::size_t i) {
    const shm::KernelRecord& r = records_[i];
    return std::tuple(ProcessOf(i), r.device, r.stream, r.start_ns, numbers_[i]);
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

void LaunchIds::CompareStream(std::span<const std::size_t> stream,
                              std::span<const std::size_t> shared) {
  Evidence& evidence = evidence_[ProcessOf(stream[0])];
  std::vector<std::uint64_t> numbers;
  std::uint64_t highest = 0;
  for (const std::size_t i : stream) {
    numbers.push_back(numbers_[i]);
    if (numbers_[i] < highest && std::binary_search(shared.begin(), shared.end(), i)) {
      ++evidence.reused;
    }
    highest = std::max(highest, numbers_[i]);
  }
  for (const std::size_t at : OutsideLongestRise(numbers)) {
    ++evidence.near;
    misplaced_.push_back(stream[at]);
  }
}

// Returns the launches, in order of index, whose id another launch of the process has that is not
// another node of the same graph launch.
std::vector<std::size_t> LaunchIds::WithSharedIds() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].correlation_id != 0) order.push_back(i);
  }
  const auto key = [&](std::size_t i) {
    return std::tuple(ProcessOf(i), numbers_[i], records_[i].graph_node);
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> shared;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const bool before = k > 0 && key(order[k - 1]) == key(order[k]);
    const bool after = k + 1 < order.size() && key(order[k + 1]) == key(order[k]);
    if (before || after) shared.push_back(order[k]);
  }
  std::sort(shared.begin(), shared.end());
  return shared;
}

void LaunchIds::FindFar() {
  std::vector<std::uint64_t> starts;
  for (const shm::KernelRecord& record : records_) {
    if (record.start_ns != shm::kUnknownTime) starts.push_back(record.start_ns);
  }
  if (starts.empty()) return;
  const std::size_t half = starts.size() / 2;
  std::size_t at = 0;
  for (std::size_t i = 0; i + half < starts.size(); ++i) {
    if (starts[i + half] - starts[i] < starts[at + half] - starts[at]) at = i;
  }
  const std::uint64_t first = starts[at];
  const std::uint64_t last = starts[at + half];
  const std::uint64_t length = last - first;
  const std::uint64_t far = std::max(
      kFarNs, length > shm::kUnknownTime / kFarFactor ? shm::kUnknownTime : length * kFarFactor);
  near_first_ns_ = first > far ? first - far : 0;
  near_last_ns_ = last < shm::kUnknownTime - far ? last + far : shm::kUnknownTime;
}

bool LaunchIds::AnyFar() const {
  return std::any_of(records_.begin(), records_.end(),
                     [&](const shm::KernelRecord& record) { return IsFar(record); });
}

bool LaunchIds::IsFar(const shm::KernelRecord& record) const {
  return record.start_ns != shm::kUnknownTime &&
         (record.start_ns < near_first_ns_ || record.start_ns > near_last_ns_);
}

// Patience sorting: ends[n] is the position of the smallest number that ends a subsequence of
// length n + 1, and before[i] is the position before i in the longest subsequence that ends at i.
std::vector<std::size_t> OutsideLongestRise(std::span<const std::uint64_t> numbers) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> ends;
  std::vector<std::size_t> before(numbers.size(), kNone);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto at = std::upper_bound(
        ends.begin(), ends.end(), numbers[i],
        [&](std::uint64_t number, std::size_t end) { return number < numbers[end]; });
    if (at != ends.begin()) before[i] = *(at - 1);
    if (at == ends.end()) {
      ends.push_back(i);
    } else {
      *at = i;
    }
  }
  std::vector<std::size_t> outside;
  std::size_t inside = ends.empty() ? kNone : ends.back();
  for (std::size_t i = numbers.size(); i-- > 0;) {
    if (i == inside) {
      inside = before[i];
    } else {
      outside.push_back(i);
    }
  }
  std::reverse(outside.begin(), outside.end());
  return outside;
}

namespace {

// A launch may end this long after the end of the next one. In 244,000 recorded launches on one
// stream, none ends later than the next. Clocks of GPUs and hosts are matched to microseconds, and
// some profilers round to whole microseconds. A smaller value could cut such launches; a larger
// one leaves wrong durations of this size.
constexpr std::uint64_t kToleranceNs = 100'000;

// If more than this share of a stream's launches overrun, and more than kMaxCut, several streams
// have the same number, for example the branches of a graph. Some wrong durations in a short
// recording are below kMaxCut.
constexpr std::uint64_t kMaxCutShare = 50;  // one in 50
constexpr std::uint64_t kMaxCut = 8;

constexpr std::uint64_t kNever = shm::kUnknownTime;

std::uint64_t Sum(std::uint64_t a, std::uint64_t b) {
  return a > kNever - b ? kNever : a + b;
}

// One call that launched kernels: a kernel, or the kernels of a graph, which may run side by side.
struct Call {
  std::uint64_t start = kNever;
  std::uint64_t end = 0;
  std::uint32_t id = 0;
  std::uint32_t graph = 0;  // if the kernels have their own ids

  bool Includes(const shm::KernelRecord& record) const {
    return (id != 0 && id == record.correlation_id) ||
           (graph != 0 && record.graph_node == 0 && graph == record.graph_id);
  }
};

class Stream {
 public:
  // Judges a launch of the stream. REQUIRES: all launches that start later were judged. Returns
  // the end that it should have, or its own.
  std::uint64_t Judge(const shm::KernelRecord& record) {
    if (!current_.Includes(record)) {
      second_ = next_.start;
      next_ = current_;
      current_ = Call();
      current_.id = record.correlation_id;
      current_.graph = record.graph_node == 0 ? record.graph_id : 0;
    }
    std::uint64_t end = Sum(record.start_ns, record.duration_ns);
    const bool is_too_late = next_.start != kNever && next_.start > record.start_ns &&
                             end > Sum(next_.end, kToleranceNs) &&
                             (second_ == kNever || end > second_);
    if (is_too_late) end = next_.start;
    current_.start = std::min(current_.start, record.start_ns);
    current_.end = std::max(current_.end, end);
    return end;
  }

  std::uint64_t launches = 0;
  std::uint64_t overruns = 0;

  bool is_one_stream() const { return overruns <= std::max(kMaxCut, launches / kMaxCutShare); }

 private:
  Call current_;                   // of the launch judged last
  Call next_;                      // the call after it
  std::uint64_t second_ = kNever;  // start of the call after `next_`
};

}  // namespace

Overruns CutOverruns(std::span<shm::KernelRecord> records, std::span<const std::uint32_t> processes,
                     const LaunchIds& ids, bool are_streams) {
  struct Found {
    std::size_t launch;
    std::uint64_t end;
    const Stream* stream;
  };
  std::vector<Found> found;
  std::span<const std::size_t> misplaced = ids.misplaced();
  using Key = std::tuple<std::uint32_t, std::uint16_t, std::uint32_t>;
  std::map<Key, Stream> streams;
  Stream* last = nullptr;  // most launches are on the stream of the launch before them
  Key last_key;
  for (std::size_t i = records.size(); i-- > 0;) {
    const shm::KernelRecord& record = records[i];
    if (!misplaced.empty() && misplaced.back() == i) {
      misplaced = misplaced.first(misplaced.size() - 1);
      continue;
    }
    if (record.stream == shm::kUnknown32 || record.start_ns == shm::kUnknownTime) continue;
    if (ids.Doubts(i)) continue;  // several programs may use the same stream number
    const Key key = {processes.empty() ? 0 : processes[i], record.device, record.stream};
    if (last == nullptr || key != last_key) {
      last = &streams[key];
      last_key = key;
    }
    Stream& stream = *last;
    ++stream.launches;
    const std::uint64_t end = stream.Judge(record);
    if (end == Sum(record.start_ns, record.duration_ns)) continue;
    ++stream.overruns;
    found.push_back({i, end, &stream});
  }
  Overruns result;
  for (const Found& one : found) {
    shm::KernelRecord& record = records[one.launch];
    const std::uint64_t beyond = record.duration_ns - (one.end - record.start_ns);
    if (are_streams && one.stream->is_one_stream()) {
      ++result.cut;
      result.cut_ns = Sum(result.cut_ns, beyond);
      result.first_cut = one.launch;
      record.duration_ns -= beyond;
    } else {
      ++result.kept;
      result.kept_ns = Sum(result.kept_ns, beyond);
    }
  }
  return result;
}

}  // namespace stemtap::formats
