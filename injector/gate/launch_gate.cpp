// SPDX-License-Identifier: Apache-2.0
#include "gate/launch_gate.h"

#include <stdio.h>
#include <string.h>

#include <bit>

#include "shm/deny_list.h"
#include "startup/runtime.h"
#include "startup/say.h"

namespace stemtap::inject {
namespace {

using shm::WhyDenied;

// Reason for cooperative launches of any kernel.
constexpr const char* kWhyCooperative = "cooperative: its blocks wait for each other";

// Marks, in the cell that ENTER and EXIT of one call share, that the launch is being captured.
// CUPTI zeroes the cell, so any nonzero value works.
constexpr std::uint64_t kCapturing = 0x70617473;  // "stap"

// Hashes a pointer for a table index: the upper half of the product with an odd constant (2^64
// divided by the golden ratio) depends on all its bits.
std::uint32_t Spread(const void* pointer) noexcept {
  return static_cast<std::uint32_t>(
      (reinterpret_cast<std::uintptr_t>(pointer) * 0x9E3779B97F4A7C15u) >> 32);
}

// Folds the first, middle and last eight bytes of a name into one word; hashes a shorter name
// whole. The rotations keep equal pieces from canceling.
std::uint64_t Pieces(const char* name, std::size_t length) noexcept {
  if (length < 8) return shm::NameHash(name, length);
  const auto at = [name](std::size_t offset) {
    std::uint64_t word;
    ::memcpy(&word, name + offset, sizeof(word));
    return word;
  };
  return at(0) ^ std::rotl(at(length / 2 - 4), 21) ^ std::rotl(at(length - 8), 42);
}

// Returns whether `symbol` still is the name with this length and these pieces. Never reads a page
// that the name does not reach: if the name with the old length ends on its first page, all bytes
// read are on that page; otherwise the name is measured first.
bool StillNamed(const char* symbol, std::size_t length, std::uint64_t pieces) noexcept {
  constexpr std::uintptr_t kPage = 4096;  // the smallest page size of any system
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(symbol) % kPage;
  const bool ends =
      offset + length < kPage ? symbol[length] == 0 : ::strnlen(symbol, length + 1) == length;
  return ends && Pieces(symbol, length) == pieces;
}

// In the per-thread variants of a launch, a null stream is the thread's own stream.
CUstream OwnIfNone(CUstream stream, bool per_thread) noexcept {
  return stream == nullptr && per_thread ? CU_STREAM_PER_THREAD : stream;
}

// Calls that begin or end a stream capture.
enum class GraphCall : std::uint8_t { kNone, kBegin, kEnd };

GraphCall GraphCallOf(CUpti_CallbackId cbid) noexcept {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz:
      return GraphCall::kBegin;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz:
      return GraphCall::kEnd;
    default:
      return GraphCall::kNone;
  }
}

CUresult ResultOf(const CUpti_CallbackData& data) noexcept {
  const auto* result = static_cast<const CUresult*>(data.functionReturnValue);
  return result == nullptr ? CUDA_SUCCESS : *result;
}

struct Wanted {
  CUpti_CallbackId cbid;
  bool required;               // optional callbacks need later versions of CUDA
  bool graph_capture = false;  // only needed if the actuator acts
};
constexpr Wanted kWanted[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture, false, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz, false, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, false, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, false, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, false, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz, false, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, false, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, false, true}};

}  // namespace

bool LaunchGate::Init(const Options& options, SessionFiles& files, DurationEngine& engine,
                      void* driver, char* problem, std::size_t size) noexcept {
  files_ = &files;
  engine_ = &engine;
  is_capturing_ = reinterpret_cast<CUresult (*)(CUstream, CUstreamCaptureStatus*)>(
      FindSymbol(driver, "cuStreamIsCapturing"));
  tokens_.Init(options.captures_per_second);
  watchdog_ms_ = options.watchdog_ms;
  // The flusher looks once per period, or later on a busy machine.
  watchdog_.Init(std::uint64_t{options.watchdog_ms} * 1'000'000,
                 4 * std::uint64_t{options.flush_ms} * 1'000'000);
  engine.AlsoCall([](void* self) { static_cast<LaunchGate*>(self)->Watch(); }, this);
  if (actuator_.Load(options, driver, problem, size)) return true;
  disarmed_.store(true, std::memory_order_relaxed);
  return false;
}

