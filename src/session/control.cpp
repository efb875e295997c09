// SPDX-License-Identifier: Apache-2.0
#include "session/control.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/decimal.h"
#include "base/file.h"
#include "base/text.h"
#include "shm/session_env.h"
#include "shm/wake_address.h"

namespace stemtap::session {
namespace {

double NowMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The address through the directory's descriptor: paths may be longer than sun_path.
sockaddr_un AddressIn(const Directory& directory) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "/proc/self/fd/{}/{}",
                   directory.descriptor(), kControlFileName);
  return address;
}

FileDescriptor NewSocket(int flags) {
  return FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

// Sends an answer of one line. The client may be gone; a short answer fits the socket's buffer.
void Send(const FileDescriptor& socket, std::string answer) {
  std::ranges::replace(answer, '\n', ' ');
  answer += '\n';
  [[maybe_unused]] const ssize_t sent =
      ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Sends a request and returns the answer, up to the end of the connection; an empty one if there is
// none, with the reason in errno.
std::string Exchange(const FileDescriptor& socket, const std::string& request) {
  std::string answer;
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return answer;
  }
  char bytes[1024];
  ssize_t count = 0;
  while ((count = ::recv(socket.get(), bytes, sizeof bytes, 0)) > 0 ||
         (count < 0 && errno == EINTR)) {
    if (count > 0) answer.append(bytes, static_cast<std::size_t>(count));
  }
  return answer;
}

Result<FileDescriptor> Connect(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(path, failure);
  if (failure || !std::filesystem::is_directory(real, failure)) {
    return Error{fmt::format("{}: is not a directory; expected a session directory",
                             EscapeForTerminal(path))};
  }
  const Directory directory = STEMTAP_TRY(Directory::Open(real.string()));
  FileDescriptor socket = NewSocket(0);
  // A connection waits while the backlog of a stopped collector is full.
  const timeval limit = {kMaxAnswerS, 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    ::setsockopt(socket.get(), SOL_SOCKET, option, &limit, sizeof limit);
  }
  const sockaddr_un address = AddressIn(directory);
  if (!socket.is_open() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error{fmt::format(
        "{}: no session runs in it ({}); expected the directory of a running "
        "'stemtap run'",
        EscapeForTerminal(path), errno == ENOENT ? "it has ended" : std::strerror(errno))};
  }
  return socket;
}

}  // namespace

Result<ControlServer> ControlServer::Open(const Directory& directory) {
  FileDescriptor socket = NewSocket(SOCK_NONBLOCK);
  const sockaddr_un address = AddressIn(directory);
  if (!socket.is_open() ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), static_cast<int>(kMaxClients)) != 0) {
    return Error{fmt::format("{}: cannot be created: {}; the session takes no commands",
                             EscapeForTerminal(directory.PathOf(kControlFileName)),
                             std::strerror(errno))};
  }
  ::fchmodat(directory.descriptor(), kControlFileName, kOwnFileMode, 0);
  return ControlServer(directory, std::move(socket));
}

ControlServer::~ControlServer() {
  if (socket_.is_open()) directory_->Remove(kControlFileName);
}

void ControlServer::Accept() {
  while (clients_.size() < kMaxClients) {
    FileDescriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open()) return;
    clients_.push_back({std::move(socket), {}, NowMs()});
  }
}

void ControlServer::Poll(
    const std::function<Result<std::string>(std::string_view request)>& handle) {
  Accept();
  std::erase_if(clients_, [&](Client& client) {
    char bytes[1024];
    ssize_t count = 0;
    while (client.request.size() <= kMaxRequestBytes &&
           (count = ::recv(client.socket.get(), bytes, sizeof bytes, 0)) > 0) {
      client.request.append(bytes, static_cast<std::size_t>(count));
    }
    if (const std::size_t end = client.request.find('\n'); end != std::string::npos) {
      const Result<std::string> answer = handle(std::string_view(client.request).substr(0, end));
      Send(client.socket, answer.ok() ? "ok " + answer.value() : "error " + answer.error().message);
      return true;
    }
    return count == 0 || (errno != EAGAIN && errno != EINTR) ||
           client.request.size() > kMaxRequestBytes || NowMs() - client.since_ms > kMaxWaitMs;
  });
}

Result<std::string> SendRequest(const std::string& path, const std::string& request) {
  if (request.find('\n') != std::string::npos) {
    return Error{fmt::format("{}: contains a line end; expected a path without one",
                             EscapeForTerminal(request)),
                 2};
  }
  const FileDescriptor socket = STEMTAP_TRY(Connect(path));
  std::string answer = Exchange(socket, request + "\n");
  if (answer.ends_with('\n')) answer.pop_back();
  if (answer.empty() && errno == EAGAIN) {
    return Error{fmt::format("{}: its session did not answer within {} s; its collector is stopped",
                             EscapeForTerminal(path), kMaxAnswerS)};
  }
  if (answer.starts_with("ok ")) return answer.substr(3);
  if (answer.starts_with("error ")) return Error{answer.substr(6)};
  return Error{fmt::format("{}: its session ended before it answered", EscapeForTerminal(path))};
}

