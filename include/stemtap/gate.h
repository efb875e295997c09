/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate for tracers: a tool that sees each kernel launch asks whether this one is worth capturing, and
 * tells how long it took. Beside the answers, the gate writes a session folder with the plan: which
 * launches were captured, with what weight, and how wrong that may be. See docs/formats/gate-abi.md.
 *
 *   stemtap_gate *gate = stemtap_gate_open(NULL);
 *   ... at each launch, in launch order:
 *   stemtap_answer answer = stemtap_gate_should_capture(gate, &launch);
 *   ... the launch runs, traced if answer.capture; when its duration is known:
 *   stemtap_gate_observe(gate, answer.id, duration_ns);
 *   ... at the end of the program:
 *   stemtap_gate_close(gate);
 *
 * C99; no CUDA, no CUPTI, no C++. It can be used where CUPTI cannot run, as in an NVBit tool.
 *
 * UNITS: durations in ns, shared memory in bytes, extents as given to the launch.
 *
 * FAILURE never harms the program: no function aborts, exits, throws, raises a signal or writes to stdout.
 * A gate that cannot be opened, or has no memory, answers "do not capture" with id 0 from then on, says why
 * once on stderr (unless it was opened with STEMTAP_GATE_QUIET), and goes on accepting every call. A full
 * disk fails no gate: it is told when the gate is closed. A null gate is a gate that has failed, so no
 * result needs to be checked for the program's sake.
 *
 * THREADS: stemtap_gate_should_capture, _observe and _abandon may be called from any thread, at once.
 * They take one lock: for a table look-up in _should_capture; in _observe also for the statistics, some
 * milliseconds now and then, so that the same launches and durations give the same answers. _open and
 * _close are called once each, while no other call on that gate runs. None may be called from a signal
 * handler. After fork() the child's gate has failed; the parent's is untouched.
 *
 * VERSIONS: structs that the caller fills begin with struct_size, which the caller sets to sizeof. Later
 * versions add members at the end and never change those before; the library reads no further than
 * struct_size, and takes what lies behind it as 0. A struct_size less than the one of version 1 is
 * refused. A program built against a later header works with an earlier library, which ignores
 * what it does not know. stemtap_answer is returned by value and never changes.
 */
#ifndef STEMTAP_GATE_H
#define STEMTAP_GATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(STEMTAP_GATE_BUILDING) && defined(__GNUC__)
#define STEMTAP_GATE_API __attribute__((visibility("default")))
#else
#define STEMTAP_GATE_API
#endif

/* Grows when a function or a member is added; nothing is ever taken away. */
#define STEMTAP_GATE_VERSION 1

/* What stands in a member that the caller does not know. An extent that is not known is 0. */
#define STEMTAP_UNKNOWN_32 0xFFFFFFFFu
#define STEMTAP_UNKNOWN_64 0xFFFFFFFFFFFFFFFFu
/* For stemtap_gate_observe: the launch ran, but not at its native speed (instrumented, say). */
#define STEMTAP_UNKNOWN_DURATION STEMTAP_UNKNOWN_64

/* Results. Errors are negative. */
#define STEMTAP_GATE_OK 0
#define STEMTAP_GATE_FAILED (-1) /* the gate is null, closed or has failed; see the message */
#define STEMTAP_GATE_UNKNOWN_ID \
  (-2) /* no launch of this id is waiting: never asked, or told before */
#define STEMTAP_GATE_NOT_WRITTEN (-3) /* the session folder lacks files; see the message */

/* stemtap_gate_options.flags */
#define STEMTAP_GATE_QUIET 1u /* nothing on stderr; stemtap_gate_message still tells */

/* stemtap_launch.flags */
#define STEMTAP_LAUNCH_FROM_GRAPH 1u /* a kernel node of a graph that is being launched */

/* A gate; opaque. */
typedef struct stemtap_gate stemtap_gate;

/* How to open a gate. All zero but struct_size: everything by default. */
typedef struct stemtap_gate_options {
  uint32_t struct_size;
  uint32_t flags; /* STEMTAP_GATE_... */
  /* Session folder to make: fresh, its parent must exist. Null: the variable STEMTAP_SESSION, or
   * stemtap-<program>-<pid> in the current folder. */
  const char* session;
  /* Options as on the command line of `stemtap run`: "--error-bound 0.03 --exclude nccl", parted by
   * spaces, an argument with spaces in double quotes. Null: the variable STEMTAP_OPTIONS, or none. */
  const char* options;
} stemtap_gate_options;

