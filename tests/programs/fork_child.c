/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses CUDA, forks a child that does not use CUDA and exits normally, and continues. The child
 * exits with 5 if CUDA does not reject it, the parent with 6 if the child failed.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "victim.h"

int main(int argc, char** argv) {
  const long count = LaunchCount(argc, argv);
  Victim victim;
  InitAndLaunch(&victim, count / 2);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    int devices;
    exit(argc > 2 && cuDeviceGetCount(&devices) != CUDA_ERROR_NOT_INITIALIZED ? 5 : 0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return 6;
  for (long step = count / 2; step < count; ++step) LaunchOne(&victim, step);
  Close(&victim);
  return 0;
}
