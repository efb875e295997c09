/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the collector. Writes its start conditions into the directory that follows --output:
 * `argv` and `environ`, one entry per line; `fds`, one `fd target` per line; `self`: pid, parent,
 * session and blocked signals. Prints a line on stdout, then runs until the file `leave` exists in
 * that directory.
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "programs/handshake.h"

extern char** environ;

static FILE* Create(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "w");
  if (file == NULL) exit(1);
  return file;
}

static void WriteLines(const char* folder, const char* name, char** lines) {
  FILE* file = Create(folder, name);
  for (; *lines != NULL; ++lines) fprintf(file, "%s\n", *lines);
  fclose(file);
}

/* Called before this program opens any file. */
static void ListFiles(char* text, size_t size) {
  size_t used = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    char link[64], target[1024];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    used += (size_t)snprintf(text + used, size - used, "%d %s\n", fd, target);
  }
}

int main(int argc, char** argv) {
  static char files[64 * 1024];
  ListFiles(files, sizeof files);
  const char* folder = ".";
  for (int i = 1; i + 1 < argc; ++i) {
    if (strcmp(argv[i], "--output") == 0) folder = argv[i + 1];
  }
  WriteLines(folder, "argv", argv);
  WriteLines(folder, "environ", environ);
  FILE* fds = Create(folder, "fds");
  fputs(files, fds);
  fclose(fds);
  FILE* self = Create(folder, "self");
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  int blocked = 0;
  for (int s = 1; s < 32; ++s) blocked += sigismember(&mask, s) == 1;
  fprintf(self, "pid %d parent %d session %d blocked %d\n", (int)getpid(), (int)getppid(),
          (int)getsid(0), blocked);
  fclose(self);
  printf("collector was here\n");
  fflush(stdout);
  fclose(Create(folder, "mask.ndjson")); /* a collector claims its session */
  fclose(Create(folder, "started"));
  char leave[4096];
  snprintf(leave, sizeof leave, "%s/leave", folder);
  WaitForFile(leave);
  /* If the program has exited, the pipe has no reader; this must not end the collector. */
  printf("collector leaves\n");
  fflush(stdout);
  fclose(Create(folder, "left"));
  return 0;
}
