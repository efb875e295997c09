// SPDX-License-Identifier: Apache-2.0
//
// FakeServer is a server at a socket that gives fixed answers, whatever it is asked, and then ends.
#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fleet/redis.h"
#include "support/temp_dir.h"

namespace stemtap::fleet {

class FakeServer {
 public:
  // `answers`: in the protocol of Redis, with line ends.
  explicit FakeServer(std::vector<std::string> answers) {
    const std::string path = (directory_ / "s").string();
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.c_str(), path.size());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    thread_ = std::thread([this, answers = std::move(answers)] { Answer(answers); });
  }
  ~FakeServer() { Join(); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  RedisUrl url() const {
    RedisUrl url;
    url.host = (directory_ / "s").string();
    return url;
  }
  // Returns when so many answers were given.
  void WaitFor(int answers) const {
    while (answered_ < answers) std::this_thread::yield();
  }
  // Returns when all answers were given. From then on, the server cannot be reached.
  void Join() {
    if (!thread_.joinable()) return;
    thread_.join();
    ::close(listener_);
  }

 private:
  void Answer(const std::vector<std::string>& answers) const {
    const int connection = ::accept(listener_, nullptr, nullptr);
    std::vector<char> command(std::size_t{1} << 16);
    for (const std::string& answer : answers) {
      if (::read(connection, command.data(), command.size()) <= 0) break;
      if (::write(connection, answer.data(), answer.size()) < 0) break;
      ++answered_;
    }
    ::close(connection);
  }

  test::TempDir directory_;
  mutable std::atomic<int> answered_ = 0;  // written by the thread; pairs with nothing
  int listener_ = -1;
  std::thread thread_;
};

}  // namespace stemtap::fleet
