/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that the stub gate received, for inspection by the test. */
#ifndef STEMTAP_STUB_GATE_H
#define STEMTAP_STUB_GATE_H

#include "stemtap/gate.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { STUB_GATE_MOST = 64 };

typedef struct stub_gate_log {
  int open;  /* gates open now */
  int fails; /* set before opening: the gate fails */
  uint64_t asked;
  stemtap_launch launches[STUB_GATE_MOST]; /* name is not valid */
  char names[STUB_GATE_MOST][32];
  int captured[STUB_GATE_MOST];
  /* By id - 1: number of reports, and their values. */
  int observed[STUB_GATE_MOST];
  uint64_t durations_ns[STUB_GATE_MOST];
  int abandoned[STUB_GATE_MOST];
} stub_gate_log;

extern stub_gate_log stub_gate;

#ifdef __cplusplus
}
#endif

#endif
