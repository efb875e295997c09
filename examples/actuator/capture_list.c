/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An actuator that writes one CSV line for each launch that stemtap captures, with the CPU time of
 * the call, to CAPTURE_LIST or to capture-list-<pid>.csv in the current directory. A real actuator
 * turns its tracer on and off where this one reads the clock. See README.md.
 */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "stemtap/actuator.h"

static FILE* list;
static double started; /* no lock: there is one capture at a time */

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Quotes a kernel name, which may contain commas and quotes; each quote is doubled. */
static void WriteQuoted(const char* text) {
  putc('"', list);
  for (; *text != '\0'; ++text) {
    if (*text == '"') putc('"', list);
    putc(*text, list);
  }
  putc('"', list);
}

int stemtap_actuator_init(uint32_t version) {
  char name[64];
  const char* path = getenv("CAPTURE_LIST");
  if (version < STEMTAP_ACTUATOR_VERSION) return 1; /* older versions lack fields that are read here */
  if (path == NULL) {
    snprintf(name, sizeof name, "capture-list-%ld.csv", (long)getpid());
    path = name;
  }
  list = fopen(path, "w");
  if (list == NULL) return 2;
  fputs("launch,correlation_id,device,grid,block,shared_bytes,first_sight,call_us,kernel\n", list);
  return 0;
}

int stemtap_capture_start(const stemtap_capture* capture) {
  (void)capture;
  started = Seconds();
  return 0;
}

void stemtap_capture_stop(const stemtap_capture* capture) {
  const double took = Seconds() - started;
  if (capture->result != 0) return; /* the driver refused the launch: there is none */
  fprintf(list, "%llu,%u,", (unsigned long long)capture->launch_number, capture->correlation_id);
  if (capture->device != STEMTAP_CAPTURE_NO_DEVICE) fprintf(list, "%u", capture->device);
  fprintf(list, ",%ux%ux%u,%ux%ux%u,%u,%d,%.3f,", capture->grid[0], capture->grid[1],
          capture->grid[2], capture->block[0], capture->block[1], capture->block[2],
          capture->shared_bytes, (capture->flags & STEMTAP_CAPTURE_EXPLORATORY) != 0, took * 1e6);
  WriteQuoted(capture->kernel);
  putc('\n', list);
  fflush(list); /* a program that is killed leaves what it had */
}

void stemtap_actuator_exit(void) {
  fclose(list);
}
