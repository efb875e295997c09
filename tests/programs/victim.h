/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the small CUDA programs: a device, a stream, three kernels, and a loop that launches
 * them. Each program takes the number of launches as its first argument.
 *
 * Step i launches kernel i % 3 for DurationOf(i) nanoseconds, so a test can compute the ground
 * truth.
 */
#ifndef STEMTAP_TESTS_VICTIM_H_
#define STEMTAP_TESTS_VICTIM_H_

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kDefaultLaunches = 10000, kKernels = 3 };

static const char* const kKernelNames[kKernels] = {
    "gemm_tile_128", "_Z9softmax_fPKfPfi", "void reduce<float, 256>(float const*, float*, int)"};

typedef struct Victim {
  CUcontext context;
  CUmodule module;
  CUfunction kernels[kKernels];
  CUstream stream;
} Victim;

static inline void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: CUDA error %d\n", what, (int)result);
  exit(3);
}

static inline long LaunchCount(int argc, char** argv) {
  if (argc > 1) return strtol(argv[1], NULL, 10);
  return kDefaultLaunches;
}

static inline uint64_t DurationOf(long step) {
  return 2000 + (uint64_t)(step % kKernels) * 10000 + (uint64_t)(step * 37 % 500);
}

/* Makes the primary context of device 0 current. cuInit must have been called. */
static inline void OpenNamed(Victim* victim, const char* const names[kKernels]) {
  CUdevice device;
  Check(cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(cuDevicePrimaryCtxRetain(&victim->context, device), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(victim->context), "cuCtxSetCurrent");
  Check(cuModuleLoadData(&victim->module, "image"), "cuModuleLoadData");
  for (int i = 0; i < kKernels; ++i) {
    Check(cuModuleGetFunction(&victim->kernels[i], victim->module, names[i]),
          "cuModuleGetFunction");
  }
  Check(cuStreamCreate(&victim->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

static inline void Open(Victim* victim) {
  OpenNamed(victim, kKernelNames);
}

static inline void LaunchOne(Victim* victim, long step) {
  uint64_t duration_ns = DurationOf(step);
  void* params[] = {&duration_ns};
  Check(cuLaunchKernel(victim->kernels[step % kKernels], 1 + (unsigned)(step % 4), 2, 1, 128, 1, 1,
                       0, victim->stream, params, NULL),
        "cuLaunchKernel");
}

static inline void LaunchMany(Victim* victim, long count) {
  for (long step = 0; step < count; ++step) LaunchOne(victim, step);
}

static inline void Close(Victim* victim) {
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  Check(cuStreamDestroy(victim->stream), "cuStreamDestroy");
  Check(cuModuleUnload(victim->module), "cuModuleUnload");
  Check(cuDevicePrimaryCtxRelease(0), "cuDevicePrimaryCtxRelease");
}

/* Runs a well-behaved program from start to end, except for Close(). */
static inline void InitAndLaunch(Victim* victim, long count) {
  Check(cuInit(0), "cuInit");
  Open(victim);
  LaunchMany(victim, count);
}

#endif /* STEMTAP_TESTS_VICTIM_H_ */
