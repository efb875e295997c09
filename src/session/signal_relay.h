// SPDX-License-Identifier: Apache-2.0
//
// SignalRelay holds the signals sent to `stemtap run` and forwards them to the traced program, so
// that a scheduler's SIGUSR1 reaches the program and does not end the session.
//
//   forwarded       every signal that can be blocked, with the value of sigqueue(), but for the
//                   ones below
//   not forwarded   what the terminal or the kernel sends to the foreground process group, which
//                   includes the program (Ctrl-C, Ctrl-\, Ctrl-Z, a new window size); SIGCHLD of the
//                   program; SIGPIPE, SIGXFSZ and SIGXCPU of the collector itself
//   not held        SIGKILL and SIGSTOP; signals of faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
//                   SIGTRAP, SIGSYS), so that a fault in the collector ends it as usual
//
// A signal that a user sends to the whole process group reaches the program twice: its siginfo does
// not differ from the siginfo of a signal sent to the collector alone.
//
// Ctrl-Z: the program decides whether it stops. If it does, by the signal of the terminal, the
// collector stops too, so that the shell notices.
//
// THREADS: created before any other thread is started (they inherit the mask), used by one thread.
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace stemtap {

class SignalRelay {
 public:
  // Blocks the signals. They stay blocked for the rest of the process: one that is pending at the
  // end of the session must not end the process.
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // The signal mask before: the program's.
  const sigset_t& before() const { return before_; }

  // Waits until a signal has come, at most `ms`. Without a signalfd (no descriptor left at the first
  // call, or refused) it always waits that long.
  void Wait(int ms);

  // Takes the signals that have come and forwards them to `program`; 0: there is none, and they are
  // dropped. Returns whether one of them asks a session without a program to end (SIGINT, SIGQUIT,
  // SIGTERM, SIGHUP).
  bool Forward(pid_t program);

 private:
  sigset_t held_;
  sigset_t before_;
  int fd_ = -1;                // only waited on
  bool fd_asked_ = false;      // a descriptor was asked for
  bool stop_pending_ = false;  // the terminal's stop came, and the program has not stopped yet
};

}  // namespace stemtap
