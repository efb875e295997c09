// SPDX-License-Identifier: Apache-2.0
#include "startup/collector_starter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

constexpr std::size_t kPathBytes = 4096;
constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::size_t kMaxArguments = 64;
// Arguments after the words of STEMTAP_OPTIONS, with the terminating nullptr.
constexpr std::size_t kLastArguments = 10;
constexpr int kMaxOfOnePid = 1000;  // session directories; more indicate another problem
constexpr std::size_t kMaxVariables = 4096;

// Arguments for the child processes, which share our memory until they exec (CLONE_VM |
// CLONE_VFORK).
struct Launch {
  const char* program;
  char* arguments[kMaxArguments];
  char* environment[kMaxVariables];
  unsigned char* stack;  // stack of the second child
  int collector;         // process id of the second child
  int failure;           // errno of execve
};

// The kernel's layout of a signal action. All zero is the default action.
struct KernelAction {
  void (*handler)(int);
  unsigned long rest[4];  // flags, restorer and mask; the order depends on the machine
};
constexpr std::size_t kKernelMaskBytes = 8;
constexpr int kSignals = 64;

[[noreturn]] void EndProcess(int code) noexcept {
  for (;;) ::syscall(SYS_exit_group, code);
}

// Second child: becomes the collector. Both children make only raw system calls, because sanitizers
// replace libc functions and the replacements write to the program's memory.
int Become(void* argument) {
  auto* launch = static_cast<Launch*>(argument);
  ::syscall(SYS_setsid);  // a Ctrl-C for the program must not end its collector
  // Resets the program's signal actions. The child has its own table: without CLONE_SIGHAND,
  // handlers are not shared, although their memory is.
  KernelAction action = {};
  for (int signal = 1; signal <= kSignals; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, &action, nullptr, kKernelMaskBytes);
  }
  // The reader of the program's stderr may exit with the program, before the collector has
  // finished.
  action.handler = SIG_IGN;
  ::syscall(SYS_rt_sigaction, SIGPIPE, &action, nullptr, kKernelMaskBytes);
  // All signals stay blocked until the collector handles them itself. Otherwise a signal to the
  // program's process group could end it in the meantime.
  //
  // stdin is /dev/null and stdout is the program's stderr, because stdout belongs to the program's
  // output.
  const long null = ::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
  if (null >= 0) ::syscall(SYS_dup3, null, STDIN_FILENO, 0);
  ::syscall(SYS_dup3, STDERR_FILENO, STDOUT_FILENO, 0);
  // Closes the program's files: an inherited pipe would keep its reader waiting.
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, 3u, ~0u, 0u) != 0)
#endif
  {
    for (int fd = 3; fd < 1024; ++fd) ::syscall(SYS_close, fd);
  }
  ::syscall(SYS_execve, launch->program, launch->arguments, launch->environment);
  launch->failure = errno;
  EndProcess(127);
}

// First child: starts the second and exits, so that the collector is not a child of the program.
int StartAndLeave(void* argument) {
  auto* launch = static_cast<Launch*>(argument);
  const int pid = StartSharingProcess(Become, launch->stack + kStackBytes, SIGCHLD, launch);
  if (pid < 0) launch->failure = -pid;
  launch->collector = pid;
  EndProcess(0);
}

bool IsOurVariable(const char* variable) noexcept {
  for (const char* name :
       {"LD_PRELOAD=", "CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=", "STEMTAP_SESSION="}) {
    if (::strncmp(variable, name, ::strlen(name)) == 0) return true;
  }
  return false;
}

// Splits `text` at spaces, in place. A word with spaces is in double quotes. Returns the number of
// words, at most `most`.
std::size_t SplitWords(char* text, char** words, std::size_t most) noexcept {
  std::size_t count = 0;
  for (char* c = text; count < most;) {
    while (*c == ' ') ++c;
    if (*c == 0) break;
    const char end = *c == '"' ? '"' : ' ';
    if (end == '"') ++c;
    words[count++] = c;
    while (*c != 0 && *c != end) ++c;
    if (*c != 0) *c++ = 0;
  }
  return count;
}