Result<std::string> SwitchRecording(const std::string& path, const std::string& request) {
  // A process follows within a flush period of 200 ms, or later on a busy machine.
  constexpr auto kMaxWait = std::chrono::seconds(5);
  constexpr auto kPollPeriod = std::chrono::milliseconds(10);
  const auto deadline = std::chrono::steady_clock::now() + kMaxWait;
  std::string state = STEMTAP_TRY(SendRequest(path, request));
  while (!state.ends_with(" changing 0")) {
    if (std::chrono::steady_clock::now() > deadline) {
      return Error{fmt::format(
          "{}: not all processes followed within {} s ({}); a process that is stopped or in a "
          "capture follows later",
          EscapeForTerminal(path), kMaxWait.count(), EscapeForTerminal(state))};
    }
    std::this_thread::sleep_for(kPollPeriod);
    state = STEMTAP_TRY(SendRequest(path, "state"));
  }
  return state;
}

Result<std::string> SessionOfProcess(std::int32_t pid) {
  const std::string maps = fmt::format("/proc/{}/maps", pid);
  std::ifstream lines(maps);
  if (!lines) {
    return Error{fmt::format("{}: cannot be read: {}; expected a process of your own", maps,
                             std::strerror(errno))};
  }
  // The ring of the process is mapped by its path: "... /jobs/session/ring.4242.1737".
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos) continue;
    const std::filesystem::path file = line.substr(at);
    shm::ProcessImage image;
    if (shm::ParseImageFileName(file.filename().c_str(), shm::kRingPrefix, image)) {
      return file.parent_path().string();
    }
  }
  return Error{
      fmt::format("process {} is not recorded by stemtap; expected a process of a running "
                  "'stemtap run', or one started with the injected library",
                  pid)};
}

namespace {

std::string LinkTarget(const std::string& path) {
  std::error_code failure;
  return std::filesystem::read_symlink(path, failure).string();
}

// Returns the id of process `pid` in its own PID namespace.
std::int32_t OwnPidOf(std::int32_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    // "NSpid:\t4242\t17": the innermost namespace is last.
    const std::optional<std::uint64_t> own = WholeNumber(line.substr(line.find_last_of("\t ") + 1));
    if (own && *own <= INT32_MAX) return static_cast<std::int32_t>(*own);
  }
  return pid;
}

// Returns the number of "pid:[4026531836]".
std::uint32_t NumberOfNamespace(const std::string& link) {
  const std::size_t begin = link.find('[') + 1;
  return static_cast<std::uint32_t>(
      WholeNumber(link.substr(begin, link.find(']') - begin)).value_or(0));
}

// Waits until the collector that the library has started knows the process, so that it takes the
// next command.
void AwaitProcess(const std::string& path) {
  constexpr auto kMaxWait = std::chrono::seconds(10);
  constexpr auto kPollPeriod = std::chrono::milliseconds(10);
  for (const auto deadline = std::chrono::steady_clock::now() + kMaxWait;
       std::chrono::steady_clock::now() < deadline; std::this_thread::sleep_for(kPollPeriod)) {
    const Result<std::string> state = SendRequest(path, "state");
    // All numbers are 0 until the collector knows a process.
    if (state.ok() && state.value().find_first_of("123456789") != std::string::npos) return;
  }
}

}  // namespace

Result<std::string> WakeProcess(std::int32_t pid, const std::vector<std::string>& variables) {
  const std::string proc = fmt::format("/proc/{}", pid);
  std::error_code ignored;
  if (!std::filesystem::exists(proc, ignored)) {
    return Error{fmt::format("there is no process {}", pid)};
  }
  if (LinkTarget(proc + "/ns/net") != LinkTarget("/proc/self/ns/net")) {
    return Error{
        fmt::format("process {} is in another network namespace (a container); expected "
                    "'stemtap start' in the same one",
                    pid)};
  }
  const FileDescriptor socket = NewSocket(0);
  const timeval limit = {kMaxAnswerS, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_un address;
  const socklen_t length =
      shm::WakeAddress(NumberOfNamespace(LinkTarget(proc + "/ns/pid")), OwnPidOf(pid), address);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return Error{fmt::format(
        "process {} is not recorded by stemtap and does not wait for it; expected a process of a "
        "running 'stemtap run', or one with the injected library and STEMTAP_PAUSED=1",
        pid)};
  }
  std::string request = "start\n";
  for (const std::string& variable : variables) request += variable + "\n";
  request += "\n";
  std::string answer = Exchange(socket, request);
  if (answer.ends_with('\n')) answer.pop_back();
  if (answer.starts_with("ok ")) {
    AwaitProcess(answer.substr(3));
    return answer.substr(3);
  }
  if (answer.starts_with("error ")) {
    return Error{
        fmt::format("process {} does not record: {}", pid, EscapeForTerminal(answer.substr(6)))};
  }
  return Error{
      fmt::format("process {} did not answer; expected one of your own that still runs", pid)};
}

bool IsControlled(const std::string& path) {
  return Connect(path).ok();
}

}  // namespace stemtap::session
