/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces Kineto, PyTorch's profiler, and can be preloaded into any program. It uses CUPTI like
 * Kineto, in sessions, and takes it away from the previous client. It counts the launches of the
 * program (cuLaunchKernel, cuGraphLaunch) and starts and stops on the launching threads.
 * Environment:
 *
 *   FAKE_KINETO_START       the launch before which the first session starts; unset: no session
 *   FAKE_KINETO_STOP        the launch before which it stops; unset: it runs to the end
 *   FAKE_KINETO_START_MS    the same in milliseconds since the program began, from a separate
 *   FAKE_KINETO_STOP_MS     thread, for programs that find CUDA by dlsym
 *   FAKE_KINETO_ROUNDS      number of sessions (default 1); the gap between two is one session long
 *   FAKE_KINETO_SUBSCRIBE   1 (default): subscribes first and does nothing if it cannot, as before
 *                           2026-08; 0: does not subscribe
 *   FAKE_KINETO_TSC         1: registers the cycle counter as CUPTI's clock, permanently
 *   FAKE_KINETO_TEARDOWN    1: ends a session with cuptiFinalize when the next launch returns
 *   FAKE_KINETO_WARMUP_MS   how long the program pauses before each session
 *   FAKE_KINETO_WAIT_MS     how long the program pauses after each session, once another client has
 *                           set PER_THREAD_ACTIVITY_BUFFER again (after 10 s, it pauses anyway)
 *   FAKE_KINETO_REPORT      a file to write at the end; %p becomes the process id:
 *                           sessions 1 subscribe 0 records 3000 unknown_buffers 1
 *                           unknown_records 7 lent 0
 *
 * `subscribe` is the last result. Unknown buffers are other clients' buffers that Kineto received;
 * it does not read them. `lent` counts buffers that did not come back.
 */
#define _GNU_SOURCE
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kBufferBytes = 4 << 20, kMaxBuffers = 4096, kWaitForCudaMs = 10, kMaxAwaitMs = 10000 };

static struct {
  CUptiResult (*Subscribe)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*);
  CUptiResult (*EnableCallback)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                CUpti_CallbackId);
  CUptiResult (*RegisterCallbacks)(CUpti_BuffersCallbackRequestFunc,
                                   CUpti_BuffersCallbackCompleteFunc);
  CUptiResult (*Enable)(CUpti_ActivityKind);
  CUptiResult (*Disable)(CUpti_ActivityKind);
  CUptiResult (*SetAttribute)(CUpti_ActivityAttribute, size_t*, void*);
  CUptiResult (*GetAttribute)(CUpti_ActivityAttribute, size_t*, void*);
  CUptiResult (*FlushAll)(uint32_t);
  CUptiResult (*GetNextRecord)(uint8_t*, size_t, CUpti_Activity**);
  CUptiResult (*RegisterTimestampCallback)(CUpti_TimestampCallbackFunc);
  CUptiResult (*Finalize)(void);
} g_cupti;

static CUpti_SubscriberHandle g_subscriber;
static int g_subscribed = 0;
static int g_last_subscribe = -1;
static int g_sessions = 0;
static atomic_long g_launches, g_records, g_unknown_buffers, g_unknown_records;
static atomic_int g_finalize_wanted;

/* Kineto keeps a table of the buffers that it has lent, and reports unknown buffers. */
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
/* CUPTI requires that a client switches its callbacks from one thread at a time. */
static pthread_mutex_t g_switching = PTHREAD_MUTEX_INITIALIZER;
static uint8_t* g_lent[kMaxBuffers];

static long Setting(const char* name, long fallback) {
  const char* value = getenv(name);
  return value == NULL || *value == '\0' ? fallback : strtol(value, NULL, 10);
}

static void Pause(const char* setting) {
  usleep((useconds_t)Setting(setting, 0) * 1000);
}

static void PauseAfterSession(void) {
  if (Setting("FAKE_KINETO_WAIT_MS", 0) == 0) return;
  uint8_t per_thread = 0;
  for (int ms = 0; ms < kMaxAwaitMs && per_thread == 0; ++ms) {
    usleep(1000);
    size_t size = sizeof(per_thread);
    g_cupti.GetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &per_thread);
  }
  Pause("FAKE_KINETO_WAIT_MS");
}

static void Request(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = aligned_alloc(8, kBufferBytes);
  *size = kBufferBytes;
  *max_records = 0;
  pthread_mutex_lock(&g_mutex);
  int at = 0;
  while (at < kMaxBuffers && g_lent[at] != NULL) ++at;
  if (at < kMaxBuffers) g_lent[at] = *buffer;
  pthread_mutex_unlock(&g_mutex);
}