// Removes -o and --output with their values from `words`. Returns the last value, or null if there
// is none.
const char* TakeOutput(char** words, std::size_t& count) noexcept {
  constexpr std::size_t kLongLength = sizeof("--output=") - 1;
  const char* output = nullptr;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    char* word = words[i];
    if (::strcmp(word, "-o") == 0 || ::strcmp(word, "--output") == 0) {
      if (i + 1 == count) {
        words[kept++] = word;  // the collector reports what is missing
      } else {
        output = words[++i];
      }
    } else if (::strncmp(word, "--output=", kLongLength) == 0) {
      output = word + kLongLength;
    } else if (::strncmp(word, "-o", 2) == 0) {
      output = word + 2;
    } else {
      words[kept++] = word;
    }
  }
  count = kept;
  return output != nullptr && *output != 0 ? output : nullptr;
}

// Creates a directory with mode 0700. Returns false and sets errno on failure.
bool MakeDirectory(const char* path) noexcept {
  constexpr mode_t kMode = 0700;
  if (::mkdir(path, kMode) != 0) return false;
  struct stat made;
  if (DescribeFile(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, made) && S_ISDIR(made.st_mode) &&
      (made.st_mode & 0777) != kMode) {
    ::chmod(path, kMode);  // the umask has removed permissions
  }
  return true;
}

bool CollectorPath(const Options& options, char* path, std::size_t size) noexcept {
  if (options.collector != nullptr) {
    ::snprintf(path, size, "%s", options.collector);
    return true;
  }
  path[0] = 0;
  char own[kPathBytes];
  if (!OwnPath(own, sizeof(own))) return false;
  // The library is <prefix>/lib/libstemtap_inject.so or
  // <prefix>/lib/<machine>/libstemtap_inject.so.
  bool found = false;
  for (int up = 1; up <= 3 && !found; ++up) {
    char* slash = ::strrchr(own, '/');
    if (slash == nullptr) break;
    *slash = 0;
    if (up == 1) continue;
    char candidate[kPathBytes];
    const int length = ::snprintf(candidate, sizeof(candidate), "%s/bin/stemtap", own);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof(candidate)) return false;
    found = ::access(candidate, X_OK) == 0;
    // If no candidate exists, `path` is the first one.
    if (found || up == 2) ::snprintf(path, size, "%s", candidate);
  }
  return path[0] != 0;
}

}  // namespace

bool MakeSessionFolder(const Options& options, char* folder, std::size_t size, char* problem,
                       std::size_t problem_size) noexcept {
  char text[kPathBytes] = {};
  char* words[kMaxArguments];
  std::size_t count = 0;
  if (options.collector_options != nullptr) {
    ::snprintf(text, sizeof(text), "%s", options.collector_options);
    count = SplitWords(text, words, kMaxArguments);
  }
  const char* output = TakeOutput(words, count);
  char name[32] = "session";
  const int comm = ::open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  if (comm >= 0) {
    const ssize_t length = ::read(comm, name, sizeof(name) - 1);
    ::close(comm);
    if (length > 1) name[length - 1] = 0;
  }
  for (char* c = name; *c != 0; ++c) {
    if (*c == '/' || *c == ' ') *c = '_';
  }
  char here[kPathBytes - 128];
  if (::getcwd(here, sizeof(here)) == nullptr) ::snprintf(here, sizeof(here), "/tmp");
  char base[kPathBytes];
  int length = 0;
  if (output == nullptr) {
    length = ::snprintf(base, sizeof(base), "%s/stemtap-%s-%d", here, name,
                        static_cast<int>(::getpid()));
  } else if (output[0] == '/') {
    length = ::snprintf(base, sizeof(base), "%s", output);
  } else {
    length = ::snprintf(base, sizeof(base), "%s/%s", here, output);
  }
  if (length < 0 || static_cast<std::size_t>(length) + 8 > size) {
    ::snprintf(problem, problem_size, "%.100s...: path of the session directory is too long", base);
    return false;
  }
  while (length > 1 && base[length - 1] == '/') base[--length] = 0;
  ::snprintf(folder, size, "%s", base);
  if (MakeDirectory(folder)) return true;
  // The name may be taken by this process before exec, by process 1 of another container, or by
  // another process with the same options.
  for (int again = 2; errno == EEXIST && again <= kMaxOfOnePid; ++again) {
    ::snprintf(folder, size, "%s-%d", base, again);
    if (MakeDirectory(folder)) return true;
  }
  ::snprintf(problem, problem_size, "%s: cannot be made: %s", folder, ::strerror(errno));
  return false;
}

