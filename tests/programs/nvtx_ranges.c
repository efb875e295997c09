/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels inside NVTX ranges. The name of each kernel is the range that its launches are
 * expected to have, "none" if they have none, and after '@' the step. Without stemtap, the NVTX
 * functions have no effect.
 *
 * Arguments: one of
 *   all          every function, from two threads
 *   steps        the ranges ProfilerStep#0, ProfilerStep#1, ...
 *   many         more names, strings and domains than are distinguished
 *   fork         a child forked after cuInit opens and closes ranges
 *   copies FILE  ten copies of the shared library FILE.0, FILE.1, ... use NVTX at once
 * and "recorded", if the results of the functions shall be checked.
 */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "stemtap/control.h"
#include "victim.h"

enum { kCopies = 10, kMany = 10000 };

static Victim victim;
static int is_recorded;

static void Expect(int condition, int line) {
  if (condition || !is_recorded) return;
  fprintf(stderr, "nvtx_ranges.c:%d: an NVTX function has another result\n", line);
  exit(7);
}
#define EXPECT(condition) Expect(condition, __LINE__)

static void LaunchIn(const char* range) {
  CUfunction function;
  uint64_t duration_ns = 5000;
  void* params[] = {&duration_ns};
  Check(cuModuleGetFunction(&function, victim.module, range), "cuModuleGetFunction");
  Check(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, victim.stream, params, NULL),
        "cuLaunchKernel");
}

static nvtxEventAttributes_t Event(const char* message) {
  nvtxEventAttributes_t event;
  memset(&event, 0, sizeof event);
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = message;
  return event;
}

static void PushPop(void) {
  nvtxEventAttributes_t event = Event("event");
  EXPECT(nvtxRangePushA("decode") == 0);
  LaunchIn("decode");
  EXPECT(nvtxRangePushEx(&event) == 1);
  LaunchIn("decode/event");
  EXPECT(nvtxRangePop() == 1);
  nvtxMarkA("mark");
  event.messageType = NVTX_MESSAGE_UNKNOWN;
  EXPECT(nvtxRangePushEx(&event) == 1);
  LaunchIn("decode/(unnamed)");
  EXPECT(nvtxRangePop() == 1);
  EXPECT(nvtxRangePop() == 0);
  EXPECT(nvtxRangePop() < 0);
  EXPECT(nvtxRangePop() < 0);
  LaunchIn("none");
  EXPECT(nvtxRangePushW(L"gr\u00F6\u00DFe \U0001F600") == 0);
  LaunchIn("gr\u00F6\u00DFe \U0001F600");
  EXPECT(nvtxRangePop() == 0);
}

static void Domains(void) {
  const nvtxDomainHandle_t one = nvtxDomainCreateA("one");
  const nvtxDomainHandle_t two = nvtxDomainCreateW(L"two");
  const nvtxStringHandle_t string = nvtxDomainRegisterStringA(one, "string");
  const nvtxStringHandle_t wide = nvtxDomainRegisterStringW(two, L"w\u00EFde");
  nvtxEventAttributes_t event = Event("event");
  EXPECT(one != NULL && two != NULL && one != two && string != NULL && wide != NULL);
  nvtxNameOsThreadA(1, "main");
  EXPECT(nvtxDomainRangePushEx(one, &event) == 0);
  LaunchIn("one:event");
  EXPECT(nvtxRangePushA("default") == 0);
  LaunchIn("one:event/default");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = wide;
  EXPECT(nvtxDomainRangePushEx(two, &event) == 0);
  LaunchIn("one:event/default/two:w\u00EFde");
  /* Closing a range leaves the ranges of other domains inside it open. */
  EXPECT(nvtxDomainRangePop(one) == 0);
  LaunchIn("default/two:w\u00EFde");
  EXPECT(nvtxDomainRangePop(one) < 0);
  EXPECT(nvtxRangePop() == 0);
  LaunchIn("two:w\u00EFde");
  event.message.registered = string;
  EXPECT(nvtxDomainRangePushEx(one, &event) == 0);
  LaunchIn("two:w\u00EFde/one:string");
  EXPECT(nvtxDomainRangePop(two) == 0);
  LaunchIn("one:string");
  EXPECT(nvtxDomainRangePop(one) == 0);
  /* A null domain is the default domain. */
  event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  event.message.unicode = L"no domain";
  EXPECT(nvtxDomainRangePushEx(NULL, &event) == 0);
  LaunchIn("no domain");
  EXPECT(nvtxRangePop() == 0);
  nvtxDomainDestroy(two);
  LaunchIn("none");
}

