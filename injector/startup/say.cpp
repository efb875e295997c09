// SPDX-License-Identifier: Apache-2.0
#include "startup/say.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>

namespace stemtap::inject {
namespace {

// Writes to stderr without risk to the program. If the pipe has no reader, the write raises
// SIGPIPE, which would end the program. The signal goes to the writing thread, so it is blocked and
// then consumed.
void WriteUnharmed(const char* line, std::size_t size) noexcept {
  sigset_t pipe;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::sigemptyset(&pending);
  ::sigprocmask(SIG_BLOCK, &pipe, &before);
  ::sigpending(&pending);
  const bool failed = ::write(STDERR_FILENO, line, size) < 0;  // the pipe may have no reader
  if (failed && ::sigismember(&pending, SIGPIPE) == 0) {
    const timespec now = {0, 0};
    ::sigtimedwait(&pipe, nullptr, &now);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void SayOnStderr(const char* what, const char* detail) noexcept {
  char line[512];
  const int length = ::snprintf(line, sizeof(line), "stemtap: %s: %s\n", what, detail);
  if (length > 0) {
    const auto size = static_cast<std::size_t>(length) < sizeof(line)
                          ? static_cast<std::size_t>(length)
                          : sizeof(line) - 1;
    WriteUnharmed(line, size);
  }
}

}  // namespace stemtap::inject
