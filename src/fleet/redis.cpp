// SPDX-License-Identifier: Apache-2.0
#include "fleet/redis.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <time.h>

#include <charconv>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace stemtap::fleet {
namespace {

// A reply nests at most this deep; a deeper one is not of a script of ours.
constexpr int kMaxDepth = 4;

template <typename Number>
bool ParseWhole(std::string_view text, Number most, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 && number <= most;
}

// Converts a reply. Errors inside of lists become nothing.
Reply Converted(const redisReply& from, int depth) {
  Reply reply;
  if (from.type == REDIS_REPLY_STRING || from.type == REDIS_REPLY_STATUS) {
    reply.kind = Reply::Kind::kText;
    reply.text.assign(from.str, static_cast<std::size_t>(from.len));
  } else if (from.type == REDIS_REPLY_INTEGER) {
    reply.kind = Reply::Kind::kNumber;
    reply.number = from.integer;
  } else if (from.type == REDIS_REPLY_ARRAY && depth < kMaxDepth) {
    reply.kind = Reply::Kind::kList;
    for (std::size_t i = 0; i < from.elements; ++i) {
      reply.list.push_back(Converted(*from.element[i], depth + 1));
    }
  }
  return reply;
}

// NoSigpipe keeps the signal of a closed connection from the process, as long as it exists.
class NoSigpipe {
 public:
  NoSigpipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec now = {0, 0};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

// What is before an '@' may be a password, and so may the part that one would begin with ':'.
Error Malformed(std::string_view text) {
  const std::size_t at = text.rfind('@');
  const std::size_t secret = text.find("//:");
  std::string shown = EscapeForTerminal(text.substr(0, secret));
  if (secret != std::string_view::npos) shown += "//:...";
  if (at != std::string_view::npos) shown = "..." + EscapeForTerminal(text.substr(at));
  return {fmt::format("--fleet '{}': expected redis://[:PASSWORD@]HOST:PORT[/DB] or unix://PATH",
                      shown),
          2};
}

// Returns the host of `text`: without brackets, which an IPv6 address must have; "" if malformed.
std::string_view HostIn(std::string_view text) {
  const bool has_colon = text.find(':') != std::string_view::npos;
  if (!text.starts_with('[')) return has_colon ? std::string_view() : text;
  if (!text.ends_with(']') || !has_colon) return {};
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::string RedisUrl::Shown() const {
  if (port == 0) return "unix://" + EscapeForTerminal(host);
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("redis://{}{}{}:{}/{}", is_ipv6 ? "[" : "", EscapeForTerminal(host),
                     is_ipv6 ? "]" : "", port, database);
}

Result<RedisUrl> ParseRedisUrl(std::string_view text) {
  constexpr std::string_view kUnix = "unix://";
  constexpr std::string_view kRedis = "redis://";
  RedisUrl url;
  if (text.starts_with(kUnix)) {
    url.host = text.substr(kUnix.size());
    // What is before the '@' of a relative path may be meant as a password.
    const bool is_path = url.host.starts_with('/') || url.host.find('@') == std::string::npos;
    return url.host.empty() || !is_path ? Result<RedisUrl>(Malformed(text)) : url;
  }
  if (!text.starts_with(kRedis)) return Malformed(text);
  std::string_view rest = text.substr(kRedis.size());
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    if (!rest.starts_with(':')) return Malformed(text);
    url.password = rest.substr(1, at - 1);
    rest.remove_prefix(at + 1);
  }
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view database = rest.substr(slash + 1);
    if (!database.empty() && !ParseWhole(database, 1'000'000, url.database)) return Malformed(text);
    rest = rest.substr(0, slash);
  }
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || !ParseWhole(rest.substr(colon + 1), 65535, url.port) ||
      url.port == 0) {
    return Malformed(text);
  }
  url.host = HostIn(rest.substr(0, colon));
  return url.host.empty() ? Result<RedisUrl>(Malformed(text)) : url;
}

void Redis::Closer::operator()(redisContext* context) const {
  redisFree(context);
}

Redis::Redis(RedisUrl url) : url_(std::move(url)) {}
Redis::~Redis() = default;

Status Redis::Connect() {
  constexpr auto kUs = std::chrono::duration_cast<std::chrono::microseconds>(kTimeout).count();
  const timeval limit = {kUs / 1'000'000, kUs % 1'000'000};
  context_.reset(url_.port == 0 ? redisConnectUnixWithTimeout(url_.host.c_str(), limit)
                                : redisConnectWithTimeout(url_.host.c_str(), url_.port, limit));
  if (context_ == nullptr || context_->err != 0) {
    const std::string why = context_ == nullptr ? "no memory" : context_->errstr;
    context_.reset();
    return Error{fmt::format("{}: cannot be reached: {}", url_.Shown(), EscapeForTerminal(why))};
  }
  redisSetTimeout(context_.get(), limit);
  if (!url_.password.empty()) STEMTAP_TRY(Send({"AUTH", url_.password}));
  if (url_.database != 0) STEMTAP_TRY(Send({"SELECT", std::to_string(url_.database)}));
  return Success{};
}

Result<Reply> Redis::Send(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  struct Free {
    void operator()(void* reply) const { freeReplyObject(reply); }
  };
  const std::unique_ptr<redisReply, Free> reply(static_cast<redisReply*>(redisCommandArgv(
      context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data())));
  if (reply == nullptr) {
    const std::string why = EscapeForTerminal(context_->errstr);
    context_.reset();
    return Error{fmt::format("{}: {}", url_.Shown(), why)};
  }
  if (reply->type == REDIS_REPLY_ERROR) {
    // A server that lacks a command repeats its arguments, such as the password.
    const std::string_view all(reply->str, static_cast<std::size_t>(reply->len));
    return Error{fmt::format("{}: {}: {}", url_.Shown(), words.front(),
                             EscapeForTerminal(all.substr(0, all.find(", with args"))))};
  }
  return Converted(*reply, 0);
}

Result<Reply> Redis::Call(const std::vector<std::string>& words) {
  const NoSigpipe block;
  if (context_ == nullptr) {
    const Status connected = Connect();
    if (!connected.ok()) {
      context_.reset();
      return connected.error();
    }
  }
  return Send(words);
}

}  // namespace stemtap::fleet
