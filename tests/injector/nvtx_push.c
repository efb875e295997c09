/* SPDX-License-Identifier: Apache-2.0 */
/* Opens an NVTX range. Prints the result, and whether the program has more rights than its user. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <sys/auxv.h>

int main(void) {
  printf("secure %d push %d\n", getauxval(AT_SECURE) != 0, nvtxRangePushA("range"));
  return 0;
}
