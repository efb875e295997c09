// SPDX-License-Identifier: Apache-2.0
#include "recording/record_decoder.h"

#include <stdio.h>

#include "control/program_control.h"
#include "graphs/graph_names.h"
#include "recording/name_hash.h"
#include "shm/context_key.h"
#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

bool HasTimes(Decoded decoded) noexcept {
  return decoded == Decoded::kKernel || decoded == Decoded::kBadTimestamps;
}

}  // namespace

void RecordDecoder::Init(const CuptiApi& api, SessionFiles& files) noexcept {
  api_ = &api;
  files_ = &files;
  writer_.Init(files);
  definitions_.Init(files);
  marks_.Init(files, definitions_, Control().paths(), Control().ranges());
  started_ns_ = MonotonicNs();
  if (api.newer_than_known()) probation_ = kOnProbation;
}

void RecordDecoder::Decode(std::uint8_t* buffer, std::size_t valid_size) noexcept {
  if (closed_) return;
  AddTo(files_->ring().header.buffers, 1);
  if (refused()) return;
  decoding_ns_ = RealtimeNs();
  longest_ns_ = MonotonicNs() - started_ns_ + kSlackNs;
  definitions_.NextBuffer();
  pointers_.NextBuffer();
  reader_.Forget();
  CUpti_Activity* activity = nullptr;
  CUptiResult next = CUPTI_SUCCESS;
  for (;;) {
    next = api_->ActivityGetNextRecord(buffer, valid_size, &activity);
    if (next != CUPTI_SUCCESS || refused()) break;
    if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
        activity->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
      DecodeOne(activity);
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
      DecodeOneGraph(activity);
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
      AddTo(files_->ring().header.cost_cupti_ns, DecodeOverhead(activity));
    } else {
      AddTo(files_->ring().header.skipped, 1);
    }
  }
  writer_.Push();
  if (next != CUPTI_SUCCESS && next != CUPTI_ERROR_MAX_LIMIT_REACHED) {
    files_->Count(shm::Loss::kUnreadBuffers);
  }
}

void RecordDecoder::DecodeOne(const void* activity) noexcept {
  shm::KernelRecord kernel;
  const char* name = nullptr;
  const Decoded decoded = DecodeKernel(activity, api_->has_graph(), kernel, name);
  // Done before any failure, because a pending capture that is not taken would stay in the table.
  if (kernel.graph_id != 0) AddTo(files_->ring().header.graph_records, 1);
  PendingCapture capture{};
  if (pending_.Take(kernel.correlation_id, capture)) {
    kernel.flags = capture.answer.flags;
    kernel.credit_slot = capture.answer.credit_slot;
  }
  if (Deliver(decoded, kernel, name, capture.mark)) return;
  // The collector will not receive this capture: its credit would stay in flight forever, and its
  // kernel would count as explored.
  if (capture.answer.captures()) on_lost_(gate_, capture);
}

void RecordDecoder::DecodeOneGraph(const void* activity) noexcept {
  shm::KernelRecord graph;
  const Decoded decoded = DecodeGraph(activity, graph);
  if (probation_ != 0 && HasTimes(decoded) && !LooksRight(graph)) {
    Refuse();
    return;
  }
  if (!Usable(decoded, graph)) return;
  char name[kGraphNameBytes];
  const std::uint32_t length = graph_names_->Write(graph.graph_id, name);
  PushKernel(Define(name, length), graph, {});
}

// Returns whether the record was staged for the ring; counts it as lost if not.
bool RecordDecoder::Deliver(Decoded decoded, shm::KernelRecord& kernel, const char* name,
                            const shm::LaunchMark& mark) noexcept {
  if (probation_ != 0 && HasTimes(decoded) && !PassesProbation(kernel, name)) return false;
  return Usable(decoded, kernel) && PushKernel(IdOf(name), kernel, mark);
}

