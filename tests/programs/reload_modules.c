/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeatedly loads a module, launches its kernels 100 times and unloads it, until the given number
 * of kernels has run. Every other module has other names (`odd_...`) of the same length at the same
 * addresses, so function handles and name pointers are reused with another meaning.
 */
#include "victim.h"

static const char* const kOddNames[kKernels] = {
    "odd__tile_128", "_Z9odd_____fPKfPfi", "void oddOne<float, 256>(float const*, float*, int)"};

int main(int argc, char** argv) {
  const long count = LaunchCount(argc, argv);
  Check(cuInit(0), "cuInit");
  for (long launched = 0; launched < count; launched += 100) {
    Victim victim;
    OpenNamed(&victim, launched / 100 % 2 == 0 ? kKernelNames : kOddNames);
    LaunchMany(&victim, count - launched < 100 ? count - launched : 100);
    Check(cuCtxSynchronize(), "cuCtxSynchronize");
    Check(cuStreamDestroy(victim.stream), "cuStreamDestroy");
    Check(cuModuleUnload(victim.module), "cuModuleUnload");
  }
  return 0;
}
