// SPDX-License-Identifier: Apache-2.0
#include "session/metrics_server.h"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/http_client.h"

namespace stemtap::session {
namespace {

using test::BodyOf;
using test::Connection;
using test::HttpGet;

std::unique_ptr<MetricsServer> OpenServer(const std::string& address = "127.0.0.1:0") {
  Result<std::unique_ptr<MetricsServer>> server = MetricsServer::Open(address);
  REQUIRE(server.ok());
  return std::move(server).value();
}

TEST_CASE("an address is a host and a port") {
  const auto parsed = [](const char* text) {
    const Result<ListenAddress> address = ParseListenAddress(text);
    REQUIRE(address.ok());
    return address.value().host + " " + std::to_string(address.value().port);
  };
  CHECK(parsed("127.0.0.1:9464") == "127.0.0.1 9464");
  CHECK(parsed("0.0.0.0:0") == "0.0.0.0 0");
  CHECK(parsed("gpu-17.example.org:65535") == "gpu-17.example.org 65535");
  CHECK(parsed("[::1]:9464") == "::1 9464");
  CHECK(parsed("[fe80::1%eth0]:9464") == "fe80::1%eth0 9464");
  // Without a host, other machines cannot connect.
  CHECK(parsed(":9464") == "127.0.0.1 9464");
  for (const char* text :
       {"", ":", "9464", "localhost", "localhost:", "localhost:http", "localhost:65536",
        "localhost:-1", "localhost:94 64", "::1:9464", "[::1]", "[::1]9464", "[localhost]:9464",
        "http://localhost:9464", "local host:9464", "localhost:9464/metrics", "[::1:9464",
        "\x1b[2J:9464", "[]:9464"}) {
    CAPTURE(text);
    const Result<ListenAddress> address = ParseListenAddress(text);
    REQUIRE_FALSE(address.ok());
    CHECK(address.error().exit_code == 2);
    CHECK(address.error().message.find("expected HOST:PORT") != std::string::npos);
    CHECK(address.error().message.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("the last text is served") {
  const auto server = OpenServer();
  CHECK(BodyOf(HttpGet(server->address(), "/metrics")).empty());
  server->Serve("a 1\n");
  server->Serve("a 2\n");
  const std::string answer = HttpGet(server->address(), "/metrics");
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") !=
        std::string::npos);
  CHECK(answer.find("Content-Length: 4\r\n") != std::string::npos);
  CHECK(BodyOf(answer) == "a 2\n");
  CHECK(BodyOf(HttpGet(server->address(), "/metrics?name[]=a")) == "a 2\n");
}

TEST_CASE("hosts are IPv4 addresses, IPv6 addresses or names") {
  CHECK(OpenServer("localhost:0")->address().starts_with("127.0.0.1:"));
  CHECK(OpenServer(":0")->address().starts_with("127.0.0.1:"));
  CHECK(OpenServer("0.0.0.0:0")->address().starts_with("0.0.0.0:"));
  Result<std::unique_ptr<MetricsServer>> v6 = MetricsServer::Open("[::1]:0");
  if (!v6.ok()) {
    MESSAGE("SKIPPED: this machine has no IPv6");
    return;
  }
  v6.value()->Serve("a 1\n");
  CHECK(v6.value()->address().starts_with("[::1]:"));
  CHECK(BodyOf(HttpGet(v6.value()->address(), "/metrics")) == "a 1\n");
}

TEST_CASE("an address that cannot be opened is an error in one line") {
  const auto server = OpenServer();
  for (const std::string& address :
       {server->address(), std::string("192.0.2.1:9464"), std::string("no.such.host.invalid:0")}) {
    CAPTURE(address);
    const Result<std::unique_ptr<MetricsServer>> other = MetricsServer::Open(address);
    REQUIRE_FALSE(other.ok());
    CHECK(other.error().exit_code == 1);
    CHECK(other.error().message.starts_with("--metrics-address " + address + ": "));
    CHECK(other.error().message.find('\n') == std::string::npos);
  }
  const Result<std::unique_ptr<MetricsServer>> malformed = MetricsServer::Open("9464");
  REQUIRE_FALSE(malformed.ok());
  CHECK(malformed.error().exit_code == 2);
}

TEST_CASE("a port can be used again at once") {
  std::string address;
  for (int i = 0; i < 3; ++i) {
    const auto server = OpenServer(address.empty() ? "127.0.0.1:0" : address);
    address = server->address();
    server->Serve("a 1\n");
    CHECK(BodyOf(HttpGet(address, "/metrics")) == "a 1\n");
  }
  CHECK(HttpGet(address, "/metrics").empty());
}

std::string StatusOf(const MetricsServer& server, const std::string& request) {
  const Connection connection(server.address());
  REQUIRE(connection.is_open());
  connection.Send(request);
  const std::string answer = connection.Receive();
  return answer.substr(0, answer.find("\r\n"));
}

TEST_CASE("only GET and HEAD of one path are answered") {
  const auto server = OpenServer();
  server->Serve("a 1\n");
  CHECK(StatusOf(*server, "GET / HTTP/1.1\r\n\r\n") == "HTTP/1.1 404 Not Found");
  CHECK(StatusOf(*server, "GET /metrics/../etc HTTP/1.1\r\n\r\n") == "HTTP/1.1 404 Not Found");
  CHECK(StatusOf(*server, "POST /metrics HTTP/1.1\r\n\r\n") == "HTTP/1.1 405 Method Not Allowed");
  CHECK(StatusOf(*server, "GET /metrics\r\n\r\n") == "HTTP/1.1 400 Bad Request");
  CHECK(StatusOf(*server, "\r\n\r\n") == "HTTP/1.1 400 Bad Request");
  CHECK(StatusOf(*server, std::string("\0\xff\x01", 3) + "\r\n\r\n") == "HTTP/1.1 400 Bad Request");
  CHECK(StatusOf(*server, "GET /metrics HTTP/1.0\n\n") == "HTTP/1.1 200 OK");
  CHECK(StatusOf(*server, "GET /" + std::string(2 * MetricsServer::kMaxRequestBytes, 'x')) ==
        "HTTP/1.1 431 Request Header Fields Too Large");
  const Connection head(server->address());
  head.Send("HEAD /metrics HTTP/1.1\r\n\r\n");
  const std::string answer = head.Receive();
  CHECK(answer.find("Content-Length: 4\r\n") != std::string::npos);
  CHECK(BodyOf(answer).empty());
}

TEST_CASE("a request may arrive in parts") {
  const auto server = OpenServer();
  server->Serve("a 1\n");
  const Connection connection(server->address());
  for (const char c : std::string("GET /metrics HTTP/1.1\r\n\r\n")) connection.Send({&c, 1});
  CHECK(BodyOf(connection.Receive()) == "a 1\n");
}

TEST_CASE("clients that hang do not keep others from their answers") {
  const auto server = OpenServer();
  server->Serve(std::string(8 << 20, 'a'));  // more than the buffers of a socket
  std::vector<std::unique_ptr<Connection>> hanging;
  for (std::size_t i = 0; i < 2 * MetricsServer::kMaxClients; ++i) {
    hanging.push_back(std::make_unique<Connection>(server->address()));
    if (i % 2 == 0) hanging.back()->Send("GET /metrics HTTP/1.1\r\n\r\n");  // takes no answer
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(BodyOf(HttpGet(server->address(), "/metrics")).size() == 8 << 20);
  // Two times the wait, and as much for a busy machine.
  CHECK(std::chrono::steady_clock::now() - begin <
        std::chrono::milliseconds(4 * MetricsServer::kMaxWaitMs));
}

TEST_CASE("a server ends while clients are connected") {
  auto server = OpenServer();
  const Connection silent(server->address());
  server.reset();
  CHECK(silent.Receive().empty());
}

TEST_CASE("many clients read while the text changes, and each gets one whole text") {
  const auto server = OpenServer();
  const auto text = [](int number) { return std::string(1000, static_cast<char>('a' + number)); };
  server->Serve(text(0));
  std::vector<std::thread> clients;
  std::vector<int> whole(4, 0);
  constexpr int kRequests = 50;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < kRequests; ++i) {
        const std::string body = BodyOf(HttpGet(server->address(), "/metrics"));
        whole[client] += !body.empty() && body == std::string(1000, body.front());
      }
    });
  }
  for (int i = 0; i < 2000; ++i) server->Serve(text(i % 26));
  for (std::thread& client : clients) client.join();
  for (const int count : whole) CHECK(count == kRequests);
}

}  // namespace
}  // namespace stemtap::session
