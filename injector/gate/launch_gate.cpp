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

// Of launches that are cooperative, whatever their name.
constexpr const char* kWhyCooperative = "cooperative: its blocks wait for each other";

// Marks, in the cell that ENTER and EXIT of one call share, that the launch is being captured. Any
// value that CUPTI does not put there itself (it zeroes the cell).
constexpr std::uint64_t kCapturing = 0x70617473;  // "stap"

// Where a pointer stands in a table: the upper half of a product with an odd constant (2^64 over the
// golden ratio), to which all its bits have come.
std::uint32_t Spread(const void* pointer) noexcept {
  return static_cast<std::uint32_t>(
      (reinterpret_cast<std::uintptr_t>(pointer) * 0x9E3779B97F4A7C15u) >> 32);
}

// The first, middle and last eight bytes of a name, folded into one word; all of a short name. Turned
// by thirds of a word, so that pieces that are alike do not cancel.
std::uint64_t Pieces(const char* name, std::size_t length) noexcept {
  if (length < 8) return shm::NameHash(name, length);
  const auto at = [name](std::size_t offset) {
    std::uint64_t word;
    ::memcpy(&word, name + offset, sizeof(word));
    return word;
  };
  return at(0) ^ std::rotl(at(length / 2 - 4), 21) ^ std::rotl(at(length - 8), 42);
}

// Whether the name at `symbol` is still the one of `length` bytes that had these pieces. Reads no
// byte of a page that the name does not reach: where it would end on its first page if it were the
// old one, all that is looked at lies there; else a name is measured first.
bool StillNamed(const char* symbol, std::size_t length, std::uint64_t pieces) noexcept {
  constexpr std::uintptr_t kPage = 4096;  // no system has smaller ones
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(symbol) % kPage;
  const bool ends =
      offset + length < kPage ? symbol[length] == 0 : ::strnlen(symbol, length + 1) == length;
  return ends && Pieces(symbol, length) == pieces;
}

// In the per-thread variants of a launch, no stream means the thread's own.
CUstream OwnIfNone(CUstream stream, bool per_thread) noexcept {
  return stream == nullptr && per_thread ? CU_STREAM_PER_THREAD : stream;
}

// Calls that begin or end the capture of a stream into a graph.
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
  bool required;               // the others came with later versions of CUDA
  bool graph_capture = false;  // matters where the actuator acts
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
  // The flusher looks once per period, later on a busy machine.
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
  // Release: publishes api_ and subscriber_; matched by the acquire in Watch.
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
      if (p.config == nullptr) return;  // the driver will say so
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
      // Counted before it begins, so that no launch is captured amid it.
      if (GraphCallOf(cbid) == GraphCall::kBegin) {
        gate.graph_captures_.fetch_add(1, std::memory_order_relaxed);
      }
      return;
  }
}