// Returns whether the record is to be recorded: its kernel did not start during a pause, and its
// times are plausible. Counts it if not. Converts the times to nanoseconds.
bool RecordDecoder::Usable(Decoded decoded, shm::KernelRecord& kernel) noexcept {
  // Pauses are in the ticks of CUPTI's clock too.
  if (decoded != Decoded::kNoTimestamps && Control().pauses().Covers(kernel.start_ns)) {
    AddTo(files_->ring().header.paused, 1);
    return false;
  }
  if (decoded == Decoded::kKernel) {
    const bool is_known = clock_.Convert(kernel.start_ns, kernel.duration_ns, decoding_ns_);
    // If the clock is stepped forward while a kernel runs, the kernel appears longer than the
    // program.
    if (is_known && kernel.duration_ns <= longest_ns_) return true;
    if (!is_known) SayClockReplaced("records in its unit are lost");
  }
  writer_.Lose(decoded == Decoded::kNoTimestamps ? shm::Loss::kNoTimestamps
               : decoded == Decoded::kIncomplete ? shm::Loss::kIncomplete
                                                 : shm::Loss::kBadTimestamps);
  return false;
}

// `id` is the name's id; NameIds::kNone means that the record was already counted as lost.
bool RecordDecoder::PushKernel(std::uint32_t id, shm::KernelRecord& kernel,
                               const shm::LaunchMark& mark) noexcept {
  if (id == NameIds::kNone) return false;
  if (mark.range_id == RangePaths::kOther) files_->Count(shm::Loss::kRangesRefused);
  if (Control().ranges().on()) id = RangedId(id, PlaceOf(kernel));
  const bool has_room =
      mark.empty() ? writer_.MakeRoom(1) : marks_.Stage(mark, kernel.correlation_id, writer_);
  if (!has_room) {
    writer_.Lose(shm::Loss::kRingFull);
    return false;
  }
  kernel.name_id = id;
  writer_.StageKernel(kernel);
  return true;
}

// Returns the range that the launch counts to, an id of LaunchRanges; counts a launch whose range
// is not known. Sets the flag of a launch that is not selected.
std::uint32_t RecordDecoder::PlaceOf(shm::KernelRecord& kernel) const noexcept {
  std::uint16_t range = shm::kNoRange;
  bool is_outside = Control().ranges().selects();
  if (!places_.Find(kernel.correlation_id, range, is_outside)) {
    files_->Count(shm::Loss::kRangesRefused);
  }
  if (is_outside) kernel.flags |= shm::kFlagOutside;
  return range;
}

// Returns the id of the launches of name `id` in a range, and defines it if needed. Returns `id` if
// that is impossible.
std::uint32_t RecordDecoder::RangedId(std::uint32_t id, std::uint32_t range) noexcept {
  if (range == shm::kNoRange) return id;
  // Never the hash of a name, but for chance.
  const std::uint64_t key = shm::MixKeys(std::uint64_t{range} << 32 | 1, id);
  const std::uint32_t known = names_.Find(key);
  if (known != NameIds::kNone) return known;
  const std::uint32_t in_file = names_.full() ? shm::kNoRange : marks_.RingIdOf(range);
  if (in_file == shm::kNoRange ||
      definitions_.WriteRanged(names_.next(), id, in_file) != DefinitionWriter::Result::kWritten) {
    files_->Count(shm::Loss::kRangesRefused);
    return id;
  }
  return names_.Add(key);
}

// Returns the id of the name. If it has none, counts the record as lost and returns NameIds::kNone.
std::uint32_t RecordDecoder::IdOf(const char* name) noexcept {
  if (name == nullptr) name = "";
  std::uint32_t id = pointers_.FindInBuffer(name);
  if (id != NameIds::kNone) return id;
  id = ReadName(name);
  if (id != NameIds::kNone) pointers_.Put(name, id);
  return id;
}

