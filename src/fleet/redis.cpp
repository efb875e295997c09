// SPDX-License-Identifier: Apache-2.0
#include "fleet/redis.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace stemtap::fleet {
namespace {

// A reply nests at most this deep; a deeper one is not of a script of ours.
constexpr int kMaxDepth = 4;

// A line of a reply has fewer bytes; values are not lines.
constexpr std::size_t kMaxLine = 65536;

constexpr std::size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

// A message of the server is shown up to so many bytes: it is part of one line.
constexpr std::size_t kMaxShown = 200;

// A reply has at most so many parts. Each takes about 100 bytes of memory, and may have only 4 in
// the reply, so kMaxReply does not limit their memory. A job needs two for each kernel of a run.
constexpr std::size_t kMaxParts = std::size_t{1} << 20;

// A call may take longer than kTimeout if it moves at least so many bytes in each millisecond.
constexpr std::size_t kMinBytesPerMs = 8192;

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

std::string Packed(const std::vector<std::string>& words) {
  std::string command = fmt::format("*{}\r\n", words.size());
  for (const std::string& word : words) {
    command += fmt::format("${}\r\n", word.size());
    command += word;
    command += "\r\n";
  }
  return command;
}

// Returns whether nothing can be read of a connection. Between calls, something can if the server
// has closed it, or has sent more than one reply to a command.
bool IsQuiet(const redisContext& context) {
  pollfd socket = {context.fd, POLLIN, 0};
  return context.reader->pos == context.reader->len && ::poll(&socket, 1, 0) == 0;
}

// Returns whether a server sends a line without end, as none of Redis.
bool IsEndless(const redisReader& reader) {
  return reader.len - reader.pos > kMaxLine &&
         std::memchr(reader.buf + reader.pos, '\r', kMaxLine) == nullptr;
}

// Returns the functions with which hiredis creates replies.
const redisReplyObjectFunctions& PlainFunctions() {
  static const redisReplyObjectFunctions functions = [] {
    const std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader(redisReaderCreate(),
                                                                          &redisReaderFree);
    return *reader->fn;
  }();
  return functions;
}

// Creates a list, unless the reply then has too many parts: hiredis would reserve what the server
// claims. The reader's data is how many parts are left. The type of `count` depends on the version
// of hiredis.
template <typename Count>
void* CreateList(const redisReadTask* task, Count count) {
  auto& left = *static_cast<std::size_t*>(task->privdata);
  if (static_cast<std::size_t>(count) > left) return nullptr;
  left -= static_cast<std::size_t>(count);
  return PlainFunctions().createArray(task, count);
}

redisReplyObjectFunctions& LimitedFunctions() {
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions limited = PlainFunctions();
    limited.createArray = &CreateList;
    return limited;
  }();
  return functions;
}

// What is before an '@' may be a password, and so may the part that one would begin with ':'.
Error Malformed(std::string_view text) {
  const std::size_t at = text.rfind('@');
  const std::size_t secret = text.find("//:");
  std::string shown = EscapeForTerminal(text.substr(0, secret));
  if (secret != std::string_view::npos) shown += "//:...";
  if (at != std::string_view::npos) shown = "..." + EscapeForTerminal(text.substr(at));
  return {
      fmt::format("--fleet '{}': expected redis://[:PASSWORD@]HOST:PORT[/DB], unix://PATH or auto",
                  shown),
      2};
}

// Returns `text` with each %XX, two hexadecimal digits, as one byte. Another '%' stays.
std::string Decoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    unsigned char byte = 0;
    const std::string_view digits = text.substr(1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (text[0] == '%' && error == std::errc() && end == digits.data() + 2) {
      decoded += static_cast<char>(byte);
      text.remove_prefix(3);
    } else {
      decoded += text[0];
      text.remove_prefix(1);
    }
  }
  return decoded;
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
    if (url.host.size() > kMaxSocketPath) {
      return Error{fmt::format("--fleet: the path of the socket has {} bytes; expected at most {}",
                               url.host.size(), kMaxSocketPath),
                   2};
    }
    // What is before the '@' of a relative path may be meant as a password.
    const bool is_path = url.host.starts_with('/') || url.host.find('@') == std::string::npos;
    return url.host.empty() || !is_path ? Result<RedisUrl>(Malformed(text)) : url;
  }
  if (!text.starts_with(kRedis)) return Malformed(text);
  std::string_view rest = text.substr(kRedis.size());
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    if (!rest.starts_with(':')) return Malformed(text);
    url.password = Decoded(rest.substr(1, at - 1));
    rest.remove_prefix(at + 1);
  }
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view database = rest.substr(slash + 1);
    if (!database.empty() && !ParseWhole(database, 1'000'000, url.database)) {
      return Malformed(text);
    }
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

