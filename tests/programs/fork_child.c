/* SPDX-License-Identifier: Apache-2.0 */
/* Uses CUDA, forks a child that does not touch it and exits normally, and goes on. The child ends
 * with 5 when CUDA does not refuse it, the parent with 6 when the child ended badly. */
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