static int TakeFromTable(const uint8_t* buffer) {
  pthread_mutex_lock(&g_mutex);
  int at = 0;
  while (at < kMaxBuffers && g_lent[at] != buffer) ++at;
  if (at < kMaxBuffers) g_lent[at] = NULL;
  pthread_mutex_unlock(&g_mutex);
  return at < kMaxBuffers;
}

static void Complete(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size,
                     size_t valid_bytes) {
  (void)context, (void)stream, (void)size;
  const int known = TakeFromTable(buffer);
  if (!known) atomic_fetch_add(&g_unknown_buffers, 1);
  atomic_long* records = known ? &g_records : &g_unknown_records;
  CUpti_Activity* record = NULL;
  while (g_cupti.GetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) atomic_fetch_add(records, 1);
  }
  if (known) free(buffer);
}

static void OnCallback(void* data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const void* info) {
  (void)data, (void)id;
  const CUpti_CallbackData* call = info;
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call->callbackSite != CUPTI_API_EXIT) return;
  if (atomic_exchange(&g_finalize_wanted, 0) == 0) return;
  pthread_mutex_lock(&g_switching);
  g_cupti.Finalize();
  g_subscribed = 0;
  pthread_mutex_unlock(&g_switching);
  PauseAfterSession();
}

static uint64_t CycleCounter(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

static int Load(void) {
  void* library = dlopen("libcupti.so.13", RTLD_LAZY);
  if (library == NULL) return 0;
  g_cupti.Subscribe = dlsym(library, "cuptiSubscribe");
  g_cupti.EnableCallback = dlsym(library, "cuptiEnableCallback");
  g_cupti.RegisterCallbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
  g_cupti.Enable = dlsym(library, "cuptiActivityEnable");
  g_cupti.Disable = dlsym(library, "cuptiActivityDisable");
  g_cupti.SetAttribute = dlsym(library, "cuptiActivitySetAttribute");
  g_cupti.GetAttribute = dlsym(library, "cuptiActivityGetAttribute");
  g_cupti.FlushAll = dlsym(library, "cuptiActivityFlushAll");
  g_cupti.GetNextRecord = dlsym(library, "cuptiActivityGetNextRecord");
  g_cupti.RegisterTimestampCallback = dlsym(library, "cuptiActivityRegisterTimestampCallback");
  g_cupti.Finalize = dlsym(library, "cuptiFinalize");
  return g_cupti.Finalize != NULL;
}

static int Subscribed(void) {
  pthread_mutex_lock(&g_switching);
  if (!g_subscribed) {
    g_last_subscribe = (int)g_cupti.Subscribe(&g_subscriber, OnCallback, NULL);
    g_subscribed = g_last_subscribe == CUPTI_SUCCESS;
  }
  const int subscribed = g_subscribed;
  pthread_mutex_unlock(&g_switching);
  return subscribed;
}

/* Returns whether a session has begun. */
static int Start(void) {
  Pause("FAKE_KINETO_WARMUP_MS");
  if (g_cupti.Finalize == NULL && !Load()) return 0;
  if (Setting("FAKE_KINETO_SUBSCRIBE", 1) && !Subscribed()) return 0;
  if (Setting("FAKE_KINETO_TSC", 0)) g_cupti.RegisterTimestampCallback(CycleCounter);
  g_cupti.RegisterCallbacks(Request, Complete);
  if (g_cupti.Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS) return 0;
  ++g_sessions;
  return 1;
}

static void Teardown(void) {
  if (!Subscribed()) return;
  pthread_mutex_lock(&g_switching);
  atomic_store(&g_finalize_wanted, 1);
  g_cupti.EnableCallback(1, g_subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                         CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  pthread_mutex_unlock(&g_switching);
}

static void Stop(void) {
  g_cupti.Disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  g_cupti.FlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  uint8_t per_thread = 0;
  size_t size = sizeof(per_thread);
  g_cupti.SetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &per_thread);
  if (Setting("FAKE_KINETO_TEARDOWN", 0)) Teardown();
}

/* The start and end of the sessions, in launches or in milliseconds. */
typedef struct Plan {
  long start, stop, rounds;
} Plan;

static Plan ReadPlan(const char* start, const char* stop) {
  const Plan plan = {Setting(start, -1), Setting(stop, -1), Setting("FAKE_KINETO_ROUNDS", 1)};
  return plan;
}

/* The start and end of round `round`, counted from 0; -1: never. */
static long StartOf(const Plan* plan, long round) {
  if (plan->start < 0 || (round > 0 && plan->stop < 0)) return -1;
  return plan->start + 2 * round * (plan->stop - plan->start);
}

static long StopOf(const Plan* plan, long round) {
  return plan->stop < 0 ? -1 : StartOf(plan, round) + plan->stop - plan->start;
}

static Plan g_plan;     /* in launches */
static Plan g_plan_ms;  /* in milliseconds */
static pid_t g_process; /* a forked child does not use CUPTI */
static atomic_int g_running;

static void StopAndPause(void) {
  if (atomic_exchange(&g_running, 0) == 0) return;
  Stop();
  if (!Setting("FAKE_KINETO_TEARDOWN", 0)) PauseAfterSession(); /* otherwise after cuptiFinalize */
}

static void BeforeLaunch(void) {
  if (g_plan.start < 0 || getpid() != g_process) return;
  const long launch = atomic_fetch_add(&g_launches, 1);
  for (long round = 0; round < g_plan.rounds; ++round) {
    if (launch == StopOf(&g_plan, round)) StopAndPause();
    if (launch == StartOf(&g_plan, round)) atomic_store(&g_running, Start());
  }
}

static int CudaIsUp(void) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return 0;
  CUresult (*count)(int*) = (CUresult(*)(int*))dlsym(library, "cuDeviceGetCount");
  int devices = 0;
  return count != NULL && count(&devices) == CUDA_SUCCESS;
}

