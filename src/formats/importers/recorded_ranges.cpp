// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/recorded_ranges.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "shm/range_name.h"

namespace stemtap::formats {
namespace {

// Maximum bytes of the name of a domain, and of a range with its domain; longer names are cut.
constexpr std::size_t kMaxDomainBytes = 64;
constexpr std::size_t kMaxRangeNameBytes = 250;
// Maximum open ranges of a thread: more do not fit into a path.
constexpr std::size_t kMaxNested = shm::kMaxRangeBytes / 2;
// Maximum open ranges of a process.
constexpr std::size_t kMaxStarted = 64;
// Maximum bytes of the ids whose paths are kept, so that ranges that overlap in any way do not fill
// memory. A program has some thousand paths of a few ranges, which are 8 bytes each.
constexpr std::size_t kMaxKeptIdBytes = std::size_t{16} << 20;

const std::string kOther = shm::kOtherRangePath;

// Returns the beginning of `text` with at most `max` bytes, and no part of a UTF-8 character.
std::string_view Cut(std::string_view text, std::size_t max) {
  if (text.size() <= max) return text;
  while (max > 1 && (static_cast<unsigned char>(text[max]) & 0xC0) == 0x80) --max;
  return text.substr(0, max);
}

// OpenRanges is the ranges of one thread or process that are open at a time that only increases.
class OpenRanges {
 public:
  explicit OpenRanges(std::size_t max) : max_(max) {}

  void Clear() {
    open_.clear();
    has_changed_ = true;
    full_until_ = std::numeric_limits<std::int64_t>::min();
  }

  // Opens a range. REQUIRES: ranges are opened in order of their starts.
  void Open(const ProgramRange& range) {
    // Ranges that nest end in reverse order, so this keeps few that have ended.
    while (!open_.empty() && open_.back().end_ns <= range.start_ns) open_.pop_back();
    if (open_.size() >= max_) Close(range.start_ns);
    has_changed_ = true;
    if (open_.size() < max_) {
      open_.push_back({range.end_ns, range.id});
    } else {
      full_until_ = std::max(full_until_, range.end_ns);
    }
  }

  // Returns the bytes of the ids of all open ranges, or of the innermost, or null if there were too
  // many. Valid until the next call.
  const std::string* IdsAt(std::int64_t time, bool whole) {
    if (time < full_until_) return nullptr;
    Close(time);
    if (!has_changed_) return &ids_;
    ids_.clear();
    for (std::size_t i = whole || open_.empty() ? 0 : open_.size() - 1; i < open_.size(); ++i) {
      char bytes[sizeof(open_[i].id)];
      std::memcpy(bytes, &open_[i].id, sizeof(bytes));
      ids_.append(bytes, sizeof(bytes));
    }
    has_changed_ = false;
    return &ids_;
  }

 private:
  struct Range {
    std::int64_t end_ns;
    std::int64_t id;
  };

  void Close(std::int64_t time) {
    const auto ended = [&](const Range& range) { return range.end_ns <= time; };
    if (std::erase_if(open_, ended) > 0) has_changed_ = true;
  }

  std::size_t max_;
  std::vector<Range> open_;
  std::int64_t full_until_ = std::numeric_limits<std::int64_t>::min();
  std::string ids_;
  bool has_changed_ = true;  // since ids_ was set
};

// Sorts ranges by owner, then from the first and outermost to the last and innermost. Equal ranges
// keep their order.
void Sort(std::vector<ProgramRange>& ranges) {
  std::stable_sort(ranges.begin(), ranges.end(), [](const ProgramRange& a, const ProgramRange& b) {
    return std::tuple(a.owner, a.start_ns, b.end_ns) < std::tuple(b.owner, b.start_ns, a.end_ns);
  });
}

// Calls visit(call, open) for each call that has a range of its owner before it, where `open` are
// the ranges of the owner. `calls` is in order of owner and start, `ranges` is sorted.
template <typename Calls, typename OwnerOf, typename Visit>
Status ForEachCall(Calls& calls, const OwnerOf& owner_of, const std::vector<ProgramRange>& ranges,
                   std::size_t max_open, const Visit& visit) {
  OpenRanges open(max_open);
  std::size_t next = 0;
  bool any = false;
  std::uint32_t owner = 0;
  for (auto& call : calls) {
    if (owner_of(call) != owner) {
      owner = owner_of(call);
      any = false;
      open.Clear();
    }
    while (next < ranges.size() && ranges[next].owner < owner) ++next;
    for (; next < ranges.size() && ranges[next].owner == owner &&
           ranges[next].start_ns <= call.start_ns;
         ++next) {
      open.Open(ranges[next]);
      any = true;
    }
    if (any) STEMTAP_TRY(visit(call, open));
  }
  return Success{};
}

}  // namespace

std::string_view OwnNameOf(std::string_view text) {
  text = Cut(text, kMaxRangeNameBytes);
  return text.substr(0, shm::StableLength(text.data(), static_cast<std::uint32_t>(text.size())));
}

std::string RangeNameOf(std::string_view domain, std::string_view text) {
  std::string name(Cut(domain, kMaxDomainBytes));
  if (!name.empty()) name += ':';
  const std::string_view own = OwnNameOf(text);
  name += own.empty() ? std::string_view("(unnamed)") : own;
  return std::string(Cut(name, kMaxRangeNameBytes));
}

void RecordedRanges::EndCalls() {
  const auto by_thread = [](const RecordedCall& call) {
    return std::tuple(call.thread, call.start_ns, call.correlation_id);
  };
  std::sort(calls_.begin(), calls_.end(), [&](const RecordedCall& a, const RecordedCall& b) {
    return by_thread(a) < by_thread(b);
  });
}

const std::vector<std::uint32_t>& RecordedRanges::ByProcess() {
  if (!by_process_.empty()) return by_process_;
  const auto by_process = [&](std::uint32_t at) {
    return std::tuple(calls_[at].process, calls_[at].start_ns, at);
  };
  by_process_.resize(calls_.size());
  std::iota(by_process_.begin(), by_process_.end(), 0u);
  std::sort(by_process_.begin(), by_process_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return by_process(a) < by_process(b); });
  return by_process_;
}

