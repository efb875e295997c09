// SPDX-License-Identifier: Apache-2.0
//
// An NVBit tool that instruments only the launches that stemtap selects. It counts their warp
// instructions, as an example of the data that a real tool collects, and prints one line per
// captured launch: `<index>,<warp instructions>,<kernel>`. The index is the index in the session's
// plan.json.
//
// The tool asks the gate about every launch before it instruments the function, so a kernel that is
// never selected costs only the query. Native launches are timed with CUDA events and reported. An
// instrumented launch is not native, so its duration remains unknown. Like other NVBit tools, this
// tool waits for each kernel and lets one thread launch at a time, so launches of one process do
// not overlap.
//
// Launches that a stream capture records into a graph are not traced, only counted at the end: the
// function version would have to be selected at each replay.
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

// Include once per tool and before nvbit.h; it declares the driver API.
#include "nvbit_tool.h"
// The stemtap gate interface.
#include "nvbit.h"
#include "stemtap/gate.h"

// Incremented on the device by inject_funcs.cu.
__managed__ uint64_t warp_instructions = 0;

namespace {

// The arguments of a launch call.
struct LaunchCall {
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  stemtap_launch launch = {};
};

// The state of a thread's launch between its two callbacks.
struct UnderWay {
  std::unique_lock<std::mutex> alone;
  stemtap_answer answer = {};
  CUevent start = nullptr;
  CUevent stop = nullptr;
  bool active = false;
};

// Held from the callback before a launch to the callback after it. It protects process-wide state:
// the counter and the selected function version. NVBit does not synchronize this.
std::mutex mutex;
thread_local UnderWay under_way;
// NVBit before 1.7.5 also calls back for the tool's own CUDA calls, on the calling thread. The flag
// is per thread so that launches of other threads are still handled.
thread_local bool in_tool = false;
stemtap_gate* gate = nullptr;
std::unordered_set<CUfunction> instrumented;
uint64_t captured_into_graphs = 0;

void SetConfig(stemtap_launch& launch, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
               unsigned by, unsigned bz) {
  launch.grid[0] = gx;
  launch.grid[1] = gy;
  launch.grid[2] = gz;
  launch.block[0] = bx;
  launch.block[1] = by;
  launch.block[2] = bz;
}

// Returns whether stream 0 of the call is the calling thread's own stream, as in programs built
// with --default-stream per-thread.
bool PerThreadDefault(nvbit_api_cuda_t cbid) {
  return cbid == API_CUDA_cuLaunchKernel_ptsz || cbid == API_CUDA_cuLaunchCooperativeKernel_ptsz ||
         cbid == API_CUDA_cuLaunchKernelEx_ptsz;
}

// Returns false if `cbid` does not launch a kernel.
bool ReadCall(nvbit_api_cuda_t cbid, void* params, LaunchCall& call) {
  switch (cbid) {
    case API_CUDA_cuLaunchKernel:
    case API_CUDA_cuLaunchKernel_ptsz: {
      const auto* p = static_cast<const cuLaunchKernel_params*>(params);
      call.function = p->f;
      call.stream = p->hStream;
      SetConfig(call.launch, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY,
                p->blockDimZ);
      return true;
    }
    case API_CUDA_cuLaunchCooperativeKernel:
    case API_CUDA_cuLaunchCooperativeKernel_ptsz: {
      const auto* p = static_cast<const cuLaunchCooperativeKernel_params*>(params);
      call.function = p->f;
      call.stream = p->hStream;
      SetConfig(call.launch, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY,
                p->blockDimZ);
      return true;
    }
    case API_CUDA_cuLaunchKernelEx:  // used by cuBLAS on Hopper
    case API_CUDA_cuLaunchKernelEx_ptsz: {
      const auto* p = static_cast<const cuLaunchKernelEx_params*>(params);
      call.function = p->f;
      call.stream = p->config->hStream;
      SetConfig(call.launch, p->config->gridDimX, p->config->gridDimY, p->config->gridDimZ,
                p->config->blockDimX, p->config->blockDimY, p->config->blockDimZ);
      return true;
    }
    default:
      return false;
  }
}

bool BeingCaptured(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void Instrument(CUcontext ctx, CUfunction function) {
  std::vector<CUfunction> functions = nvbit_get_related_functions(ctx, function);
  functions.push_back(function);
  for (CUfunction f : functions) {
    if (!instrumented.insert(f).second) continue;
    for (Instr* instruction : nvbit_get_instrs(ctx, f)) {
      nvbit_insert_call(instruction, "stemtap_count_warp", IPOINT_BEFORE);
      nvbit_add_call_arg_guard_pred_val(instruction);
      nvbit_add_call_arg_const_val64(instruction, reinterpret_cast<uint64_t>(&warp_instructions));
    }
  }
}

void BeforeLaunch(CUcontext ctx, LaunchCall& call) {
  if (BeingCaptured(call.stream)) {
    ++captured_into_graphs;
    if (instrumented.count(call.function) != 0) {
      nvbit_enable_instrumented(ctx, call.function, false);
    }
    return;
  }
  stemtap_launch& launch = call.launch;
  launch.struct_size = sizeof launch;
  launch.name = nvbit_get_func_name(ctx, call.function, true);
  launch.shared_bytes = STEMTAP_UNKNOWN_32;  // the call states only the dynamic shared memory
  CUdevice device = 0;
  launch.device =
      cuCtxGetDevice(&device) == CUDA_SUCCESS ? static_cast<uint32_t>(device) : STEMTAP_UNKNOWN_32;
  launch.context = reinterpret_cast<uint64_t>(ctx);
  launch.stream = reinterpret_cast<uint64_t>(call.stream);

  under_way.active = true;
  under_way.answer = stemtap_gate_should_capture(gate, &launch);
  const bool capture = under_way.answer.capture != 0;
  if (capture) {
    warp_instructions = 0;
    Instrument(ctx, call.function);
  }
  // A function remains instrumented, so each launch selects the version to run.
  if (instrumented.count(call.function) != 0) {
    nvbit_enable_instrumented(ctx, call.function, capture);
  }
  if (capture) return;
  const bool ready = cuEventCreate(&under_way.start, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
                     cuEventCreate(&under_way.stop, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
                     cuEventRecord(under_way.start, call.stream) == CUDA_SUCCESS;
  if (!ready && under_way.start != nullptr) {
    cuEventDestroy(under_way.start);
    under_way.start = nullptr;
  }
}

// Returns the time between the two events, or false if it is unavailable.
bool Elapsed(CUstream stream, uint64_t& duration_ns) {
  float ms = 0;
  if (under_way.start == nullptr || under_way.stop == nullptr) return false;
  if (cuEventRecord(under_way.stop, stream) != CUDA_SUCCESS ||
      cuEventSynchronize(under_way.stop) != CUDA_SUCCESS ||
      cuEventElapsedTime(&ms, under_way.start, under_way.stop) != CUDA_SUCCESS || !(ms >= 0)) {
    return false;
  }
  duration_ns = static_cast<uint64_t>(static_cast<double>(ms) * 1e6 + 0.5);
  return true;
}

void DestroyEvents() {
  if (under_way.start != nullptr) cuEventDestroy(under_way.start);
  if (under_way.stop != nullptr) cuEventDestroy(under_way.stop);
}

// Abandons a launch whose second callback was not called.
void Forget() {
  if (under_way.active) stemtap_gate_abandon(gate, under_way.answer.id);
  DestroyEvents();
  under_way = {};
}

void AfterLaunch(CUcontext ctx, const LaunchCall& call, CUresult result) {
  if (!under_way.active) return;
  const stemtap_answer answer = under_way.answer;
  uint64_t duration_ns = 0;
  if (result != CUDA_SUCCESS) {
    stemtap_gate_abandon(gate, answer.id);
  } else if (answer.capture != 0) {
    if (cuStreamSynchronize(call.stream) == CUDA_SUCCESS) {
      stemtap_gate_observe(gate, answer.id, STEMTAP_UNKNOWN_DURATION);
      std::fprintf(stderr, "%llu,%llu,%s\n", static_cast<unsigned long long>(answer.id - 1),
                   static_cast<unsigned long long>(warp_instructions),
                   nvbit_get_func_name(ctx, call.function, true));
    } else {
      stemtap_gate_abandon(gate, answer.id);
    }
  } else if (Elapsed(call.stream, duration_ns)) {
    stemtap_gate_observe(gate, answer.id, duration_ns);
  } else {
    stemtap_gate_abandon(gate, answer.id);
  }
  DestroyEvents();
}

}  // namespace

void nvbit_at_init() {
  gate = stemtap_gate_open(nullptr);  // configured by STEMTAP_SESSION and STEMTAP_OPTIONS
}

void nvbit_at_term() {
  stemtap_gate_close(gate);
  gate = nullptr;
  if (captured_into_graphs > 0) {
    std::fprintf(stderr, "stemtap: %llu launches were captured into graphs and not looked at\n",
                 static_cast<unsigned long long>(captured_into_graphs));
  }
}

void nvbit_at_cuda_event(CUcontext ctx, int is_exit, nvbit_api_cuda_t cbid, const char*,
                         void* params, CUresult* status) {
  LaunchCall call;
  if (in_tool || !ReadCall(cbid, params, call)) return;
  if (call.stream == nullptr && PerThreadDefault(cbid)) call.stream = CU_STREAM_PER_THREAD;
  in_tool = true;
  if (is_exit == 0) {
    if (under_way.alone.owns_lock()) Forget();
    under_way.alone = std::unique_lock<std::mutex>(mutex);
    BeforeLaunch(ctx, call);
  } else if (under_way.alone.owns_lock()) {
    AfterLaunch(ctx, call, *status);
    under_way = {};
  }
  in_tool = false;
}