bool LaunchGate::EnableCallbacks(const CuptiApi& api, CUpti_SubscriberHandle subscriber,
                                 std::uint32_t& failed) noexcept {
  api_ = &api;
  subscriber_ = subscriber;
  for (const Wanted& wanted : kWanted) {
    if (wanted.graph_capture && !actuator_.acts()) continue;
    const CUptiResult result =
        api.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, wanted.cbid);
    if (result != CUPTI_SUCCESS && wanted.required) {
      failed = wanted.cbid;
      return false;
    }
  }
  // Release: publishes api_ and subscriber_; pairs with the acquire in SwitchOff.
  callbacks_on_.store(true, std::memory_order_release);
  return true;
}

void CUPTIAPI LaunchGate::OnCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                     const void* callback_data) {
  auto& gate = *static_cast<LaunchGate*>(self);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || gate.engine_->abandoned()) return;
  const auto& data = *static_cast<const CUpti_CallbackData*>(callback_data);
  if (data.callbackSite == CUPTI_API_EXIT) {
    if (data.correlationData != nullptr && *data.correlationData == kCapturing) {
      *data.correlationData = 0;
      gate.Exit(data);
    } else {
      gate.LeaveGraphCapture(cbid, data);
    }
    return;
  }
  const auto extent = [](unsigned value) { return static_cast<std::uint16_t>(value); };
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernel_params*>(data.functionParams);
      gate.Enter({p.f,
                  OwnIfNone(p.hStream, cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz),
                  {{p.gridDimX, p.gridDimY, p.gridDimZ},
                   {extent(p.blockDimX), extent(p.blockDimY), extent(p.blockDimZ)}},
                  false,
                  p.sharedMemBytes},
                 data);
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernelEx_params*>(data.functionParams);
      if (p.config == nullptr) return;  // the driver reports the error
      const CUlaunchConfig& c = *p.config;
      bool cooperative = false;
      for (unsigned i = 0; c.attrs != nullptr && i < c.numAttrs; ++i) {
        cooperative |=
            c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && c.attrs[i].value.cooperative != 0;
      }
      gate.Enter({p.f,
                  OwnIfNone(c.hStream, cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz),
                  {{c.gridDimX, c.gridDimY, c.gridDimZ},
                   {extent(c.blockDimX), extent(c.blockDimY), extent(c.blockDimZ)}},
                  cooperative,
                  c.sharedMemBytes},
                 data);
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
      const auto& p = *static_cast<const cuLaunchCooperativeKernel_params*>(data.functionParams);
      gate.Enter(
          {p.f,
           OwnIfNone(p.hStream, cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz),
           {{p.gridDimX, p.gridDimY, p.gridDimZ},
            {extent(p.blockDimX), extent(p.blockDimY), extent(p.blockDimZ)}},
           true,
           p.sharedMemBytes},
          data);
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      gate.files_->Count(shm::Loss::kGraphLaunches);
      return;
    default:
      // Counted before the call begins, so that no launch is captured during it.
      if (GraphCallOf(cbid) == GraphCall::kBegin) {
        gate.graph_captures_.fetch_add(1, std::memory_order_relaxed);
      }
      return;
  }
}

// The path of every launch is one function, which saves 2 of 20 ns. Rarely needed code is outside.
[[gnu::flatten]] void LaunchGate::Enter(const Launch& launch,
                                        const CUpti_CallbackData& data) noexcept {
  shm::RingHeader& header = files_->ring().header;
  const std::uint64_t number = header.launches_gated.fetch_add(1, std::memory_order_relaxed);
  const bool timed = number % kTimedEvery == 0;
  const std::uint64_t start = timed ? MonotonicNs() : 0;
  const bool asked = Decide(launch, data, number);
  // Excludes launches for which the actuator was called: their cost was requested.
  if (!timed || asked) return;
  header.cost_program_ns.fetch_add(kTimedEvery * (MonotonicNs() - start),
                                   std::memory_order_relaxed);
}

