// SPDX-License-Identifier: Apache-2.0
#include "session/control.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

// A server that repeats each request, and refuses "no".
class Repeater {
 public:
  Repeater() {
    thread_ = std::thread([this] {
      while (!ended_) {
        server_.Poll([](std::string_view request) -> Result<std::string> {
          if (request == "no") return Error{"not\nthis"};
          return std::string(request);
        });
        std::this_thread::yield();
      }
    });
  }
  ~Repeater() {
    ended_ = true;
    thread_.join();
  }

  std::string path() const { return scratch_.path().string(); }

 private:
  test::TempDir scratch_;
  Directory directory_ = Directory::Open(scratch_.path().string()).value();
  ControlServer server_ = ControlServer::Open(directory_).value();
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

TEST_CASE("a request is answered in one line, with its result or the reason against it") {
  const Repeater server;
  CHECK(IsControlled(server.path()));
  CHECK(SendRequest(server.path(), "yes please").value() == "yes please");
  const Result<std::string> refused = SendRequest(server.path(), "no");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "not this");
  const Result<std::string> two = SendRequest(server.path(), "snapshot new /a\nb");
  REQUIRE_FALSE(two.ok());
  CHECK(two.error().message.ends_with("contains a line end; expected a path without one"));
}

TEST_CASE("a request without end is cut, and the next client is answered") {
  const Repeater server;
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "{}/{}", server.path(),
                   kControlFileName);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  const std::string part(4096, 'x');
  // The server closes the connection, so that sending fails.
  int parts = 0;
  while (::send(socket.get(), part.data(), part.size(), MSG_NOSIGNAL) > 0 && parts < 100'000) {
    ++parts;
  }
  CHECK(parts < 100'000);
  CHECK(SendRequest(server.path(), "next").value() == "next");
}

TEST_CASE("a directory without a session, or whose collector was killed, takes no requests") {
  const test::TempDir scratch;
  CHECK_FALSE(IsControlled(scratch.path().string()));
  CHECK(SendRequest(scratch.path().string(), "snapshot").error().message.find("it has ended") !=
        std::string::npos);
  CHECK(SendRequest((scratch / "none").string(), "x").error().message ==
        (scratch / "none").string() + ": is not a directory; expected a session directory");
  const Directory directory = Directory::Open(scratch.path().string()).value();
  {
    const ControlServer server = ControlServer::Open(directory).value();
    CHECK_FALSE(ControlServer::Open(directory).ok());
  }
  CHECK_FALSE(std::filesystem::exists(scratch / kControlFileName));
}

}  // namespace
}  // namespace stemtap::session
