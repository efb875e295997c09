// SPDX-License-Identifier: Apache-2.0
#include "session/library_loader.h"

#include <elf.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/text.h"

namespace stemtap::session {
namespace {

using Clock = std::chrono::steady_clock;

// How long to wait for a suitable system call.
constexpr auto kMaxWait = std::chrono::seconds(5);
constexpr auto kPoll = std::chrono::milliseconds(1);

// RTLD_NOW of all C libraries of Linux.
constexpr std::uint64_t kRtldNow = 2;

// malloc makes these while it holds a lock.
constexpr std::int64_t kOfAllocator[] = {SYS_brk,    SYS_mmap,     SYS_munmap,
                                         SYS_mremap, SYS_mprotect, SYS_madvise};

// The general registers of a thread.
#if defined(__x86_64__)
using Registers = user_regs_struct;
constexpr std::size_t kRedZone = 128;
std::int64_t SyscallOf(const Registers& r) {
  return static_cast<std::int64_t>(r.orig_rax);
}
std::uint64_t StackOf(const Registers& r) {
  return r.rsp;
}
std::uint64_t ResultOf(const Registers& r) {
  return r.rax;
}
std::uint64_t PlaceOf(const Registers& r) {
  return r.rip;
}
// Prepares a call that returns to address 0. `stack` is aligned to 16 bytes and has room.
void SetCall(std::uint64_t function, std::uint64_t first, std::uint64_t second, std::uint64_t stack,
             Registers& r) {
  r.rip = function;
  r.rdi = first;
  r.rsi = second;
  r.rax = 0;
  r.rsp = stack - 8;   // the return address, which is 0
  r.orig_rax = ~0ull;  // no system call to restart
}
#elif defined(__aarch64__)
using Registers = user_regs_struct;
constexpr std::size_t kRedZone = 0;
std::int64_t SyscallOf(const Registers& r) {
  return static_cast<std::int64_t>(r.regs[8]);
}
std::uint64_t StackOf(const Registers& r) {
  return r.sp;
}
std::uint64_t ResultOf(const Registers& r) {
  return r.regs[0];
}
std::uint64_t PlaceOf(const Registers& r) {
  return r.pc;
}
void SetCall(std::uint64_t function, std::uint64_t first, std::uint64_t second, std::uint64_t stack,
             Registers& r) {
  r.pc = function;
  r.regs[0] = first;
  r.regs[1] = second;
  r.regs[30] = 0;  // the return address
  r.sp = stack;
}
#endif

struct Mapping {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t offset;
  std::string path;

  std::string_view name() const { return std::string_view(path).substr(path.rfind('/') + 1); }
};

std::vector<Mapping> MappingsOf(std::int32_t pid) {
  std::vector<Mapping> mappings;
  std::ifstream file(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(file, line);) {
    const std::size_t path = line.find('/');
    unsigned long long begin = 0;
    unsigned long long end = 0;
    unsigned long long offset = 0;
    char access[8] = {};
    if (path == std::string::npos ||
        std::sscanf(line.c_str(), "%llx-%llx %7s %llx", &begin, &end, access, &offset) != 4) {
      continue;
    }
    mappings.push_back({begin, end, offset, line.substr(path)});
  }
  return mappings;
}

// Returns the address of a function that the ELF file in `bytes` exports, relative to its base.
std::optional<std::uint64_t> ExportedBy(const std::string& bytes, std::string_view name) {
  const auto at = [&](std::uint64_t offset, auto& value) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof value) return false;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return true;
  };
  Elf64_Ehdr header;
  if (!at(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return std::nullopt;
  }
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    Elf64_Shdr strings;
    if (!at(header.e_shoff + std::uint64_t{i} * sizeof section, section) ||
        section.sh_type != SHT_DYNSYM ||
        !at(header.e_shoff + std::uint64_t{section.sh_link} * sizeof section, strings)) {
      continue;
    }
    for (std::uint64_t s = 0; s + sizeof(Elf64_Sym) <= section.sh_size; s += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!at(section.sh_offset + s, symbol)) break;
      const std::uint64_t text = strings.sh_offset + symbol.st_name;
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
          text >= bytes.size()) {
        continue;
      }
      if (bytes.compare(text, name.size() + 1, std::string(name) + '\0') == 0) {
        return symbol.st_value;
      }
    }
  }
  return std::nullopt;
}

