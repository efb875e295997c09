/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool's library for CUDA_INJECTION64_PATH; reports on stderr that it was initialized. */
#include <unistd.h>

int InitializeInjection(void);
int InitializeInjection(void) {
  static const char kLine[] = "other tool: here\n";
  return write(STDERR_FILENO, kLine, sizeof(kLine) - 1) > 0;
}

#ifdef STEMTAP_TEST_NVBIT
/* Every NVBit tool defines this. */
void nvbit_at_init(void);
void nvbit_at_init(void) {}
#endif
