/* SPDX-License-Identifier: Apache-2.0 */
/* Forks before cuInit. Parent and child both use CUDA, each for the given number of launches. */
#include <sys/wait.h>
#include <unistd.h>

#include "victim.h"

int main(int argc, char** argv) {
  const long count = LaunchCount(argc, argv);
  const pid_t child = fork();
  Victim victim;
  InitAndLaunch(&victim, count);
  Close(&victim);
  if (child == 0) return 0;
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 6;
}
