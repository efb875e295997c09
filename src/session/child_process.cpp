// SPDX-License-Identifier: Apache-2.0
#include "session/child_process.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/file.h"

namespace stemtap::session {
namespace {

std::string_view NameOf(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

// Returns the pointers that exec expects. They are valid as long as `words`.
std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<ChildProcess> ChildProcess::Start(const std::vector<std::string>& argv,
                                         const std::vector<std::string>& set, const sigset_t& mask,
                                         const sigset_t& defaults) {
  std::vector<char*> arguments = Pointers(argv);
  std::vector<char*> environment;
  for (char** e = environ; *e != nullptr; ++e) {
    bool replaced = false;
    for (const std::string& s : set) replaced |= NameOf(*e) == NameOf(s);
    if (!replaced) environment.push_back(*e);
  }
  for (const std::string& s : set) environment.push_back(const_cast<char*>(s.c_str()));
  environment.push_back(nullptr);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  pid_t pid = 0;
  int failure = posix_spawnp(&pid, argv[0].c_str(), nullptr, &attributes, arguments.data(),
                             environment.data());
  if (failure == ENOEXEC) {
    // A script without "#!", which a shell and execvp(3) run with /bin/sh.
    std::vector<std::string> script = argv;
    script[0] = FindProgram(argv[0]).string();
    script.insert(script.begin(), "/bin/sh");
    arguments = Pointers(script);
    failure =
        posix_spawn(&pid, "/bin/sh", nullptr, &attributes, arguments.data(), environment.data());
  }
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    return Error{fmt::format("{}: cannot be started: {}", argv[0], std::strerror(failure)),
                 failure == ENOENT || failure == ENOTDIR ? 127 : 126};
  }
  return ChildProcess(pid);
}

bool ChildProcess::Poll() {
  if (ended_) return true;
  int status = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(pid_, &status, WNOHANG);
  } while (waited < 0 && errno == EINTR);
  if (waited == 0) return false;
  ended_ = true;
  if (waited == pid_ && WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
  if (waited == pid_ && WIFSIGNALED(status)) signal_ = WTERMSIG(status);
  return true;
}

}  // namespace stemtap::session
