// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fleet/fake_server.h"
#include "fleet/redis.h"

namespace stemtap::fleet {
namespace {

RedisUrl Parsed(const std::string& text) {
  Result<RedisUrl> url = ParseRedisUrl(text);
  CAPTURE(text);
  REQUIRE(url.ok());
  return url.value();
}

TEST_CASE("a URL has a host, a port, and perhaps a password and a database") {
  const RedisUrl plain = Parsed("redis://cache-1.example:6379");
  CHECK(plain.host == "cache-1.example");
  CHECK(plain.port == 6379);
  CHECK(plain.password.empty());
  CHECK(plain.database == 0);
  CHECK(Parsed("redis://h:1/").database == 0);
  CHECK(Parsed("redis://h:65535/15").database == 15);
  const RedisUrl all = Parsed("redis://:p4ss@10.0.0.1:7000/3");
  CHECK(all.host == "10.0.0.1");
  CHECK(all.port == 7000);
  CHECK(all.password == "p4ss");
  CHECK(all.database == 3);
}

TEST_CASE("a password may contain the characters that divide a URL") {
  const RedisUrl url = Parsed("redis://:a/b:c@d@h:6379/2");
  CHECK(url.password == "a/b:c@d");
  CHECK(url.host == "h");
  CHECK(url.database == 2);
}

TEST_CASE("a password may be percent-encoded, as for redis-cli") {
  CHECK(Parsed("redis://:a%40b%2Fc%3a%25@h:1").password == "a@b/c:%");
  CHECK(Parsed("redis://:%e2%82%ac@h:1").password == "\u20ac");
  for (const char* plain : {"%", "50%", "%4", "%zz", "%4g", "a%-1", "%+1b", "%%"}) {
    CAPTURE(plain);
    CHECK(Parsed(std::string("redis://:") + plain + "@h:1").password == plain);
  }
  CHECK(Parsed("redis://:%%41@h:1").password == "%A");
}

TEST_CASE("IPv6 addresses are in brackets") {
  CHECK(Parsed("redis://[::1]:6379").host == "::1");
  const RedisUrl url = Parsed("redis://:pw@[fe80::1%eth0]:6380/1");
  CHECK(url.host == "fe80::1%eth0");
  CHECK(url.port == 6380);
  for (const char* wrong :
       {"redis://::1:6379", "redis://fe80::1", "redis://[::1:6379", "redis://::1]:6379",
        "redis://[::1]", "redis://[]:6379", "redis://[::1]6379", "redis://[h]:6379"}) {
    CAPTURE(wrong);
    CHECK(!ParseRedisUrl(wrong).ok());
  }
}

TEST_CASE("a socket is a path") {
  const RedisUrl url = Parsed("unix:///run/redis/redis@6379.sock");
  CHECK(url.host == "/run/redis/redis@6379.sock");
  CHECK(url.port == 0);
  CHECK(Parsed("unix://redis.sock").host == "redis.sock");
}

TEST_CASE("a shown URL can be parsed and has no password") {
  for (const char* text : {"redis://h:6379/0", "redis://[::1]:6379/4", "unix:///tmp/r.sock"}) {
    CHECK(Parsed(text).Shown() == text);
  }
  const std::string shown = Parsed("redis://:p4ss@h:6379/2").Shown();
  CHECK(shown == "redis://h:6379/2");
}

TEST_CASE("a shown URL does not control the terminal") {
  for (const char* text : {"redis://h\x1b[31m:6379", "unix:///tmp/\x1b]0;x\x07"}) {
    CHECK(Parsed(text).Shown().find('\x1b') == std::string::npos);
  }
}

TEST_CASE("malformed URLs are refused with exit code 2 and the expected form") {
  for (const char* wrong : {"",
                            "h:6379",
                            "http://h:6379",
                            "rediss://h:6379",
                            "redis:/h:6379",
                            "REDIS://h:6379",
                            "redis://",
                            "redis://h",
                            "redis://h:",
                            "redis://:6379",
                            "redis://h:0",
                            "redis://h:65536",
                            "redis://h:-1",
                            "redis://h:+1",
                            "redis://h:99999999999999999999",
                            "redis://h:6379x",
                            "redis://h: 6379",
                            "redis://h:6379/x",
                            "redis://h:6379/-1",
                            "redis://h:6379/1/2",
                            "redis://h:6379/99999999999",
                            "redis://h:6379?db=1",
                            "redis://\x1b[31mh",
                            "unix://"}) {
    CAPTURE(wrong);
    const Result<RedisUrl> url = ParseRedisUrl(wrong);
    REQUIRE(!url.ok());
    CHECK(url.error().exit_code == 2);
    CHECK(url.error().message.find("expected redis://[:PASSWORD@]HOST:PORT") != std::string::npos);
    CHECK(url.error().message.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("no error repeats a password") {
  for (const char* wrong : {
           "redis://:secret@",
           "redis://:secret@h",
           "redis://:secret@h:0",
           "redis://:secret@h:x",
           "redis://:secret@:6379",
           "redis://:secret@[::1:6379",
           "redis://:secret@h:6379/x",
           "redis://:secret@h:6379/-1",
           "redis://:secret@h:6379/2000000",
           "redis://:secret@h:6379/@x",
           "redis://secret@h:6379",
           "redis://user:secret@h:6379",
           "redis:/:secret@h:6379",
           "rediss://:secret@h:6379",
           ":secret@h:6379",
           "unix://:secret@/run/redis.sock",
       }) {
    CAPTURE(wrong);
    const Result<RedisUrl> url = ParseRedisUrl(wrong);
    REQUIRE(!url.ok());
    CHECK(url.error().exit_code == 2);
    CHECK(url.error().message.find("secret") == std::string::npos);
  }
}

// Returns the error of a server that answers the first command with `answer`.
std::string ErrorOf(const std::string& answer, const std::string& password) {
  const FakeServer server({answer});
  RedisUrl url = server.url();
  url.password = password;
  const Result<Reply> reply = Redis(url).Call({"PING"});
  REQUIRE(!reply.ok());
  return reply.error().message;
}

TEST_CASE("a server that repeats its commands does not make the password visible") {
  const std::string error =
      ErrorOf("-ERR unknown command 'AUTH', with args beginning with: 'secret' \r\n", "secret");
  CHECK(error.find("the server refuses the password") != std::string::npos);
  CHECK(error.find("secret") == std::string::npos);
}

TEST_CASE("an error of the server is reported, but does not control the terminal") {
  CHECK(ErrorOf("-WRONGPASS invalid password\r\n", "x")
            .ends_with(": the server refuses the "
                       "password"));
  CHECK(ErrorOf("-ERR \x1b[31m\r\n", "").find('\x1b') == std::string::npos);
  CHECK(ErrorOf("\x1b not Redis\r\n", "").find('\x1b') == std::string::npos);
  CHECK(ErrorOf("-ERR " + std::string(10'000, 'x') + "\r\n", "").size() < 300);
}

TEST_CASE("a reply with more parts than a job has is refused before memory is reserved for them") {
  std::string two_lists = "*2\r\n";
  for (int list = 0; list < 2; ++list) {
    two_lists += "*600000\r\n";
    for (int i = 0; i < 600'000; ++i) two_lists += ":1\r\n";
  }
  for (const std::string& reply : {std::string("*2000000000\r\n:1\r\n"), two_lists}) {
    CHECK(ErrorOf(reply, "").ends_with(": the server's reply is too long"));
  }
}

TEST_CASE("a reply that is longer than a job needs is refused before it is complete") {
  const std::string begin = "$500000000\r\n" + std::string(Redis::kMaxReply, 'x');
  CHECK(ErrorOf(begin, "").ends_with(": the server's reply is too long"));
}

TEST_CASE("a server that cannot be reached is reported without the password") {
  Redis redis(Parsed("redis://:secret@127.0.0.1:1/2"));
  const Result<Reply> reply = redis.Call({"PING"});
  REQUIRE(!reply.ok());
  CHECK(reply.error().message.find("redis://127.0.0.1:1/2: ") == 0);
  CHECK(reply.error().message.find("secret") == std::string::npos);
}

}  // namespace
}  // namespace stemtap::fleet
