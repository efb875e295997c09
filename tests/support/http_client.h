// SPDX-License-Identifier: Apache-2.0
//
// A client of HTTP servers under test.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace stemtap::test {

// Connection is a TCP connection to a server on this machine.
class Connection {
 public:
  // `address`: "127.0.0.1:9464" or "[::1]:9464".
  explicit Connection(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    const auto port = static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1));
    const timeval limit = {10, 0};
    if (address.front() == '[') {
      sockaddr_in6 to = {};
      to.sin6_family = AF_INET6;
      to.sin6_port = htons(port);
      ::inet_pton(AF_INET6, address.substr(1, colon - 2).c_str(), &to.sin6_addr);
      Connect(AF_INET6, reinterpret_cast<sockaddr*>(&to), sizeof to, limit);
    } else {
      sockaddr_in to = {};
      to.sin_family = AF_INET;
      to.sin_port = htons(port);
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
      Connect(AF_INET, reinterpret_cast<sockaddr*>(&to), sizeof to, limit);
    }
  }
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_open() const { return is_open_; }
  void Send(std::string_view text) const {
    [[maybe_unused]] const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Returns what the server sends until it closes the connection.
  std::string Receive() const {
    std::string all;
    char bytes[4096];
    for (ssize_t count; (count = ::recv(fd_, bytes, sizeof bytes, 0)) > 0;) {
      all.append(bytes, static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  void Connect(int family, const sockaddr* to, socklen_t size, const timeval& limit) {
    fd_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    is_open_ = ::connect(fd_, to, size) == 0;
  }

  int fd_ = -1;
  bool is_open_ = false;
};

// Returns the answer to a GET request, with its headers, or "" if there is no server. HTTP/1.0 has
// no chunked answers.
inline std::string HttpGet(const std::string& address, const std::string& path) {
  const Connection connection(address);
  if (!connection.is_open()) return {};
  connection.Send("GET " + path + " HTTP/1.0\r\nHost: " + address + "\r\n\r\n");
  return connection.Receive();
}

// Returns the part of an answer after its headers.
inline std::string BodyOf(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : answer.substr(end + 4);
}

}  // namespace stemtap::test
