/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the calls of stemtap/control.h, in place of the injected library. */
#include <stdio.h>

#define EXPORT __attribute__((visibility("default"))) void

static void Print(const char* call, const char* name) {
  printf("%s %s\n", call, name);
  fflush(stdout);
}

EXPORT stemtap_step(void) {
  Print("step", "");
}
EXPORT stemtap_range_push(const char* name) {
  Print("push", name);
}
EXPORT stemtap_range_pop(void) {
  Print("pop", "");
}
EXPORT stemtap_stop(void) {
  Print("stop", "");
}
EXPORT stemtap_start(void) {
  Print("start", "");
}
