// SPDX-License-Identifier: Apache-2.0
#include "recording/duration_engine.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "control/program_control.h"

namespace stemtap::inject {
namespace {

// The only engine of the process, because CUPTI's callbacks carry no user pointer.
DurationEngine* g_engine = nullptr;

}  // namespace

[[gnu::cold]] bool DurationEngine::Start(const CuptiApi& api, SessionFiles& files,
                                         const Options& options, RecordingThreads& threads,
                                         char* problem, std::size_t problem_size) noexcept {
  api_ = api;
  files_ = &files;
  threads_ = &threads;
  flush_ms_ = options.flush_ms;
  budget_.Init(options.max_overhead, MonotonicNs(), 0, ProcessCpuNs());
  if (!pool_.Init(options.buffer_bytes, AddressLimit())) {
    ::snprintf(problem, problem_size, "no memory for activity buffers");
    return false;
  }
  g_engine = this;

  decoder_.Init(api_, files);
  claim_.Init(api_, files, options, OnRequest, OnComplete);
  wants_off_ = files.requested() == shm::Recording::kOff;
  if (wants_off_) {
    files.AddSwitch();
  } else {
    if (!claim_.Claim(problem, problem_size)) return false;
    is_on_ = true;
  }
  calls_.Restart();
  decoder_.CheckClock();  // before any buffer can be returned
  Control().SetClock(RecordClock);
  threads.EndSetup();
  if (!StartThread(FlusherMain, this)) {
    // Disabling recording must be the last event: no record may follow it.
    if (is_on_) claim_.Release();
    ::snprintf(problem, problem_size, "no thread could be started");
    return false;
  }
  return true;
}

// The clock of the kernel records.
std::uint64_t DurationEngine::RecordClock() noexcept {
  std::uint64_t now = 0;
  const CuptiApi& api = g_engine->api_;
  if (api.GetTimestamp != nullptr && api.GetTimestamp(&now) == CUPTI_SUCCESS) return now;
  return RealtimeNs();  // CUPTI's default
}

// Called at the end: reports a long time without records.
void DurationEngine::NoteSilence() noexcept {
  const std::uint64_t silent_ns = calls_.SilentNs();
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
  engine.calls_.Count();
  if (engine.flush_ms_ == 0 && !engine.asked_.exchange(true, std::memory_order_relaxed)) {
    engine.stop_.Wake();
  }
  void* lent = engine.pool_.Lend();
  if (lent == nullptr) {
    lent = engine.pool_.Discard();
    engine.files_->Count(shm::Loss::kPoolExhausted);
  }
  *buffer = static_cast<std::uint8_t*>(lent);
  *size = engine.pool_.buffer_bytes();
  *max_records = 0;  // as many as fit
  AddTo(engine.files_->ring().header.cost_program_ns, MonotonicNs() - start);
}

void CUPTIAPI DurationEngine::OnComplete(CUcontext, std::uint32_t, std::uint8_t* buffer,
                                         std::size_t, std::size_t valid_size) {
  DurationEngine& engine = *g_engine;
  if (engine.abandoned()) return;
  engine.calls_.Count();
  if (engine.pool_.IsDiscard(buffer)) return;
  if (!engine.pool_.Owns(buffer)) {
    engine.files_->Count(shm::Loss::kForeignBuffers);
    return;
  }
  // The flusher's time is counted by CountCost.
  const bool other_thread = engine.flusher_.load(std::memory_order_relaxed) != ThreadNumber();
  const std::uint64_t start = other_thread ? ThreadCpuNs() : 0;
  engine.producer_lock_.Lock();
  engine.decoder_.Decode(buffer, valid_size);
  engine.producer_lock_.Unlock();
  engine.pool_.Return(buffer, valid_size);
  if (other_thread) {
    AddTo(engine.files_->ring().header.cost_background_ns, ThreadCpuNs() - start);
  }
}

void DurationEngine::Flush(bool forced) noexcept {
  decoder_.CheckClock();
  shm::RingHeader& header = files_->ring().header;
  api_.ActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  std::size_t dropped = 0;
  if (api_.ActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped != 0) {
    files_->Count(shm::Loss::kCuptiDropped, dropped);
    AddTo(header.seen, dropped);
  }
  // Release: publishes the records of the flush; pairs with the acquire in RingReader::last_flush.
  header.last_flush_ns.store(MonotonicNs(), std::memory_order_release);
}

// Adds the flusher's CPU time to the cost, and compares the total cost to the budget.
void DurationEngine::CountCost(bool heard) noexcept {
  shm::RingHeader& header = files_->ring().header;
  const std::uint64_t flusher_ns = ThreadCpuNs();
  AddTo(header.cost_background_ns, flusher_ns - flusher_ns_);
  flusher_ns_ = flusher_ns;
  const std::uint64_t cost = header.cost_program_ns.load(std::memory_order_relaxed) +
                             header.cost_background_ns.load(std::memory_order_relaxed) +
                             header.cost_cupti_ns.load(std::memory_order_relaxed);
  // While another profiler uses CUPTI, we receive none of its data. We cannot stop the cost of its
  // flushes, nor of its kinds, which are the same as ours.
  if (!heard) {
    budget_.Reset();
  } else if (budget_.Exceeded(MonotonicNs(), cost, ProcessCpuNs())) {
    StopRecording();
  }
}

void DurationEngine::Release() noexcept {
  claim_.Release();
  stopped_ = true;
}

// Stops recording for good. Data that CUPTI already has is still fetched; later launches are a gap.
void DurationEngine::StopRecording() noexcept {
  Release();
  files_->Count(shm::Loss::kGaps);
  char remark[sizeof(shm::RingHeader::reason)];
  ::snprintf(
      remark, sizeof(remark),
      "recording stopped: it cost %u.%03u %% of the program's time, more than the %u.%03u %% "
      "of --max-overhead",
      budget_.share() / 1000, budget_.share() % 1000, budget_.max_share() / 1000,
      budget_.max_share() % 1000);
  files_->Remark(remark);
}

// Switches recording off or on if that is requested.
void DurationEngine::ApplyRequest() noexcept {
  if (ended()) return;
  wants_off_ = files_->requested() == shm::Recording::kOff;
  if (wants_off_ != is_on_) return;
  if (wants_off_) {
    SwitchOff();
  } else {
    SwitchOn();
  }
}

void DurationEngine::SwitchOn() noexcept {
  char problem[sizeof(shm::RingHeader::reason)];
  if (!claim_.Claim(problem, sizeof(problem))) {
    char remark[sizeof(shm::RingHeader::reason)];
    ::snprintf(remark, sizeof(remark), "recording did not begin: %.100s", problem);
    files_->Remark(remark);
    files_->Request(shm::Recording::kOff);  // not tried again
    return;
  }
  is_on_ = true;
  calls_.Restart();
  first_ns_ = MonotonicNs();  // captures are wanted soon, as at the start of the program
  files_->AddSwitch();
}

// The gate's callbacks are disabled first, so that each launch that they count has a record.
void DurationEngine::SwitchOff() noexcept {
  if (watch_ != nullptr && !watch_(watched_)) return;  // tried again in the next period
  claim_.Release();
  is_on_ = false;
  files_->AddSwitch();
}

void* DurationEngine::FlusherMain(void* self) {
  ::prctl(PR_SET_NAME, "stemtap-flush", 0, 0, 0);
  auto& engine = *static_cast<DurationEngine*>(self);
  // Relaxed: other threads only need a value that differs from their own number.
  engine.flusher_.store(ThreadNumber(), std::memory_order_relaxed);
  engine.RunFlusher();
  return nullptr;
}

// Returns how long to sleep. The first buffer that CUPTI requests ends a sleep, unless it is
// requested just before the sleep begins.
std::uint32_t DurationEngine::PeriodMs() noexcept {
  if (flush_ms_ != 0) return flush_ms_;
  if (!asked_.load(std::memory_order_relaxed)) return kMaxPeriodMs;
  const std::uint64_t now = MonotonicNs();
  if (first_ns_ == 0) first_ns_ = now;
  const std::uint64_t ms = (now - first_ns_) / 1'000'000 / kPeriodsOfRun;
  if (ms < kMinPeriodMs) return kMinPeriodMs;
  return ms < kMaxPeriodMs ? static_cast<std::uint32_t>(ms) : kMaxPeriodMs;
}

void DurationEngine::RunFlusher() noexcept {
  while (!stop_.requested()) {
    stop_.Sleep(PeriodMs());
    if (abandoned()) return;
    RunPeriod();
    if (!stop_.requested() && threads_->OnlyOnesLeft()) ExitProcess();
  }
  Finish();
}

void DurationEngine::RunPeriod() noexcept {
  if (files_->CollectorFailed() && !stopped_) Release();
  files_->MapGate();
  ApplyRequest();
  if (watch_ != nullptr) watch_(watched_);
  pool_.Grow();
  const bool heard = calls_.Update();
  if (recording() && claim_.Lost()) {
    claim_.TakeBack();
    calls_.Restart();
  }
  unheard_ = heard ? 0 : unheard_ + 1;
  const bool is_due =
      !decoder_.clock_is_replaced() || unheard_ < 2 || unheard_ % kUnheardPeriods == 0;
  // If nothing is lent, there is nothing to fetch: an idle program is not disturbed.
  if (pool_.lent_weak() != 0 && is_due && !stop_.requested()) {
    Flush(false);
  } else {
    decoder_.CheckClock();
  }
  if (!stopped_) CountCost(heard);
}

[[gnu::cold]] void DurationEngine::Finish() noexcept {
  static_cast<void>(files_->CollectorFailed());
  Flush(false);
  Flush(true);  // running kernels are delivered as incomplete and counted
  AwaitLateBuffers();
  // A forced flush returns every buffer, unless another client took over CUPTI and received ours.
  files_->Count(shm::Loss::kForeignBuffers, pool_.lent_weak());
  const bool took_over = pool_.lent_weak() != 0 && !claim_.has_gap();
  if (recording() && (claim_.Lost() || took_over)) claim_.ReportGap();
  producer_lock_.Lock();
  decoder_.Close();
  producer_lock_.Unlock();
  if (watch_ != nullptr) watch_(watched_);
  if (!decoder_.refused()) {  // otherwise the state is already kDisabled
    if (recording()) NoteSilence();
    files_->SetState(shm::RingState::kClosed);
  }
  stop_.Confirm();
}

void DurationEngine::AwaitLateBuffers() noexcept {
  const std::uint64_t deadline = MonotonicNs() + std::uint64_t{kLateMs} * 1000000u;
  while (pool_.lent_weak() != 0 && MonotonicNs() < deadline) SleepMs(1);
}

void DurationEngine::Stop() noexcept {
  if (!stop_.Request()) return;
  if (flusher_.load(std::memory_order_relaxed) == ThreadNumber()) {
    Finish();
  } else {
    stop_.Await(kExitMs);
  }
}

}  // namespace stemtap::inject
