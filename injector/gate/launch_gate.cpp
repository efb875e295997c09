// SPDX-License-Identifier: Apache-2.0
#include "gate/launch_gate.h"

#include <string.h>

#include "control/program_control.h"
#include "gate/launch_call.h"
#include "recording/name_hash.h"
#include "shm/deny_list.h"
#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

// Reason for cooperative launches of any kernel.
constexpr const char* kWhyCooperative = "cooperative: its blocks wait for each other";

// Mark, in the cell that ENTER and EXIT of one call share, that the launch is being captured, or
// that it becomes a node of a graph. CUPTI zeroes the cell, so any nonzero value works.
constexpr std::uint64_t kCapturing = 0x70617473;  // "stap"
constexpr std::uint64_t kAdding = 0x68707267;     // "grph"

const char* SymbolOf(const CUpti_CallbackData& data) noexcept {
  return data.symbolName != nullptr ? data.symbolName : "";
}

}  // namespace

bool LaunchGate::Init(const Options& options, SessionFiles& files, DurationEngine& engine,
                      void* driver, char* problem, std::size_t size) noexcept {
  files_ = &files;
  engine_ = &engine;
  graph_captures_.Init(driver);
  client_.Init({options.captures_per_second});
  watch_.Init(options);
  engine.AlsoCall([](void* self) { return static_cast<LaunchGate*>(self)->Watch(); }, this);
  engine.OnLostCapture(
      [](void* self, const PendingCapture& lost) { static_cast<LaunchGate*>(self)->Return(lost); },
      this);
  if (actuator_.Load(options, driver, problem, size)) return true;
  watch_.Disable();
  return false;
}

[[gnu::cold]] bool LaunchGate::EnableCallbacks(const CuptiApi& api,
                                               CUpti_SubscriberHandle subscriber,
                                               std::uint32_t& failed) noexcept {
  api_ = &api;
  subscriber_ = subscriber;
  const bool is_off = files_->requested() == shm::Recording::kOff;
  if (!Enable(Callbacks::kStreamCaptures, failed)) return false;
  if (!is_off && !Enable(Callbacks::kLaunches, failed)) return false;
  // Release: publishes api_ and subscriber_; pairs with the acquire in Watch.
  callbacks_.store(is_off ? Callbacks::kStreamCaptures : Callbacks::kLaunches,
                   std::memory_order_release);
  return true;
}

bool LaunchGate::Enable(Callbacks callbacks, std::uint32_t& failed) noexcept {
  for (const SubscribedCall& call : kSubscribedCalls) {
    if (IsLaunch(KindOf(call.cbid)) != (callbacks == Callbacks::kLaunches)) continue;
    const CUptiResult result =
        api_->EnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call.cbid);
    if (result != CUPTI_SUCCESS && call.required) {
      failed = call.cbid;
      return false;
    }
  }
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
      return gate.Exit(data);
    }
    const CallKind kind = KindOf(cbid);
    if (kind == CallKind::kBeginCapture || kind == CallKind::kEndCapture) {
      gate.graph_captures_.AfterCall(kind == CallKind::kBeginCapture, ResultOf(data));
    } else if (kind == CallKind::kGraphLaunch && ResultOf(data) == CUDA_SUCCESS) {
      gate.files_->Count(shm::Loss::kGraphLaunches);
    } else if (kind == CallKind::kKernelLaunch && ResultOf(data) != CUDA_SUCCESS) {
      gate.CountFailed(cbid, data);
    }
    return;
  }
  const auto enter = [&](const LaunchCall& call) { gate.Enter(call, data); };
  if (VisitLaunch(cbid, data.functionParams, enter)) return;
  const CallKind kind = KindOf(cbid);
  if (kind == CallKind::kBeginCapture) gate.graph_captures_.Begin();
  // The kernels of a graph count to the range that launches it.
  if (kind == CallKind::kGraphLaunch && Control().ranges().on()) gate.Place(data);
}

// Stores the range that a launch counts to for its record, and returns it.
inline LaunchRanges::Launch LaunchGate::Place(const CUpti_CallbackData& data) noexcept {
  ProgramControl& control = Control();
  const LaunchRanges::Launch place = control.ranges().Of(control.paths(), control.CurrentMark());
  engine_->places().Put(data.correlationId, place.range, place.is_outside);
  return place;
}

// The path of every launch is one function, which saves 2 of 20 ns. Rarely needed code is outside.
[[gnu::flatten]] void LaunchGate::Enter(const LaunchCall& call,
                                        const CUpti_CallbackData& data) noexcept {
  if (graph_captures_.any() && IsAdded(call, data)) return;
  shm::RingHeader& header = files_->ring().header;
  const std::uint64_t number = header.launches_gated.fetch_add(1, std::memory_order_relaxed);
  const bool timed = number % kTimedEvery == 0;
  const std::uint64_t start = timed ? MonotonicNs() : 0;
  const bool asked = Decide(call, data, number);
  // Excludes launches for which the actuator was called: their cost was requested.
  if (!timed || asked) return;
  header.cost_program_ns.fetch_add(kTimedEvery * (MonotonicNs() - start),
                                   std::memory_order_relaxed);
}

