/* SPDX-License-Identifier: Apache-2.0
 *
 * An actuator of one's own: a shared library that acts on the launches that stemtap chose to capture.
 * The injected library loads it into the traced program and brackets each captured launch:
 *
 *   stemtap run --level gate --actuator library:/path/libmine.so -- PROGRAM
 *
 *   program: cuLaunchKernel ─► stemtap_capture_start(launch)   0: capture it   else: not now
 *                              the launch itself
 *                              stemtap_capture_stop(launch)    only if start returned 0
 *
 * What "capture" means is the library's business: switch a tracer on and off, start a range of
 * counters, write down which launch it was. The kernel may still be running when stop is called: a
 * library that needs its end synchronises `stream`. examples/actuator is one to start from.
 *
 * C99; no CUDA header is needed. Only stemtap_capture_start and stemtap_capture_stop must be there.
 *
 * WHEN start answers other than 0, the launch goes by as if it had not been chosen: its credit is kept,
 * and a later launch of its kind is asked for instead. Nothing is captured while a stream is being
 * captured into a graph, nor beyond --max-captures-per-second.
 *
 * THREADS: start and stop are called on the thread that launches, from inside the launch call. Never two
 * captures at a time: where several threads launch, the others' launches go by meanwhile. So a library
 * needs no lock of its own between start and stop.
 *
 * CUDA may be called in start and stop; launches made there go through the gate like any other, and are
 * not captured. Not in init: it runs inside cuInit.
 *
 * FAILURE: nothing may be thrown out of a function, and none should block: the program waits. A capture
 * that does not come back within STEMTAP_WATCHDOG_MS (30 s) is the last one of the process. Signals,
 * stdout and the environment are the program's. After fork() the child calls none of these functions.
 *
 * VERSIONS: struct_size says how much of stemtap_capture the caller knows. Later versions add members
 * at the end: a library that reads one that version 1 lacks looks at struct_size first.
 */
#ifndef STEMTAP_ACTUATOR_H
#define STEMTAP_ACTUATOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a function or a member is added; nothing is ever taken away. */
#define STEMTAP_ACTUATOR_VERSION 1

/* stemtap_capture.flags: the first launch of a kernel of which nothing is known yet. */
#define STEMTAP_CAPTURE_EXPLORATORY 1u

/* stemtap_capture.device: not known. */
#define STEMTAP_CAPTURE_NO_DEVICE 0xFFFFFFFFu

/* One launch that is being captured. It and `kernel` are valid during the call; `start` and `stop` of a
 * launch are told the same, but for `result`. */
typedef struct stemtap_capture {
  uint32_t struct_size;
  uint32_t flags;          /* STEMTAP_CAPTURE_... */
  const char* kernel;      /* name as the driver has it, mangled; never null */
  void* function;          /* CUfunction or CUkernel */
  void* stream;            /* CUstream; null: the legacy default stream */
  void* context;           /* CUcontext */
  uint32_t grid[3];        /* in blocks */
  uint32_t block[3];       /* in threads */
  uint32_t shared_bytes;   /* dynamic shared memory */
  uint32_t device;         /* ordinal inside the process; STEMTAP_CAPTURE_NO_DEVICE */
  uint32_t correlation_id; /* CUPTI's, as in its activity records and in those of other tools */
  int32_t result;          /* at stop: CUresult of the launch call, 0 if it went well; at start 0 */
  uint64_t
      launch_number; /* how many launch calls of this process the gate saw before, all threads */
} stemtap_capture;

/* Before the launch. 0: it is captured now, and stop will follow. Anything else: not this one. */
int stemtap_capture_start(const stemtap_capture* capture);

/* After the launch call returned, for every start that answered 0. */
void stemtap_capture_stop(const stemtap_capture* capture);

/* Optional: called once, when the library is loaded, with the version of the caller. Anything but 0: the
 * library cannot work here, nothing is captured, and the program runs on. */
int stemtap_actuator_init(uint32_t version);

/* Optional: called once at the end of the program, after the last stop; not where the program is killed or
 * calls _exit, nor while a capture is under way. */
void stemtap_actuator_exit(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* STEMTAP_ACTUATOR_H */