static void SleepUntil(const struct timespec* begin, long ms) {
  struct timespec until = *begin;
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1000000;
  if (until.tv_nsec >= 1000000000) {
    ++until.tv_sec;
    until.tv_nsec -= 1000000000;
  }
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
  }
}

static void* RunByTime(void* unused) {
  struct timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long round = 0; round < g_plan_ms.rounds && StartOf(&g_plan_ms, round) >= 0; ++round) {
    SleepUntil(&begin, StartOf(&g_plan_ms, round));
    while (!CudaIsUp()) usleep(kWaitForCudaMs * 1000);
    atomic_store(&g_running, Start());
    if (StopOf(&g_plan_ms, round) < 0) break;
    SleepUntil(&begin, StopOf(&g_plan_ms, round));
    StopAndPause();
  }
  return unused;
}

__attribute__((constructor)) static void Begin(void) {
  g_process = getpid();
  g_plan = ReadPlan("FAKE_KINETO_START", "FAKE_KINETO_STOP");
  g_plan_ms = ReadPlan("FAKE_KINETO_START_MS", "FAKE_KINETO_STOP_MS");
  if (g_plan_ms.start < 0) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, NULL, RunByTime, NULL) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((destructor)) static void Report(void) {
  const char* setting = getenv("FAKE_KINETO_REPORT");
  if (setting == NULL || getpid() != g_process) return;
  char name[4096];
  const char* mark = strstr(setting, "%p");
  if (mark == NULL) {
    snprintf(name, sizeof(name), "%s", setting);
  } else {
    snprintf(name, sizeof(name), "%.*s%d%s", (int)(mark - setting), setting, (int)g_process,
             mark + 2);
  }
  FILE* file = fopen(name, "w");
  if (file == NULL) return;
  int lent = 0;
  for (int i = 0; i < kMaxBuffers; ++i) lent += g_lent[i] != NULL;
  fprintf(file,
          "sessions %d subscribe %d records %ld unknown_buffers %ld unknown_records %ld lent %d\n",
          g_sessions, g_last_subscribe, atomic_load(&g_records), atomic_load(&g_unknown_buffers),
          atomic_load(&g_unknown_records), lent);
  fclose(file);
}

#define NEXT(name)                                                     \
  static void* next = NULL;                                            \
  if (__atomic_load_n(&next, __ATOMIC_ACQUIRE) == NULL) {              \
    __atomic_store_n(&next, dlsym(RTLD_NEXT, name), __ATOMIC_RELEASE); \
  }

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void** params,
                        void** extra) {
  NEXT("cuLaunchKernel");
  BeforeLaunch();
  CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     unsigned, CUstream, void**, void**) = next;
  return launch(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  NEXT("cuGraphLaunch");
  BeforeLaunch();
  CUresult (*launch)(CUgraphExec, CUstream) = next;
  return launch(exec, stream);
}