bool LaunchGate::Decide(const LaunchCall& call, const CUpti_CallbackData& data,
                        std::uint64_t number) noexcept {
  const char* symbol = SymbolOf(data);
  bool denied = false;
  FunctionCache::Entry& function = functions_.Find(call.function, symbol, denied);
  std::uint64_t name_hash = function.name_hash.load(std::memory_order_relaxed);
  // Another thread is replacing the entry.
  if (name_hash == 0) name_hash = HashName(symbol, ::strlen(symbol));
  shm::GateTable* table = files_->gate();
  bool is_outside = false;
  if (Control().ranges().on()) {
    const LaunchRanges::Launch place = Place(data);
    is_outside = place.is_outside;
    name_hash = shm::RangeNameHash(name_hash, place.hash);
  }
  if (table != nullptr) name_hash = files_->GateHash(name_hash);
  const shm::LaunchHistory before = streams_.Advance(call.stream, name_hash);
  if (denied || call.cooperative) {
    if (!denied_.noted()) denied_.Note(symbol, denied ? shm::WhyDenied(symbol) : kWhyCooperative);
    return false;
  }
  if (table == nullptr || is_outside || !watch_.allowed()) return false;

  const shm::LaunchKeys keys(name_hash, function.ConfigKey(name_hash, call.config), before);
  const shm::GateAnswer answer =
      client_.Decide(*table, keys, name_hash, [&] { return files_->Draw(number); });
  if (!answer.captures() || (answer.exploratory() && !files_->explores())) return false;
  const Outcome outcome = Capture({call, data, number, name_hash, answer});
  if (outcome == Outcome::kCaptured) return true;
  table->Refund(answer.credit_slot);
  if (outcome == Outcome::kPassed) return false;
  files_->Count(outcome == Outcome::kThrottled ? shm::Loss::kCapturesThrottled
                                               : shm::Loss::kCapturesDenied);
  return outcome == Outcome::kRefused;
}

[[gnu::noinline]] bool LaunchGate::IsAdded(const LaunchCall& call,
                                           const CUpti_CallbackData& data) noexcept {
  if (!graph_captures_.Takes(call.stream)) return false;
  files_->ring().header.launches_added.fetch_add(1, std::memory_order_relaxed);
  if (data.correlationData != nullptr) *data.correlationData = kAdding;
  return true;
}

[[gnu::cold, gnu::noinline]] LaunchGate::Outcome LaunchGate::Capture(
    const Chosen& launch) noexcept {
  if (Control().pauses().paused() || !files_->may_capture()) return Outcome::kPassed;
  // EXIT could not recognize the launch.
  if (launch.data.correlationData == nullptr) return Outcome::kDenied;
  if (!actuator_.Enter()) return Outcome::kDenied;
  // Checked again: if DisableDownTo held the actuator in the meantime, there would be no EXIT.
  if (!watch_.allowed() || callbacks_.load(std::memory_order_relaxed) != Callbacks::kLaunches) {
    actuator_.Leave();
    return Outcome::kDenied;
  }
  const std::uint64_t now_ns = actuator_.acts() || client_.limited() ? MonotonicNs() : 0;
  if (actuator_.acts()) actuator_.SetEntered(now_ns);
  Outcome outcome = Outcome::kThrottled;
  if (client_.TakeToken(now_ns)) {
    outcome = Begin(launch);
    // A refused launch spends its token, so that a library that always refuses is not called at
    // every launch.
    if (outcome == Outcome::kPassed || outcome == Outcome::kDenied) client_.GiveBackToken();
  }
  if (outcome != Outcome::kCaptured) actuator_.Leave();
  return outcome;
}

[[gnu::cold]] LaunchGate::Outcome LaunchGate::Begin(const Chosen& launch) noexcept {
  const bool acts = actuator_.acts();
  const std::uint32_t id = launch.data.correlationId;
  PendingCapture pending{launch.answer, Control().CurrentMark(), launch.name_hash};
  if (graph_captures_.Takes(launch.call.stream)) return Outcome::kPassed;
  if (acts && graph_captures_.any()) return Outcome::kDenied;
  // If the actuator acts, another thread may have captured the kernel before this thread held it.
  if (launch.answer.exploratory() && !client_.MayExplore(launch.name_hash)) {
    return Outcome::kPassed;
  }
  if (!engine_->pending().Add(id, pending)) return Outcome::kDenied;
  if (acts && !StartActuator(launch)) {
    engine_->pending().Take(id, pending);
    return Outcome::kRefused;
  }
  // If the actuator acts, it has started and is held, so no other thread could be first.
  if (!client_.Captured(launch.name_hash, launch.answer) && !acts) {
    // Another thread captured the kernel first, so this capture is not needed.
    engine_->pending().Take(id, pending);
    return Outcome::kPassed;
  }
  *launch.data.correlationData = kCapturing;
  files_->ring().header.launches_captured.fetch_add(1, std::memory_order_relaxed);
  return Outcome::kCaptured;
}

