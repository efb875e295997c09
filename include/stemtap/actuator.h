/* SPDX-License-Identifier: Apache-2.0
 *
 * A custom actuator: a shared library that acts on the launches that stemtap chose to capture. The
 * injected library loads it into the traced program and calls it before and after each captured
 * launch:
 *
 *   stemtap run --level gate --actuator library:/path/libmine.so -- PROGRAM
 *
 *   program: cuLaunchKernel ─► stemtap_capture_start(launch)   0: capture it   else: not now
 *                              the launch itself
 *                              stemtap_capture_stop(launch)    only if start returned 0
 *
 * The library decides what a capture does: switch a tracer on and off, start a counter range, or
 * record which launch it was. The kernel may still be running when stop is called; a library that
 * needs the end of the kernel synchronizes `stream`. Start from examples/actuator.
 *
 * C99; no CUDA header is required. Only stemtap_capture_start and stemtap_capture_stop are
 * mandatory.
 *
 * REFUSAL: if start returns a nonzero value, the launch is not captured. Its credit is returned,
 * and a later launch is offered instead. No launch is captured while any stream
 * is being captured into a graph, or above --max-captures-per-second.
 *
 * THREADS: start and stop run on the launching thread, inside the launch call. At most one capture
 * is active at a time: launches of other threads are not captured meanwhile. A library therefore
 * needs no lock between start and stop.
 *
 * CUDA calls are allowed in start and stop. Launches made there pass through the gate like any
 * other launch, but are not captured. CUDA calls are not allowed in init, which runs inside cuInit.
 *
 * FAILURE: functions must not throw and should not block, because the program waits. If a capture
 * does not return within STEMTAP_WATCHDOG_MS (30 s), the process makes no further captures.
 * Signals, stdout and the environment belong to the program. After fork(), none of these functions
 * is called in the child.
 *
 * VERSIONS: struct_size is the size of stemtap_capture in the calling version. Later versions append
 * members; a library that reads a member that version 1 lacks must check struct_size first.
 */
#ifndef STEMTAP_ACTUATOR_H
#define STEMTAP_ACTUATOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented when a function or member is added. Nothing is ever removed. */
#define STEMTAP_ACTUATOR_VERSION 1

/* stemtap_capture.flags: the first launch of a kernel without statistics. */
#define STEMTAP_CAPTURE_EXPLORATORY 1u

/* stemtap_capture.device: the device is unknown. */
#define STEMTAP_CAPTURE_NO_DEVICE 0xFFFFFFFFu

/* Describes one launch that is being captured. The struct and `kernel` are valid only during the
 * call. start and stop of a launch receive the same values, except for `result`. */
typedef struct stemtap_capture {
  uint32_t struct_size;
  uint32_t flags;          /* STEMTAP_CAPTURE_... */
  const char* kernel;      /* mangled name as the driver reports it; never null */
  void* function;          /* CUfunction or CUkernel */
  void* stream;            /* CUstream; null for the legacy default stream */
  void* context;           /* CUcontext */
  uint32_t grid[3];        /* in blocks */
  uint32_t block[3];       /* in threads */
  uint32_t shared_bytes;   /* dynamic shared memory */
  uint32_t device;         /* ordinal inside the process, or STEMTAP_CAPTURE_NO_DEVICE */
  uint32_t correlation_id; /* CUPTI correlation id, as in its activity records and in other tools */
  int32_t result;          /* stop: CUresult of the launch call, 0 on success; start: 0 */
  uint64_t launch_number;  /* earlier launches in this process, counted over all threads; launches
                              that became nodes of a graph are not among them */
} stemtap_capture;

/* Called before the launch. Return 0 to capture it, followed by stop, or nonzero to skip it. */
int stemtap_capture_start(const stemtap_capture* capture);

/* Called after the launch call returned, once for every start that returned 0. */
void stemtap_capture_stop(const stemtap_capture* capture);

/* Optional. Called once, when the library is loaded, with the caller's version. If it returns a
 * nonzero value, nothing is captured and the program continues. */
int stemtap_actuator_init(uint32_t version);

/* Optional. Called once at program exit, after the last stop. Not called if the program is killed
 * or calls _exit, or while a capture is in progress. */
void stemtap_actuator_exit(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* STEMTAP_ACTUATOR_H */