// What every launch goes through is one function (2 ns of 20), without what only a few need.
[[gnu::flatten]] void LaunchGate::Enter(const Launch& launch,
                                        const CUpti_CallbackData& data) noexcept {
  shm::RingHeader& header = files_->ring().header;
  const std::uint64_t number = header.launches_gated.fetch_add(1, std::memory_order_relaxed);
  const bool timed = number % kTimedEvery == 0;
  const std::uint64_t start = timed ? MonotonicNs() : 0;
  const bool asked = Decide(launch, data, number);
  // What an actuator takes was asked for.
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
  // Its place is being taken by another.
  if (name_hash == 0) name_hash = shm::NameHash(symbol, ::strlen(symbol));
  shm::GateTable* table = files_->gate();
  if (table != nullptr) name_hash = files_->GateHash(name_hash);
  std::atomic<shm::LaunchHistory>& history = HistoryOf(launch.stream);
  // Relaxed, and not one exchange: launches into one stream from several threads at once have no
  // order that a history could tell anyway.
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
    // The collector does not know the name yet: its first launch here is captured, so that a run
    // shorter than the feedback does not end with nothing.
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
  if (data.correlationData == nullptr) return Outcome::kDenied;  // EXIT could not know
  const bool acts = actuator_.acts();
  // Acquire: matched by the release in LeaveActuator, so that our start comes after the other's
  // stop.
  if (acts && actuator_taken_.exchange(true, std::memory_order_acquire)) return Outcome::kDenied;
  // Again: SwitchOff may have had the place meanwhile, and then there would be no EXIT.
  if (disarmed_.load(std::memory_order_relaxed)) {
    LeaveActuator();
    return Outcome::kDenied;
  }
  const std::uint64_t now_ns = acts || tokens_.limited() ? MonotonicNs() : 0;
  if (acts) entered_ns_.store(now_ns, std::memory_order_relaxed);
  Outcome outcome = Outcome::kThrottled;
  if (tokens_.TryTake(now_ns)) {
    outcome = Begin(launch, data, capture, name_hash, number);
    // One that is refused was asked for: a library that always refuses is not to be asked at every
    // launch.
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
  // Counted where the actuator acts. Relaxed: a stream capture that another thread begins just now,
  // it may begin a moment later too.
  if (graph_captures_.load(std::memory_order_relaxed) > 0) return Outcome::kDenied;
  // Where the actuator acts, its place was waited for: another may have been first meanwhile.
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
  // An actuator that acts has begun: with its place taken nobody else was first.
  if (exploratory && !Explore(name_hash) && !acts) {
    // Another thread was first with this name: it is captured, as was wanted.
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
  // Release: our stop comes before the next start; matched by the acquire in Capture.
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
  // Nothing was launched: there will be no record, and the credit is still good.
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
                        // One that went wrong is over too; other errors leave it as it was.
                        : result == CUDA_SUCCESS ||
                              result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                              result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (!over) return;
  // One that began before the callbacks were switched on was not counted.
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
  denied_state_.store(2, std::memory_order_release);  // matched by the acquire in TellDenied
}

// What the plan cannot cover is said once, with the first kernel of the kind as an example.
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
  SayOnStderr(kWhat, detail);  // the program may never come to its end
  char remark[sizeof(shm::RingHeader::reason)];
  ::snprintf(remark, sizeof(remark), "%s: %s", kWhat, detail);
  files_->Remark(remark);
}

// Nothing is recorded any more: nobody would hear of the captures, and the callbacks are not to be
// paid for. Why is said already.
void LaunchGate::SwitchOff() noexcept {
  disarmed_.store(true, std::memory_order_relaxed);
  // Acquire: matched by the release in EnableCallbacks.
  if (!callbacks_on_.load(std::memory_order_acquire)) return;
  // A capture under way needs its EXIT: the next Watch tries again. Acquire and release as in Capture
  // and LeaveActuator: who takes the place next finds the gate disarmed.
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
  // Kept for good: a thread that launches on while the process exits finds it taken.
  std::atomic<std::uint32_t> never{0};
  for (std::uint32_t waited = 0; actuator_taken_.exchange(true, std::memory_order_acquire);
       ++waited) {
    if (waited == kCloseMs) return;  // its thread may be in the library
    FutexWait(never, 0, 1);
  }
  actuator_.Exit();
}

bool LaunchGate::GoesIntoGraph(const Launch& launch) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (is_capturing_ == nullptr) return false;
  // An error means that some capture is under way that this stream must keep out of.
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
    // Acquire: matched by the release in Learn, so that what was stored before belongs to the hash.
    if (here.name_hash.load(std::memory_order_acquire) == 0 ||
        here.symbol.load(std::memory_order_relaxed) != symbol) {
      break;
    }
    // Length and denial in one word, and the length is compared to the name's: the denial is that of
    // a name of this length and these pieces, whoever writes here meanwhile.
    const std::uint64_t word = here.length_denied.load(std::memory_order_relaxed);
    if (!StillNamed(symbol, word >> 1, here.pieces.load(std::memory_order_relaxed))) break;
    denied = (word & 1) != 0;
    return here;
  }
  // All places are taken: the first one's owner loses it.
  if (entry == nullptr) entry = &functions_[home];
  denied = Learn(*entry, function, symbol);
  return *entry;
}

// Whether the name is never captured.
[[gnu::noinline]] bool LaunchGate::Learn(Function& entry, const void* function,
                                         const char* symbol) noexcept {
  const std::size_t length = ::strlen(symbol);
  const bool denied = WhyDenied(symbol) != nullptr;
  // Two threads may fill the entry in at once: with the same words, unless a module was replaced, or
  // its place taken, meanwhile; then one prediction goes astray, no more.
  entry.name_hash.store(0, std::memory_order_relaxed);
  entry.function.store(function, std::memory_order_relaxed);
  entry.symbol.store(symbol, std::memory_order_relaxed);
  entry.length_denied.store(length * 2 + (denied ? 1 : 0), std::memory_order_relaxed);
  entry.pieces.store(Pieces(symbol, length), std::memory_order_relaxed);
  // Release: matched by the acquire in Known.
  entry.name_hash.store(shm::NameHash(symbol, length), std::memory_order_release);
  return denied;
}

std::uint64_t LaunchGate::ConfigKeyOf(Function& known, std::uint64_t name_hash,
                                      const shm::LaunchConfig& config) noexcept {
  const std::uint64_t grid_xy = (std::uint64_t{config.grid[0]} << 32) | config.grid[1];
  const std::uint64_t block = (std::uint64_t{config.block[0]} << 32) |
                              (std::uint64_t{config.block[1]} << 16) | config.block[2];
  // Three products that do not wait for each other, where the key is a chain of nine; by odd numbers,
  // so that no two values of one word agree.
  const std::uint64_t fold = (grid_xy * 0x9E3779B97F4A7C15u) ^ (block * 0xC2B2AE3D27D4EB4Fu) ^
                             (config.grid[2] * 0xD6E8FEB86659FD93u);
  Shape& shape = known.shapes[(fold >> 32) % kShapes];
  // Relaxed: the two words answer for each other.
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
  return false;  // crowded: rather no exploratory capture than one at every launch
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
