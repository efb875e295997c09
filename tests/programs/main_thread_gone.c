/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread ends by pthread_exit, then a worker launches kernels, with all signals blocked.
 * Usage:
 *
 *   main_thread_gone LAUNCHES HOW
 *
 * exit    the worker calls exit(14)
 * return  the worker returns, and the process ends with its last thread
 * stay    the same, and an exit handler waits for a signal
 */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "victim.h"

static pthread_t g_main_thread;
static long g_count = 0;
static const char* g_how = "";

static void OnExit(void) {
  puts("exiting");
  fflush(stdout);
  if (strcmp(g_how, "stay") == 0) pause();
}

static void* Run(void* unused) {
  Victim victim;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  if (pthread_join(g_main_thread, NULL) != 0) exit(4);
  InitAndLaunch(&victim, g_count);
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  puts("launched");
  fflush(stdout);
  if (strcmp(g_how, "exit") == 0) exit(14);
  return unused;
}

int main(int argc, char** argv) {
  pthread_t worker;
  g_count = LaunchCount(argc, argv);
  if (argc > 2) g_how = argv[2];
  g_main_thread = pthread_self();
  if (atexit(OnExit) != 0) return 4;
  if (pthread_create(&worker, NULL, Run, NULL) != 0) return 4;
  pthread_detach(worker);
  pthread_exit(NULL);
}
