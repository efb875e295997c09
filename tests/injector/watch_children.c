/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that would notice a child that it did not start. It counts SIGCHLD, compares its signal
 * mask, children and open files before and after CUDA is initialized, launches 1,000 kernels, and
 * prints the results. If the first argument is a file, it prints `waiting` and waits until the file
 * exists before it ends; it waits for further files in the same way.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "programs/handshake.h"
#include "programs/victim.h"

static volatile sig_atomic_t g_sigchld = 0;

static void OnChild(int signal) {
  (void)signal;
  ++g_sigchld;
}

static int OpenFiles(void) {
  DIR* folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder != NULL && readdir(folder) != NULL) ++count;
  if (folder != NULL) closedir(folder);
  return count;
}

/* Returns 0 if waitpid reports that there is no child. */
static int Children(void) {
  int status;
  return waitpid(-1, &status, WNOHANG | __WALL) == -1 && errno == ECHILD ? 0 : 1;
}

int main(int argc, char** argv) {
  struct sigaction action = {0};
  action.sa_handler = OnChild;
  sigaction(SIGCHLD, &action, NULL);
  sigset_t mask_before, mask_after;
  sigemptyset(&mask_before);
  sigaddset(&mask_before, SIGUSR2);
  sigprocmask(SIG_SETMASK, &mask_before, NULL);
  const int files_before = OpenFiles();
  Check(cuInit(0), "cuInit");
  const int files_after = OpenFiles();
  sigprocmask(SIG_SETMASK, NULL, &mask_after);
  int mask_changed = 0;
  for (int s = 1; s < 32; ++s) {
    mask_changed += sigismember(&mask_before, s) != sigismember(&mask_after, s);
  }
  struct sigaction now;
  sigaction(SIGCHLD, NULL, &now);
  Victim victim;
  Open(&victim);
  LaunchMany(&victim, 1000);
  Close(&victim);
  for (int i = 1; i < argc; ++i) {
    printf("waiting\n");
    fflush(stdout);
    WaitForFile(argv[i]);
  }
  printf("sigchld %d children %d handler %d mask %d files %d\n", (int)g_sigchld, Children(),
         now.sa_handler == OnChild, mask_changed, files_after - files_before);
  return 0;
}
