/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with its own profiler, like PyTorch with Kineto. Usage:
 *
 *   profiler_client [LAUNCHES] [before|after|between|kineto|finalize]
 *
 * before: the profiler starts before cuInit and stays. after: it starts after half of the launches
 * and stays. between: it records the middle third and stops like Kineto, which disables the
 * activity kind for every client. kineto: like between, but it stays subscribed, as Kineto does,
 * and resets PER_THREAD_ACTIVITY_BUFFER to 0. finalize: like between, and ends with cuptiFinalize.
 * The last two wait 300 ms before the last third. Prints `subscribe=<result> records=<own
 * records>`.
 */
#include <cupti.h>
#include <string.h>
#include <unistd.h>

#include "victim.h"

static long g_records = 0;
static CUpti_SubscriberHandle g_subscriber;
static int g_subscribed = -1;
static int g_kineto = 0;
static int g_finalize = 0;

static void Request(uint8_t** buffer, size_t* size, size_t* max_records) {
  *size = 256 * 1024;
  *max_records = 0;
  *buffer = aligned_alloc(8, *size);
}

static void Complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size,
                     size_t valid_bytes) {
  (void)context, (void)stream, (void)size;
  CUpti_Activity* record = NULL;
  while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    __atomic_fetch_add(&g_records, 1, __ATOMIC_RELAXED);
  }
  /* Not freed, because it may be another client's: Kineto reports such buffers as unknown. */
}

static void Ignore(void* data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* info) {
  (void)data, (void)domain, (void)id, (void)info;
}

static void Start(void) {
  g_subscribed = (int)cuptiSubscribe(&g_subscriber, Ignore, NULL);
  if (g_subscribed != CUPTI_SUCCESS) return;
  cuptiActivityRegisterCallbacks(Request, Complete);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

static void Stop(void) {
  if (g_subscribed != CUPTI_SUCCESS) return;
  cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  if (g_kineto) {
    uint8_t per_thread = 0;
    size_t size = sizeof(per_thread);
    cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &per_thread);
  } else {
    cuptiUnsubscribe(g_subscriber);
  }
  if (g_finalize) cuptiFinalize();
  if (g_kineto || g_finalize) usleep(300 * 1000);
}

int main(int argc, char** argv) {
  const long count = LaunchCount(argc, argv);
  const char* when = argc > 2 ? argv[2] : "after";
  const int before = strcmp(when, "before") == 0;
  g_kineto = strcmp(when, "kineto") == 0;
  g_finalize = strcmp(when, "finalize") == 0;
  const int between = strcmp(when, "between") == 0 || g_kineto || g_finalize;
  const long start_at = before ? 0 : between ? count / 3 : count / 2;
  const long stop_at = between ? 2 * (count / 3) : count;

  if (before) Start();
  Victim victim;
  InitAndLaunch(&victim, 0);
  for (long step = 0; step < count; ++step) {
    if (step == start_at && !before) Start();
    if (step == stop_at) Stop();
    LaunchOne(&victim, step);
  }
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  if (!between) Stop();
  Close(&victim);
  printf("subscribe=%d records=%ld\n", g_subscribed, g_records);
  return 0;
}
