/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the functions of stemtap/control.h, then the same functions from C++. */
#include "stemtap/control.h"

void CallFromCpp(void);

int main(void) {
  stemtap_step();
  stemtap_range_push("outer");
  stemtap_range_push("inner");
  stemtap_range_pop();
  stemtap_range_pop();
  stemtap_stop();
  stemtap_start();
  CallFromCpp();
  return 0;
}