bool RecordedRanges::ThreadCallsIn(const ProgramRange& range) const {
  const auto at = std::lower_bound(calls_.begin(), calls_.end(), range,
                                   [](const RecordedCall& call, const ProgramRange& wanted) {
                                     return std::pair(call.thread, call.start_ns) <
                                            std::pair(wanted.owner, wanted.start_ns);
                                   });
  return at != calls_.end() && at->thread == range.owner && at->start_ns < range.end_ns;
}

bool RecordedRanges::ProcessCallsIn(const ProgramRange& range) {
  const std::vector<std::uint32_t>& calls = ByProcess();
  const auto at = std::lower_bound(calls.begin(), calls.end(), range,
                                   [&](std::uint32_t call, const ProgramRange& wanted) {
                                     return std::pair(calls_[call].process, calls_[call].start_ns) <
                                            std::pair(wanted.owner, wanted.start_ns);
                                   });
  return at != calls.end() && calls_[*at].process == range.owner &&
         calls_[*at].start_ns < range.end_ns;
}

Status RecordedRanges::Finish(const NameOf& name_of, RecordedLaunches& launches) {
  STEMTAP_TRY(FindThreadRanges(name_of));
  STEMTAP_TRY(FindProcessRanges(name_of));
  FindSteps();
  by_process_ = {};
  if (match_ == CallMatch::kId) {
    for (RecordedCall& call : calls_) call.process = 0;
  }
  const auto key = [](const RecordedCall& call) {
    return std::pair(call.process, call.correlation_id);
  };
  std::stable_sort(calls_.begin(), calls_.end(),
                   [&](const RecordedCall& a, const RecordedCall& b) { return key(a) < key(b); });
  Mark(launches);
  return Success{};
}

Status RecordedRanges::FindThreadRanges(const NameOf& name_of) {
  Sort(thread_ranges_);
  const auto owner_of = [](const RecordedCall& call) { return call.thread; };
  const auto visit = [&](RecordedCall& call, OpenRanges& open) -> Status {
    call.range = STEMTAP_TRY(NumberOf(open.IdsAt(call.start_ns, true), name_of));
    return Success{};
  };
  STEMTAP_TRY(ForEachCall(calls_, owner_of, thread_ranges_, kMaxNested, visit));
  thread_ranges_ = {};
  return Success{};
}

Status RecordedRanges::FindProcessRanges(const NameOf& name_of) {
  if (process_ranges_.empty()) return Success{};
  Sort(process_ranges_);
  std::vector<RecordedCall> calls;  // those outside of the ranges of their threads
  for (const std::uint32_t at : ByProcess()) {
    if (calls_[at].range == shm::kNoRange) calls.push_back(calls_[at]);
  }
  const auto owner_of = [](const RecordedCall& call) { return call.process; };
  const auto visit = [&](RecordedCall& call, OpenRanges& open) -> Status {
    call.range = STEMTAP_TRY(NumberOf(open.IdsAt(call.start_ns, false), name_of));
    return Success{};
  };
  STEMTAP_TRY(ForEachCall(calls, owner_of, process_ranges_, kMaxStarted, visit));
  auto found = calls.begin();
  for (const std::uint32_t at : by_process_) {
    if (calls_[at].range == shm::kNoRange) calls_[at].range = (found++)->range;
  }
  process_ranges_ = {};
  return Success{};
}

