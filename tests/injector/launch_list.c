/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches the kernels listed in its arguments, in that order, on one stream, 5 us each:
 *
 *   NAME:COUNT           cuLaunchKernel
 *   coop/NAME:COUNT      cuLaunchCooperativeKernel
 *   ex/NAME:COUNT        cuLaunchKernelEx, excoop/ with the cooperative attribute
 *   ptsz/NAME:COUNT      the per-thread-stream variant of cuLaunchKernel
 *   bad/NAME:COUNT       cuLaunchKernel with a grid of 0, which the driver rejects; badex/ and
 *                        badptsz/ as ex/ and ptsz/
 *   badgraph/COUNT       cuGraphLaunch without a graph, which the driver rejects
 *   null/NAME:COUNT      cuLaunchKernel into the legacy default stream
 *   long/NAME:MS         one cuLaunchKernel of MS milliseconds, with another grid and some
 *                        shared memory; bad/ and the others take 5 us
 *   begin/, end/         begins and ends the capture of another stream into a graph
 *   badbegin/, badend/   the same where it is an error: during a capture, and outside
 *   own/NAME:COUNT       cuLaunchKernel into that other stream
 *   pause/MS             launches nothing for MS milliseconds
 *   wait/FILE            synchronizes, prints `waiting`, continues when the file exists
 *
 * Grid and block are `1,1,1 x 32,1,1`. Prints the number of kernels launched on the simulated GPU,
 * and how many of them were launched between cuProfilerStart and cuProfilerStop.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_gpu.h"
#include "programs/handshake.h"

CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                             unsigned by, unsigned bz, unsigned shared, CUstream stream,
                             void** params, void** extra);

static void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: CUDA error %d\n", what, (int)result);
  exit(3);
}

static void CheckFails(CUresult result) {
  if (result == CUDA_SUCCESS) exit(4);
}

static const char* After(const char* text, const char* prefix) {
  const size_t length = strlen(prefix);
  return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static CUresult LaunchEx(CUfunction function, unsigned grid, CUstream stream, int cooperative) {
  CUlaunchAttribute attribute;
  memset(&attribute, 0, sizeof attribute);
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = cooperative;
  CUlaunchConfig config;
  memset(&config, 0, sizeof config);
  config.gridDimX = grid;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cuLaunchKernelEx(&config, function, NULL, NULL);
}

/* The stream that begin/ and end/ capture and that own/ launches into. */
static CUstream other;

static int CaptureGraph(const char* item) {
  CUgraph graph;
  if (After(item, "begin/") != NULL) {
    Check(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL), item);
    return 1;
  }
  if (After(item, "badbegin/") != NULL) {
    CheckFails(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    return 1;
  }
  if (After(item, "badend/") != NULL) {
    CheckFails(cuStreamEndCapture(other, &graph));
    return 1;
  }
  if (After(item, "end/") == NULL) return 0;
  Check(cuStreamEndCapture(other, &graph), item);
  Check(cuGraphDestroy(graph), item);
  return 1;
}

static void LaunchLong(CUfunction f, CUstream stream, uint64_t ms) {
  uint64_t ns = ms * 1000000;
  void* params[] = {&ns};
  Check(cuLaunchKernel(f, 2, 3, 4, 64, 2, 1, 48, stream, params, NULL), "long/");
}

static void Pause(const char* ms) {
  const long left = strtol(ms, NULL, 10);
  const struct timespec pause = {left / 1000, left % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

static void Launch(CUmodule module, CUstream stream, const char* item) {
  const char* name = strchr(item, '/') != NULL ? strchr(item, '/') + 1 : item;
  const char* colon = strrchr(name, ':');
  char kernel[256];
  snprintf(kernel, sizeof kernel, "%.*s", (int)(colon - name), name);
  CUfunction f;
  Check(cuModuleGetFunction(&f, module, kernel), "cuModuleGetFunction");
  if (After(item, "long/") != NULL) {
    LaunchLong(f, stream, strtoull(colon + 1, NULL, 10));
    return;
  }
  if (After(item, "null/") != NULL) stream = NULL;
  if (After(item, "own/") != NULL) stream = other;
  for (long left = strtol(colon + 1, NULL, 10); left > 0; --left) {
    if (After(item, "coop/") != NULL) {
      Check(cuLaunchCooperativeKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL), item);
    } else if (After(item, "ex/") != NULL) {
      Check(LaunchEx(f, 1, stream, 0), item);
    } else if (After(item, "excoop/") != NULL) {
      Check(LaunchEx(f, 1, stream, 1), item);
    } else if (After(item, "ptsz/") != NULL) {
      Check(cuLaunchKernel_ptsz(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), item);
    } else if (After(item, "bad/") != NULL) {
      CheckFails(cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    } else if (After(item, "badex/") != NULL) {
      CheckFails(LaunchEx(f, 0, stream, 0));
    } else if (After(item, "badptsz/") != NULL) {
      CheckFails(cuLaunchKernel_ptsz(f, 0, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    } else {
      Check(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), item);
    }
  }
}

int main(int argc, char** argv) {
  CUcontext context;
  CUmodule module;
  CUstream stream;
  Check(cuInit(0), "cuInit");
  Check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  Check(cuModuleLoadData(&module, "image"), "cuModuleLoadData");
  Check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  Check(cuStreamCreate(&other, CU_STREAM_DEFAULT), "cuStreamCreate");
  for (int i = 1; i < argc; ++i) {
    if (CaptureGraph(argv[i])) continue;
    if (After(argv[i], "pause/") != NULL) {
      Pause(After(argv[i], "pause/"));
      continue;
    }
    const char* graphs = After(argv[i], "badgraph/");
    if (graphs != NULL) {
      for (long left = strtol(graphs, NULL, 10); left > 0; --left) {
        CheckFails(cuGraphLaunch(NULL, stream));
      }
      continue;
    }
    const char* file = After(argv[i], "wait/");
    if (file == NULL) {
      Launch(module, stream, argv[i]);
      continue;
    }
    Check(cuCtxSynchronize(), "cuCtxSynchronize");
    printf("waiting\n");
    fflush(stdout);
    WaitForFile(file);
  }
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  FakeGpuStatistics statistics;
  Check(fakeGpuGetStatistics(&statistics), "fakeGpuGetStatistics");
  printf("launches %llu captured %llu\n", (unsigned long long)statistics.launches,
         (unsigned long long)statistics.captured);
  return 0;
}
