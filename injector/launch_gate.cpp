// SPDX-License-Identifier: Apache-2.0
#include "launch_gate.h"

#include <string.h>

#include "runtime.h"

namespace stemtap::inject {
namespace {

// Marks, in the cell that ENTER and EXIT of one call share, that the launch is being captured. Any
// value that CUPTI does not put there itself (it zeroes the cell).
constexpr std::uint64_t kCapturing = 0x70617473;  // "stap"

std::uint32_t Spread(const void* pointer) noexcept {
  return static_cast<std::uint32_t>(wire::MixKeys(reinterpret_cast<std::uintptr_t>(pointer), 0) >>
                                    32);
}

// The first, middle and last eight bytes of a name, folded into one word; all of a short name.
std::uint64_t Pieces(const char* name, std::size_t length) noexcept {
  if (length < 8) return wire::NameHash(name, length);
  const auto at = [name](std::size_t offset) {
    std::uint64_t word;
    ::memcpy(&word, name + offset, sizeof(word));
    return word;
  };
  return wire::MixKeys(at(0) ^ at(length - 8), at(length / 2 - 4));
}

// Whether the name at `symbol` is still the one of `length` bytes that had these pieces. Reads no
// byte beyond the name's end: only a name that is at least as long is looked at there.
bool StillNamed(const char* symbol, std::size_t length, std::uint64_t pieces) noexcept {
  return ::strnlen(symbol, length + 1) == length && Pieces(symbol, length) == pieces;
}

// In the per-thread variants of a launch, no stream means the thread's own.
CUstream OwnIfNone(CUstream stream, bool per_thread) noexcept {
  return stream == nullptr && per_thread ? CU_STREAM_PER_THREAD : stream;
}

bool IsCommunication(const char* symbol) noexcept {
  return ::strstr(symbol, "nccl") != nullptr || ::strstr(symbol, "nvshmem") != nullptr;
}

}  // namespace

void LaunchGate::Init(const Options& options, SessionFiles& files, DurationEngine& engine,
                      void* driver) noexcept {
  files_ = &files;
  engine_ = &engine;
  is_capturing_ = reinterpret_cast<CUresult (*)(CUstream, CUstreamCaptureStatus*)>(
      FindSymbol(driver, "cuStreamIsCapturing"));
  if (options.profiler) {
    profiler_start_ = reinterpret_cast<CUresult (*)()>(FindSymbol(driver, "cuProfilerStart"));
    profiler_stop_ = reinterpret_cast<CUresult (*)()>(FindSymbol(driver, "cuProfilerStop"));
    if (profiler_stop_ == nullptr) profiler_start_ = nullptr;
  }
}

bool LaunchGate::EnableCallbacks(const CuptiApi& api, CUpti_SubscriberHandle subscriber,
                                 std::uint32_t& failed) noexcept {
  struct Wanted {
    CUpti_CallbackId cbid;
    bool required;  // the others came with later versions of CUDA
  };
  static constexpr Wanted kWanted[] = {
      {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, true},
      {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, true},
      {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, false},
      {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, false},
      {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, false},
      {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, false},
      {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, false},
      {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, false}};
  for (const Wanted& wanted : kWanted) {
    const CUptiResult result =
        api.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, wanted.cbid);
    if (result != CUPTI_SUCCESS && wanted.required) {
      failed = wanted.cbid;
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
    gate.Exit(data);
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
                  false},
                 data);
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& p = *static_cast<const cuLaunchKernelEx_params*>(data.functionParams);
      const CUlaunchConfig& c = *p.config;
      bool cooperative = false;
      for (unsigned i = 0; i < c.numAttrs; ++i) {
        cooperative |=
            c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && c.attrs[i].value.cooperative != 0;
      }
      gate.Enter({p.f,
                  OwnIfNone(c.hStream, cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz),
                  {{c.gridDimX, c.gridDimY, c.gridDimZ},
                   {extent(c.blockDimX), extent(c.blockDimY), extent(c.blockDimZ)}},
                  cooperative},
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
           true},
          data);
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      gate.files_->Count(wire::Loss::kGraphLaunches);
      return;
    default:
      return;
  }
}

void LaunchGate::Enter(const Launch& launch, const CUpti_CallbackData& data) noexcept {
  wire::RingHeader& header = files_->ring().header;
  header.launches_gated.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t name_hash = 0;
  bool denied = false;
  NameOf(launch.function, data.symbolName != nullptr ? data.symbolName : "", name_hash, denied);
  std::atomic<wire::LaunchHistory>& history = HistoryOf(launch.stream);
  // Relaxed, and not one exchange: launches into one stream from several threads at once have no
  // order that a history could tell anyway.
  const wire::LaunchHistory before = history.load(std::memory_order_relaxed);
  history.store(wire::Advance(before, name_hash), std::memory_order_relaxed);
  wire::GateTable* table = files_->gate();
  if (denied || launch.cooperative || table == nullptr) return;

  const std::uint64_t config_key = wire::ConfigKey(name_hash, launch.config);
  const std::uint32_t slot =
      wire::FindLaunch(*table, wire::HistoryKey(config_key, before), config_key, name_hash);
  PendingCaptures::Capture capture{0, wire::kFlagCaptured};
  if (slot == wire::kNoSlot) {
    // The collector does not know the name yet: its first launch here is captured, so that a run
    // shorter than the feedback does not end with nothing.
    if (!Unexplored(name_hash) || GoesIntoGraph(launch)) return;
    capture.flags |= wire::kFlagExploratory;
  } else {
    if (slot == wire::kClosedSlot || slot >= wire::kGateSlots || !table->TrySpend(slot)) return;
    if (GoesIntoGraph(launch)) {
      table->Refund(slot);
      return;
    }
    capture.slot = static_cast<std::uint16_t>(slot);
  }
  if (Capture(data, capture, name_hash)) return;
  if (capture.slot != 0) table->Refund(capture.slot);
  files_->Count(wire::Loss::kCapturesDenied);
}

