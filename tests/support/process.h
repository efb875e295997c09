// SPDX-License-Identifier: Apache-2.0
//
// Process is a child process under test: its stdout and stderr are collected apart, it never
// outlives its deadline, and waiting is done in poll() on the pipes and a pidfd, never by sleeping.
//
//   const ProcessResult result = RunProcess({StemtapProgram(), "formats"});
//   REQUIRE(result.exit_code == 0);
//
//   Process child({"victim"});                 // when the test must act while the child runs
//   REQUIRE(child.WaitForOutput("ready\n"));
//   child.Signal(SIGKILL);
//   CHECK(child.Wait().signal == SIGKILL);
//
// THREADS: one test thread per object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stemtap::test {

struct ProcessOptions {
  // Set on top of the test's own environment, which is inherited.
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> unset_env;
  std::filesystem::path cwd;  // empty: the test's own
  // Counted from the start. When it passes, the child and its process group are killed.
  std::chrono::milliseconds timeout{60'000};
  // Wait not only for the child but until no process holds its stdout or stderr any more: the way
  // to wait for a background process that the child left behind.
  bool until_closed = false;
};

struct ProcessResult {
  int exit_code = -1;      // -1 when ended by a signal; 127 when the program could not be started
  int signal = 0;          // the signal that ended it, 0 when it exited
  bool timed_out = false;  // then signal is SIGKILL, unless only background processes were late
  std::string out;
  std::string err;
};

class Process {
 public:
  // Starts `argv[0]`, searched in PATH when it has no slash. REQUIRES: argv is not empty.
  explicit Process(const std::vector<std::string>& argv, const ProcessOptions& options = {});
  // Kills what still runs, with its process group.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  const std::string& out() const { return result_.out; }
  const std::string& err() const { return result_.err; }

  // Sends `signal` to the child alone. Nothing happens when it is gone.
  void Signal(int signal);

  // Waits until stdout (stderr) so far contains `text`. False when the child ends or the deadline
  // passes first.
  bool WaitForOutput(std::string_view text);
  bool WaitForError(std::string_view text);

  // Waits for the end. May be called again: the answer is the same.
  const ProcessResult& Wait();

 private:
  bool PumpOnce();  // false when there is nothing left to wait for
  bool Drain(int& fd, std::string& into);
  void Reap();
  void KillGroup();

  std::chrono::steady_clock::time_point deadline_;
  bool until_closed_ = false;
  pid_t pid_ = -1;
  int pidfd_ = -1;  // -1 once the child is reaped
  int out_fd_ = -1;
  int err_fd_ = -1;
  ProcessResult result_;
};

// Starts and waits.
ProcessResult RunProcess(const std::vector<std::string>& argv, const ProcessOptions& options = {});

}  // namespace stemtap::test
