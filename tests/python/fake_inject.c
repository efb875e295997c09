/* SPDX-License-Identifier: Apache-2.0
 *
 * A libstemtap_inject.so that appends each call to the file in FAKE_INJECT_LOG: process id, thread id, function and
 * name. Compiled with NO_SYMBOLS, it lacks the functions.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef NO_SYMBOLS
static void Log(const char* function, const char* name) {
  FILE* file = fopen(getenv("FAKE_INJECT_LOG"), "a");
  if (file == NULL) abort();
  fprintf(file, "%d %ld %s %s\n", (int)getpid(), syscall(SYS_gettid), function, name);
  fclose(file);
}

void stemtap_step(void) { Log("step", ""); }
void stemtap_range_push(const char* name) { Log("push", name); }
void stemtap_range_pop(void) { Log("pop", ""); }
void stemtap_start(void) { Log("start", ""); }
void stemtap_stop(void) { Log("stop", ""); }
#endif
