/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the mean duration in nanoseconds of COUNT consecutive launches on the simulated GPU. */
#include <time.h>

#include "programs/victim.h"

static double NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  const long count = LaunchCount(argc, argv);
  Victim victim;
  InitAndLaunch(&victim, 1000);
  const double begin = NowNs();
  LaunchMany(&victim, count);
  printf("%.2f\n", (NowNs() - begin) / (double)count);
  Close(&victim);
  return 0;
}
