/* SPDX-License-Identifier: Apache-2.0 */
/* Launches kernels and ends by abort(). */
#include "victim.h"

int main(int argc, char** argv) {
  Victim victim;
  InitAndLaunch(&victim, LaunchCount(argc, argv));
  abort();
}
