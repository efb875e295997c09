/* SPDX-License-Identifier: Apache-2.0 */
/* A library for CUDA_INJECTION64_PATH that says when it is asked to initialise. */
#include <stdio.h>

int InitializeInjection(void);

int InitializeInjection(void) {
  printf("injected 1\n");
  fflush(stdout);
  return 1;
}
