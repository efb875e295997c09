// SPDX-License-Identifier: Apache-2.0
#include "chaos/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "chaos/supervisor.h"

namespace stemtap::chaos {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& s : strings) result.push_back(const_cast<char*>(s.c_str()));
  result.push_back(nullptr);
  return result;
}

void Limit(int which, const std::optional<std::uint64_t>& most) {
  if (!most) return;
  const rlimit limit{*most, *most};
  ::setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

// Moves `fd` to a standard descriptor.
void Place(int fd, int standard) {
  if (fd == standard) return;
  ::dup2(fd, standard);
  ::close(fd);
}

[[noreturn]] void Become(const Start& start, char* const* argv, char* const* environment) {
  ::setsid();
  for (const int capability : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) {
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  if (::chdir(start.cwd.c_str()) != 0) ::_exit(120);
  if (start.supervisor != nullptr && !start.supervisor->Submit()) ::_exit(122);
  const int in = ::open("/dev/null", O_RDONLY);
  const int out = ::open(start.out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  int err = ::open(start.err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (start.error_unread) {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(120);
    ::close(err);
    ::close(ends[0]);
    err = ends[1];
  }
  if (in < 3 || out < 3 || err < 3) ::_exit(120);
  Place(in, STDIN_FILENO);
  Place(out, STDOUT_FILENO);
  Place(err, STDERR_FILENO);
  for (int fd = 0; fd < 3; ++fd) {
    if ((start.closed >> fd & 1) != 0) ::close(fd);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  Limit(RLIMIT_FSIZE, start.file_limit);
  Limit(RLIMIT_NOFILE, start.few_files);
  Limit(RLIMIT_AS, start.memory_limit);
  ::execve(argv[0], argv, environment);
  ::_exit(121);
}

bool IsNumber(const char* text) {
  for (const char* c = text; *c != 0; ++c) {
    if (std::isdigit(static_cast<unsigned char>(*c)) == 0) return false;
  }
  return *text != 0;
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

pid_t StartProcess(const Start& start) {
  const auto argv = Pointers(start.argv);
  const auto environment = Pointers(start.environment);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid == 0) Become(start, argv.data(), environment.data());
  if (start.supervisor != nullptr && !start.supervisor->Begin()) {
    throw std::runtime_error("no system calls can be refused");
  }
  return pid;
}

void AdoptOrphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

bool Reaper::Collect() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return pid == 0;
    ended_[pid] = status;
  }
}

std::optional<int> Reaper::StatusOf(pid_t pid) const {
  const auto found = ended_.find(pid);
  if (found == ended_.end()) return std::nullopt;
  return found->second;
}

std::vector<pid_t> Marked(const std::string& mark) {
  std::vector<pid_t> found;
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return found;
  for (const dirent* entry = ::readdir(processes); entry != nullptr; entry = ::readdir(processes)) {
    if (!IsNumber(entry->d_name)) continue;
    const pid_t pid = static_cast<pid_t>(std::atol(entry->d_name));
    if (pid == ::getpid()) continue;
    const std::string variables = '\0' + ReadAll(fmt::format("/proc/{}/environ", pid));
    if (variables.find('\0' + mark + '\0') != std::string::npos) found.push_back(pid);
  }
  ::closedir(processes);
  return found;
}

std::filesystem::path ProgramOf(pid_t pid) {
  std::error_code gone;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), gone);
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::istringstream words(ReadAll(fmt::format("/proc/{0}/task/{0}/children", pid)));
  std::vector<pid_t> children;
  for (pid_t child = 0; words >> child;) children.push_back(child);
  return children;
}

bool HasOpen(pid_t pid, const std::string& name) {
  std::error_code gone;
  for (const auto& fd :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), gone)) {
    if (std::filesystem::read_symlink(fd.path(), gone).filename() == name) return true;
  }
  return false;
}

std::set<std::string> SharedMemory() {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

bool OwnMounts() {
  if (::unshare(CLONE_NEWNS) != 0) return false;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=256m") == 0;
}

bool MountSmall(const std::filesystem::path& folder, std::uint64_t kib) {
  return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, fmt::format("size={}k", kib).c_str()) == 0;
}

void Unmount(const std::filesystem::path& folder) {
  ::umount2(folder.c_str(), MNT_DETACH);
}

std::string StatusText(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit {}", WEXITSTATUS(status));
}

}  // namespace stemtap::chaos