// Returns the address of a function in the process, in the first library that `is_candidate`
// accepts and that exports it. The process must be stopped.
template <typename IsCandidate>
std::optional<std::uint64_t> FindFunction(std::int32_t pid, std::string_view name,
                                          const IsCandidate& is_candidate) {
  for (const Mapping& mapping : MappingsOf(pid)) {
    if (mapping.offset != 0 || !is_candidate(mapping)) continue;
    std::ifstream file(fmt::format("/proc/{}/root{}", pid, mapping.path), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (const auto address = ExportedBy(bytes, name)) return mapping.begin + *address;
  }
  return std::nullopt;
}

bool IsCLibrary(const Mapping& mapping) {
  const std::string_view name = mapping.name();
  return name.starts_with("libc.so") || name.starts_with("libc-2.") || name.starts_with("libdl") ||
         name.starts_with("ld-musl");
}

// Returns whether the mapping is of glibc's dynamic linker. musl's is its C library.
bool IsLinker(const Mapping& mapping) {
  return mapping.name().starts_with("ld-") && !IsCLibrary(mapping);
}

// Reads a file of /proc that has no size.
std::string ReadProcFile(std::int32_t pid, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the address at which the program in the process begins (_start), or 0.
std::uint64_t EntryOf(std::int32_t pid) {
  const std::string bytes = ReadProcFile(pid, "auxv");
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= bytes.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    if (value.a_type == AT_ENTRY) return value.a_un.a_val;
  }
  return 0;
}

// Returns the value of the stack pointer with which the program in the process began, or 0.
std::uint64_t FirstStackOf(std::int32_t pid) {
  constexpr int kField = 28;  // proc(5), startstack
  const std::string text = ReadProcFile(pid, "stat");
  std::size_t at = text.rfind(')');  // of field 2, which may contain spaces
  for (int field = 2; field < kField && at != std::string::npos; ++field) {
    at = text.find(' ', at + 1);
  }
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

// Returns whether the dynamic linker has started the program. Then the beginning of the stack
// contains the return address of the call that _start makes, and never returns from.
bool HasBegun(std::int32_t pid) {
  constexpr std::uint64_t kStartBytes = 64;  // _start is shorter
  constexpr std::size_t kWords = 256;        // of the first functions of the C library
  const std::uint64_t entry = EntryOf(pid);
  const std::uint64_t begin = FirstStackOf(pid) & ~std::uint64_t{7};
  std::array<std::uint64_t, kWords> words = {};
  if (entry == 0 || begin < sizeof words) return false;
  std::ifstream memory(fmt::format("/proc/{}/mem", pid), std::ios::binary);
  memory.seekg(static_cast<std::streamoff>(begin - sizeof words));
  memory.read(reinterpret_cast<char*>(words.data()), sizeof words);
  return std::ranges::any_of(
      words, [&](std::uint64_t word) { return entry < word && word <= entry + kStartBytes; });
}

// SignalBlock blocks all signals that can be blocked, until it is destroyed.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalBlock() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t before_;
};

// Why a traced thread is stopped.
struct Stop {
  int signal;
  int event;  // PTRACE_EVENT_*, or 0

  bool is_syscall() const { return signal == (SIGTRAP | 0x80); }
  bool is_exec() const { return event == PTRACE_EVENT_EXEC; }
  // The whole process is stopped, by SIGSTOP or a terminal.
  bool is_of_process() const { return event == PTRACE_EVENT_STOP && signal != SIGTRAP; }
  // The signal that the program is to receive.
  int to_deliver() const { return is_syscall() || event != 0 ? 0 : signal; }
};

// Tracee is the main thread of a process that this one traces. The destructor lets it continue.
class Tracee {
 public:
  explicit Tracee(std::int32_t pid) : pid_(pid) {}
  Tracee(const Tracee&) = delete;
  Tracee& operator=(const Tracee&) = delete;
  ~Tracee() {
    if (is_traced_) ::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
  }

  // Traces the process, which continues. From here on, it cannot start another program unnoticed.
  Status Begin() {
    constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
    if (::ptrace(PTRACE_SEIZE, pid_, nullptr, kOptions) != 0) return Failure("traced");
    is_traced_ = true;
    return Success{};
  }

  // Stops the main thread at a system call in which it can call a function.
  Status StopInCall() {
    if (::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) != 0) return Failure("stopped");
    const auto deadline = Clock::now() + kMaxWait;
    bool is_exit = false;  // the next stop at a system call is its end
    for (;;) {
      const Stop stop = STEMTAP_TRY(Wait(deadline));
      if (stop.is_exec()) return StartedAnother();
      if (stop.is_of_process()) {
        return Error{fmt::format("process {} was stopped; expected one that runs (kill -CONT {})",
                                 pid_, pid_)};
      }
      STEMTAP_TRY(Read(saved_));
      // The stop of PTRACE_INTERRUPT may be in a system call that waits.
      const bool is_in_call = stop.is_syscall() ? is_exit : WaitsInCall();
      if (is_in_call && MayCallHere()) return Success{};
      if (stop.is_syscall()) is_exit = !is_exit;
      STEMTAP_TRY(Continue(PTRACE_SYSCALL, stop));
    }
  }

  // Calls function(text, second), or function(0, second) if `text` is empty.
  Result<std::uint64_t> Call(std::uint64_t function, const std::string& text,
                             std::uint64_t second) {
    // The stack below the thread's own, with the text at its upper end.
    const std::uint64_t end = (StackOf(saved_) - kRedZone - text.size() - 1) & ~std::uint64_t{15};
    STEMTAP_TRY(Write(end, text));
    const std::uint64_t stack = end - 16;
    STEMTAP_TRY(Write(stack - 16, std::string(16, '\0')));
    Registers call = saved_;
    SetCall(function, text.empty() ? 0 : end, second, stack, call);
    STEMTAP_TRY(Store(call));
    // Without a limit: a thread that is left in the middle of the call returns to address 0.
    STEMTAP_TRY(Continue(PTRACE_CONT, {}));
    for (;;) {
      const Stop stop = STEMTAP_TRY(Wait(Clock::time_point::max()));
      if (stop.is_exec()) return StartedAnother().error();
      STEMTAP_TRY(Read(call));
      if (stop.signal == SIGSEGV && PlaceOf(call) == 0) break;
      // A process that is stopped meanwhile stays so until it receives SIGCONT.
      STEMTAP_TRY(Continue(stop.is_of_process() ? PTRACE_LISTEN : PTRACE_CONT, stop));
    }
    STEMTAP_TRY(Store(saved_));
    return ResultOf(call);
  }

 private:
  // On x86-64, a thread in a system call has its number; in others, the stop does not show it.
  bool WaitsInCall() const {
#if defined(__x86_64__)
    return SyscallOf(saved_) >= 0;
#else
    return false;
#endif
  }

  // Not in malloc or in the dynamic linker, which may hold their locks, and not before the C
  // library can load a library.
  bool MayCallHere() const {
    if (std::ranges::count(kOfAllocator, SyscallOf(saved_)) != 0 || !HasBegun(pid_)) return false;
    const std::uint64_t place = PlaceOf(saved_);
    const std::vector<Mapping> mappings = MappingsOf(pid_);
    return std::ranges::none_of(mappings, [place](const Mapping& mapping) {
      return IsLinker(mapping) && mapping.begin <= place && place < mapping.end;
    });
  }

  Status StartedAnother() const {
    return Error{fmt::format("process {} has started another program (exec); try again", pid_)};
  }

  Status Continue(decltype(PTRACE_CONT) request, const Stop& stop) const {
    if (::ptrace(request, pid_, nullptr, long{stop.to_deliver()}) == 0) return Success{};
    return Failure("continued");
  }

  Status Failure(const char* what) const {
    return Error{fmt::format("process {} cannot be {}: {}", pid_, what, std::strerror(errno))};
  }

  // Waits until the thread stops.
  Result<Stop> Wait(Clock::time_point deadline) {
    for (;;) {
      int status = 0;
      const pid_t waited = ::waitpid(pid_, &status, WNOHANG | __WALL);
      if (waited == pid_ && WIFSTOPPED(status)) return Stop{WSTOPSIG(status), status >> 16};
      if (waited == pid_ || (waited < 0 && errno != EINTR)) {
        is_traced_ = false;
        return Error{fmt::format("process {} has ended", pid_)};
      }
      if (Clock::now() > deadline) {
        return Error{fmt::format("process {}: its main thread made no system call in time", pid_)};
      }
      std::this_thread::sleep_for(kPoll);
    }
  }

  Status Read(Registers& registers) const {
    iovec part = {&registers, sizeof registers};
    if (::ptrace(PTRACE_GETREGSET, pid_, reinterpret_cast<void*>(NT_PRSTATUS), &part) == 0) {
      return Success{};
    }
    return Failure("read");
  }
  Status Store(Registers registers) const {
    iovec part = {&registers, sizeof registers};
    if (::ptrace(PTRACE_SETREGSET, pid_, reinterpret_cast<void*>(NT_PRSTATUS), &part) == 0) {
      return Success{};
    }
    return Failure("changed");
  }
  // Writes `bytes` and a 0.
  Status Write(std::uint64_t address, std::string bytes) const {
    bytes.resize((bytes.size() + 8) & ~std::size_t{7});
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
      long word = 0;
      std::memcpy(&word, bytes.data() + i, sizeof word);
      if (::ptrace(PTRACE_POKEDATA, pid_, reinterpret_cast<void*>(address + i), word) != 0) {
        return Failure("changed");
      }
    }
    return Success{};
  }

  std::int32_t pid_;
  bool is_traced_ = false;
  Registers saved_ = {};
};

}  // namespace