static void* RunWorker(void* argument) {
  Check(cuCtxSetCurrent(victim.context), "cuCtxSetCurrent");
  EXPECT(nvtxRangePop() < 0);
  LaunchIn(argument);
  EXPECT(nvtxRangePushA("worker") == 0);
  LaunchIn("worker");
  return NULL; /* the thread ends in the range */
}

static void LaunchOnThread(const char* range) {
  pthread_t worker;
  if (pthread_create(&worker, NULL, RunWorker, (void*)range) != 0) exit(4);
  pthread_join(worker, NULL);
}

static void StartEnd(void) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("one");
  const nvtxEventAttributes_t event = Event("request");
  nvtxRangeId_t first;
  nvtxRangeId_t second;
  EXPECT(nvtxRangePushA("outer") == 0);
  LaunchOnThread("none");
  first = nvtxRangeStartA("first");
  second = nvtxDomainRangeStartEx(domain, &event);
  EXPECT(first != 0 && second != 0 && first != second);
  LaunchIn("outer");
  LaunchOnThread("one:request");
  EXPECT(nvtxRangePop() == 0);
  LaunchIn("one:request");
  nvtxDomainRangeEnd(domain, second);
  LaunchIn("first");
  nvtxRangeEnd(second);
  nvtxRangeEnd(first);
  LaunchIn("none");
  first = nvtxRangeStartW(L"wide");
  LaunchIn("wide");
  nvtxRangeEnd(first);
  first = nvtxRangeStartEx(&event);
  LaunchIn("request");
  nvtxRangeEnd(first);
}

/* Ranges of stemtap/control.h and NVTX nest, and each interface closes its own. */
static void WithControl(void) {
  stemtap_range_push("program");
  EXPECT(nvtxRangePushA("inside") == 0);
  LaunchIn("program/inside");
  stemtap_range_pop();
  LaunchIn("inside");
  EXPECT(nvtxRangePop() == 0);
  LaunchIn("none");
}

static void Steps(void) {
  char name[32];
  for (int i = 0; i < 8; ++i) {
    snprintf(name, sizeof name, "ProfilerStep#%d", 100 + i);
    nvtxRangePushA(name);
    snprintf(name, sizeof name, "ProfilerStep@%d", i);
    LaunchIn(name);
    nvtxRangePushA("ProfilerSteps");
    snprintf(name, sizeof name, "ProfilerStep/ProfilerSteps@%d", i);
    LaunchIn(name);
    nvtxRangePop();
    nvtxRangePop();
  }
}

static void Many(void) {
  char name[32];
  nvtxEventAttributes_t event = Event("");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  nvtxRangePushA("known");
  LaunchIn("known");
  nvtxRangePop();
  for (int i = 0; i < kMany; ++i) {
    nvtxDomainHandle_t domain;
    snprintf(name, sizeof name, "name %d", i);
    EXPECT(nvtxRangePushA(name) == 0);
    domain = nvtxDomainCreateA(name);
    event.message.registered = nvtxDomainRegisterStringA(domain, name);
    EXPECT(nvtxDomainRangePushEx(domain, &event) == 0);
    EXPECT(nvtxDomainRangePop(domain) == 0);
    EXPECT(nvtxRangePop() == 0);
    EXPECT(nvtxRangePop() < 0);
    nvtxRangeEnd(nvtxRangeStartA(name));
    nvtxDomainDestroy(domain);
  }
  EXPECT(nvtxRangePushA("late") == 0);
  LaunchIn("(other)");
  EXPECT(nvtxRangePushA("known") == 1);
  LaunchIn("(other)@none");
  EXPECT(nvtxRangePop() == 1);
  EXPECT(nvtxRangePop() == 0);
  LaunchIn("none");
  EXPECT(nvtxRangePushA("known") == 0);
  LaunchIn("known");
  EXPECT(nvtxRangePop() == 0);
}

