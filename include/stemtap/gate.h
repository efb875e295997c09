/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate for tracers. A tool that sees each kernel launch asks the gate whether to capture it,
 * and reports the duration of the launch afterwards. The gate also writes a session directory with
 * the plan: which launches were captured, their weights, and the error bound. See
 * docs/formats/gate-abi.md.
 *
 *   stemtap_gate *gate = stemtap_gate_open(NULL);
 *   ... at each launch, in launch order:
 *   stemtap_answer answer = stemtap_gate_should_capture(gate, &launch);
 *   ... the launch runs, traced if answer.capture; when its duration is known:
 *   stemtap_gate_observe(gate, answer.id, duration_ns);
 *   ... at the end of the program:
 *   stemtap_gate_close(gate);
 *
 * C99; requires no CUDA, CUPTI or C++. You can use it where CUPTI cannot run, for example in an
 * NVBit tool.
 *
 * UNITS: durations in ns, shared memory in bytes, grid and block extents as passed to the launch.
 *
 * FAILURE never affects the program: no function aborts, exits, throws, raises a signal or writes
 * to stdout. A gate that cannot be opened, or that runs out of memory, has failed: it accepts every
 * call and answers "do not capture" with id 0. A gate that cannot be opened prints the reason once
 * to stderr, unless it was opened with STEMTAP_GATE_QUIET. A full disk does not fail the gate;
 * stemtap_gate_close reports it. A null gate behaves like a failed gate, so the caller need not
 * check any result.
 *
 * THREADS: stemtap_gate_should_capture, _observe and _abandon may be called concurrently from any
 * thread. They share one lock. _should_capture holds it for a table lookup. _observe also updates
 * the statistics under it, which occasionally takes some milliseconds; this makes the answers
 * reproducible for the same launches and durations. Call _open and _close once each, while no other
 * call on that gate runs. Do not call any function from a signal handler. After fork(), the child's
 * gate has failed and the parent's gate is unaffected.
 *
 * VERSIONS: structs that the caller fills begin with struct_size, which the caller sets to sizeof.
 * Later versions only append members. The library reads struct_size bytes and treats missing
 * members as 0. It refuses a struct_size below the version 1 size. A program built against a later
 * header works with an earlier library, which ignores members that it does not know. stemtap_answer
 * is returned by value and never changes.
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

/* Incremented when a function or member is added. Nothing is ever removed. */
#define STEMTAP_GATE_VERSION 1

/* Value of a member that the caller does not know. The value of an unknown extent is 0. */
#define STEMTAP_UNKNOWN_32 0xFFFFFFFFu
#define STEMTAP_UNKNOWN_64 0xFFFFFFFFFFFFFFFFu
/* For stemtap_gate_observe: the launch did not run at its native speed (e.g. instrumented). */
#define STEMTAP_UNKNOWN_DURATION STEMTAP_UNKNOWN_64

/* Results. Errors are negative. */
#define STEMTAP_GATE_OK 0
/* The gate is null, closed or has failed; see stemtap_gate_message. */
#define STEMTAP_GATE_FAILED (-1)
#define STEMTAP_GATE_UNKNOWN_ID \
  (-2) /* no pending launch has this id: never returned, or already reported */
#define STEMTAP_GATE_NOT_WRITTEN (-3) /* the session directory lacks files; see stderr */

/* stemtap_gate_options.flags */
#define STEMTAP_GATE_QUIET 1u /* print nothing to stderr; stemtap_gate_message still works */

/* stemtap_launch.flags */
#define STEMTAP_LAUNCH_FROM_GRAPH 1u /* a kernel node of a graph that is being launched */

/* An opaque gate handle. */
typedef struct stemtap_gate stemtap_gate;

/* Options of stemtap_gate_open. If all members except struct_size are 0, the defaults apply. */
typedef struct stemtap_gate_options {
  uint32_t struct_size;
  uint32_t flags; /* STEMTAP_GATE_... */
  /* Session directory to create. It must not exist or must be empty, and its parent must exist. If
   * null: the variable STEMTAP_SESSION, or stemtap-<program>-<pid> in the current directory. */
  const char* session;
  /* Options as on the command line of `stemtap run`: "--error-bound 0.03 --exclude nccl", separated
   * by spaces; an argument with spaces is in double quotes. If null: the variable STEMTAP_OPTIONS,
   * or none. */
  const char* options;
} stemtap_gate_options;

