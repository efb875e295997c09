// SPDX-License-Identifier: Apache-2.0
//
// Plays launches through the callbacks of examples/nvbit, with a driver, an NVBit and a gate that
// only record calls.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nvbit.h"
#include "nvbit_stub/stub_gate.h"

namespace {

struct Driver {
  float elapsed_ms = 0.0015F;
  bool events_fail = false;
  bool capturing = false;
  int live_events = 0;
  int inserted_calls = 0;
  std::map<CUfunction, bool> enabled;  // most recent setting
  std::set<CUstream> streams;          // streams named in calls
  std::function<void()> meanwhile;     // runs once, during the next callback before a launch
};

Driver driver;

}  // namespace

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 3;
  if (driver.meanwhile) std::exchange(driver.meanwhile, nullptr)();
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  if (driver.events_fail) return CUDA_ERROR_LAUNCH_FAILED;
  ++driver.live_events;
  *event = reinterpret_cast<CUevent>(std::uintptr_t{16});
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent) {
  --driver.live_events;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent, CUstream stream) {
  driver.streams.insert(stream);
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) {
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* ms, CUevent, CUevent) {
  *ms = driver.elapsed_ms;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  driver.streams.insert(stream);
  *status = driver.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  driver.streams.insert(stream);
  return CUDA_SUCCESS;
}
const std::vector<Instr*>& nvbit_get_instrs(CUcontext, CUfunction) {
  static const std::vector<Instr*> instrs(5, nullptr);
  return instrs;
}
std::vector<CUfunction> nvbit_get_related_functions(CUcontext, CUfunction) {
  return {};
}
const char* nvbit_get_func_name(CUcontext, CUfunction function, bool) {
  return reinterpret_cast<std::uintptr_t>(function) == 1 ? "gemm" : "norm";
}
void nvbit_insert_call(const Instr*, const char*, ipoint_t) {
  ++driver.inserted_calls;
}
void nvbit_add_call_arg_guard_pred_val(const Instr*, bool) {}
void nvbit_add_call_arg_const_val64(const Instr*, uint64_t, bool) {}
void nvbit_enable_instrumented(CUcontext, CUfunction function, bool flag, bool) {
  driver.enabled[function] = flag;
}

namespace {

const auto kGemm = reinterpret_cast<CUfunction>(std::uintptr_t{1});
const auto kNorm = reinterpret_cast<CUfunction>(std::uintptr_t{2});
const auto kContext = reinterpret_cast<CUcontext>(std::uintptr_t{0x1000});
const auto kStream = reinterpret_cast<CUstream>(std::uintptr_t{0x2000});

void Begin(bool fails = false) {
  stub_gate = {};
  stub_gate.fails = fails;
  driver = {};
  nvbit_at_init();
}

void Call(nvbit_api_cuda_t cbid, void* params, CUresult result = CUDA_SUCCESS) {
  CUresult status = CUDA_SUCCESS;
  nvbit_at_cuda_event(kContext, 0, cbid, "", params, &status);
  status = result;
  nvbit_at_cuda_event(kContext, 1, cbid, "", params, &status);
}

void Launch(CUfunction function, CUresult result = CUDA_SUCCESS) {
  cuLaunchKernel_params params = {function, 4, 5, 6, 64, 2, 1, 128, kStream, nullptr, nullptr};
  Call(API_CUDA_cuLaunchKernel, &params, result);
}

// Checks that every answer was followed by exactly one report, and that no launch is pending.
void End() {
  for (std::uint64_t i = 0; i < stub_gate.asked; ++i) {
    CHECK(stub_gate.observed[i] + stub_gate.abandoned[i] == 1);
  }
  CHECK(driver.live_events == 0);
  nvbit_at_term();
  CHECK(stub_gate.open == 0);
}

// These steps are one case: an instrumented function stays instrumented while the tool runs.
TEST_CASE("the NVBit example asks the gate at each launch and reports each capture") {
  Begin();
  Launch(kGemm);  // captured: instrumented, not timed
  REQUIRE(stub_gate.asked == 1);
  CHECK(stub_gate.durations_ns[0] == STEMTAP_UNKNOWN_DURATION);
  CHECK(driver.inserted_calls == 5);
  CHECK(driver.enabled[kGemm]);
  const stemtap_launch& launch = stub_gate.launches[0];
  CHECK(launch.struct_size == sizeof(stemtap_launch));
  CHECK(launch.grid[0] == 4);
  CHECK(launch.grid[2] == 6);
  CHECK(launch.block[1] == 2);
  CHECK(launch.device == 3);
  CHECK(launch.stream == 0x2000);
  CHECK(launch.context == 0x1000);
  CHECK(launch.shared_bytes == STEMTAP_UNKNOWN_32);
  CHECK(std::string(stub_gate.names[0]) == "gemm");

  Launch(kGemm);  // not captured: native and timed
  CHECK_FALSE(driver.enabled[kGemm]);
  CHECK(stub_gate.durations_ns[1] == 1500);
  CHECK(driver.inserted_calls == 5);

  CUlaunchConfig config = {7, 1, 1, 32, 1, 1, 0, kStream};
  cuLaunchKernelEx_params ex = {&config, kGemm, nullptr, nullptr};
  Call(API_CUDA_cuLaunchKernelEx, &ex);
  CHECK(stub_gate.launches[2].grid[0] == 7);
  cuLaunchCooperativeKernel_params cooperative = {kGemm, 9, 1, 1, 32, 1, 1, 0, kStream, nullptr};
  Call(API_CUDA_cuLaunchCooperativeKernel_ptsz, &cooperative);
  CHECK(stub_gate.launches[3].grid[0] == 9);
  CHECK(stub_gate.asked == 4);

  Launch(kNorm, CUDA_ERROR_LAUNCH_FAILED);  // captured, but failed
  CHECK(stub_gate.abandoned[4] == 1);
  driver.events_fail = true;
  Launch(kNorm);  // could not be timed
  CHECK(stub_gate.abandoned[5] == 1);
  driver.events_fail = false;

  driver.capturing = true;  // into a graph: the gate is not asked, and nothing is instrumented
  driver.enabled[kGemm] = true;
  Launch(kGemm);
  CHECK_FALSE(driver.enabled[kGemm]);
  CHECK(stub_gate.asked == 6);
  driver.capturing = false;

  std::uint64_t bytes = 0;
  Call(API_CUDA_cuMemAlloc, &bytes);
  CHECK(stub_gate.asked == 6);
  End();
}

TEST_CASE("stream 0 is the per-thread stream for per-thread launch functions") {
  Begin();
  cuLaunchKernel_params params = {kGemm, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr};
  CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, nullptr};
  cuLaunchKernelEx_params ex = {&config, kGemm, nullptr, nullptr};
  cuLaunchCooperativeKernel_params cooperative = {kGemm, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr};
  Call(API_CUDA_cuLaunchKernel_ptsz, &params);  // captured
  Call(API_CUDA_cuLaunchKernel_ptsz, &params);  // timed
  Call(API_CUDA_cuLaunchKernelEx_ptsz, &ex);
  Call(API_CUDA_cuLaunchCooperativeKernel_ptsz, &cooperative);
  REQUIRE(stub_gate.asked == 4);
  for (int i = 0; i < 4; ++i) CHECK(stub_gate.launches[i].stream == 2);
  CHECK(driver.streams == std::set<CUstream>{CU_STREAM_PER_THREAD});
  params.hStream = kStream;
  Call(API_CUDA_cuLaunchKernel_ptsz, &params);
  CHECK(stub_gate.launches[4].stream == 0x2000);
  params.hStream = nullptr;
  Call(API_CUDA_cuLaunchKernel, &params);
  CHECK(stub_gate.launches[5].stream == 0);
  End();
}

