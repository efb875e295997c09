// SPDX-License-Identifier: Apache-2.0
#include "session/signal_relay.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

namespace stemtap::session {
namespace {

sigset_t Held() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&set, fault);
  }
  return set;
}

bool IsStop(int signal) {
  return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

bool EndsSession(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP;
}

// Returns whether the kernel sends the signal to the whole foreground process group, or because of
// the collector's own resource use. SIGHUP is excluded: the program does not receive the SIGHUP
// that the leader of a terminal session receives.
bool IsForGroupOrSelf(int signal) {
  return signal == SIGINT || signal == SIGQUIT || IsStop(signal) || signal == SIGWINCH ||
         signal == SIGCONT || signal == SIGXCPU;
}

bool IsForwarded(const siginfo_t& info) {
  if (info.si_signo == SIGCHLD && info.si_code > 0) return false;
  // A write to a broken pipe or beyond the file size limit sends a signal to the writer itself.
  if (info.si_code <= 0 && info.si_pid == ::getpid()) return false;
  return info.si_code != SI_KERNEL || !IsForGroupOrSelf(info.si_signo);
}

// `program` may have ended. It has not been waited for, so its id is not reused.
void Send(pid_t program, const siginfo_t& info) {
  if (info.si_code == SI_QUEUE) {
    ::sigqueue(program, info.si_signo, info.si_value);
  } else {
    ::kill(program, info.si_signo);
  }
}

// Returns the signal that has stopped the program since the last call, or 0.
int StoppedBy(pid_t program) {
  siginfo_t stopped{};
  const bool any = ::waitid(P_PID, static_cast<id_t>(program), &stopped, WSTOPPED | WNOHANG) == 0 &&
                   stopped.si_pid == program;
  return any ? stopped.si_status : 0;
}

// Stops this process as `signal` does by default. Returns when the process continues.
void StopBy(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::sigprocmask(SIG_BLOCK, &one, nullptr);
}

}  // namespace

SignalRelay::SignalRelay() : held_(Held()) {
  ::sigprocmask(SIG_BLOCK, &held_, &before_);
}

void SignalRelay::Wait(int ms) {
  if (!fd_asked_) wake_ = FileDescriptor(::signalfd(-1, &held_, SFD_NONBLOCK | SFD_CLOEXEC));
  fd_asked_ = true;
  pollfd wake{wake_.get(), POLLIN, 0};
  ::poll(&wake, wake_.is_open() ? 1 : 0, ms);
}

bool SignalRelay::Forward(pid_t program) {
  bool end = false;
  const timespec at_once{};
  siginfo_t info{};
  while (::sigtimedwait(&held_, &info, &at_once) > 0) {
    if (IsStop(info.si_signo)) stop_pending_ = program != 0;
    if (info.si_signo == SIGCONT) stop_pending_ = false;
    if (!IsForwarded(info)) {
      // The terminal's Ctrl-C also ends a session without a program.
      end |= info.si_code == SI_KERNEL && EndsSession(info.si_signo);
      continue;
    }
    end |= EndsSession(info.si_signo);
    if (program != 0) Send(program, info);
  }
  const int stop = stop_pending_ ? StoppedBy(program) : 0;
  // If only the program was stopped, by SIGSTOP, whoever stopped it also continues it.
  if (IsStop(stop)) {
    stop_pending_ = false;
    StopBy(stop);
  }
  return end;
}

}  // namespace stemtap::session