// Returns as IdOf.
std::uint32_t RecordDecoder::ReadName(const char* name) noexcept {
  const std::uint32_t length = reader_.Read(name);
  if (length != NameReader::kGone) return Define(reader_.text(), length);
  const std::uint32_t id = pointers_.FindLast(name);
  if (id == NameIds::kNone) writer_.Lose(shm::Loss::kNameGone);
  return id;
}

// Returns as IdOf, for the text itself. Defines a new name in the ring file.
std::uint32_t RecordDecoder::Define(const char* name, std::uint32_t length) noexcept {
  const auto lose = [this](shm::Loss loss) {
    writer_.Lose(loss);
    return NameIds::kNone;
  };
  const bool cut = length > shm::kMaxNameBytes;
  if (cut) length = shm::kMaxNameBytes;
  const std::uint64_t hash = HashName(name, length);
  std::uint32_t id = names_.Find(hash);
  if (id != NameIds::kNone) return id;
  if (!NameReader::IsPlausible(name, length)) return lose(shm::Loss::kNameGone);
  if (names_.full()) return lose(shm::Loss::kTooManyNames);
  switch (definitions_.Write(shm::RecordKind::kName, names_.next(), name, length, hash)) {
    case DefinitionWriter::Result::kFull:
      return lose(shm::Loss::kTooManyNames);
    case DefinitionWriter::Result::kNoSpace:
      return lose(shm::Loss::kNameUnwritten);
    case DefinitionWriter::Result::kWritten:
      break;
  }
  if (cut) files_->Count(shm::Loss::kNamesCut);
  return names_.Add(hash);
}

[[gnu::cold]] bool RecordDecoder::PassesProbation(const shm::KernelRecord& kernel,
                                                  const char* name) noexcept {
  const std::uint32_t length = reader_.Read(name);
  if (LooksRight(kernel) && length != NameReader::kGone && length != 0 &&
      NameReader::IsPlausible(reader_.text(), length)) {
    --probation_;
    return true;
  }
  return Refuse();
}

// Stops decoding and disables recording. Returns false.
bool RecordDecoder::Refuse() noexcept {
  refused_.store(true, std::memory_order_relaxed);
  char reason[sizeof(shm::RingHeader::reason)];
  ::snprintf(reason, sizeof(reason),
             "CUPTI version %u is not supported, because its records have a different layout",
             api_->version);
  files_->Disable(reason);
  return false;
}

bool RecordDecoder::ReadClocks(CuptiClock::Reading& reading) const noexcept {
  reading.monotonic_ns = MonotonicNs();
  if (api_->GetTimestamp(&reading.ticks) != CUPTI_SUCCESS) return false;
  reading.realtime_ns = RealtimeNs();
  reading.apart_ns = MonotonicNs() - reading.monotonic_ns;
  return true;
}

[[gnu::cold]] void RecordDecoder::CheckClock() noexcept {
  CuptiClock::Reading from;
  if (api_->GetTimestamp == nullptr || !ReadClocks(from)) return;
  clock_.Sample(from);
  if (!clock_.doubtful()) return;
  for (int attempt = 0; attempt < kCalibrationAttempts; ++attempt) {
    SleepMs(kCalibrationMs);
    CuptiClock::Reading to;
    if (!ReadClocks(to)) return;
    if (clock_.Calibrate(from, to)) {
      if (clock_.is_replaced()) SayClockReplaced("its times are converted");
      return;
    }
    from = to;
  }
}

// Reports only once. `consequence`: for the records.
void RecordDecoder::SayClockReplaced(const char* consequence) noexcept {
  // Relaxed: it only prevents a second report by another thread.
  if (said_clock_replaced_.exchange(true, std::memory_order_relaxed)) return;
  char remark[sizeof(shm::RingHeader::reason)];
  ::snprintf(remark, sizeof(remark),
             "CUPTI's clock no longer counts nanoseconds: another profiler replaced it; %s",
             consequence);
  files_->Remark(remark);
}

}  // namespace stemtap::inject
