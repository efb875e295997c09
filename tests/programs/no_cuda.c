/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has nothing to do with CUDA. */
#include <stdio.h>

int main(void) {
  printf("hello\n");
  return 0;
}
