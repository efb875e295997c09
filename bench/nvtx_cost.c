/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the processor time of opening and closing an NVTX range, in nanoseconds: the minimum of the
 * repetitions. bench/nvtx_cost runs it without and with the injected library.
 *
 *   nvtx_cost [REPETITIONS]
 */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kCalls = 100000 };

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t event;

static void Text(void) {
  nvtxRangePushA("attention");
  nvtxRangePop();
}

static void Registered(void) {
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
}

static void StartEnd(void) {
  nvtxRangeEnd(nvtxRangeStartA("request"));
}

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static double Measure(void (*call)(void), int repetitions) {
  double best = 1e9;
  for (int r = 0; r < repetitions; ++r) {
    const double begin = Now();
    for (int i = 0; i < kCalls; ++i) call();
    const double each = (Now() - begin) / kCalls;
    if (each < best) best = each;
  }
  return best;
}

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? atoi(argv[1]) : 100;
  domain = nvtxDomainCreateA("bench");
  memset(&event, 0, sizeof event);
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "attention");
  nvtxRangePushA("decode");
  printf("%.1f %.1f %.1f\n", Measure(Text, repetitions), Measure(Registered, repetitions),
         Measure(StartEnd, repetitions));
  nvtxRangePop();
  return 0;
}
