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
  // Most details have less than 512 bytes, so twice as many leave room for escapes.
  char line[1024];
  constexpr std::size_t kEscapeBytes = 5;  // of "\\xHH" with its NUL
  char* at = line + ::snprintf(line, sizeof(line), "stemtap: %s: ", what);
  while (*detail != '\0' && at < line + sizeof(line) - kEscapeBytes) {
    const auto byte = static_cast<unsigned char>(*detail++);
    const bool is_printable = byte >= 0x20 && byte < 0x7F;
    at += ::snprintf(at, kEscapeBytes, is_printable ? "%c" : "\\x%02X", byte);
  }
  *at++ = '\n';
  WriteUnharmed(line, static_cast<std::size_t>(at - line));
}

}  // namespace stemtap::inject
