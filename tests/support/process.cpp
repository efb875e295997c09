// SPDX-License-Identifier: Apache-2.0
#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

extern char** environ;

namespace stemtap::test {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void Fail(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

std::vector<std::string> BuildEnvironment(const ProcessOptions& options) {
  std::vector<std::string> dropped = options.unset_env;
  for (const auto& [name, value] : options.env) dropped.push_back(name);
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::find(dropped.begin(), dropped.end(), name) == dropped.end()) result.emplace_back(text);
  }
  for (const auto& [name, value] : options.env) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

// Runs between fork and exec. Makes only async-signal-safe calls because the test may have threads.
[[noreturn]] void RunChild(char* const* argv, char** env, const char* cwd, int out, int err) {
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (*cwd == '\0' || chdir(cwd) == 0) {
    environ = env;
    execvp(argv[0], argv);
  }
  const char message[] = "could not be started: ";
  const char* reason = strerrordesc_np(errno);
  (void)!write(STDERR_FILENO, message, sizeof message - 1);
  (void)!write(STDERR_FILENO, reason, std::strlen(reason));
  _exit(127);
}

void Close(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

}  // namespace

Process::Process(const std::vector<std::string>& argv, const ProcessOptions& options)
    : deadline_(Clock::now() + options.timeout), until_closed_(options.until_closed) {
  std::vector<std::string> arguments = argv;
  std::vector<std::string> environment = BuildEnvironment(options);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  std::vector<char*> environment_pointers = Pointers(environment);
  const std::string cwd = options.cwd.string();

  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) Fail("pipe2");
  pid_ = fork();
  if (pid_ < 0) Fail("fork");
  if (pid_ == 0) {
    RunChild(argument_pointers.data(), environment_pointers.data(), cwd.c_str(), out[1], err[1]);
  }
  setpgid(pid_, pid_);  // also here, so the group exists whichever process runs first
  close(out[1]);
  close(err[1]);
  out_fd_ = out[0];
  err_fd_ = err[0];
  fcntl(out_fd_, F_SETFL, O_NONBLOCK);
  fcntl(err_fd_, F_SETFL, O_NONBLOCK);
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (pidfd_ < 0) Fail("pidfd_open");
}

Process::~Process() {
  if (pidfd_ >= 0) {
    KillGroup();
    Reap();
  }
  Close(out_fd_);
  Close(err_fd_);
}

void Process::Signal(int signal) {
  if (pidfd_ >= 0) syscall(SYS_pidfd_send_signal, pidfd_, signal, nullptr, 0);
}

bool Process::WaitForOutput(std::string_view text) {
  while (result_.out.find(text) == std::string::npos) {
    if (!PumpOnce()) return result_.out.find(text) != std::string::npos;
  }
  return true;
}

bool Process::WaitForError(std::string_view text) {
  while (result_.err.find(text) == std::string::npos) {
    if (!PumpOnce()) return result_.err.find(text) != std::string::npos;
  }
  return true;
}

const ProcessResult& Process::Wait() {
  while (PumpOnce()) {
  }
  return result_;
}

// Polls once, reads the pipes, and detects the end of the child.
bool Process::PumpOnce() {
  const bool pipes_open = out_fd_ >= 0 || err_fd_ >= 0;
  if (pidfd_ < 0 && !(until_closed_ && pipes_open)) return false;

  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  pollfd fds[3] = {{pidfd_, POLLIN, 0}, {out_fd_, POLLIN, 0}, {err_fd_, POLLIN, 0}};
  const int ready = poll(fds, 3, static_cast<int>(std::max<decltype(left)>(left, 0)));
  if (ready < 0) {
    if (errno == EINTR) return true;
    Fail("poll");
  }
  if (ready == 0) {
    result_.timed_out = true;
    KillGroup();
    if (pidfd_ >= 0) Reap();
    Drain(out_fd_, result_.out);
    Drain(err_fd_, result_.err);
    Close(out_fd_);
    Close(err_fd_);
    return false;
  }
  // Check the child first. If it has ended, the pipes contain all of its output.
  if (fds[0].revents != 0) Reap();
  Drain(out_fd_, result_.out);
  Drain(err_fd_, result_.err);
  return true;
}

// Reads all available data. If the pipe has no more writers, closes it and returns false.
bool Process::Drain(int& fd, std::string& into) {
  if (fd < 0) return false;
  char buffer[65536];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count > 0) {
      into.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0) {
      Close(fd);
      return false;
    } else if (errno != EINTR) {
      return true;  // EAGAIN: empty for now
    }
  }
}

void Process::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    result_.signal = WTERMSIG(status);
  } else {
    result_.exit_code = WEXITSTATUS(status);
  }
  Close(pidfd_);
}

void Process::KillGroup() {
  kill(-pid_, SIGKILL);
}

ProcessResult RunProcess(const std::vector<std::string>& argv, const ProcessOptions& options) {
  Process process(argv, options);
  return process.Wait();
}

}  // namespace stemtap::test
