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

/* Every function of NVIDIA's headers, with and without its version suffix. */
static const struct {
  const char* name;
  int version;
} kFunctions[] = {
#include "introduced.inc"
    {"cuLaunchKernel_ptsz", 0}, {"cuNoSuchThing", 0}};

enum { kResultSize = 128, kNewestVersion = 13000 };

static void Describe(FindFunction find, OldFindFunction old_find, const char* name, int version,
                     cuuint64_t flags, char* text) {
  void* function = NULL;
  void* without_status = NULL;
  void* old = NULL;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  const int result = (int)find(name, &function, version, flags, &status);
  const int result_without = (int)find(name, &without_status, version, flags, NULL);
  const int old_result = (int)old_find(name, &old, version, flags);
  snprintf(text, kResultSize, "%d %s, status %d, without status %d, old %d", result,
           function == NULL ? "null" : "found", (int)status, result_without, old_result);
}

/* Prints each result that differs from the result for the version before. */
static void PrintEntryPoints(FindFunction find, OldFindFunction old_find) {
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) {
    if (kFunctions[i].version > kNewestVersion) continue;
    for (cuuint64_t flags = 0; flags <= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM; ++flags) {
      char last[kResultSize] = "";
      for (int version = 0; version <= kNewestVersion; version += version % 100 == 90 ? 910 : 10) {
        char now[kResultSize];
        Describe(find, old_find, kFunctions[i].name, version, flags, now);
        if (strcmp(now, last) == 0) continue;
        printf("%s %d %d: %s\n", kFunctions[i].name, version, (int)flags, now);
        strcpy(last, now);
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
