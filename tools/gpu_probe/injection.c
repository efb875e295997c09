/* SPDX-License-Identifier: Apache-2.0 */
/* Sets an environment variable when the driver calls it. */
#include <stdlib.h>

__attribute__((visibility("default"))) int InitializeInjection(void) {
  setenv("GPU_PROBE_INJECTED", "1", 1);
  return 1;
}
