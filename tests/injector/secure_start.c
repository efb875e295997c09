/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secure_start LIBCUDA: loads the driver by its path, because the loader skips the usual
 * directories in a program with more rights than its user. Calls cuInit, then prints whether the
 * program has more rights.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/auxv.h>

int main(int argc, char** argv) {
  void* driver = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  int (*init)(unsigned) = driver != NULL ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
  if (init == NULL || init(0) != 0) {
    printf("no driver\n");
    return 1;
  }
  printf("secure %d\n", getauxval(AT_SECURE) != 0);
  return 0;
}
