// SPDX-License-Identifier: Apache-2.0
#include "recording/duration_engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "recording/decoder.h"
#include "shm/context_key.h"

namespace stemtap::inject {
namespace {

// The only engine of the process, because CUPTI's callbacks carry no user pointer.
DurationEngine* g_engine = nullptr;

void Add(std::atomic<std::uint64_t>& counter, std::uint64_t by) noexcept {
  counter.fetch_add(by, std::memory_order_relaxed);  // Relaxed: independent counter, see shm/ring.h
}

bool HasTimes(Decoded decoded) noexcept {
  return decoded == Decoded::kKernel || decoded == Decoded::kBadTimestamps;
}

}  // namespace

bool DurationEngine::Start(const CuptiApi& api, SessionFiles& files, const Options& options,
                           char* problem, std::size_t problem_size) noexcept {
  api_ = api;
  files_ = &files;
  flush_ms_ = options.flush_ms;
  level_ = options.level;
  budget_.Init(options.max_overhead, MonotonicNs(), 0, ProcessCpuNs());
  if (api_.newer_than_known()) probation_ = kOnProbation;
  if (!pool_.Init(options.buffer_bytes, AddressLimit())) {
    ::snprintf(problem, problem_size, "no memory for activity buffers");
    return false;
  }
  g_engine = this;

  if (!ClaimCupti(problem, problem_size)) return false;
  marks_readable_ = MarksStand();
  started_ns_ = heard_ns_ = MonotonicNs();
  CheckClock();  // before any buffer can be returned
  if (!StartThread(FlusherMain, this)) {
    // Disabling recording must be the last event: no record may follow it.
    SwitchOff();
    ::snprintf(problem, problem_size, "no thread could be started");
    return false;
  }
  return true;
}

// Makes CUPTI record kernels into our buffers, whichever client used it before.
bool DurationEngine::ClaimCupti(char* problem, std::size_t problem_size) noexcept {
  // Our buffers are zeroed, so zeroing on the launching thread is switched off. One buffer per
  // thread saves launches a lock. Older versions do not support these attributes and record without
  // them.
  const auto set = [this](CUpti_ActivityAttribute attribute, std::uint8_t value) {
    std::size_t size = sizeof(value);
    api_.ActivitySetAttribute(attribute, &size, &value);
  };
  set(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
  set(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 1);

  const auto check = [&](CUptiResult result, const char* call) {
    if (result == CUPTI_SUCCESS) return true;
    ::snprintf(problem, problem_size, "%s failed: error %d %s", call, static_cast<int>(result),
               api_.Describe(result));
    return false;
  };
  if (!check(api_.ActivityRegisterCallbacks(OnRequest, OnComplete),
             "cuptiActivityRegisterCallbacks")) {
    return false;
  }
  if (!check(Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable")) {
    return false;
  }
  if (level_ == Level::kGraph) {
    EnableGraphs();
  } else if (api_.leaks_graph_memory()) {
    Enable(CUPTI_ACTIVITY_KIND_MEMCPY);
    Enable(CUPTI_ACTIVITY_KIND_MEMSET);
  }
  if (budget_.any()) Enable(CUPTI_ACTIVITY_KIND_OVERHEAD);
  return true;
}

CUptiResult DurationEngine::Enable(CUpti_ActivityKind kind) noexcept {
  const CUptiResult result = api_.ActivityEnable(kind);
  if (result == CUPTI_SUCCESS) enabled_ |= std::uint64_t{1} << kind;
  return result;
}

// From now on, a graph launch yields one record and its kernels none.
void DurationEngine::EnableGraphs() noexcept {
  const CUptiResult result = Enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (result == CUPTI_SUCCESS) return;
  char remark[sizeof(shm::RingHeader::reason)];
  ::snprintf(remark, sizeof(remark),
             "this CUPTI does not time graphs as one (error %d %s): their kernels are",
             static_cast<int>(result), api_.Describe(result));
  files_->Remark(remark);
}

// Returns whether CUPTI's attributes are as ClaimCupti left them. No CUPTI call reports whose
// callbacks are registered, so this is the best check that does not disturb another client. Kineto
// sets PER_THREAD back to 0 when it stops, after it has disabled the kinds
// (CuptiActivityApi::activityBuffers), and cuptiFinalize resets everything.
bool DurationEngine::MarksStand() const noexcept {
  for (const CUpti_ActivityAttribute mark : {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
                                             CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER}) {
    std::uint8_t value = 0;
    std::size_t size = sizeof(value);
    if (api_.ActivityGetAttribute == nullptr ||
        api_.ActivityGetAttribute(mark, &size, &value) != CUPTI_SUCCESS || value != 1) {
      return false;
    }
  }
  return true;
}

// Reclaims CUPTI after another profiler has used it and stopped, and reports the gap.
void DurationEngine::TakeBack() noexcept {
  char problem[sizeof(shm::RingHeader::reason)];
  const bool claimed = ClaimCupti(problem, sizeof(problem));
  marks_readable_ = claimed && MarksStand();
  heard_ns_ = MonotonicNs();
  files_->Count(shm::Loss::kGaps);
  if (!took_back_) {
    files_->Remark("another profiler had CUPTI: launches of that time are unknown");
    took_back_ = true;
  }
  if (!claimed) {
    char remark[sizeof(shm::RingHeader::reason)];
    ::snprintf(remark, sizeof(remark), "recording did not go on: %.100s", problem);
    files_->Remark(remark);
  }
}

// Called at the end: reports a long time without records.
void DurationEngine::NoteSilence() noexcept {
  const std::uint64_t silent_ns = MonotonicNs() - heard_ns_;
  if (silent_ns < kSilenceNs) return;
  char remark[sizeof(shm::RingHeader::reason)];
  ::snprintf(remark, sizeof(remark),
             "nothing was recorded in the last %u s: no kernel ran, or another profiler took CUPTI",
             static_cast<unsigned>(silent_ns / 1'000'000'000));
  files_->Remark(remark);
}

void CUPTIAPI DurationEngine::OnRequest(std::uint8_t** buffer, std::size_t* size,
                                        std::size_t* max_records) {
  DurationEngine& engine = *g_engine;
  const std::uint64_t start = MonotonicNs();
  Add(engine.calls_, 1);
  void* lent = engine.pool_.Lend();
  if (lent == nullptr) {
    lent = engine.pool_.Discard();
    engine.files_->Count(shm::Loss::kPoolExhausted);
  }
  *buffer = static_cast<std::uint8_t*>(lent);
  *size = engine.pool_.buffer_bytes();
  *max_records = 0;  // as many as fit
  Add(engine.files_->ring().header.cost_program_ns, MonotonicNs() - start);
}

void CUPTIAPI DurationEngine::OnComplete(CUcontext, std::uint32_t, std::uint8_t* buffer,
                                         std::size_t, std::size_t valid_size) {
  DurationEngine& engine = *g_engine;
  if (engine.abandoned()) return;
  Add(engine.calls_, 1);
  if (engine.pool_.IsDiscard(buffer)) return;
  if (!engine.pool_.Owns(buffer)) {
    engine.files_->Count(shm::Loss::kForeignBuffers);
    return;
  }
  // The flusher's time is counted by CountCost.
  const bool other_thread = engine.flusher_.load(std::memory_order_relaxed) != ThreadNumber();
  const std::uint64_t start = other_thread ? ThreadCpuNs() : 0;
  engine.producer_lock_.Lock();
  engine.DecodeBuffer(buffer, valid_size);
  engine.producer_lock_.Unlock();
  engine.pool_.Return(buffer, valid_size);
  if (other_thread) {
    Add(engine.files_->ring().header.cost_background_ns, ThreadCpuNs() - start);
  }
}

void DurationEngine::DecodeBuffer(std::uint8_t* buffer, std::size_t valid_size) noexcept {
  if (closed_) return;
  Add(files_->ring().header.buffers, 1);
  if (refused()) return;
  decoding_ns_ = RealtimeNs();
  longest_ns_ = MonotonicNs() - started_ns_ + kSlackNs;
  pointers_.NextBuffer();
  reader_.Forget();
  CUpti_Activity* activity = nullptr;
  CUptiResult next = CUPTI_SUCCESS;
  for (;;) {
    next = api_.ActivityGetNextRecord(buffer, valid_size, &activity);
    if (next != CUPTI_SUCCESS || refused()) break;
    if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
        activity->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
      DecodeOne(activity);
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
      DecodeOneGraph(activity);
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
      Add(files_->ring().header.cost_cupti_ns, DecodeOverhead(activity));
    } else {
      Add(files_->ring().header.skipped, 1);
    }
  }
  PushStaged();
  if (next != CUPTI_SUCCESS && next != CUPTI_ERROR_MAX_LIMIT_REACHED) {
    files_->Count(shm::Loss::kUnreadBuffers);
  }
}

void DurationEngine::DecodeOne(const void* activity) noexcept {
  shm::KernelRecord kernel;
  const char* name = nullptr;
  const Decoded decoded = DecodeKernel(activity, api_.has_graph(), kernel, name);
  // Done before any failure, because a pending capture that is not taken would stay in the table.
  shm::GateAnswer capture{};
  if (pending_.Take(kernel.correlation_id, capture)) {
    kernel.flags = capture.flags;
    kernel.credit_slot = capture.credit_slot;
  }
  if (Deliver(decoded, kernel, name)) return;
  // The collector will not receive this capture, so its credit would stay in flight forever.
  if (shm::GateTable* gate = files_->gate()) gate->Refund(capture.credit_slot);
}

void DurationEngine::DecodeOneGraph(const void* activity) noexcept {
  shm::KernelRecord graph;
  const Decoded decoded = DecodeGraph(activity, graph);
  if (probation_ != 0 && HasTimes(decoded) && !LooksRight(graph)) {
    Refuse();
    return;
  }
  if (!Usable(decoded, graph)) return;
  char name[24];
  const int length = ::snprintf(name, sizeof(name), "graph %u", graph.graph_id);
  PushKernel(Define(name, static_cast<std::uint32_t>(length)), graph);
}

// Returns whether the record was staged for the ring; counts it as lost if not.
bool DurationEngine::Deliver(Decoded decoded, shm::KernelRecord& kernel,
                             const char* name) noexcept {
  if (probation_ != 0 && HasTimes(decoded) && !PassesProbation(kernel, name)) return false;
  return Usable(decoded, kernel) && PushKernel(IdOf(name), kernel);
}

// Returns whether the times of a record are plausible; counts it as lost if not.
bool DurationEngine::Usable(Decoded decoded, const shm::KernelRecord& kernel) noexcept {
  if (decoded == Decoded::kKernel) {
    const bool believed = clock_.Believes(kernel.start_ns, decoding_ns_);
    // If the clock is stepped forward while a kernel runs, the kernel appears longer than the
    // program.
    if (believed && kernel.duration_ns <= longest_ns_) return true;
    if (!believed) SayClockReplaced();
  }
  LoseRecord(decoded == Decoded::kNoTimestamps ? shm::Loss::kNoTimestamps
             : decoded == Decoded::kIncomplete ? shm::Loss::kIncomplete
                                               : shm::Loss::kBadTimestamps);
  return false;
}

// `id` is the name's id; NameIds::kNone means that the record was already counted as lost.
bool DurationEngine::PushKernel(std::uint32_t id, shm::KernelRecord& kernel) noexcept {
  if (id == NameIds::kNone) return false;
  if (!MakeRoom(1)) {
    LoseRecord(shm::Loss::kRingFull);
    return false;
  }
  kernel.name_id = id;
  Stage(&kernel);
  ++staged_kernels_;
  return true;
}

// Returns the id of the name. If it has none, counts the record as lost and returns NameIds::kNone.
std::uint32_t DurationEngine::IdOf(const char* name) noexcept {
  if (name == nullptr) name = "";
  std::uint32_t id = pointers_.FindInBuffer(name);
  if (id != NameIds::kNone) return id;
  id = ReadName(name);
  if (id != NameIds::kNone) pointers_.Put(name, id);
  return id;
}

// Returns as IdOf.
std::uint32_t DurationEngine::ReadName(const char* name) noexcept {
  const std::uint32_t length = reader_.Read(name);
  if (length != NameReader::kGone) return Define(reader_.text(), length);
  const std::uint32_t id = pointers_.FindLast(name);
  if (id == NameIds::kNone) LoseRecord(shm::Loss::kNameGone);
  return id;
}

// Returns as IdOf, for the text itself. Defines a new name in the ring.
std::uint32_t DurationEngine::Define(const char* name, std::uint32_t length) noexcept {
  const auto lose = [this](shm::Loss loss) {
    LoseRecord(loss);
    return NameIds::kNone;
  };
  const bool cut = length > shm::kMaxNameBytes;
  if (cut) length = shm::kMaxNameBytes;
  const std::uint64_t hash = shm::NameHash(name, length);
  std::uint32_t id = names_.Find(hash);
  if (id != NameIds::kNone) return id;
  if (!NameReader::Plausible(name, length)) return lose(shm::Loss::kNameGone);
  if (names_.full()) return lose(shm::Loss::kTooManyNames);
  // Room for the definition and the record together: a name is only defined in full.
  if (!MakeRoom(shm::NameRecordCount(length) + 1)) return lose(shm::Loss::kRingFull);
  if (cut) files_->Count(shm::Loss::kNamesCut);
  id = names_.Add(hash);
  StageName(id, name, length, hash);
  return id;
}

bool DurationEngine::PassesProbation(const shm::KernelRecord& kernel, const char* name) noexcept {
  const std::uint32_t length = reader_.Read(name);
  if (LooksRight(kernel) && length != NameReader::kGone && length != 0 &&
      NameReader::Plausible(reader_.text(), length)) {
    --probation_;
    return true;
  }
  return Refuse();
}

// Stops decoding and disables recording. Returns false.
bool DurationEngine::Refuse() noexcept {
  refused_.store(true, std::memory_order_relaxed);
  char reason[sizeof(shm::RingHeader::reason)];
  ::snprintf(reason, sizeof(reason),
             "CUPTI version %u is newer than known, and its records are laid out differently",
             api_.version);
  files_->StandDown(reason);
  return false;
}

void DurationEngine::LoseRecord(shm::Loss loss) noexcept {
  Add(files_->ring().header.seen, 1);
  files_->Count(loss);
}

// Returns whether the ring can take `records` more besides the staged ones. May push the staged
// ones.
bool DurationEngine::MakeRoom(std::uint32_t records) noexcept {
  if (staged_count_ == kStaged || (records > 1 && staged_count_ != 0)) PushStaged();
  if (ring_room_ >= records) return true;
  PushStaged();
  ring_room_ = files_->ring().queue.write_available();
  return ring_room_ >= records;
}

void DurationEngine::StageName(std::uint32_t id, const char* name, std::uint32_t length,
                               std::uint64_t hash) noexcept {
  shm::NameRecord head;
  head.name_id = id;
  head.length = length;
  head.hash = hash;
  std::uint32_t at =
      length < sizeof(head.bytes) ? length : static_cast<std::uint32_t>(sizeof(head.bytes));
  ::memcpy(head.bytes, name, at);
  Stage(&head);
  while (at < length) {
    if (staged_count_ + 1 >= kStaged) PushStaged();
    shm::NameBytes more;
    const std::uint32_t left = length - at;
    more.count = static_cast<std::uint8_t>(left < sizeof(more.bytes) ? left : sizeof(more.bytes));
    ::memcpy(more.bytes, name + at, more.count);
    at += more.count;
    Stage(&more);
  }
}

// REQUIRES: MakeRoom returned true, and staged_count_ < kStaged.
void DurationEngine::Stage(const void* record) noexcept {
  ::memcpy(staged_ + std::size_t{staged_count_++} * shm::kRecordBytes, record, shm::kRecordBytes);
  --ring_room_;
}

void DurationEngine::PushStaged() noexcept {
  // The ring has room for all: it was checked before each was staged, and only this side fills the
  // ring.
  files_->ring().queue.push(reinterpret_cast<const shm::Record*>(staged_), staged_count_);
  staged_count_ = 0;
  // Counted after the push, so that a process that is killed before it does not report the staged
  // records as kept.
  if (staged_kernels_ == 0) return;
  Add(files_->ring().header.kept, staged_kernels_);
  Add(files_->ring().header.seen, staged_kernels_);
  staged_kernels_ = 0;
}

void DurationEngine::CheckClock() noexcept {
  if (api_.GetTimestamp == nullptr) return;
  std::uint64_t cupti = 0;
  const std::uint64_t before = MonotonicNs();
  if (api_.GetTimestamp(&cupti) != CUPTI_SUCCESS) return;
  const std::uint64_t realtime = RealtimeNs();
  clock_.Sample(before, cupti, realtime, MonotonicNs());
  if (!clock_.sane()) SayClockReplaced();
}

// Reports only once.
void DurationEngine::SayClockReplaced() noexcept {
  // Relaxed: it only prevents a second report by another thread.
  if (said_clock_replaced_.exchange(true, std::memory_order_relaxed)) return;
  files_->Remark("CUPTI's clock does not count nanoseconds any more: another profiler replaced it");
}

void DurationEngine::Flush(bool forced) noexcept {
  CheckClock();
  shm::RingHeader& header = files_->ring().header;
  api_.ActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  std::size_t dropped = 0;
  if (api_.ActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped != 0) {
    files_->Count(shm::Loss::kCuptiDropped, dropped);
    Add(header.seen, dropped);
  }
  header.last_flush_ns.store(MonotonicNs(), std::memory_order_relaxed);
}

// Adds the flusher's CPU time to the cost, and compares the total cost to the budget.
void DurationEngine::CountCost(bool heard) noexcept {
  shm::RingHeader& header = files_->ring().header;
  const std::uint64_t flusher_ns = ThreadCpuNs();
  Add(header.cost_background_ns, flusher_ns - flusher_ns_);
  flusher_ns_ = flusher_ns;
  const std::uint64_t cost = header.cost_program_ns.load(std::memory_order_relaxed) +
                             header.cost_background_ns.load(std::memory_order_relaxed) +
                             header.cost_cupti_ns.load(std::memory_order_relaxed);
  // While another profiler uses CUPTI, we receive none of its data. We cannot stop the cost of its
  // flushes, nor of its kinds, which are the same as ours.
  if (!heard) {
    budget_.Pardon();
  } else if (budget_.Exceeded(MonotonicNs(), cost, ProcessCpuNs())) {
    StopRecording();
  }
}

void DurationEngine::SwitchOff() noexcept {
  for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
    if ((enabled_ >> kind & 1) != 0) api_.ActivityDisable(static_cast<CUpti_ActivityKind>(kind));
  }
}

// Stops recording for good. Data that CUPTI already has is still fetched; later launches are a gap.
void DurationEngine::StopRecording() noexcept {
  SwitchOff();
  stopped_ = true;
  files_->Count(shm::Loss::kGaps);
  char remark[sizeof(shm::RingHeader::reason)];
  ::snprintf(
      remark, sizeof(remark),
      "recording stopped: it cost %u.%03u %% of the program's time, more than the %u.%03u %% "
      "of --max-overhead",
      budget_.share() / 1000, budget_.share() % 1000, budget_.most() / 1000, budget_.most() % 1000);
  files_->Remark(remark);
}

void* DurationEngine::FlusherMain(void* self) {
  ::prctl(PR_SET_NAME, "stemtap-flush", 0, 0, 0);
  auto& engine = *static_cast<DurationEngine*>(self);
  // Relaxed: other threads only need a value that differs from their own number.
  engine.flusher_.store(ThreadNumber(), std::memory_order_relaxed);
  engine.RunFlusher();
  return nullptr;
}

void DurationEngine::RunFlusher() noexcept {
  // Acquire: pairs with the release in Stop. No other data is read because of it.
  while (stop_.load(std::memory_order_acquire) == 0) {
    FutexWait(stop_, 0, flush_ms_);
    if (abandoned()) return;
    files_->MapGate();
    if (watch_ != nullptr) watch_(watched_);
    pool_.Grow();
    const std::uint64_t calls = calls_.load(std::memory_order_relaxed);
    const bool heard = calls != calls_seen_;
    if (heard) {
      calls_seen_ = calls;
      heard_ns_ = MonotonicNs();
    }
    if (marks_readable_ && !refused() && !stopped_ && !MarksStand()) TakeBack();
    // If nothing is lent, there is nothing to fetch: an idle program is not disturbed.
    if (pool_.lent_weak() != 0 && stop_.load(std::memory_order_acquire) == 0) Flush(false);
    if (!stopped_) CountCost(heard);
  }
  Flush(false);
  Flush(true);  // running kernels are delivered as incomplete and counted
  AwaitLateBuffers();
  // A forced flush returns every buffer, unless another client took over CUPTI and received ours.
  files_->Count(shm::Loss::kForeignBuffers, pool_.lent_weak());
  producer_lock_.Lock();
  closed_ = true;
  producer_lock_.Unlock();
  if (watch_ != nullptr) watch_(watched_);
  if (!refused()) {  // otherwise the state is already kStoodDown
    if (!stopped_) NoteSilence();
    files_->SetState(shm::RingState::kClosed);
  }
  // Release: pairs with the acquire in Stop.
  stop_.store(2, std::memory_order_release);
  FutexWakeAll(stop_);
}

void DurationEngine::AwaitLateBuffers() noexcept {
  const std::uint64_t deadline = MonotonicNs() + std::uint64_t{kLateMs} * 1000000u;
  while (pool_.lent_weak() != 0 && MonotonicNs() < deadline) FutexWait(never_, 0, 1);
}

void DurationEngine::Stop() noexcept {
  std::uint32_t running = 0;
  if (!stop_.compare_exchange_strong(running, 1, std::memory_order_release)) return;
  FutexWakeAll(stop_);
  const std::uint64_t deadline = MonotonicNs() + std::uint64_t{kExitMs} * 1000000u;
  while (stop_.load(std::memory_order_acquire) != 2) {
    const std::uint64_t now = MonotonicNs();
    if (now >= deadline) return;
    FutexWait(stop_, 1, static_cast<std::uint32_t>((deadline - now) / 1000000u) + 1);
  }
}

}  // namespace stemtap::inject
