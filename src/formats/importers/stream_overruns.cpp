// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/stream_overruns.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace stemtap::formats {
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
  std::uint32_t graph = 0;  // if the kernels have ids of their own

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
