/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels, reports that it did, waits for a signal from the test and kills itself. The
 * signal is a file that appears (second argument) or the end of a line on standard input.
 */
#include <signal.h>
#include <unistd.h>

#include "handshake.h"
#include "victim.h"

int main(int argc, char** argv) {
  Victim victim;
  InitAndLaunch(&victim, LaunchCount(argc, argv));
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  printf("launched\n");
  fflush(stdout);
  if (argc > 2) {
    WaitForFile(argv[2]);
  } else {
    WaitForLine();
  }
  kill(getpid(), SIGKILL);
  pause();
  return 0;
}
