// SPDX-License-Identifier: Apache-2.0
#include "stemtap/control.h"

extern "C" void CallFromCpp();

void CallFromCpp() {
  stemtap_step();
  {
    const stemtap::Range outer("outer");
    const stemtap::Range inner("inner");
  }
  stemtap_stop();
  stemtap_start();
}
