// SPDX-License-Identifier: Apache-2.0
#include "session/metrics_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>
#include <vector>

#include "base/decimal.h"
#include "base/text.h"
#include "session/metric_texts.h"

namespace stemtap::session {
namespace {

constexpr std::string_view kPath = "/metrics";
constexpr const char* kLocalHost = "127.0.0.1";
// Time without accepting connections after the descriptors of the process ran out.
constexpr int kRetryMs = 100;

using Clock = std::chrono::steady_clock;
constexpr Clock::time_point kForever = Clock::time_point::max();

struct AddressList {
  addrinfo* first = nullptr;
  ~AddressList() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

// Returns the address as a URL contains it.
std::string ShownAddress(const sockaddr_storage& address) {
  char host[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
    return fmt::format("[{}]:{}", host, ntohs(v6.sin6_port));
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  ::inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
  return fmt::format("{}:{}", host, ntohs(v4.sin_port));
}

// Returns a socket that listens, or a closed one and sets errno.
FileDescriptor Listen(const addrinfo& at) {
  FileDescriptor socket(::socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (socket.is_open() &&
      // The port is free again as soon as the session has ended.
      (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
       ::bind(socket.get(), at.ai_addr, at.ai_addrlen) != 0 ||
       ::listen(socket.get(), static_cast<int>(MetricsServer::kMaxClients)) != 0)) {
    const int failure = errno;
    socket.Close();
    errno = failure;
  }
  return socket;
}

Result<FileDescriptor> ListenAt(const ListenAddress& address, const std::string& shown) {
  // Other services would load libraries of the machine, which a static program cannot.
  ::__nss_configure_lookup("hosts", "files dns");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  AddressList found;
  const std::string port = std::to_string(address.port);
  // This name has its address also where /etc/hosts does not exist.
  const char* host = address.host == "localhost" ? kLocalHost : address.host.c_str();
  const int failure = ::getaddrinfo(host, port.c_str(), &hints, &found.first);
  if (failure != 0) {
    return Error{
        fmt::format("--metrics-address {}: the host is not known: {}", shown,
                    failure == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(failure))};
  }
  for (const addrinfo* at = found.first; at != nullptr; at = at->ai_next) {
    FileDescriptor socket = Listen(*at);
    if (socket.is_open()) return socket;
  }
  return Error{
      fmt::format("--metrics-address {}: cannot be opened: {}", shown, std::strerror(errno))};
}

std::string Response(std::string_view status, std::string_view body, bool with_body,
                     std::string_view more = "") {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\n"
      "Content-Length: {}\r\n{}Connection: close\r\n\r\n{}",
      status, kMetricsContentType, body.size(), more, with_body ? body : "");
}

// Returns the text up to the next space, and removes both.
std::string_view TakeWord(std::string_view& text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(std::min(space + 1, text.size()));
  return word;
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const auto wrong = [&] {
    return Error{fmt::format("is '{}'; expected HOST:PORT, such as localhost:9464, 0.0.0.0:9464 or "
                             "[::1]:9464",
                             EscapeForTerminal(std::string(text))),
                 2};
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::optional<std::uint64_t> port = WholeNumber(text.substr(colon + 1));
  if (!port || *port > UINT16_MAX) return wrong();
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  if (in_brackets) host = host.substr(1, host.size() - 2);
  // Without brackets, the last part of an IPv6 address would be the port.
  if (in_brackets != (host.find(':') != std::string_view::npos)) return wrong();
  const bool is_visible = std::ranges::all_of(host, [](char c) { return c > ' ' && c < 0x7F; });
  if (!is_visible || host.find_first_of("[]/") != std::string_view::npos) return wrong();
  return ListenAddress{host.empty() ? kLocalHost : std::string(host),
                       static_cast<std::uint16_t>(*port)};
}

// A connection: first its request is read, then its answer is sent.
struct MetricsServer::Client {
  FileDescriptor socket;
  Clock::time_point deadline;
  std::string request = {};
  std::string answer = {};  // what is left to be sent; empty: the request is not complete
};

struct MetricsServer::Connections {
  std::vector<Client> clients;
  Clock::time_point accepts_from = {};  // no connection is accepted before
};

Result<std::unique_ptr<MetricsServer>> MetricsServer::Open(const std::string& address) {
  const ListenAddress parsed = STEMTAP_TRY(ParseListenAddress(address));
  const std::string shown = EscapeForTerminal(address);
  FileDescriptor listener = STEMTAP_TRY(ListenAt(parsed, shown));
  FileDescriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  sockaddr_storage bound = {};
  socklen_t size = sizeof bound;
  if (!wake.is_open() ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return Error{
        fmt::format("--metrics-address {}: cannot be opened: {}", shown, std::strerror(errno))};
  }
  std::unique_ptr<MetricsServer> server(
      new MetricsServer(std::move(listener), std::move(wake), ShownAddress(bound)));
  try {
    server->thread_ = std::thread([at = server.get()] { at->Run(); });
  } catch (const std::system_error& failure) {
    return Error{
        fmt::format("--metrics-address {}: cannot be opened: {}", shown, failure.code().message())};
  }
  return server;
}

MetricsServer::~MetricsServer() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void MetricsServer::Serve(std::string text) {
  auto next = std::make_shared<const std::string>(std::move(text));
  const std::lock_guard lock(mutex_);
  text_.swap(next);
}

std::shared_ptr<const std::string> MetricsServer::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

// Returns the answer to a request, which ends in an empty line.
std::string MetricsServer::Answer(std::string_view request) const {
  std::string_view line = request.substr(0, request.find_first_of("\r\n"));
  const std::string_view method = TakeWord(line);
  std::string_view target = TakeWord(line);
  target = target.substr(0, target.find('?'));
  if (!line.starts_with("HTTP/1.")) {
    return Response("400 Bad Request", "expected an HTTP/1 request\n", true);
  }
  const bool is_get = method == "GET";
  if (!is_get && method != "HEAD") {
    return Response("405 Method Not Allowed", "expected GET\n", true, "Allow: GET, HEAD\r\n");
  }
  if (target != kPath) {
    return Response("404 Not Found", "expected the path /metrics\n", is_get);
  }
  return Response("200 OK", *text(), is_get);
}

bool MetricsServer::Progress(Client& client) const {
  char bytes[1024];
  while (client.answer.empty()) {
    const ssize_t count = ::recv(client.socket.get(), bytes, sizeof bytes, 0);
    if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
    client.request.append(bytes, static_cast<std::size_t>(count));
    if (client.request.find("\r\n\r\n") != std::string::npos ||
        client.request.find("\n\n") != std::string::npos) {
      client.answer = Answer(client.request);
    } else if (client.request.size() > kMaxRequestBytes) {
      client.answer = Response("431 Request Header Fields Too Large", "", true);
    }
  }
  const ssize_t count =
      ::send(client.socket.get(), client.answer.data(), client.answer.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  client.answer.erase(0, static_cast<std::size_t>(count));
  return !client.answer.empty();
}

bool MetricsServer::Step(Connections& connections) const {
  std::vector<Client>& clients = connections.clients;
  const Clock::time_point now = Clock::now();
  std::erase_if(clients, [&](const Client& client) { return client.deadline <= now; });
  const bool accepts = clients.size() < kMaxClients && connections.accepts_from <= now;
  // Until when to wait if nothing arrives.
  Clock::time_point until = connections.accepts_from > now ? connections.accepts_from : kForever;
  std::vector<pollfd> waits = {{wake_.get(), POLLIN, 0},
                               {accepts ? listener_.get() : -1, POLLIN, 0}};
  for (const Client& client : clients) {
    const short events = client.answer.empty() ? POLLIN : POLLOUT;
    waits.push_back({client.socket.get(), events, 0});
    until = std::min(until, client.deadline);
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - now);
  if (::poll(waits.data(), waits.size(), until == kForever ? -1 : static_cast<int>(wait.count())) <
      0) {
    return true;  // interrupted
  }
  if (waits[0].revents != 0) return false;
  for (std::size_t i = clients.size(); i-- > 0;) {
    if (waits[2 + i].revents == 0 || Progress(clients[i])) continue;
    clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (waits[1].revents == 0) return true;
  FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const Clock::time_point then = Clock::now();
  if (socket.is_open()) {
    clients.push_back({std::move(socket), then + std::chrono::milliseconds(kMaxWaitMs)});
  } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
    connections.accepts_from = then + std::chrono::milliseconds(kRetryMs);
  }
  return true;
}

void MetricsServer::Run() {
  Connections connections;
  for (;;) {
    try {
      if (!Step(connections)) return;
    } catch (const std::bad_alloc&) {
      // The session is worth more than its metrics.
      connections.clients.clear();
      connections.accepts_from = Clock::now() + std::chrono::milliseconds(kRetryMs);
    }
  }
}

}  // namespace stemtap::session