bool LaunchGate::Decide(const Launch& launch, const CUpti_CallbackData& data,
                        std::uint64_t number) noexcept {
  const char* symbol = data.symbolName != nullptr ? data.symbolName : "";
  bool denied = false;
  Function& known = Known(launch.function, symbol, denied);
  std::uint64_t name_hash = known.name_hash.load(std::memory_order_relaxed);
  // Another thread is replacing the entry.
  if (name_hash == 0) name_hash = shm::NameHash(symbol, ::strlen(symbol));
  shm::GateTable* table = files_->gate();
  if (table != nullptr) name_hash = files_->GateHash(name_hash);
  std::atomic<shm::LaunchHistory>& history = HistoryOf(launch.stream);
  // Relaxed and not one exchange: concurrent launches into one stream have no defined order that a
  // history could record.
  const shm::LaunchHistory before = history.load(std::memory_order_relaxed);
  history.store(shm::Advance(before, name_hash), std::memory_order_relaxed);
  if (denied || launch.cooperative) {
    if (denied_state_.load(std::memory_order_relaxed) == 0) {
      NoteDenied(symbol, denied ? WhyDenied(symbol) : kWhyCooperative);
    }
    return false;
  }
  if (table == nullptr || disarmed_.load(std::memory_order_relaxed)) return false;

  const std::uint64_t config_key = ConfigKeyOf(known, name_hash, launch.config);
  const std::uint32_t slot =
      shm::FindLaunch(*table, shm::HistoryKey(config_key, before), config_key, name_hash);
  PendingCaptures::Capture capture{0, shm::kFlagCaptured};
  if (slot == shm::kNoSlot) {
    // The collector does not know the kernel yet. Its first launch is captured, so that a run
    // shorter than the feedback delay still has samples.
    if (!Unexplored(name_hash)) return false;
    capture.flags |= shm::kFlagExploratory;
  } else {
    if (slot == shm::kClosedSlot || slot >= shm::kGateSlots ||
        !table->TrySpend(slot, [&] { return files_->Draw(number); })) {
      return false;
    }
    capture.slot = static_cast<std::uint16_t>(slot);
  }
  const Outcome outcome = Capture(launch, data, capture, name_hash, number);
  if (outcome == Outcome::kCaptured) return true;
  if (capture.slot != 0) table->Refund(capture.slot);
  if (outcome == Outcome::kPassed) return false;
  files_->Count(outcome == Outcome::kThrottled ? shm::Loss::kCapturesThrottled
                                               : shm::Loss::kCapturesDenied);
  return outcome == Outcome::kRefused;
}

[[gnu::noinline]] LaunchGate::Outcome LaunchGate::Capture(const Launch& launch,
                                                          const CUpti_CallbackData& data,
                                                          PendingCaptures::Capture capture,
                                                          std::uint64_t name_hash,
                                                          std::uint64_t number) noexcept {
  // EXIT could not recognize the launch.
  if (data.correlationData == nullptr) return Outcome::kDenied;
  const bool acts = actuator_.acts();
  // Acquire: pairs with the release in LeaveActuator, so that this start happens after the previous
  // stop.
  if (acts && actuator_taken_.exchange(true, std::memory_order_acquire)) return Outcome::kDenied;
  // Checked again: if SwitchOff held the actuator in the meantime, there would be no EXIT.
  if (disarmed_.load(std::memory_order_relaxed)) {
    LeaveActuator();
    return Outcome::kDenied;
  }
  const std::uint64_t now_ns = acts || tokens_.limited() ? MonotonicNs() : 0;
  if (acts) entered_ns_.store(now_ns, std::memory_order_relaxed);
  Outcome outcome = Outcome::kThrottled;
  if (tokens_.TryTake(now_ns)) {
    outcome = Begin(launch, data, capture, name_hash, number);
    // A refused launch spends its token, so that a library that always refuses is not called at
    // every launch.
    if (outcome == Outcome::kPassed || outcome == Outcome::kDenied) tokens_.GiveBack();
  }
  if (outcome != Outcome::kCaptured) LeaveActuator();
  return outcome;
}

LaunchGate::Outcome LaunchGate::Begin(const Launch& launch, const CUpti_CallbackData& data,
                                      PendingCaptures::Capture capture, std::uint64_t name_hash,
                                      std::uint64_t number) noexcept {
  const bool acts = actuator_.acts();
  const bool exploratory = (capture.flags & shm::kFlagExploratory) != 0;
  if (GoesIntoGraph(launch)) return Outcome::kPassed;
  // Nonzero only if the actuator acts. Relaxed: a stream capture that another thread begins now
  // could equally begin a moment later.
  if (graph_captures_.load(std::memory_order_relaxed) > 0) return Outcome::kDenied;
  // If the actuator acts, another thread may have captured the kernel before this thread held it.
  if (exploratory && !Unexplored(name_hash)) return Outcome::kPassed;
  if (!engine_->pending().Add(data.correlationId, capture)) return Outcome::kDenied;
  if (acts) {
    captured_.Write(data.symbolName != nullptr ? data.symbolName : "");
    if (actuator_.asks()) Describe(launch, data, exploratory, number);
    if (!actuator_.Start(current_)) {
      engine_->pending().Take(data.correlationId, capture);
      return Outcome::kRefused;
    }
  }
  // If the actuator acts, it has started and is held, so no other thread could be first.
  if (exploratory && !Explore(name_hash) && !acts) {
    // Another thread captured the kernel first, so this capture is not needed.
    engine_->pending().Take(data.correlationId, capture);
    return Outcome::kPassed;
  }
  *data.correlationData = kCapturing;
  files_->ring().header.launches_captured.fetch_add(1, std::memory_order_relaxed);
  return Outcome::kCaptured;
}

