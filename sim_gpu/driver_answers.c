/* SPDX-License-Identifier: Apache-2.0 */
/* Prints results of a libcuda.so.1 that need no device, to compare the simulated driver with the
   real driver:

     driver_answers LIBCUDA cuInit COUNT      calls cuInit COUNT times and prints each result
     driver_answers LIBCUDA version           prints the driver's version
     driver_answers LIBCUDA entry_points      prints what cuGetProcAddress finds

   Exits with 3 if the library cannot be loaded. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult (*InitFunction)(unsigned);
typedef CUresult (*VersionFunction)(int*);
typedef CUresult (*FindFunction)(const char*, void**, int, cuuint64_t,
                                 CUdriverProcAddressQueryResult*);
typedef CUresult (*OldFindFunction)(const char*, void**, int, cuuint64_t);

/*
 * Names with and without variants, per-thread and not, from old and new versions, and invalid
 * names.
 */
static const char* const kNames[] = {"cuInit",
                                     "cuCtxCreate",
                                     "cuCtxDestroy",
                                     "cuCtxGetCurrent",
                                     "cuCtxGetFlags",
                                     "cuCtxPopCurrent",
                                     "cuCtxSynchronize",
                                     "cuDeviceGetPCIBusId",
                                     "cuDeviceGetUuid",
                                     "cuDevicePrimaryCtxGetState",
                                     "cuDevicePrimaryCtxRelease",
                                     "cuDevicePrimaryCtxReset",
                                     "cuDevicePrimaryCtxSetFlags",
                                     "cuDeviceTotalMem",
                                     "cuDriverGetVersion",
                                     "cuEventDestroy",
                                     "cuEventRecord",
                                     "cuFuncGetAttribute",
                                     "cuFuncGetModule",
                                     "cuFuncGetName",
                                     "cuFuncSetAttribute",
                                     "cuGetErrorName",
                                     "cuGetExportTable",
                                     "cuGetProcAddress",
                                     "cuGraphCreate",
                                     "cuGraphInstantiateWithFlags",
                                     "cuGraphInstantiateWithParams",
                                     "cuGraphLaunch",
                                     "cuGraphUpload",
                                     "cuLaunchCooperativeKernel",
                                     "cuLaunchKernel",
                                     "cuLaunchKernelEx",
                                     "cuMemAlloc",
                                     "cuMemAllocAsync",
                                     "cuMemAllocHost",
                                     "cuMemAllocManaged",
                                     "cuMemGetInfo",
                                     "cuMemHostAlloc",
                                     "cuMemcpy",
                                     "cuMemcpyDtoD",
                                     "cuMemcpyDtoHAsync",
                                     "cuMemsetD32Async",
                                     "cuMemsetD8",
                                     "cuModuleGetGlobal",
                                     "cuModuleLoadDataEx",
                                     "cuProfilerStart",
                                     "cuStreamBeginCapture",
                                     "cuStreamCreateWithPriority",
                                     "cuStreamEndCapture",
                                     "cuStreamGetPriority",
                                     "cuStreamQuery",
                                     "cuStreamWaitEvent",
                                     "cuMemAlloc_v2",
                                     "cuLaunchKernel_ptsz",
                                     "cuNoSuchThing"};

static void PrintEntryPoints(FindFunction find, OldFindFunction old_find) {
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    for (int version = 0; version <= 13000; version += 10) {
      for (cuuint64_t flags = 0; flags <= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM; ++flags) {
        void* function = NULL;
        void* without_status = NULL;
        void* old = NULL;
        CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
        const int result = (int)find(kNames[i], &function, version, flags, &status);
        const int result_without = (int)find(kNames[i], &without_status, version, flags, NULL);
        const int old_result = (int)old_find(kNames[i], &old, version, flags);
        printf("%s %d %d: %d %s, status %d, without status %d, old %d\n", kNames[i], version,
               (int)flags, result, function == NULL ? "null" : "found", (int)status, result_without,
               old_result);
      }
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* driver = dlopen(argv[1], RTLD_NOW);
  if (driver == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  if (strcmp(argv[2], "entry_points") == 0) {
    PrintEntryPoints((FindFunction)dlsym(driver, "cuGetProcAddress_v2"),
                     (OldFindFunction)dlsym(driver, "cuGetProcAddress"));
    return 0;
  }
  if (strcmp(argv[2], "version") == 0) {
    int version = 0;
    ((VersionFunction)dlsym(driver, "cuDriverGetVersion"))(&version);
    printf("%d\n", version);
    return 0;
  }
  if (argc != 4) return 2;
  for (int i = 0; i < atoi(argv[3]); ++i) {
    const int result = (int)((InitFunction)dlsym(driver, "cuInit"))(0);
    printf("cuInit has returned\n");
    fflush(stdout);
    fprintf(stderr, "cuInit %d\n", result);
  }
  return 0;
}