/* Describes one launch before it runs. */
typedef struct stemtap_launch {
  uint32_t struct_size;
  uint32_t flags; /* STEMTAP_LAUNCH_... */
  /* Kernel name, mangled or demangled, but always the same for one kernel. Only the first 16384
   * bytes are used. Must not be null. The caller may free it when the call returns. */
  const char* name;
  uint32_t grid[3];      /* in blocks, >= 1; grid[0] = 0 if unknown */
  uint32_t block[3];     /* in threads, 1 to 65535; block[0] = 0 if unknown */
  uint32_t shared_bytes; /* static plus dynamic, or STEMTAP_UNKNOWN_32 */
  uint32_t device;       /* ordinal inside the process, maximum 65534, or STEMTAP_UNKNOWN_32 */
  /* Any numbers that identify the context and the stream, for example handles. Device, context and
   * stream together identify a stream. The context may be 0 if the program has only one.
   * STEMTAP_UNKNOWN_64 if unknown. */
  uint64_t context;
  uint64_t stream;
} stemtap_launch;

/* The answer for one launch. */
typedef struct stemtap_answer {
  uint64_t id;      /* 1 for the first launch, incremented per launch; 0: the gate has failed */
  uint32_t capture; /* 1: capture this launch; 0: do not capture it */
  uint32_t unused;  /* always 0 */
} stemtap_answer;

/* Returns STEMTAP_GATE_VERSION of the library. A library older than the header ignores some options
 * and members. */
STEMTAP_GATE_API uint32_t stemtap_gate_version(void);

/* Opens a gate and creates its session directory. If `options` is null, the defaults apply; the
 * struct is not retained. Returns null only if memory runs out. A gate that could not be opened has
 * failed, and stemtap_gate_message returns the reason. The caller closes the gate in either case.
 */
STEMTAP_GATE_API stemtap_gate* stemtap_gate_open(const stemtap_gate_options* options);

/* Returns whether to capture `launch`, which is about to run. Call it for every launch, in launch
 * order at least within each stream. Launches that are not passed to it are not part of the plan.
 * The answer is never to capture kernels that wait for other GPUs (NCCL and others, by name), which
 * would hang a job of several processes, or kernels that --exclude leaves out.
 *
 * The id minus one is the `index` of the launch in plan.json. Call _observe or _abandon once for
 * each id. An answer of capture = 1 spends a credit; a tool that then does not capture the launch
 * must call _abandon. */
STEMTAP_GATE_API stemtap_answer stemtap_gate_should_capture(stemtap_gate* gate,
                                                            const stemtap_launch* launch);

/* Reports that launch `id` took `duration_ns`. Reports may come in any order and late; until a
 * duration is known, later launches are decided without it. 0 is a valid duration. For
 * STEMTAP_UNKNOWN_DURATION (or more than 2^53) the launch is imputed: it is assigned the last
 * reported duration with the same kernel, grid, block and predecessors on its stream, else of the
 * same kernel, grid and block, else of the same kernel. The session reports imputed launches. If no
 * duration is known within 256 launches, the launch is dropped. An id of 0 is ignored.
 *
 * Returns STEMTAP_GATE_OK, _FAILED or _UNKNOWN_ID. The caller need not handle either error. */
STEMTAP_GATE_API int stemtap_gate_observe(stemtap_gate* gate, uint64_t id, uint64_t duration_ns);

/* Reports that the duration of launch `id` will never be known: it failed, was not measured, or was
 * not captured although the answer was 1. The launch is dropped and its credit is returned. Returns
 * the same codes as _observe. */
STEMTAP_GATE_API int stemtap_gate_abandon(stemtap_gate* gate, uint64_t id);

/* Returns why the gate has failed, as one line without a newline, or "" if it has not failed. Valid
 * until the gate is closed. Also works on a null gate. */
STEMTAP_GATE_API const char* stemtap_gate_message(const stemtap_gate* gate);

/* Ends the session: processes all reported durations, writes plan.json, session.json and
 * summary.txt, and frees the gate. Launches without a reported duration are dropped. May take a
 * second. If the gate is never closed, the session contains the mask written so far and no plan.
 * Null is ignored.
 *
 * Returns STEMTAP_GATE_OK, _FAILED (the gate has failed) or _NOT_WRITTEN. The gate is freed
 * in every case. */
STEMTAP_GATE_API int stemtap_gate_close(stemtap_gate* gate);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* STEMTAP_GATE_H */
