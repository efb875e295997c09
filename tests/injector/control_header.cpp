// SPDX-License-Identifier: Apache-2.0
//
// Tests that stemtap/control.h compiles as C++17 and in several files of one library.
#include <type_traits>

#include "stemtap/control.h"

static_assert(!std::is_copy_constructible<stemtap::Range>::value);
static_assert(!std::is_convertible<const char*, stemtap::Range>::value);

void CallControlFromCpp();

void CallControlFromCpp() {
  stemtap_step();
  const stemtap::Range outer("outer");
  const stemtap::Range inner("inner");
  stemtap_stop();
  stemtap_start();
}
