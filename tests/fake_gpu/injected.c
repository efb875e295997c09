/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for CUDA_INJECTION64_PATH that reports when it is loaded, initialized and unloaded. It
 * returns 1, or the value of INJECTED_RETURNS.
 */
#include <stdio.h>
#include <stdlib.h>

int InitializeInjection(void);

static void Report(const char* what) {
  puts(what);
  fflush(stdout);
}

__attribute__((constructor)) static void OnLoad(void) {
  Report("loaded");
}

__attribute__((destructor)) static void OnUnload(void) {
  Report("unloaded");
}

int InitializeInjection(void) {
  const char* result = getenv("INJECTED_RETURNS");
  Report("injected");
  return result == NULL ? 1 : atoi(result);
}
