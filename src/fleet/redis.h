// SPDX-License-Identifier: Apache-2.0
//
// Redis is a connection to a Redis or Valkey server. A call takes at most kTimeout, and longer only
// for large values; the look-up of a host's name takes as long as the system allows. After a
// failure the connection is closed, and the next call connects again.
//
// THREADS: one caller.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct redisContext;
struct redisReply;

namespace stemtap::fleet {

// Parts of redis://[:PASSWORD@]HOST:PORT[/DB] or unix://PATH.
struct RedisUrl {
  std::string host;      // or the path of a socket
  int port = 0;          // 0: a socket
  std::string password;  // decoded
  int database = 0;

  // Returns the URL without its password.
  std::string Shown() const;
  bool operator==(const RedisUrl&) const = default;
};

Result<RedisUrl> ParseRedisUrl(std::string_view text);

// Reply is an answer of the server: a text, a number, a list of replies, or nothing.
struct Reply {
  enum class Kind : std::uint8_t { kNothing, kText, kNumber, kList };
  Kind kind = Kind::kNothing;
  std::string text;
  std::int64_t number = 0;
  std::vector<Reply> list;

  // The text or nothing; a number as text. Replies come from a server that is not trusted, so
  // callers check what they expect.
  bool is_text() const { return kind == Kind::kText; }
  bool is_list() const { return kind == Kind::kList; }
};

class Redis {
 public:
  static constexpr std::chrono::milliseconds kTimeout{1000};
  // A command has at most so many bytes, as has a value of a server.
  static constexpr std::size_t kMaxBytes = std::size_t{512} << 20;
  // So has a reply, except those with files. It is in memory three times while it is read, and a
  // collector must leave memory to its program. Larger than what a leader reads of 1,000 changes.
  static constexpr std::size_t kMaxReply = std::size_t{128} << 20;

  explicit Redis(RedisUrl url);
  ~Redis();
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  // Sends a command and returns its reply. Fails if the server cannot be reached, does not answer
  // in time, reports an error, or returns more than `max_reply` bytes.
  Result<Reply> Call(const std::vector<std::string>& words, std::size_t max_reply = kMaxReply);
  // Sends several commands at once and returns their replies. Fails as Call, if one of them does.
  Result<std::vector<Reply>> CallAll(const std::vector<std::vector<std::string>>& commands,
                                     std::size_t max_reply = kMaxReply);

  // From now on, calls take at most `limit` in all: then they fail.
  void AllowFor(std::chrono::milliseconds limit) { until_ = Clock::now() + limit; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Closer {
    void operator()(redisContext* context) const;
  };
  struct FreeReply {
    void operator()(redisReply* reply) const;
  };
  using RawReply = std::unique_ptr<redisReply, FreeReply>;

  Status Connect();
  Result<std::vector<Reply>> Send(const std::vector<std::vector<std::string>>& commands,
                                  std::size_t max_reply = kMaxReply);
  // Sends the bytes of `count` commands and returns the server's replies, which are not null.
  Result<std::vector<RawReply>> Exchange(const std::string& bytes, std::size_t count,
                                         std::size_t max_reply);

  RedisUrl url_;
  std::size_t parts_left_ = 0;  // of the reply that is read
  std::unique_ptr<redisContext, Closer> context_;
  Clock::time_point until_ = Clock::time_point::max();
};

}  // namespace stemtap::fleet
