/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels for a tracer that counts instructions (stepper.h):
 *
 *   step_launches WARM COUNT FILE
 *
 * Makes WARM launches, prints `ready`, waits for FILE, and makes COUNT more between two SIGUSR1,
 * which the tracer intercepts.
 */
#include <signal.h>
#include <stdlib.h>

#include "programs/handshake.h"
#include "programs/victim.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const long warm = strtol(argv[1], NULL, 10);
  const long count = strtol(argv[2], NULL, 10);
  Victim victim;
  InitAndLaunch(&victim, warm);
  printf("ready\n");
  fflush(stdout);
  WaitForFile(argv[3]);
  raise(SIGUSR1);
  for (long step = warm; step < warm + count; ++step) LaunchOne(&victim, step);
  raise(SIGUSR1);
  Close(&victim);
  return 0;
}
