// SPDX-License-Identifier: Apache-2.0
#include "startup/wake_up.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm/ring.h"
#include "shm/wake_address.h"
#include "startup/options.h"
#include "startup/recording_threads.h"
#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

// How soon the process ends after its last thread has ended.
constexpr int kPollMs = 1000;
// A client that sends nothing is closed.
constexpr int kClientMs = 1000;

bool IsAllowed(int client) noexcept {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

// Reads up to an empty line. Returns false if the client sends something else.
bool ReadRequest(int client, char* text, std::size_t size) noexcept {
  std::size_t length = 0;
  for (;;) {
    pollfd ready{client, POLLIN, 0};
    if (length + 1 >= size || ::poll(&ready, 1, kClientMs) <= 0) return false;
    const ssize_t count = ::recv(client, text + length, size - 1 - length, 0);
    if (count <= 0) return false;
    length += static_cast<std::size_t>(count);
    text[length] = 0;
    if (length >= 2 && ::memcmp(text + length - 2, "\n\n", 2) == 0) break;
  }
  constexpr char kStart[] = "start\n";
  return ::strncmp(text, kStart, sizeof(kStart) - 1) == 0;
}

}  // namespace

bool WakeUp::Listen(Start start, void (*end)(), char* problem, std::size_t size) noexcept {
  start_ = start;
  end_ = end;
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socket_plus_one_ = socket + 1;
  sockaddr_un address;
  const socklen_t length = shm::WakeAddress(shm::PidNamespace(), ::getpid(), address);
  if (socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      ::listen(socket, 1) == 0 && StartThread(Main, this)) {
    return true;
  }
  ::snprintf(problem, size, "'stemtap start' cannot reach this process: %s", ::strerror(errno));
  Close();
  return false;
}

void WakeUp::Close() noexcept {
  if (socket_plus_one_ != 0) ::close(socket_plus_one_ - 1);
  socket_plus_one_ = 0;
}

void* WakeUp::Main(void* self) {
  ::prctl(PR_SET_NAME, "stemtap-wait", 0, 0, 0);
  static_cast<WakeUp*>(self)->Run();
  return nullptr;
}

void WakeUp::Run() noexcept {
  const RecordingThreads none;
  const int socket = socket_plus_one_ - 1;
  for (;;) {
    pollfd ready{socket, POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) == 0) {
      if (none.OnlyOnesLeft()) return end_();
      continue;
    }
    const int client = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const bool is_over = IsAllowed(client) && Serve(client);
    ::close(client);
    if (is_over) return Close();
  }
}

bool WakeUp::Serve(int client) noexcept {
  char text[4096];
  if (!ReadRequest(client, text, sizeof(text))) return false;
  OverrideOptions(text + ::strlen("start\n"));
  char result[4096];
  const Outcome outcome = start_(result, sizeof(result));
  const char* word = outcome == Outcome::kRecording ? "ok" : "error";
  const int length = ::snprintf(text, sizeof(text), "%s %.4000s\n", word, result);
  ::send(client, text, static_cast<std::size_t>(length), MSG_NOSIGNAL);
  return outcome != Outcome::kNoSession;
}

}  // namespace stemtap::inject
