/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the simulated libcuda.so.1 exports beyond the CUDA driver API. They have two
 * users: programs that play a recorded profile (first part) and the simulated libcupti.so.13
 * (second part). See docs/design/fake-gpu.md.
 *
 * THREADS: every function may be called from any thread.
 */
#ifndef FAKE_GPU_FAKE_GPU_H_
#define FAKE_GPU_FAKE_GPU_H_

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A simulated kernel only takes time. If its module was loaded from a placeholder, which is any image
 * that is not real code, its first parameter, `*(uint64_t*)kernelParams[0]`, is its duration in
 * nanoseconds. Without parameters it takes this long.
 */
#define FAKE_GPU_DEFAULT_DURATION_NS 5000

/* ---------------------------------------------------------------- for programs */

/* FakeGpuStatistics sums up the launches of this process so far. */
typedef struct FakeGpuStatistics {
  uint64_t launches;    /* kernels, including kernels inside graph launches */
  uint64_t duration_ns; /* their native durations */
  uint64_t captured;    /* kernels launched between cuProfilerStart and cuProfilerStop */
  uint64_t capture_ns;  /* wall time that the launching threads lost to captures */
} FakeGpuStatistics;

CUresult fakeGpuGetStatistics(FakeGpuStatistics* statistics);

/*
 * Creates a stream in the primary context of `device`, with the id that CUPTI records report.
 * Unlike a real stream, it accepts launches in any current context.
 */
CUresult fakeGpuStreamCreate(CUstream* stream, int device, uint32_t stream_id);

/* ---------------------------------------------------------------- for the simulated CUPTI */

/*
 * FakeGpuClockStep is how far the realtime clock had been set forward or back when an event began
 * and when it ended: FAKE_GPU_CLOCK_STEP_AT. Simulated times exclude the step; times that CUPTI
 * reports include it.
 */
typedef struct FakeGpuClockStep {
  int64_t at_start_ns;
  int64_t at_end_ns;
} FakeGpuClockStep;

/*
 * FakeGpuKernel is one kernel whose times are known. Pointers are valid until the call returns, the
 * name until retire_names is called for its module.
 */
typedef struct FakeGpuKernel {
  uint64_t start_ns;
  uint64_t end_ns;
  const char* name;
  uint32_t device;
  uint32_t context_uid;
  uint32_t stream_id;
  uint32_t correlation_id;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t dynamic_shared_bytes;
  uint32_t registers_per_thread;
  uint32_t launch_type; /* CUpti_ActivityLaunchType: 0 regular, 1 cooperative */
  uint32_t graph_id;    /* 0: not launched by a graph */
  uint64_t graph_node_id;
  FakeGpuClockStep step;
} FakeGpuKernel;

/*
 * FakeGpuGraph is one launch of a whole graph: from the start of its first kernel to the end of its
 * last.
 */
typedef struct FakeGpuGraph {
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t context_uid;
  uint32_t stream_id;
  uint32_t correlation_id;
  uint32_t graph_id;
  FakeGpuClockStep step;
} FakeGpuGraph;

/* FakeGpuApiCall is a driver call in progress; entry and exit pass the same object. */
typedef struct FakeGpuApiCall {
  uint32_t cbid; /* CUpti_driver_api_trace_cbid */
  const char* function_name;
  const void* params; /* the struct of generated_cuda_meta.h */
  const char* symbol_name;
  CUcontext context;
  uint32_t context_uid;
  uint32_t correlation_id;
  uint64_t correlation_data; /* storage shared by entry and exit */
  CUresult result;           /* valid at exit */
} FakeGpuApiCall;

/* FakeGpuResource is an object that was created or is about to be destroyed. */
typedef struct FakeGpuResource {
  uint32_t cbid; /* CUpti_CallbackIdResource */
  CUcontext context;
  CUstream stream;
  uint32_t module_id;
} FakeGpuResource;

/*
 * FakeGpuHooks connects the simulated driver to the simulated CUPTI. All hooks run on the thread
 * that called the driver, and the driver holds no lock meanwhile.
 */
typedef struct FakeGpuHooks {
  void (*api)(FakeGpuApiCall* call, int is_exit);
  void (*kernel)(const FakeGpuKernel* kernel);
  void (*graph)(const FakeGpuGraph* graph);
  void (*resource)(const FakeGpuResource* resource);
  /*
   * The names in this mapping belong to an unloaded module: the hook unmaps it after no record
   * still to be delivered can point into it.
   */
  void (*retire_names)(void* mapping, size_t bytes);
  /*
   * Writes further fields for the first line of the ground truth: words and numbers, each preceded
   * by a space.
   */
  void (*report)(char* text, size_t bytes);
} FakeGpuHooks;

/* Events that the simulated CUPTI requests. retire_names is called whenever hooks are connected. */
enum {
  FAKE_GPU_INTEREST_KERNELS = 1,
  FAKE_GPU_INTEREST_API = 2,
  FAKE_GPU_INTEREST_RESOURCES = 4,
  FAKE_GPU_INTEREST_GRAPHS = 8,
  FAKE_GPU_SERIALISE = 16 /* no event: run one kernel at a time */
};

void fakeGpuConnect(const FakeGpuHooks* hooks);
void fakeGpuSetInterest(uint32_t interest);

/* Nanoseconds of the host clock: virtual, or CLOCK_REALTIME. */
uint64_t fakeGpuNow(void);
/* 1: kernels are complete when queried. 0: when the wall clock has passed their end. */
int fakeGpuClockIsVirtual(void);
/*
 * Uses this much time of the calling thread without sleeping: the virtual clock advances, or the
 * thread spins.
 */
void fakeGpuSpend(uint64_t duration_ns);

/* How far the realtime clock has been set so far. */
int64_t fakeGpuClockStepNow(void);

CUresult fakeGpuContextUid(CUcontext context, uint32_t* uid);
CUresult fakeGpuStreamId(CUcontext context, CUstream stream, uint32_t* id);
CUresult fakeGpuContextDevice(CUcontext context, uint32_t* device);
CUresult fakeGpuGraphExecId(CUgraphExec exec, uint32_t* id);

#ifdef __cplusplus
}
#endif

#endif /* FAKE_GPU_FAKE_GPU_H_ */