void Redis::FreeReply::operator()(redisReply* reply) const {
  freeReplyObject(reply);
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
  context_->reader->fn = &LimitedFunctions();
  context_->reader->privdata = &parts_left_;
  if (!url_.password.empty()) {
    const Result<std::vector<Reply>> accepted = Send({{"AUTH", url_.password}});
    if (!accepted.ok()) {
      // A server may repeat the password in its message.
      if (context_ != nullptr) return Error{url_.Shown() + ": the server refuses the password"};
      return accepted.error();
    }
  }
  if (url_.database != 0) STEMTAP_TRY(Send({{"SELECT", std::to_string(url_.database)}}));
  // A server that requires a password reports it only for short commands.
  STEMTAP_TRY(Send({{"PING"}}));
  return Success{};
}

Result<std::vector<Redis::RawReply>> Redis::Exchange(const std::string& bytes, std::size_t count,
                                                     std::size_t max_reply) {
  const Clock::time_point begin = Clock::now();
  std::size_t sent = 0;
  std::size_t received = 0;
  std::vector<RawReply> replies;
  std::array<char, 65536> buffer;
  parts_left_ = kMaxParts;
  for (;;) {
    void* reply = nullptr;
    if (redisReaderGetReply(context_->reader, &reply) != REDIS_OK) {
      if (context_->reader->err == REDIS_ERR_OOM) return Error{"the server's reply is too long"};
      return Error{EscapeForTerminal(context_->reader->errstr)};
    }
    if (reply != nullptr) {
      replies.emplace_back(static_cast<redisReply*>(reply));
      parts_left_ = kMaxParts;
      if (replies.size() < count) continue;
      // A server that does not read all commands is not asked again.
      if (sent < bytes.size()) ::shutdown(context_->fd, SHUT_RDWR);
      return replies;
    }
    if (received > max_reply || IsEndless(*context_->reader)) {
      return Error{"the server's reply is too long"};
    }
    const std::chrono::milliseconds moving((sent + received) / kMinBytesPerMs);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::min(until_, begin + kTimeout + moving) - Clock::now());
    pollfd socket = {context_->fd, POLLIN, 0};
    if (sent < bytes.size()) socket.events |= POLLOUT;
    const int ready = left.count() > 0 ? ::poll(&socket, 1, static_cast<int>(left.count())) : 0;
    if (ready == 0) return Error{"the server does not answer in time"};
    ssize_t moved = -1;
    if (ready > 0 && (socket.revents & ~POLLOUT) != 0) {
      moved = ::recv(socket.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (moved == 0) return Error{"the server closed the connection"};
      if (moved > 0) {
        received += static_cast<std::size_t>(moved);
        redisReaderFeed(context_->reader, buffer.data(), static_cast<std::size_t>(moved));
      }
    } else if (ready > 0) {
      moved =
          ::send(socket.fd, bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (moved > 0) sent += static_cast<std::size_t>(moved);
    }
    if (moved < 0 && errno != EINTR && errno != EAGAIN) return Error{std::strerror(errno)};
  }
}

Result<std::vector<Reply>> Redis::Send(const std::vector<std::vector<std::string>>& commands,
                                       std::size_t max_reply) {
  std::string bytes;
  for (const std::vector<std::string>& words : commands) bytes += Packed(words);
  if (bytes.size() > kMaxBytes) {
    return Error{fmt::format("{}: {}: has {} bytes; expected at most {}", url_.Shown(),
                             commands.front().front(), bytes.size(), kMaxBytes)};
  }
  const Result<std::vector<RawReply>> exchanged = Exchange(bytes, commands.size(), max_reply);
  if (!exchanged.ok()) {
    context_.reset();
    return Error{fmt::format("{}: {}", url_.Shown(), exchanged.error().message)};
  }
  std::vector<Reply> replies;
  for (const RawReply& reply : exchanged.value()) {
    if (reply->type == REDIS_REPLY_ERROR) {
      // A server that lacks a command repeats its arguments, such as the password.
      const std::string_view all(reply->str, static_cast<std::size_t>(reply->len));
      return Error{fmt::format(
          "{}: {}: {}", url_.Shown(), commands[replies.size()].front(),
          EscapeForTerminal(all.substr(0, std::min(all.find(", with args"), kMaxShown))))};
    }
    replies.push_back(Converted(*reply, 0));
  }
  return replies;
}

Result<std::vector<Reply>> Redis::CallAll(const std::vector<std::vector<std::string>>& commands,
                                          std::size_t max_reply) {
  if (commands.empty()) return std::vector<Reply>();
  if (context_ != nullptr && !IsQuiet(*context_)) context_.reset();
  if (context_ == nullptr) {
    const Status connected = Connect();
    if (!connected.ok()) {
      context_.reset();
      return connected.error();
    }
  }
  return Send(commands, max_reply);
}

Result<Reply> Redis::Call(const std::vector<std::string>& words, std::size_t max_reply) {
  std::vector<Reply> replies = STEMTAP_TRY(CallAll({words}, max_reply));
  return std::move(replies.front());
}

}  // namespace stemtap::fleet