/* One launch, before it runs. */
typedef struct stemtap_launch {
  uint32_t struct_size;
  uint32_t flags; /* STEMTAP_LAUNCH_... */
  /* Name of the kernel, mangled or not but always the same for one kernel; at most 16384 bytes count.
   * Never null. Copied when first seen: the caller may free it when the call returns. */
  const char* name;
  uint32_t grid[3];      /* in blocks, >= 1; grid[0] = 0: not known */
  uint32_t block[3];     /* in threads, 1 to 65535; block[0] = 0: not known */
  uint32_t shared_bytes; /* static and dynamic; STEMTAP_UNKNOWN_32 */
  uint32_t device;       /* ordinal inside the process, at most 65534; STEMTAP_UNKNOWN_32 */
  /* Any numbers that tell contexts and streams apart (handles will do): a stream is known by device,
   * context and stream together. The context may be 0 where there is one. STEMTAP_UNKNOWN_64: not known. */
  uint64_t context;
  uint64_t stream;
} stemtap_launch;

/* The answer to one launch. */
typedef struct stemtap_answer {
  uint64_t id;      /* 1 for the first launch, then counting; 0: the gate has failed */
  uint32_t capture; /* 1: capture this launch. 0: do not */
  uint32_t unused;  /* 0 */
} stemtap_answer;

/* STEMTAP_GATE_VERSION of the library; at least that of the header it is used with, or some options
 * and members are ignored. */
STEMTAP_GATE_API uint32_t stemtap_gate_version(void);

/* Opens a gate and makes its session folder. `options` may be null: all by default; it is not kept.
 * Never null unless memory is out: a gate that could not be opened has failed, and
 * stemtap_gate_message says why. The caller closes it. */
STEMTAP_GATE_API stemtap_gate* stemtap_gate_open(const stemtap_gate_options* options);

/* Whether to capture `launch`, which is about to run. Called for every launch, in launch order at least
 * within each stream; launches that were never asked for are no part of the plan.
 *
 * The id minus one is the launch's `index` in plan.json. Each id waits for one _observe or _abandon. An
 * answer of capture = 1 is a spent credit: the tool that does not capture the launch says so by
 * _abandon. */
STEMTAP_GATE_API stemtap_answer stemtap_gate_should_capture(stemtap_gate* gate,
                                                            const stemtap_launch* launch);

/* Tells that launch `id` took `duration_ns`, in any order and as late as need be: until then, later launches
 * are decided without it. 0 is a duration. With STEMTAP_UNKNOWN_DURATION (or more than
 * 2^53) the launch counts with the last duration told of its kernel, grid, block and predecessors on its
 * stream, of its kernel where none of those was, and is reported as such; where none is told within 256
 * launches it counts as lost. An id of 0 is passed over.
 *
 * Returns STEMTAP_GATE_OK, _FAILED or _UNKNOWN_ID; nothing needs to be done about either. */
STEMTAP_GATE_API int stemtap_gate_observe(stemtap_gate* gate, uint64_t id, uint64_t duration_ns);

/* Tells that nothing will be known of launch `id`: it failed, or was not measured or not captured as the
 * answer had it. Counted as lost, its credit is given back. Returns as _observe. */
STEMTAP_GATE_API int stemtap_gate_abandon(stemtap_gate* gate, uint64_t id);

/* Why the gate has failed: one line, without a line end; "" when there is
 * nothing to say. Valid until the gate is closed. A null gate has a message too. */
STEMTAP_GATE_API const char* stemtap_gate_message(const stemtap_gate* gate);

/* Ends the session: works in what has been told, writes plan.json, session.json and
 * summary.txt, frees the gate. Ids still waiting are counted as lost. May take a second. A gate that is
 * never closed leaves the mask as far as it was written, and no plan. Null is passed over.
 *
 * Returns STEMTAP_GATE_OK, _FAILED (of a gate that had failed) or _NOT_WRITTEN; the gate is gone whatever
 * is returned. */
STEMTAP_GATE_API int stemtap_gate_close(stemtap_gate* gate);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* STEMTAP_GATE_H */
