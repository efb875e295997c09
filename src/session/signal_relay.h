// SPDX-License-Identifier: Apache-2.0
//
// SignalRelay receives the signals sent to `stemtap run` and forwards them to the traced program,
// so that a scheduler's SIGUSR1 reaches the program and does not end the session.
//
//   forwarded       every signal that can be blocked, with the value of sigqueue(), except the
//                   signals below
//   not forwarded   signals that the terminal or the kernel sends to the foreground process group,
//                   which includes the program (Ctrl-C, Ctrl-\, Ctrl-Z, a new window size); SIGCHLD
//                   of the program; SIGPIPE, SIGXFSZ and SIGXCPU of the collector itself
//   not received    SIGKILL and SIGSTOP; fault signals (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
//                   SIGSYS), so that a fault in the collector ends it as usual
//
// A signal that a user sends to the whole process group reaches the program twice: its siginfo is
// the same as if it had been sent only to the collector.
//
// Ctrl-Z: the program decides whether it stops. If the terminal's signal stops it, the collector
// stops too, so that the shell notices.
//
// THREADS: created before any other thread starts (threads inherit the mask), then used by one
// thread.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/file_descriptor.h"

namespace stemtap::session {

class SignalRelay {
 public:
  // Blocks the signals. They stay blocked for the rest of the process, because a signal that is
  // pending at the end of the session must not end the process.
  SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // Returns the previous signal mask, which the program inherits.
  const sigset_t& before() const { return before_; }

  // Waits until a signal has arrived, for at most `ms`. Without a signalfd (if it could not be
  // created) always waits `ms`.
  void Wait(int ms);

  // Forwards the pending signals to `program`, or drops them if `program` is 0. Returns whether one
  // of them requests the end of a session without a program (SIGINT, SIGQUIT, SIGTERM, SIGHUP).
  bool Forward(pid_t program);

 private:
  sigset_t held_;
  sigset_t before_;
  FileDescriptor wake_;    // a signalfd, used only to wait
  bool fd_asked_ = false;  // signalfd was called
  // The terminal's stop signal came, but the program has not stopped yet.
  bool stop_pending_ = false;
};

}  // namespace stemtap::session
