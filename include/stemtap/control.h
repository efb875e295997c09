/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells stemtap what your program does: which step it is in, which ranges of code are open, and when
 * recording pauses. Captured launches show the range and the step in mask.ndjson and plan.json. See
 * docs/guide/ranges.md.
 *
 *   for (int i = 0; i < iterations; ++i) {
 *     stemtap_step();                    step 0, 1, 2, ...
 *     stemtap_range_push("decode");
 *     stemtap_range_push("attention");   launches are in range "decode/attention"
 *     ...
 *     stemtap_range_pop();
 *     stemtap_range_pop();
 *   }
 *
 * C99 and C++11, with GCC or Clang. Requires no CUDA and no library to link (except libdl before
 * glibc 2.34): the functions find libstemtap_inject.so in the process when the first of them is
 * called. If the environment contains it neither in CUDA_INJECTION64_PATH nor in LD_PRELOAD, the
 * process is not recorded, and every call returns after two loads and a branch. Variables that the
 * program sets after its first call have no effect.
 *
 * Ranges and steps are recorded for captured launches, so only with `stemtap run --level gate`.
 * Pauses work at every level.
 *
 * THREADS: all functions may be called from any thread, at any time: before cuInit, after main and
 * in forked children, where calls have no effect if the parent was recorded. The open ranges belong
 * to the thread. The step and the pause belong to the process. Do not call the functions from a
 * signal handler.
 *
 * FAILURE: no function fails, waits, or writes output, and only the first call allocates memory.
 *
 * VERSIONS: nothing is ever removed. With an older libstemtap_inject.so, functions that it lacks
 * have no effect.
 */
#ifndef STEMTAP_CONTROL_H
#define STEMTAP_CONTROL_H

/* The library exports functions with these names for callers that use dlsym or ctypes. The functions
 * below call them. */
#if defined(STEMTAP_CONTROL_BUILDING)
#define STEMTAP_CONTROL_API extern "C" __attribute__((visibility("default")))
#elif defined(__cplusplus)
#define STEMTAP_CONTROL_API __attribute__((visibility("hidden"))) inline
#else
#define STEMTAP_CONTROL_API __attribute__((unused)) static inline
#endif

/* Begins the next step of the program, for example an iteration of its main loop. The first call
 * begins step 0. Launches before it have no step. */
STEMTAP_CONTROL_API void stemtap_step(void);

/* Opens a range inside the innermost open range of this thread. `name` is copied; of more than 250
 * bytes, the first 250 are used. The range of a launch is the names of the open ranges of its
 * thread, outermost first, joined by '/'. Use few names: of a process, 4,096 paths of at most 1,024
 * bytes are distinguished, and launches in further ranges have the range "(other)". */
STEMTAP_CONTROL_API void stemtap_range_push(const char* name);

/* Closes the innermost range that this thread opened with stemtap_range_push and has not closed.
 * NVTX ranges inside it stay open. Ignored if there is none. */
STEMTAP_CONTROL_API void stemtap_range_pop(void);

/* Pauses recording: kernels that start on the GPU before the next stemtap_start are counted, but not
 * recorded and not captured. They are not part of the plan and its bound. Calls do not nest: after
 * two calls of stemtap_stop, one call of stemtap_start resumes. A launch before stemtap_stop whose
 * kernel starts after it is not recorded; synchronize first if that matters. */
STEMTAP_CONTROL_API void stemtap_stop(void);

/* Resumes recording. Ignored if it is not paused. */
STEMTAP_CONTROL_API void stemtap_start(void);

#if !defined(STEMTAP_CONTROL_BUILDING)

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* What follows is private. */

/* The functions of the library. Null if the process is not recorded. */
typedef struct stemtap_control_functions {
  void (*step)(void);
  void (*range_push)(const char*);
  void (*range_pop)(void);
  void (*start)(void);
  void (*stop)(void);
  int is_found; /* the functions have been looked up */
} stemtap_control_functions;