bool LaunchGate::StartActuator(const Chosen& launch) noexcept {
  stemtap_capture c = {};
  c.flags = launch.answer.exploratory() ? STEMTAP_CAPTURE_EXPLORATORY : 0;
  c.kernel = SymbolOf(launch.data);
  c.function = const_cast<void*>(launch.call.function);
  c.stream = launch.call.stream;
  c.context = launch.data.context;
  for (int i = 0; i < 3; ++i) {
    c.grid[i] = launch.call.config.grid[i];
    c.block[i] = launch.call.config.block[i];
  }
  c.shared_bytes = launch.call.shared_bytes;
  c.correlation_id = launch.data.correlationId;
  c.launch_number = launch.number;
  return actuator_.Start(c);
}

// A failed launch has no record, and no node if it was to become one.
[[gnu::noinline]] void LaunchGate::CountFailed(CUpti_CallbackId cbid,
                                               const CUpti_CallbackData& data) noexcept {
  bool is_counted = false;  // by Enter
  VisitLaunch(cbid, data.functionParams, [&](const LaunchCall&) { is_counted = true; });
  if (!is_counted) return;
  shm::RingHeader& header = files_->ring().header;
  if (data.correlationData != nullptr && *data.correlationData == kAdding) {
    header.launches_added.fetch_sub(1, std::memory_order_relaxed);
  } else {
    header.launches_failed.fetch_add(1, std::memory_order_relaxed);
  }
}

[[gnu::cold]] void LaunchGate::Exit(const CUpti_CallbackData& data) noexcept {
  const CUresult result = ResultOf(data);
  if (actuator_.acts()) actuator_.Stop(result);
  actuator_.Leave();
  if (result == CUDA_SUCCESS) return;
  // Nothing was launched, so no record will arrive.
  PendingCapture capture{};
  files_->ring().header.launches_failed.fetch_add(1, std::memory_order_relaxed);
  if (!engine_->pending().Take(data.correlationId, capture)) return;
  files_->ring().header.launches_captured.fetch_sub(1, std::memory_order_relaxed);
  Return(capture);
}

void LaunchGate::Return(const PendingCapture& capture) noexcept {
  if (shm::GateTable* table = files_->gate()) {
    client_.Return(*table, capture.name_hash, capture.answer);
  }
}

[[gnu::cold]] bool LaunchGate::Watch() noexcept {
  denied_.Report(*files_);
  // Acquire: pairs with the release in EnableCallbacks.
  const Callbacks now = callbacks_.load(std::memory_order_acquire);
  if (engine_->ended()) {
    // Captures would not be reported. The reason has already been reported.
    watch_.Disable();
    return DisableDownTo(Callbacks::kNone);
  }
  if (!engine_->recording()) return DisableDownTo(Callbacks::kStreamCaptures);
  if (now == Callbacks::kStreamCaptures) {
    std::uint32_t failed = 0;
    // CUPTI accepted the same callbacks before.
    Enable(Callbacks::kLaunches, failed);
    callbacks_.store(Callbacks::kLaunches, std::memory_order_relaxed);
  }
  if (actuator_.acts()) watch_.Look(*files_, actuator_, engine_->pending().any());
  return true;
}

[[gnu::cold]] bool LaunchGate::DisableDownTo(Callbacks rest) noexcept {
  const Callbacks now = callbacks_.load(std::memory_order_relaxed);
  if (now <= rest) return true;
  // A capture in progress needs its EXIT, so the next Watch tries again. The next thread that
  // enters the actuator sees that the callbacks are disabled.
  if (!actuator_.Enter()) return false;
  callbacks_.store(rest, std::memory_order_relaxed);
  for (const SubscribedCall& call : kSubscribedCalls) {
    if (rest == Callbacks::kStreamCaptures && !IsLaunch(KindOf(call.cbid))) continue;
    api_->EnableCallback(0, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, call.cbid);
  }
  actuator_.Leave();
  return true;
}

[[gnu::cold]] void LaunchGate::Close() noexcept {
  watch_.Disable();
  if (!actuator_.acts()) return;
  // Never left: a thread that launches while the process exits finds the actuator taken.
  for (std::uint32_t waited = 0; !actuator_.Enter(); ++waited) {
    if (waited == kCloseMs) return;  // the thread may still be inside the actuator library
    SleepMs(1);
  }
  actuator_.Exit();
}

}  // namespace stemtap::inject
