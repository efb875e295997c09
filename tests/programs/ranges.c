/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels inside ranges and steps of stemtap/control.h, from two threads. The name of each
 * kernel states where it is launched: "RANGE@STEP" if it is launched in one step only, and
 * "RANGE" if it is launched kEach times in each step. "none" is no range or no step. The kernel
 * "paused" is launched only while recording is paused.
 *
 * Arguments: the number of steps, and one of:
 *   fork         forks in the middle
 *   child        forks before cuInit, and parent and child do the same
 *   many         opens and closes more ranges than are distinguished before the first step
 *   until FILE   ends when the file exists, or after all steps
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stemtap/control.h"
#include "victim.h"

enum { kEach = 10, kRareSteps = 10 };

static Victim victim;

static void LaunchNamed(const char* name, int count, long step) {
  CUfunction function;
  Check(cuModuleGetFunction(&function, victim.module, name), "cuModuleGetFunction");
  for (int i = 0; i < count; ++i) {
    uint64_t duration_ns = 1000 + (uint64_t)((step * 7919 + i * 104729) % 9973);
    void* params[] = {&duration_ns};
    Check(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, victim.stream, params, NULL),
          "cuLaunchKernel");
  }
}

/* Launches the kernels of `range`, which is open. */
static void LaunchIn(const char* range, long step) {
  char name[64];
  LaunchNamed(range, kEach, step);
  if (step % kRareSteps != 0) return;
  snprintf(name, sizeof name, "%s@%ld", range, step);
  LaunchNamed(name, 1, step);
}

static void* RunWorker(void* argument) {
  const long step = *(const long*)argument;
  Check(cuCtxSetCurrent(victim.context), "cuCtxSetCurrent");
  stemtap_range_pop(); /* none is open in this thread */
  stemtap_range_push("worker");
  LaunchIn("worker", step);
  if (step % 2 == 0) stemtap_range_pop(); /* otherwise the thread ends in the range */
  return NULL;
}

static void RunStep(long step) {
  pthread_t worker;
  stemtap_step();
  stemtap_range_push("prefill");
  LaunchIn("prefill", step);
  stemtap_range_pop();
  stemtap_range_push("decode");
  LaunchIn("decode", step);
  stemtap_range_push("attention");
  /* A range of another thread does not affect this one. */
  if (pthread_create(&worker, NULL, RunWorker, &step) != 0) exit(4);
  LaunchIn("decode/attention", step);
  pthread_join(worker, NULL);
  stemtap_range_pop();
  stemtap_range_pop();
  stemtap_range_pop(); /* ignored */
  LaunchIn("none", step);
}

static void LaunchPaused(long step) {
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  stemtap_stop();
  stemtap_stop();
  LaunchNamed("paused", kEach, step);
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  stemtap_start();
}

/* The child does not use CUDA, and its calls have no effect. */
static void Fork(void) {
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    stemtap_step();
    stemtap_range_push("child");
    stemtap_stop();
    stemtap_start();
    stemtap_stop();
    exit(0);
  }
  if (waitpid(child, &status, 0) != child || status != 0) exit(6);
}

static void Run(long steps, int forks, const char* end_file) {
  const struct timespec pause = {0, 2000000};
  stemtap_range_push("setup");
  stemtap_stop();
  Check(cuInit(0), "cuInit");
  Open(&victim);
  LaunchNamed("paused", 1, 0);
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  stemtap_start();
  LaunchNamed("setup@none", 1, 0);
  stemtap_range_pop();
  LaunchNamed("none@none", 1, 0);
  for (long step = 0; step < steps && access(end_file, F_OK) != 0; ++step) {
    RunStep(step);
    if (step % 4 == 1) LaunchPaused(step);
    if (forks && step == steps / 2) Fork();
    Check(cuCtxSynchronize(), "cuCtxSynchronize");
    nanosleep(&pause, NULL);
  }
  Close(&victim);
}

static void OpenMany(void) {
  for (int i = 0; i < 5000; ++i) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    stemtap_range_push(name);
    stemtap_range_pop();
  }
}

int main(int argc, char** argv) {
  const long steps = LaunchCount(argc, argv);
  const char* mode = argc > 2 ? argv[2] : "";
  const pid_t child = strcmp(mode, "child") == 0 ? fork() : 0;
  int status = 0;
  if (strcmp(mode, "many") == 0) OpenMany();
  Run(steps, strcmp(mode, "fork") == 0, argc > 3 ? argv[3] : "");
  if (child == 0) return 0;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 6;
}