int StartCollector(const Options& options, const char* folder, char* problem,
                   std::size_t problem_size) noexcept {
  char path[kPathBytes];
  if (!CollectorPath(options, path, sizeof(path)) || ::access(path, X_OK) != 0) {
    ::snprintf(problem, problem_size, "%s: collector not found; set STEMTAP_COLLECTOR to its path",
               path);
    return 0;
  }
  // Everything that the children access is prepared here, because between clone and execve they may
  // only make system calls. One mapping contains the argument block and both stacks.
  auto* memory =
      static_cast<unsigned char*>(MapMemory(sizeof(Launch) + kPathBytes + 2 * kStackBytes));
  if (memory == nullptr) {
    ::snprintf(problem, problem_size, "no memory to start the collector");
    return 0;
  }
  auto* launch = reinterpret_cast<Launch*>(memory);
  char* words = reinterpret_cast<char*>(memory + sizeof(Launch));
  unsigned char* first_stack = memory + sizeof(Launch) + kPathBytes;
  launch->stack = first_stack + kStackBytes;
  launch->program = path;
  char pid[16];
  ::snprintf(pid, sizeof(pid), "%d", static_cast<int>(::getpid()));
  char captures[16];
  ::snprintf(captures, sizeof(captures), "%u", options.captures_per_second);
  char skip_steps[16];
  char steps[16];
  ::snprintf(skip_steps, sizeof(skip_steps), "%u", static_cast<unsigned>(options.steps.first));
  ::snprintf(steps, sizeof(steps), "%u", static_cast<unsigned>(options.steps.count));
  std::size_t count = 0;
  const char* fixed[] = {"stemtap",    "run",           "--attach", pid,
                         "--output",   folder,          "--level",  LevelName(options.level),
                         "--actuator", options.actuator};
  for (const char* word : fixed) launch->arguments[count++] = const_cast<char*>(word);
  if (options.collector_options != nullptr) {
    ::snprintf(words, kPathBytes, "%s", options.collector_options);
    char** more = launch->arguments + count;
    std::size_t added = SplitWords(words, more, kMaxArguments - kLastArguments - count);
    TakeOutput(more, added);  // `folder` replaces it
    count += added;
  }
  // Last, so that they override the same options in STEMTAP_OPTIONS.
  const auto add = [&](const char* word) { launch->arguments[count++] = const_cast<char*>(word); };
  add("--max-captures-per-second");
  add(captures);
  if (!options.steps.all()) {
    add("--skip-steps");
    add(skip_steps);
    add("--steps");
    add(steps);
  }
  if (options.by_range) add("--ranges");
  if (options.only_range != nullptr) {
    add("--only-range");
    add(options.only_range);
  }
  launch->arguments[count] = nullptr;
  std::size_t kept = 0;
  for (char** v = environ; *v != nullptr && kept + 1 < kMaxVariables; ++v) {
    if (!IsOurVariable(*v)) launch->environment[kept++] = *v;
  }
  launch->environment[kept] = nullptr;

  // Blocks all signals until both children are done: a signal would run the program's handler in
  // the program's memory. If the collector exits at once, the first child receives SIGCHLD.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  // No exit signal: the first child sends no SIGCHLD, and a plain wait() does not see it.
  const int child = StartSharingProcess(StartAndLeave, first_stack + kStackBytes, 0, launch);
  int failure = child < 0 ? -child : 0;
  if (child > 0) {
    ::waitpid(child, nullptr, __WCLONE);
    failure = launch->failure;
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  const int collector = launch->collector;
  ::munmap(memory, sizeof(Launch) + kPathBytes + 2 * kStackBytes);
  if (failure == 0) return collector;
  ::snprintf(problem, problem_size, "%s: collector cannot be started: %s", path,
             ::strerror(failure));
  return 0;
}

}  // namespace stemtap::inject