void LaunchGate::Describe(const Launch& launch, const CUpti_CallbackData& data, bool exploratory,
                          std::uint64_t number) noexcept {
  stemtap_capture& c = current_;
  c.struct_size = sizeof(c);
  c.flags = exploratory ? STEMTAP_CAPTURE_EXPLORATORY : 0;
  c.kernel = data.symbolName != nullptr ? data.symbolName : "";
  c.function = const_cast<void*>(launch.function);
  c.stream = const_cast<void*>(launch.stream);
  c.context = data.context;
  for (int i = 0; i < 3; ++i) {
    c.grid[i] = launch.config.grid[i];
    c.block[i] = launch.config.block[i];
  }
  c.shared_bytes = launch.shared_bytes;
  c.device = actuator_.Device();
  c.correlation_id = data.correlationId;
  c.result = 0;
  c.launch_number = number;
}

void LaunchGate::LeaveActuator() noexcept {
  if (!actuator_.acts()) return;
  entered_ns_.store(0, std::memory_order_relaxed);
  // Release: this stop happens before the next start; pairs with the acquire in Capture.
  actuator_taken_.store(false, std::memory_order_release);
}

void LaunchGate::Exit(const CUpti_CallbackData& data) noexcept {
  const CUresult result = ResultOf(data);
  if (actuator_.acts()) {
    current_.result = static_cast<std::int32_t>(result);
    actuator_.Stop(current_);
  }
  LeaveActuator();
  if (result == CUDA_SUCCESS) return;
  // Nothing was launched, so no record will arrive and the credit is returned.
  PendingCaptures::Capture capture{};
  if (!engine_->pending().Take(data.correlationId, capture)) return;
  files_->ring().header.launches_captured.fetch_sub(1, std::memory_order_relaxed);
  shm::GateTable* table = files_->gate();
  if (capture.slot != 0 && table != nullptr) table->Refund(capture.slot);
}

void LaunchGate::LeaveGraphCapture(CUpti_CallbackId cbid, const CUpti_CallbackData& data) noexcept {
  const GraphCall call = GraphCallOf(cbid);
  if (call == GraphCall::kNone) return;
  const CUresult result = ResultOf(data);
  const bool over = call == GraphCall::kBegin
                        ? result != CUDA_SUCCESS
                        // These errors also end the capture; other errors leave it unchanged.
                        : result == CUDA_SUCCESS ||
                              result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                              result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (!over) return;
  // A capture that began before the callbacks were enabled was not counted.
  std::int32_t count = graph_captures_.load(std::memory_order_relaxed);
  while (count > 0 &&
         !graph_captures_.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) {
  }
}

[[gnu::noinline]] void LaunchGate::NoteDenied(const char* symbol, const char* why) noexcept {
  std::uint32_t none = 0;
  if (!denied_state_.compare_exchange_strong(none, 1, std::memory_order_relaxed)) return;
  denied_.Write(symbol);
  denied_why_ = why;
  // Release: pairs with the acquire in TellDenied.
  denied_state_.store(2, std::memory_order_release);
}

// Reports launches that the plan cannot cover once, with the first kernel as an example.
void LaunchGate::TellDenied() noexcept {
  if (denied_state_.load(std::memory_order_acquire) != 2) return;
  denied_state_.store(3, std::memory_order_relaxed);
  char name[KernelNote::kBytes];
  char remark[sizeof(shm::RingHeader::reason)];
  denied_.Read(name);
  ::snprintf(remark, sizeof(remark), "never captured: %.48s (%s)", name, denied_why_);
  files_->Remark(remark);
}