static void Fork(void) {
  pid_t child;
  int status = 0;
  nvtxRangePushA("parent");
  child = fork();
  if (child == 0) {
    EXPECT(nvtxRangePushA("child") == NVTX_NO_PUSH_POP_TRACKING);
    EXPECT(nvtxRangeStartA("child") == 0);
    EXPECT(nvtxRangePop() == NVTX_NO_PUSH_POP_TRACKING);
    exit(0);
  }
  if (waitpid(child, &status, 0) != child || status != 0) exit(6);
  LaunchIn("parent");
  EXPECT(nvtxRangePop() == 0);
}

/* The functions of a copy of tests/programs/nvtx_library.c, which has its own NVTX state. */
typedef struct Copy {
  void* (*create_domain)(const char*);
  void* (*register_string)(void*, const char*);
  int (*push)(void*, void*);
  int (*pop)(void*);
  void* domain;
  void* string;
} Copy;

static Copy copies[kCopies];
static pthread_barrier_t barrier;

static void* FirstUse(void* argument) {
  Copy* const copy = argument;
  char own[32];
  char range[64];
  snprintf(own, sizeof own, "copy %d", (int)(copy - copies));
  Check(cuCtxSetCurrent(victim.context), "cuCtxSetCurrent");
  pthread_barrier_wait(&barrier);
  copy->domain = copy->create_domain("shared");
  copy->string = copy->register_string(copy->domain, own);
  EXPECT(copy->push(copy->domain, copy->string) == 0);
  snprintf(range, sizeof range, "shared:%s", own);
  LaunchIn(range);
  pthread_barrier_wait(&barrier);
  /* Handles are valid in all copies. */
  for (int i = 0; i < kCopies; ++i) {
    EXPECT(copies[i].domain == copy->domain);
    EXPECT(copies[i].push(copy->domain, copies[i].string) == 1);
    snprintf(range, sizeof range, "shared:%s/shared:copy %d", own, i);
    LaunchIn(range);
    EXPECT(copy->pop(copies[i].domain) == 1);
  }
  EXPECT(copies[0].pop(copy->domain) == 0);
  LaunchIn("none");
  return NULL;
}

static void* Function(void* library, const char* name) {
  void* const function = dlsym(library, name);
  if (function == NULL) exit(5);
  return function;
}

static void UseCopies(const char* file) {
  pthread_t threads[kCopies];
  if (pthread_barrier_init(&barrier, NULL, kCopies) != 0) exit(4);
  for (int i = 0; i < kCopies; ++i) {
    char path[4096];
    void* library;
    snprintf(path, sizeof path, "%s.%d", file, i);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      exit(5);
    }
    *(void**)&copies[i].create_domain = Function(library, "CreateDomain");
    *(void**)&copies[i].register_string = Function(library, "RegisterString");
    *(void**)&copies[i].push = Function(library, "Push");
    *(void**)&copies[i].pop = Function(library, "Pop");
  }
  for (int i = 0; i < kCopies; ++i) {
    if (pthread_create(&threads[i], NULL, FirstUse, &copies[i]) != 0) exit(4);
  }
  for (int i = 0; i < kCopies; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "all";
  is_recorded = strcmp(argv[argc - 1], "recorded") == 0;
  /* Before cuInit. */
  EXPECT(nvtxRangePushA("setup") == 0);
  Check(cuInit(0), "cuInit");
  Open(&victim);
  LaunchIn("setup");
  EXPECT(nvtxRangePop() == 0);
  if (strcmp(mode, "all") == 0) {
    PushPop();
    Domains();
    StartEnd();
    WithControl();
  }
  if (strcmp(mode, "steps") == 0) Steps();
  if (strcmp(mode, "many") == 0) Many();
  if (strcmp(mode, "fork") == 0) Fork();
  if (strcmp(mode, "copies") == 0) UseCopies(argv[2]);
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  Close(&victim);
  return 0;
}