bool LaunchGate::Capture(const CUpti_CallbackData& data, PendingCaptures::Capture capture,
                         std::uint64_t name_hash) noexcept {
  if (data.correlationData == nullptr) return false;  // EXIT could not know
  // Acquire: matched by the release in LeaveActuator, so that our start comes after the other's
  // stop.
  if (profiler_start_ != nullptr && actuator_taken_.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  if (!engine_->pending().Add(data.correlationId, capture)) {
    LeaveActuator();
    return false;
  }
  if ((capture.flags & wire::kFlagExploratory) != 0 && !Explore(name_hash)) {
    // Another thread was first with this name: it is captured, as was wanted.
    engine_->pending().Take(data.correlationId, capture);
    LeaveActuator();
    return true;
  }
  *data.correlationData = kCapturing;
  files_->ring().header.launches_captured.fetch_add(1, std::memory_order_relaxed);
  if (profiler_start_ != nullptr) profiler_start_();
  return true;
}

void LaunchGate::LeaveActuator() noexcept {
  // Release: our stop comes before the next start; matched by the acquire in Capture.
  if (profiler_start_ != nullptr) actuator_taken_.store(false, std::memory_order_release);
}

void LaunchGate::Exit(const CUpti_CallbackData& data) noexcept {
  if (data.correlationData == nullptr || *data.correlationData != kCapturing) return;
  *data.correlationData = 0;
  if (profiler_start_ != nullptr) profiler_stop_();
  LeaveActuator();
  const auto* result = static_cast<const CUresult*>(data.functionReturnValue);
  if (result == nullptr || *result == CUDA_SUCCESS) return;
  // Nothing was launched: there will be no record, and the credit is still good.
  PendingCaptures::Capture capture{};
  if (!engine_->pending().Take(data.correlationId, capture)) return;
  files_->ring().header.launches_captured.fetch_sub(1, std::memory_order_relaxed);
  wire::GateTable* table = files_->gate();
  if (capture.slot != 0 && table != nullptr) table->Refund(capture.slot);
}

bool LaunchGate::GoesIntoGraph(const Launch& launch) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (is_capturing_ == nullptr) return false;
  // An error means that some capture is under way that this stream must keep out of.
  return is_capturing_(static_cast<CUstream>(const_cast<void*>(launch.stream)), &status) !=
             CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void LaunchGate::NameOf(const void* function, const char* symbol, std::uint64_t& hash,
                        bool& denied) noexcept {
  std::uint32_t at = Spread(function) % kFunctions;
  for (std::uint32_t probe = 0; probe < kProbe; ++probe, at = (at + 1) % kFunctions) {
    Function& entry = functions_[at];
    const void* found = entry.function.load(std::memory_order_relaxed);
    if (found == nullptr &&
        entry.function.compare_exchange_strong(found, function, std::memory_order_relaxed)) {
      found = function;
    }
    if (found != function) continue;
    // Acquire: matched by the release below, so that what was stored before belongs to the hash.
    const std::uint64_t known = entry.name_hash.load(std::memory_order_acquire);
    if (known != 0 && entry.symbol.load(std::memory_order_relaxed) == symbol &&
        StillNamed(symbol, entry.length.load(std::memory_order_relaxed),
                   entry.pieces.load(std::memory_order_relaxed))) {
      hash = known;
      denied = entry.denied.load(std::memory_order_relaxed);
      return;
    }
    const std::size_t length = ::strlen(symbol);
    hash = wire::NameHash(symbol, length);
    denied = IsCommunication(symbol);
    // Two threads may fill the entry in at once: with the same words, unless a module was replaced
    // meanwhile; then one prediction goes astray, no more.
    entry.symbol.store(symbol, std::memory_order_relaxed);
    entry.length.store(length, std::memory_order_relaxed);
    entry.pieces.store(Pieces(symbol, length), std::memory_order_relaxed);
    entry.denied.store(denied, std::memory_order_relaxed);
    entry.name_hash.store(hash, std::memory_order_release);  // matched by the acquire above
    return;
  }
  hash = wire::NameHash(symbol, ::strlen(symbol));
  denied = IsCommunication(symbol);
}

std::atomic<wire::LaunchHistory>& LaunchGate::HistoryOf(const void* stream) noexcept {
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