Status LoadLibraryInto(std::int32_t pid, const std::string& library, const std::string& function,
                       const std::function<std::string()>& why_not) {
  // For the same reason, a signal must not end this process meanwhile.
  const SignalBlock block;
  Tracee tracee(pid);
  const Status traced = tracee.Begin();
  if (const std::string why = why_not(); !why.empty()) return Error{why};
  if (!traced.ok()) return traced;
  STEMTAP_TRY(tracee.StopInCall());
  auto open = FindFunction(pid, "dlopen", IsCLibrary);
  if (!open) open = FindFunction(pid, "__libc_dlopen_mode", IsCLibrary);
  if (!open) {
    return Error{
        fmt::format("process {} has no dlopen; expected a program with a dynamic C library", pid)};
  }
  const std::uint64_t handle = STEMTAP_TRY(tracee.Call(*open, library, kRtldNow));
  if (handle == 0) {
    return Error{
        fmt::format("process {} cannot load {}: it may be in another container, or lack "
                    "the rights to read it",
                    pid, EscapeForTerminal(library))};
  }
  const std::string name = library.substr(library.rfind('/') + 1);
  const auto entry =
      FindFunction(pid, function, [&](const Mapping& mapping) { return mapping.name() == name; });
  if (!entry) return Error{fmt::format("{}: lacks {}", EscapeForTerminal(library), function)};
  const auto result = static_cast<std::int32_t>(STEMTAP_TRY(tracee.Call(*entry, "", 0)));
  if (result != 0) return Error{fmt::format("{} returned {}", function, result)};
  return Success{};
}

}  // namespace stemtap::session
