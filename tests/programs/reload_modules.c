/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a module, launches its kernels 100 times and unloads it, over and over, until the given
 * number of kernels has run: names and function handles go stale and are used again. */
#include "victim.h"

int main(int argc, char** argv) {
  const long count = LaunchCount(argc, argv);
  Check(cuInit(0), "cuInit");
  for (long launched = 0; launched < count; launched += 100) {
    Victim victim;
    Open(&victim);
    LaunchMany(&victim, count - launched < 100 ? count - launched : 100);
    Check(cuCtxSynchronize(), "cuCtxSynchronize");
    Check(cuStreamDestroy(victim.stream), "cuStreamDestroy");
    Check(cuModuleUnload(victim.module), "cuModuleUnload");
  }
  return 0;
}
