// SPDX-License-Identifier: Apache-2.0
//
// The functions of stemtap/control.h that the library exports.
#include <stdlib.h>
#include <sys/auxv.h>

#define STEMTAP_CONTROL_BUILDING
#include "control/program_control.h"
#include "shm/session_env.h"
#include "stemtap/control.h"

namespace {

// Not later, because the program may open ranges before cuInit.
__attribute__((constructor)) void ReadStepRange() {
  if (::getauxval(AT_SECURE) != 0) return;
  stemtap::inject::Control().SetStepRange(::getenv(stemtap::shm::kEnvStepRange.name));
}

}  // namespace

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