/* Loads the library if the path of `length` bytes is its path. Returns null otherwise. */
STEMTAP_CONTROL_API void* stemtap_control_open(const char* path, size_t length) {
  static const char name[] = "libstemtap_inject.so";
  const size_t name_length = sizeof name - 1;
  char copy[4096]; /* PATH_MAX, which strict C99 does not define */
  if (length < name_length || length >= sizeof copy) return NULL;
  if (memcmp(path + length - name_length, name, name_length) != 0) return NULL;
  if (length > name_length && path[length - name_length - 1] != '/') return NULL;
  memcpy(copy, path, length);
  copy[length] = 0;
  return dlopen(copy, RTLD_NOW | RTLD_LOCAL);
}

/* Returns the library if the environment names it. A privileged program loads no library that its
 * user chooses. */
STEMTAP_CONTROL_API void* stemtap_control_library(void) {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  void* library = NULL;
  if (getauxval(AT_SECURE) != 0) return NULL;
  if (path != NULL) library = stemtap_control_open(path, strlen(path));
  path = getenv("LD_PRELOAD");
  while (library == NULL && path != NULL && *path != 0) {
    const size_t length = strcspn(path, " :");
    library = stemtap_control_open(path, length);
    path += length;
    path += strspn(path, " :");
  }
  return library;
}

/* Looks up one function and stores it in `function`, a pointer to a pointer to the function. */
STEMTAP_CONTROL_API void stemtap_control_look_up(void* library, const char* name, void* function) {
  void* const symbol = library == NULL ? NULL : dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol); /* ISO C has no conversion to a function pointer */
}

STEMTAP_CONTROL_API const stemtap_control_functions* stemtap_control_find(void) {
  static stemtap_control_functions functions;
  if (__builtin_expect(__atomic_load_n(&functions.is_found, __ATOMIC_ACQUIRE) == 0, 0)) {
    stemtap_control_functions found;
    void* library = stemtap_control_library();
    stemtap_control_look_up(library, "stemtap_step", &found.step);
    stemtap_control_look_up(library, "stemtap_range_push", &found.range_push);
    stemtap_control_look_up(library, "stemtap_range_pop", &found.range_pop);
    stemtap_control_look_up(library, "stemtap_start", &found.start);
    stemtap_control_look_up(library, "stemtap_stop", &found.stop);
    /* If several threads look up the functions at once, they store the same values. */
    __atomic_store_n(&functions.step, found.step, __ATOMIC_RELAXED);
    __atomic_store_n(&functions.range_push, found.range_push, __ATOMIC_RELAXED);
    __atomic_store_n(&functions.range_pop, found.range_pop, __ATOMIC_RELAXED);
    __atomic_store_n(&functions.start, found.start, __ATOMIC_RELAXED);
    __atomic_store_n(&functions.stop, found.stop, __ATOMIC_RELAXED);
    __atomic_store_n(&functions.is_found, 1, __ATOMIC_RELEASE);
  }
  return &functions;
}

STEMTAP_CONTROL_API void stemtap_step(void) {
  void (*const call)(void) = __atomic_load_n(&stemtap_control_find()->step, __ATOMIC_RELAXED);
  if (call != NULL) call();
}

STEMTAP_CONTROL_API void stemtap_range_push(const char* name) {
  void (*const call)(const char*) =
      __atomic_load_n(&stemtap_control_find()->range_push, __ATOMIC_RELAXED);
  if (call != NULL) call(name);
}

STEMTAP_CONTROL_API void stemtap_range_pop(void) {
  void (*const call)(void) = __atomic_load_n(&stemtap_control_find()->range_pop, __ATOMIC_RELAXED);
  if (call != NULL) call();
}

STEMTAP_CONTROL_API void stemtap_start(void) {
  void (*const call)(void) = __atomic_load_n(&stemtap_control_find()->start, __ATOMIC_RELAXED);
  if (call != NULL) call();
}

STEMTAP_CONTROL_API void stemtap_stop(void) {
  void (*const call)(void) = __atomic_load_n(&stemtap_control_find()->stop, __ATOMIC_RELAXED);
  if (call != NULL) call();
}

#ifdef __cplusplus
namespace stemtap {

/* Range is open from its construction to its destruction, which must be on the same thread. */
class Range {
 public:
  explicit Range(const char* name) { stemtap_range_push(name); }
  ~Range() { stemtap_range_pop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace stemtap
#endif

#endif /* !STEMTAP_CONTROL_BUILDING */

#endif /* STEMTAP_CONTROL_H */
