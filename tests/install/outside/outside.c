/* SPDX-License-Identifier: Apache-2.0
 *
 * A tracer's use of the gate, in C: 1,000 launches of one kernel. Exit code 0 if it was asked for captures and
 * the session was written. */
#include <stdio.h>
#include <stemtap/gate.h>

int main(void) {
  stemtap_gate* gate = stemtap_gate_open(NULL);
  unsigned captured = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    stemtap_launch launch = {.struct_size = sizeof(launch),
                             .name = "axpy",
                             .grid = {8, 1, 1},
                             .block = {64, 1, 1},
                             .device = 0,
                             .stream = 7};
    const stemtap_answer answer = stemtap_gate_should_capture(gate, &launch);
    if (answer.id != i + 1) {
      fprintf(stderr, "outside: %s\n", stemtap_gate_message(gate));
      return 1;
    }
    captured += answer.capture;
    stemtap_gate_observe(gate, answer.id, answer.capture ? STEMTAP_UNKNOWN_DURATION : 2000 + i % 3);
  }
  const int closed = stemtap_gate_close(gate);
  printf("%u of 1000 captured\n", captured);
  return closed == STEMTAP_GATE_OK && captured > 0 ? 0 : 1;
}
