/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stemtap/actuator.h compiles as C99, with and without the gate's header, and has the layout of
 * version 1.
 */
#include <stddef.h>

#include "stemtap/actuator.h"
#include "stemtap/gate.h"

typedef char NeedsNoMore[sizeof(stemtap_capture) == 88 ? 1 : -1];
typedef char SizeIsFirst[offsetof(stemtap_capture, struct_size) == 0 ? 1 : -1];
typedef char NumberIsLast[offsetof(stemtap_capture, launch_number) == 80 ? 1 : -1];

int stemtap_actuator_init(uint32_t version) {
  return version != STEMTAP_ACTUATOR_VERSION;
}
int stemtap_capture_start(const stemtap_capture* capture) {
  return capture->kernel == NULL;
}
void stemtap_capture_stop(const stemtap_capture* capture) {
  (void)capture;
}
void stemtap_actuator_exit(void) {}
