// SPDX-License-Identifier: Apache-2.0
//
// The functions of stemtap/control.h that the library exports.
#define STEMTAP_CONTROL_BUILDING
#include "control/program_control.h"
#include "stemtap/control.h"

void stemtap_step(void) {
  stemtap::inject::Control().Step();
}

void stemtap_range_push(const char* name) {
  stemtap::inject::Control().PushRange(name);
}

void stemtap_range_pop(void) {
  stemtap::inject::Control().PopRange();
}

void stemtap_start(void) {
  stemtap::inject::Control().Start();
}

void stemtap_stop(void) {
  stemtap::inject::Control().Stop();
}
