/* SPDX-License-Identifier: Apache-2.0 */
/* A program that does not use CUDA. */
#include <stdio.h>

int main(void) {
  printf("hello\n");
  return 0;
}
