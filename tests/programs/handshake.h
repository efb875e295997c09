/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a test to let a program continue. Both functions return after at most 60 seconds. */
#ifndef STEMTAP_TESTS_HANDSHAKE_H_
#define STEMTAP_TESTS_HANDSHAKE_H_

#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { kPatienceMs = 60000 };

static inline void WaitForFile(const char* path) {
  const struct timespec millisecond = {0, 1000000};
  for (int waited = 0; waited < kPatienceMs && access(path, F_OK) != 0; ++waited) {
    nanosleep(&millisecond, NULL);
  }
}

static inline void WaitForLine(void) {
  struct pollfd input = {STDIN_FILENO, POLLIN, 0};
  char c;
  while (poll(&input, 1, kPatienceMs) > 0 && read(STDIN_FILENO, &c, 1) == 1 && c != '\n') {
  }
}

#endif /* STEMTAP_TESTS_HANDSHAKE_H_ */
