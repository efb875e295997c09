// SPDX-License-Identifier: Apache-2.0
#include "stemtap/control.h"

void UseControlAgain();

void UseControlAgain() {
  const stemtap::Range range("again");
}