// Starts a thread that launches norm, and gives it time to run until it blocks.
std::thread LaunchElsewhere() {
  static std::atomic<bool> launched;
  launched = false;
  std::thread other([] {
    Launch(kNorm);
    launched = true;
  });
  for (int i = 0; i < 100 && !launched; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return other;
}

TEST_CASE("a launch from another thread waits and is gated") {
  Begin();
  std::thread other;
  driver.meanwhile = [&] { other = LaunchElsewhere(); };  // within a callback
  Launch(kGemm);
  other.join();
  CHECK(stub_gate.asked == 2);

  cuLaunchKernel_params params = {kGemm, 4, 5, 6, 64, 2, 1, 128, kStream, nullptr, nullptr};
  CUresult status = CUDA_SUCCESS;
  nvbit_at_cuda_event(kContext, 0, API_CUDA_cuLaunchKernel, "", &params, &status);
  other = LaunchElsewhere();  // between the two callbacks
  CHECK(stub_gate.asked == 3);
  nvbit_at_cuda_event(kContext, 1, API_CUDA_cuLaunchKernel, "", &params, &status);
  other.join();
  CHECK(stub_gate.asked == 4);
  End();
}

TEST_CASE("a launch without its second callback does not block other launches") {
  Begin();
  cuLaunchKernel_params params = {kGemm, 4, 5, 6, 64, 2, 1, 128, kStream, nullptr, nullptr};
  CUresult status = CUDA_SUCCESS;
  nvbit_at_cuda_event(kContext, 0, API_CUDA_cuLaunchKernel, "", &params, &status);
  Launch(kGemm);
  CHECK(stub_gate.abandoned[0] == 1);
  CHECK(stub_gate.observed[1] == 1);
  End();
}

TEST_CASE("a failed gate does not change any launch") {
  Begin(true);
  Launch(kGemm);
  Launch(kNorm);
  CHECK(stub_gate.asked == 0);
  CHECK(driver.inserted_calls == 0);
  End();
}

// The layout of version 1 is fixed, because the library reads callers' structs by these offsets.
static_assert(sizeof(stemtap_answer) == 16);
static_assert(offsetof(stemtap_launch, name) == 8);
static_assert(offsetof(stemtap_launch, grid) == 16);
static_assert(offsetof(stemtap_launch, block) == 28);
static_assert(offsetof(stemtap_launch, shared_bytes) == 40);
static_assert(offsetof(stemtap_launch, device) == 44);
static_assert(offsetof(stemtap_launch, context) == 48);
static_assert(offsetof(stemtap_launch, stream) == 56);
static_assert(sizeof(stemtap_launch) == 64);
static_assert(offsetof(stemtap_gate_options, session) == 8);
static_assert(sizeof(stemtap_gate_options) == 24);

}  // namespace