void LaunchGate::Watch() noexcept {
  TellDenied();
  if (!engine_->recording()) return SwitchOff();
  if (!actuator_.acts()) return;
  const shm::RingHeader& header = files_->ring().header;
  const bool waited = watchdog_.waiting();
  const Watchdog::Alarm alarm =
      watchdog_.Look({MonotonicNs(), entered_ns_.load(std::memory_order_relaxed),
                      header.launches_captured.load(std::memory_order_relaxed),
                      header.seen.load(std::memory_order_relaxed), engine_->pending().any()});
  if (!waited && watchdog_.waiting()) captured_.Read(waited_for_);
  if (silent_ && !watchdog_.waiting()) {
    silent_ = false;
    disarmed_.store(false, std::memory_order_relaxed);
    files_->Remark("captures go on: records come again");
  }
  if (alarm != Watchdog::Alarm::kNone && !disarmed_.load(std::memory_order_relaxed)) Disarm(alarm);
}

void LaunchGate::Disarm(Watchdog::Alarm alarm) noexcept {
  disarmed_.store(true, std::memory_order_relaxed);
  silent_ = alarm == Watchdog::Alarm::kNoRecord;
  char name[KernelNote::kBytes];
  if (silent_) {
    ::memcpy(name, waited_for_, sizeof(name));
  } else {
    captured_.Read(name);
  }
  char detail[160];
  ::snprintf(detail, sizeof(detail),
             !silent_ ? "%.64s has been in its capture for %u.%u s"
                      : "%.64s was captured, and no kernel record has come for "
                        "%u.%u s",
             name, watchdog_ms_ / 1000, watchdog_ms_ / 100 % 10);
  constexpr const char* kWhat = "no more captures";
  SayOnStderr(kWhat, detail);  // the program may never exit
  char remark[sizeof(shm::RingHeader::reason)];
  ::snprintf(remark, sizeof(remark), "%s: %s", kWhat, detail);
  files_->Remark(remark);
}

// Called when nothing is recorded any more: captures would not be reported, and the callbacks would
// cost time. The reason has already been reported.
void LaunchGate::SwitchOff() noexcept {
  disarmed_.store(true, std::memory_order_relaxed);
  // Acquire: pairs with the release in EnableCallbacks.
  if (!callbacks_on_.load(std::memory_order_acquire)) return;
  // A capture in progress needs its EXIT, so the next Watch tries again. The release in
  // LeaveActuator below pairs with the acquire in Capture: the next thread that holds the actuator
  // sees that the gate is disarmed.
  if (actuator_.acts() && actuator_taken_.exchange(true, std::memory_order_acquire)) return;
  callbacks_on_.store(false, std::memory_order_relaxed);
  for (const Wanted& wanted : kWanted) {
    api_->EnableCallback(0, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, wanted.cbid);
  }
  LeaveActuator();
}

void LaunchGate::Close() noexcept {
  disarmed_.store(true, std::memory_order_relaxed);
  if (!actuator_.acts()) return;
  // Never released: a thread that launches while the process exits finds the actuator taken.
  std::atomic<std::uint32_t> never{0};
  for (std::uint32_t waited = 0; actuator_taken_.exchange(true, std::memory_order_acquire);
       ++waited) {
    if (waited == kCloseMs) return;  // the thread may still be inside the actuator library
    FutexWait(never, 0, 1);
  }
  actuator_.Exit();
}

bool LaunchGate::GoesIntoGraph(const Launch& launch) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (is_capturing_ == nullptr) return false;
  // An error means that a capture is in progress that this stream must not disturb.
  return is_capturing_(static_cast<CUstream>(const_cast<void*>(launch.stream)), &status) !=
             CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

LaunchGate::Function& LaunchGate::Known(const void* function, const char* symbol,
                                        bool& denied) noexcept {
  const std::uint32_t home = Spread(function) % kFunctions;
  Function* entry = nullptr;
  for (std::uint32_t probe = 0; probe < kProbe; ++probe) {
    Function& here = functions_[(home + probe) % kFunctions];
    const void* found = here.function.load(std::memory_order_relaxed);
    if (found == nullptr &&
        here.function.compare_exchange_strong(found, function, std::memory_order_relaxed)) {
      found = function;
    }
    if (found != function) continue;
    entry = &here;
    // Acquire: pairs with the release in Learn, so that the stored members belong to the hash.
    if (here.name_hash.load(std::memory_order_acquire) == 0 ||
        here.symbol.load(std::memory_order_relaxed) != symbol) {
      break;
    }
    // One word contains length and denial, and the length is compared to the name's. The denial
    // therefore belongs to a name of this length and these pieces, even if another thread writes
    // here.
    const std::uint64_t word = here.length_denied.load(std::memory_order_relaxed);
    if (!StillNamed(symbol, word >> 1, here.pieces.load(std::memory_order_relaxed))) break;
    denied = (word & 1) != 0;
    return here;
  }
  // All entries are taken: evict the first one.
  if (entry == nullptr) entry = &functions_[home];
  denied = Learn(*entry, function, symbol);
  return *entry;
}

