/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches 50 kernels, waits for them, and continues as itself by exec, as often as the first
 * argument says. The last program prints `end`.
 */
#include <unistd.h>

#include "victim.h"

int main(int argc, char** argv) {
  enum { kLaunches = 50 };
  const long more = LaunchCount(argc, argv);
  Victim victim;
  InitAndLaunch(&victim, kLaunches);
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  if (more == 0) {
    puts("end");
    return 0;
  }
  char rest[24];
  snprintf(rest, sizeof rest, "%ld", more - 1);
  execl("/proc/self/exe", argv[0], rest, (char*)NULL);
  return 9;
}
