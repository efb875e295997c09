/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels, synchronizes and calls _exit(9), so no atexit handler runs. With a file as the
 * second argument it first waits until that file exists.
 */
#include <unistd.h>

#include "handshake.h"
#include "victim.h"

int main(int argc, char** argv) {
  Victim victim;
  InitAndLaunch(&victim, LaunchCount(argc, argv));
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  printf("launched\n");
  fflush(stdout);
  if (argc > 2) WaitForFile(argv[2]);
  _exit(9);
}
