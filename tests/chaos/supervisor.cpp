// SPDX-License-Identifier: Apache-2.0
#include "chaos/supervisor.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "chaos/host.h"
#include "support/paths.h"

namespace stemtap::chaos {
namespace {

struct Call {
  int number;
  const char* name;
  int error;
  int family;
};

// Calls that default profiles of container runtimes deny or used to deny, and calls that older
// kernels and sandboxes do not implement. Excludes calls that every program needs to start.
constexpr Call kCalls[] = {
    {SYS_process_vm_readv, "process_vm_readv", EPERM, 0},
    {SYS_process_vm_writev, "process_vm_writev", EPERM, 0},
    {SYS_memfd_create, "memfd_create", EPERM, 1},
    {SYS_pidfd_open, "pidfd_open", EPERM, 2},
    {SYS_pidfd_send_signal, "pidfd_send_signal", EPERM, 2},
    {SYS_clone3, "clone3", ENOSYS, 3},
    {SYS_close_range, "close_range", EPERM, 3},
    {SYS_inotify_init1, "inotify_init1", EPERM, 4},
    {SYS_inotify_add_watch, "inotify_add_watch", EPERM, 4},
    {SYS_fallocate, "fallocate", EOPNOTSUPP, 5},
    {SYS_membarrier, "membarrier", EPERM, 6},
    {449, "futex_waitv", ENOSYS, 6},
    {SYS_sched_getaffinity, "sched_getaffinity", EPERM, 7},
    {SYS_sched_setaffinity, "sched_setaffinity", EPERM, 7},
    {SYS_ptrace, "ptrace", EPERM, 8},
    {SYS_perf_event_open, "perf_event_open", EPERM, 8},
    {SYS_prctl, "prctl", EPERM, 8},
    {SYS_eventfd2, "eventfd2", EPERM, 9},
    {SYS_timerfd_create, "timerfd_create", EPERM, 9},
    {SYS_signalfd4, "signalfd4", EPERM, 9},
};

// Calls that start a thread or a process. clone3 is reported as missing so that libc uses clone.
constexpr Call kStarts[] = {{SYS_clone, "clone", EAGAIN, -1},
#ifdef SYS_fork
                            {SYS_fork, "fork", EAGAIN, -1},
                            {SYS_vfork, "vfork", EAGAIN, -1}
#endif
};

const Call* Find(int number, bool starts) {
  if (starts) {
    for (const Call& call : kStarts) {
      if (call.number == number) return &call;
    }
  }
  for (const Call& call : kCalls) {
    if (call.number == number) return &call;
  }
  return nullptr;
}

std::vector<sock_filter> Program(const Refusals& refusals) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  const auto refuse = [&program](int number, std::uint32_t action) {
    program.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, action));
  };
  if (refusals.starts) {
    refuse(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    for (const Call& call : kStarts) refuse(call.number, SECCOMP_RET_USER_NOTIF);
  }
  for (const Call& call : kCalls) {
    if ((refusals.families >> call.family & 1) != 0) refuse(call.number, SECCOMP_RET_USER_NOTIF);
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return program;
}

bool SendDescriptor(int socket, int fd) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  return ::sendmsg(socket, &message, 0) == 1;
}

int ReceiveDescriptor(int socket) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return fd;
}

int ProcessOf(int thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Tgid:")) return std::stoi(line.substr(5));
  }
  return thread;
}

// Returns whether a process has one thread. The number of calls does not show this: a call that a
// signal interrupts is repeated, and exec ends all other threads.
bool IsAlone(int process) {
  std::error_code gone;
  const std::filesystem::directory_iterator threads(fmt::format("/proc/{}/task", process), gone);
  return !gone && std::distance(begin(threads), end(threads)) == 1;
}

}  // namespace

Supervisor::Supervisor(const Refusals& refusals) : refusals_(refusals) {
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets_) != 0) {
    throw std::runtime_error(std::string("socketpair: ") + std::strerror(errno));
  }
}

Supervisor::~Supervisor() {
  End();
  for (const int fd : {sockets_[0], sockets_[1], listener_}) {
    if (fd >= 0) ::close(fd);
  }
}

bool Supervisor::Works() {
  Supervisor probe({.families = 1u << 1});
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!probe.Submit()) ::_exit(1);
    ::_exit(::syscall(SYS_memfd_create, "probe", 0) < 0 && errno == EPERM ? 0 : 1);
  }
  if (pid < 0) return false;
  probe.Begin();
  int status = 1;
  ::waitpid(pid, &status, 0);
  probe.End();
  return status == 0 && !probe.refused().empty();
}

bool Supervisor::Submit() {
  std::vector<sock_filter> program = Program(refusals_);
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  const long listener =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
  if (listener < 0) return false;
  const bool sent = SendDescriptor(sockets_[1], static_cast<int>(listener));
  ::close(static_cast<int>(listener));
  return sent;
}

bool Supervisor::Begin() {
  ::close(sockets_[1]);  // to detect a failing child
  sockets_[1] = -1;
  listener_ = ReceiveDescriptor(sockets_[0]);
  if (listener_ < 0) return false;
  server_ = std::thread([this] { Serve(); });
  return true;
}

void Supervisor::End() {
  ended_.store(true, std::memory_order_relaxed);
  if (server_.joinable()) server_.join();
}

bool Supervisor::MayStart(int thread, std::uint64_t flags) {
  const int process = ProcessOf(thread);
  if ((flags & CLONE_THREAD) != 0 && ProgramOf(process) != test::StemtapProgram() &&
      IsAlone(process)) {
    return true;
  }
  if (started_ >= *refusals_.starts) return false;
  ++started_;
  return true;
}

void Supervisor::Serve() {
  while (!ended_.load(std::memory_order_relaxed)) {
    pollfd ready = {listener_, POLLIN, 0};
    if (::poll(&ready, 1, 20) <= 0) continue;
    if ((ready.revents & POLLIN) == 0) return;  // all supervised processes have ended
    seccomp_notif request = {};
    if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
      continue;  // the caller was killed
    seccomp_notif_resp answer = {};
    answer.id = request.id;
    const Call* call = Find(request.data.nr, refusals_.starts.has_value());
    const bool starts = call != nullptr && call->family < 0;
    const std::uint64_t flags = request.data.nr == SYS_clone ? request.data.args[0] : 0;
    if (call == nullptr || (starts && MayStart(static_cast<int>(request.pid), flags))) {
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
      answer.error = -call->error;
      ++refused_[call->name];
    }
    ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

}  // namespace stemtap::chaos
