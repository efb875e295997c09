/* SPDX-License-Identifier: Apache-2.0 */
/* stemtap/control.h compiles as C99, in any order with the other headers. */
#include "stemtap/actuator.h"
#include "stemtap/control.h"
#include "stemtap/gate.h"

void CallControlFromC(void);

void CallControlFromC(void) {
  stemtap_step();
  stemtap_range_push("range");
  stemtap_range_pop();
  stemtap_stop();
  stemtap_start();
}