void RecordedRanges::FindSteps() {
  if (steps_.empty()) return;
  Sort(steps_);
  std::size_t next = 0;
  std::uint32_t number = 0;  // of the next step in its process
  for (const std::uint32_t at : ByProcess()) {
    RecordedCall& call = calls_[at];
    const auto precedes = [&](std::size_t i) {
      return steps_[i].owner < call.process ||
             (steps_[i].owner == call.process && steps_[i].start_ns <= call.start_ns);
    };
    for (; next < steps_.size() && precedes(next); ++next) {
      const bool is_first = next == 0 || steps_[next - 1].owner != steps_[next].owner;
      number = is_first ? 1 : number + 1;
    }
    if (next == 0 || steps_[next - 1].owner != call.process) continue;
    if (call.start_ns < steps_[next - 1].end_ns) call.step = number - 1;
  }
  steps_ = {};
}

// Returns the number of the path of the ranges whose ids are in `ids`, shm::kNoRange if there are
// none. Null is the path of too many ranges.
Result<std::uint32_t> RecordedRanges::NumberOf(const std::string* ids, const NameOf& name_of) {
  if (ids == nullptr) return NumberOf(kOther);
  const auto known = by_ids_.find(*ids);
  if (known != by_ids_.end()) return known->second;
  std::string path;
  for (std::size_t at = 0; at < ids->size() && path.size() <= shm::kMaxRangeBytes;) {
    std::int64_t id = 0;
    std::memcpy(&id, ids->data() + at, sizeof(id));
    at += sizeof(id);
    if (!path.empty()) path += '/';
    path += STEMTAP_TRY(name_of(id));
  }
  const std::uint32_t number = NumberOf(path.size() > shm::kMaxRangeBytes ? kOther : path);
  id_bytes_ += ids->size();
  if (id_bytes_ > kMaxKeptIdBytes) {
    by_ids_.clear();
    id_bytes_ = ids->size();
  }
  by_ids_.emplace(*ids, number);
  return number;
}

// Returns the number of a path; shm::kNoRange if it is empty.
std::uint32_t RecordedRanges::NumberOf(const std::string& path) {
  if (path.empty()) return shm::kNoRange;
  const auto known = numbers_.find(path);
  if (known != numbers_.end()) return known->second;
  const bool is_full = paths_.size() >= shm::kMaxRanges && path != kOther;
  if (is_full) return NumberOf(kOther);
  paths_.push_back(path);
  const auto number = static_cast<std::uint32_t>(paths_.size());
  numbers_.emplace(path, number);
  return number;
}

const RecordedCall* RecordedRanges::CallOf(std::uint32_t process, std::uint32_t correlation_id,
                                           std::size_t& next) const {
  const auto key = [](const RecordedCall& call) {
    return std::pair(call.process, call.correlation_id);
  };
  const std::pair wanted(process, correlation_id);
  if (next == calls_.size() || key(calls_[next]) != wanted) {
    const auto first = std::lower_bound(
        calls_.begin(), calls_.end(), wanted,
        [&](const RecordedCall& call, const auto& value) { return key(call) < value; });
    next = static_cast<std::size_t>(first - calls_.begin());
  }
  const std::size_t first = next;
  bool one_thread = true;
  for (; next < calls_.size() && key(calls_[next]) == wanted; ++next) {
    one_thread = one_thread && calls_[next].thread == calls_[first].thread;
  }
  return next != first && one_thread ? &calls_[first] : nullptr;
}

void RecordedRanges::Mark(RecordedLaunches& launches) const {
  std::vector<std::uint32_t> ranges(launches.size(), shm::kNoRange);
  std::vector<std::uint64_t> steps(launches.size(), shm::kNoStep);
  bool any_range = false;
  bool any_step = false;
  std::size_t next = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::uint32_t id = launches.correlation_id(i);
    if (id == 0) continue;
    const RecordedCall* call =
        CallOf(match_ == CallMatch::kId ? 0 : launches.ProcessOf(i), id, next);
    if (call == nullptr) continue;
    ranges[i] = call->range;
    if (call->step != RecordedCall::kNoStep) steps[i] = call->step;
    any_range = any_range || call->range != shm::kNoRange;
    any_step = any_step || call->step != RecordedCall::kNoStep;
  }
  if (any_range) launches.SetRanges(ranges, paths_);
  if (any_step) launches.SetSteps(std::move(steps));
}

}  // namespace stemtap::formats
