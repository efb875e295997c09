// SPDX-License-Identifier: Apache-2.0
//
// ChildProcess starts the traced program and waits for it.
//
// THREADS: one caller.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace stemtap::session {

class ChildProcess {
 public:
  // Starts `argv` (looked up in PATH) with this process's environment, changed by `set`
  // (NAME=value), and the signal mask `mask`. A script without "#!" runs in /bin/sh, as with
  // execvp(3). Ignored signals stay ignored, as nohup requires, except those in `defaults`. Fails
  // with exit code 127 if the program is not found, or 126 if it cannot be executed.
  static Result<ChildProcess> Start(const std::vector<std::string>& argv,
                                    const std::vector<std::string>& set, const sigset_t& mask,
                                    const sigset_t& defaults);

  // Returns whether the program has ended, without waiting.
  bool Poll();
  pid_t pid() const { return pid_; }
  // Exit status as a shell reports it: the exit code, or 128 + the signal.
  int exit_code() const { return signal_ != 0 ? 128 + signal_ : exit_code_; }
  int signal() const { return signal_; }  // 0: not ended by a signal

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  bool ended_ = false;
  int exit_code_ = 0;
  int signal_ = 0;
};

}  // namespace stemtap::session
