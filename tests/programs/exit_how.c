/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels and ends in one of several ways. Usage:
 *
 *   exit_how LAUNCHES HOW
 *
 * quick       calls quick_exit(11)
 * sigterm     sends SIGTERM to itself
 * exec        becomes /bin/true
 * thread      another thread calls exit(12) while this one keeps launching
 * storm       eight threads keep launching while this one calls exit(13)
 * destructor  returns 0, and a destructor of the program launches the same number of kernels again
 * reset       returns 0 without synchronizing or destroying anything
 */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "victim.h"

static Victim g_victim;
static long g_count = 0;
static int g_in_destructor = 0;

__attribute__((destructor)) static void LaunchAgain(void) {
  if (g_in_destructor) LaunchMany(&g_victim, g_count);
}

static void* ExitSoon(void* unused) {
  (void)unused;
  exit(12);
}

static void* LaunchForEver(void* unused) {
  (void)unused;
  Check(cuCtxSetCurrent(g_victim.context), "cuCtxSetCurrent");
  for (long step = 0;; ++step) LaunchOne(&g_victim, step);
  return NULL;
}

static void StartThread(void* (*run)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) != 0) exit(4);
  pthread_detach(thread);
}

int main(int argc, char** argv) {
  g_count = LaunchCount(argc, argv);
  const char* how = argc > 2 ? argv[2] : "";
  InitAndLaunch(&g_victim, g_count);
  if (strcmp(how, "quick") == 0) quick_exit(11);
  if (strcmp(how, "sigterm") == 0) kill(getpid(), SIGTERM);
  if (strcmp(how, "exec") == 0) execl("/bin/true", "true", (char*)NULL);
  if (strcmp(how, "thread") == 0) {
    StartThread(ExitSoon);
    LaunchForEver(NULL);
  }
  if (strcmp(how, "storm") == 0) {
    for (int i = 0; i < 8; ++i) StartThread(LaunchForEver);
    usleep(20 * 1000);
    exit(13);
  }
  if (strcmp(how, "destructor") == 0) g_in_destructor = 1;
  return strcmp(how, "destructor") == 0 || strcmp(how, "reset") == 0 ? 0 : 2;
}
