/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for STEMTAP_ACTUATOR that logs its calls. Environment variables control it:
 *
 *   ACTUATOR_LOG=FILE       one line for each call
 *   ACTUATOR_INIT=CODE      result of init
 *   ACTUATOR_REFUSE=N       start refuses the first N captures
 *   ACTUATOR_BLOCK=FILE     start waits until the file exists
 *   ACTUATOR_LAUNCH=1       start launches the kernel itself, once more
 *
 * STEMTAP_TEST_NO_STOP: built without stemtap_capture_stop.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/handshake.h"
#include "stemtap/actuator.h"

static int inside = 0; /* between start and stop; no lock, because they never overlap */
static long refused = 0;

static long Number(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? 0 : strtol(value, NULL, 10);
}

static void Write(const char* line) {
  FILE* file = getenv("ACTUATOR_LOG") == NULL ? NULL : fopen(getenv("ACTUATOR_LOG"), "a");
  if (file == NULL) return;
  fputs(line, file);
  fclose(file);
}

static void Tell(const char* what, const stemtap_capture* c) {
  char line[1024];
  snprintf(line, sizeof line,
           "%s %s number %llu id %u grid %u,%u,%u block %u,%u,%u shared %u device %u flags %u "
           "result %d size %d handles %d overlap %d\n",
           what, c->kernel, (unsigned long long)c->launch_number, c->correlation_id, c->grid[0],
           c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared_bytes,
           c->device, c->flags, (int)c->result, c->struct_size == sizeof *c,
           c->function != NULL && c->context != NULL, inside != 1);
  Write(line);
}

static void LaunchIt(const stemtap_capture* c) {
  typedef int (*Launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void*, void**, void**);
  Launch launch;
  *(void**)&launch = dlsym(RTLD_DEFAULT, "cuLaunchKernel");
  if (launch == NULL || launch(c->function, 1, 1, 1, 32, 1, 1, 0, c->stream, NULL, NULL) != 0) {
    abort();
  }
}

int stemtap_actuator_init(uint32_t version) {
  Write(version == STEMTAP_ACTUATOR_VERSION ? "init\n" : "init of another version\n");
  return (int)Number("ACTUATOR_INIT");
}

void stemtap_actuator_exit(void) {
  Write(inside == 0 ? "exit\n" : "exit during a capture\n");
}

int stemtap_capture_start(const stemtap_capture* c) {
  if (refused < Number("ACTUATOR_REFUSE")) {
    ++refused;
    return 1;
  }
  ++inside;
  Tell("start", c);
  if (getenv("ACTUATOR_BLOCK") != NULL) WaitForFile(getenv("ACTUATOR_BLOCK"));
  if (Number("ACTUATOR_LAUNCH") != 0) LaunchIt(c);
  return 0;
}

#ifndef STEMTAP_TEST_NO_STOP
void stemtap_capture_stop(const stemtap_capture* c) {
  Tell("stop", c);
  --inside;
}
#endif