// Fills the entry. Returns whether the kernel is never captured.
[[gnu::noinline]] bool LaunchGate::Learn(Function& entry, const void* function,
                                         const char* symbol) noexcept {
  const std::size_t length = ::strlen(symbol);
  const bool denied = WhyDenied(symbol) != nullptr;
  // Two threads may fill the entry at once. They write the same words, unless a module was replaced
  // or the entry was evicted in between; then one prediction is wrong.
  entry.name_hash.store(0, std::memory_order_relaxed);
  entry.function.store(function, std::memory_order_relaxed);
  entry.symbol.store(symbol, std::memory_order_relaxed);
  entry.length_denied.store(length * 2 + (denied ? 1 : 0), std::memory_order_relaxed);
  entry.pieces.store(Pieces(symbol, length), std::memory_order_relaxed);
  // Release: pairs with the acquire in Known.
  entry.name_hash.store(shm::NameHash(symbol, length), std::memory_order_release);
  return denied;
}

std::uint64_t LaunchGate::ConfigKeyOf(Function& known, std::uint64_t name_hash,
                                      const shm::LaunchConfig& config) noexcept {
  const std::uint64_t grid_xy = (std::uint64_t{config.grid[0]} << 32) | config.grid[1];
  const std::uint64_t block = (std::uint64_t{config.block[0]} << 32) |
                              (std::uint64_t{config.block[1]} << 16) | config.block[2];
  // Three independent products are faster than the key's chain of nine. The odd factors map
  // distinct values of a word to distinct products.
  const std::uint64_t fold = (grid_xy * 0x9E3779B97F4A7C15u) ^ (block * 0xC2B2AE3D27D4EB4Fu) ^
                             (config.grid[2] * 0xD6E8FEB86659FD93u);
  Shape& shape = known.shapes[(fold >> 32) % kShapes];
  // Relaxed: each word validates the other.
  const std::uint64_t key = shape.key.load(std::memory_order_relaxed);
  const std::uint64_t check = shape.check.load(std::memory_order_relaxed);
  if (key != 0 && (key ^ check) == (fold ^ name_hash)) return key;
  const std::uint64_t made = shm::ConfigKey(name_hash, config);
  shape.key.store(made, std::memory_order_relaxed);
  shape.check.store(made ^ fold ^ name_hash, std::memory_order_relaxed);
  return made;
}

std::atomic<shm::LaunchHistory>& LaunchGate::HistoryOf(const void* stream) noexcept {
  Stream& entry = streams_[Spread(stream) % kStreams];
  if (entry.stream.load(std::memory_order_relaxed) != stream) {
    entry.stream.store(stream, std::memory_order_relaxed);
    entry.history.store(0, std::memory_order_relaxed);
  }
  return entry.history;
}

bool LaunchGate::Unexplored(std::uint64_t name_hash) const noexcept {
  auto at = static_cast<std::uint32_t>(name_hash >> 32) % kExplored;
  for (std::uint32_t probe = 0; probe < kProbe; ++probe, at = (at + 1) % kExplored) {
    const std::uint64_t found = explored_[at].load(std::memory_order_relaxed);
    if (found == 0) return true;
    if (found == name_hash) return false;
  }
  return false;  // crowded: no exploratory capture is better than one at every launch
}

bool LaunchGate::Explore(std::uint64_t name_hash) noexcept {
  auto at = static_cast<std::uint32_t>(name_hash >> 32) % kExplored;
  for (std::uint32_t probe = 0; probe < kProbe; ++probe, at = (at + 1) % kExplored) {
    std::uint64_t found = explored_[at].load(std::memory_order_relaxed);
    if (found == 0 &&
        explored_[at].compare_exchange_strong(found, name_hash, std::memory_order_relaxed)) {
      return true;
    }
    if (found == name_hash) return false;
  }
  return false;
}

}  // namespace stemtap::inject
