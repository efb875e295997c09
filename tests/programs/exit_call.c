/* SPDX-License-Identifier: Apache-2.0 */
/* Launches kernels and calls exit(7) with everything still open and kernels running. */
#include "victim.h"

int main(int argc, char** argv) {
  Victim victim;
  InitAndLaunch(&victim, LaunchCount(argc, argv));
  exit(7);
}
