// SPDX-License-Identifier: Apache-2.0
//
// Process is a child process under test. It collects stdout and stderr separately, is killed at its
// deadline, and waits with poll() on the pipes and a pidfd instead of sleeping.
//
//   const ProcessResult result = RunProcess({StemtapProgram(), "formats"});
//   REQUIRE(result.exit_code == 0);
//
//   Process child({"victim"});                 // when the test must act while the child runs
//   REQUIRE(child.WaitForOutput("ready\n"));
//   child.Signal(SIGKILL);
//   CHECK(child.Wait().signal == SIGKILL);
//
// THREADS: one caller.
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
  // Added to the test's environment, which the child inherits.
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> unset_env;
  std::filesystem::path cwd;  // if empty, the test's directory
  // Measured from the start. When it expires, the child and its process group are killed.
  std::chrono::milliseconds timeout{60'000};
  // Also waits until no process, such as a background process of the child, has the child's stdout
  // or stderr open.
  bool until_closed = false;
};

struct ProcessResult {
  int exit_code = -1;      // -1 if ended by a signal; 127 if the program could not be started
  int signal = 0;          // the signal that ended it, or 0 if it exited
  bool timed_out = false;  // if true, signal is SIGKILL unless only background processes were late
  std::string out;
  std::string err;
};

class Process {
 public:
  // Starts `argv[0]`, searched for in PATH if it contains no slash. REQUIRES: argv is not empty.
  explicit Process(const std::vector<std::string>& argv, const ProcessOptions& options = {});
  // Kills the child and its process group if they are still running.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  const std::string& out() const { return result_.out; }
  const std::string& err() const { return result_.err; }

  // Sends `signal` only to the child. Does nothing if the child has ended.
  void Signal(int signal);

  // Wait until stdout (stderr) contains `text`. Return false if the child ends or the deadline
  // expires first.
  bool WaitForOutput(std::string_view text);
  bool WaitForError(std::string_view text);

  // Waits for the child to end. Further calls return the same result.
  const ProcessResult& Wait();

 private:
  bool PumpOnce();  // returns false if there is nothing left to wait for
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

// Starts a process and waits for it.
ProcessResult RunProcess(const std::vector<std::string>& argv, const ProcessOptions& options = {});

}  // namespace stemtap::test
