// SPDX-License-Identifier: Apache-2.0
#include "injector/stepper.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace stemtap::test {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  throw std::runtime_error(what + ": " + strerror(errno));
}

void Trace(long request, pid_t thread, long data, const char* what) {
  if (ptrace(static_cast<__ptrace_request>(request), thread, nullptr, data) != 0) Fail(what);
}

// Returns the signal that stopped the thread.
int AwaitStop(pid_t thread) {
  int status = 0;
  while (waitpid(thread, &status, __WALL) < 0) {
    if (errno != EINTR) Fail("waitpid");
  }
  if (!WIFSTOPPED(status)) throw std::runtime_error("the traced program ended");
  return WSTOPSIG(status);
}

struct Registers {
  std::uint64_t at;     // the next instruction
  std::uint64_t stack;  // the stack pointer
  std::uint64_t link;   // the return address right after a call, if a register contains it
};

Registers ReadRegisters(pid_t thread) {
  user_regs_struct registers;
  iovec where = {&registers, sizeof(registers)};
  if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &where) != 0) Fail("PTRACE_GETREGSET");
#if defined(__x86_64__)
  return {registers.rip, registers.rsp, 0};
#elif defined(__aarch64__)
  return {registers.pc, registers.sp, registers.regs[30]};
#else
#error "the registers of this machine are not known"
#endif
}

// Returns the return address of a call that was just made.
std::uint64_t ReturnAddress(pid_t thread, const Registers& registers) {
#if defined(__x86_64__)
  errno = 0;
  const long word =
      ptrace(PTRACE_PEEKDATA, thread, reinterpret_cast<void*>(registers.stack), nullptr);
  if (errno != 0) Fail("PTRACE_PEEKDATA");
  return static_cast<std::uint64_t>(word);
#else
  (void)thread;
  return registers.link;
#endif
}

// Range is the address range to which a file is mapped, including holes between its segments.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool holds(std::uint64_t address) const { return address >= begin && address < end; }
};

Range RangeOf(pid_t pid, const std::string& file) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  Range range;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file) == std::string::npos) continue;
    std::istringstream words(line);
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    char dash = 0;
    words >> std::hex >> begin >> dash >> end;
    if (range.end == 0) range.begin = begin;
    range.end = end;
  }
  if (range.end == 0) throw std::runtime_error(file + " is not loaded");
  return range;
}

void Let(pid_t thread) {
  ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
}

}  // namespace

Stepper::Stepper(pid_t pid, std::string library) : pid_(pid), library_(std::move(library)) {
  if (ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr) != 0) {
    throw Forbidden(std::string("PTRACE_SEIZE: ") + strerror(errno));
  }
  // All relevant threads were started earlier. Threads that start or end in the meantime do not
  // matter.
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    const pid_t thread = std::stoi(entry.path().filename().string());
    if (thread == pid_ || ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) continue;
    Trace(PTRACE_INTERRUPT, thread, 0, "PTRACE_INTERRUPT");
    AwaitStop(thread);
    others_.push_back(thread);
  }
}

Stepper::~Stepper() {
  for (const pid_t thread : others_) Let(thread);
  Let(pid_);
}

Steps Stepper::CountBetweenSignals(int signal) {
  while (AwaitStop(pid_) != signal) Trace(PTRACE_CONT, pid_, 0, "PTRACE_CONT");
  const Range own = RangeOf(pid_, library_);
  const Range libc = RangeOf(pid_, "/libc.so.6");

  Steps steps;
  bool open = false;  // a visit is in progress
  std::uint64_t returns_to = 0;
  std::uint64_t stack = 0;
  for (;;) {
    const Registers registers = ReadRegisters(pid_);
    if (open && registers.at == returns_to && registers.stack >= stack) open = false;
    const bool is_own = own.holds(registers.at);
    if (is_own && !open) {
      open = true;
      returns_to = ReturnAddress(pid_, registers);
      stack = registers.stack;
      steps.visits.push_back({registers.at - own.begin});
    }
    if (open) {
      Visit& visit = steps.visits.back();
      ++(is_own ? visit.own : libc.holds(registers.at) ? visit.libc : visit.elsewhere);
    }
    ++steps.total;
    Trace(PTRACE_SINGLESTEP, pid_, 0, "PTRACE_SINGLESTEP");
    const int stopped = AwaitStop(pid_);
    if (stopped == signal) return steps;
    if (stopped != SIGTRAP) throw std::runtime_error("the traced program got another signal");
  }
}

}  // namespace stemtap::test
