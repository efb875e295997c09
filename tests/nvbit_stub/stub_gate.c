/* SPDX-License-Identifier: Apache-2.0
 *
 * A gate that captures the first launch of each kernel and records all calls. Written in C99, so
 * that the header is compiled as C99. */
#include "nvbit_stub/stub_gate.h"

#include <string.h>

stub_gate_log stub_gate;

struct stemtap_gate {
  int failed;
};

static struct stemtap_gate the_gate;

uint32_t stemtap_gate_version(void) {
  return STEMTAP_GATE_VERSION;
}

stemtap_gate* stemtap_gate_open(const stemtap_gate_options* options) {
  (void)options;
  ++stub_gate.open;
  the_gate.failed = stub_gate.fails;
  return &the_gate;
}

stemtap_answer stemtap_gate_should_capture(stemtap_gate* gate, const stemtap_launch* launch) {
  stemtap_answer answer = {0, 0, 0};
  uint64_t i;
  if (gate == NULL || gate->failed || stub_gate.asked >= STUB_GATE_MOST) return answer;
  answer.capture = 1;
  for (i = 0; i < stub_gate.asked; ++i) {
    if (strcmp(stub_gate.names[i], launch->name) == 0) answer.capture = 0;
  }
  stub_gate.launches[stub_gate.asked] = *launch;
  strncpy(stub_gate.names[stub_gate.asked], launch->name, sizeof stub_gate.names[0] - 1);
  stub_gate.captured[stub_gate.asked] = (int)answer.capture;
  answer.id = ++stub_gate.asked;
  return answer;
}

int stemtap_gate_observe(stemtap_gate* gate, uint64_t id, uint64_t duration_ns) {
  if (gate == NULL || gate->failed) return STEMTAP_GATE_FAILED;
  if (id == 0 || id > stub_gate.asked) return STEMTAP_GATE_UNKNOWN_ID;
  ++stub_gate.observed[id - 1];
  stub_gate.durations_ns[id - 1] = duration_ns;
  return STEMTAP_GATE_OK;
}

int stemtap_gate_abandon(stemtap_gate* gate, uint64_t id) {
  if (gate == NULL || gate->failed) return STEMTAP_GATE_FAILED;
  if (id == 0 || id > stub_gate.asked) return STEMTAP_GATE_UNKNOWN_ID;
  ++stub_gate.abandoned[id - 1];
  return STEMTAP_GATE_OK;
}

const char* stemtap_gate_message(const stemtap_gate* gate) {
  return gate == NULL ? "no gate" : "";
}

int stemtap_gate_close(stemtap_gate* gate) {
  if (gate != NULL) --stub_gate.open;
  return STEMTAP_GATE_OK;
}
