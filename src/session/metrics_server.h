// SPDX-License-Identifier: Apache-2.0
//
// MetricsServer answers HTTP requests for /metrics with the last text that it was given.
//
//   GET /metrics HTTP/1.1    ─►
//                            ◄─  HTTP/1.1 200 OK ... stemtap_launches_observed_total 816000
//
// It accepts GET and HEAD of this path and nothing else, and closes each connection after its
// answer. Nothing of the session can be changed through it, and its thread touches nothing of the
// session except the text. See docs/design/metrics.md.
//
// THREADS: one caller, and one thread of its own, which blocks the signals that its creator blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace stemtap::session {

// ListenAddress is where a server listens.
struct ListenAddress {
  std::string host;        // a name, an IPv4 address, or an IPv6 address without brackets
  std::uint16_t port = 0;  // 0: any free port
};

// Parses "HOST:PORT", "[IPV6]:PORT" or ":PORT", whose host is 127.0.0.1: other machines can connect
// only if the user names an address that they can reach. The error says what was expected.
Result<ListenAddress> ParseListenAddress(std::string_view text);

class MetricsServer {
 public:
  // Descriptors that clients may take from rings. Further clients wait in the backlog.
  static constexpr std::size_t kMaxClients = 16;
  static constexpr std::size_t kMaxRequestBytes = 8192;
  // A client that has not sent its request, or not taken its answer, after this time is
  // disconnected, so that clients that hang do not keep others waiting. Prometheus gives up after
  // 10 s by default.
  static constexpr int kMaxWaitMs = 2000;

  // Listens at the address and starts the thread. Names are looked up in /etc/hosts and DNS.
  static Result<std::unique_ptr<MetricsServer>> Open(const std::string& address);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  // Closes all connections and ends the thread.
  ~MetricsServer();

  // The address in use, with the port that was chosen: "127.0.0.1:9464" or "[::1]:9464".
  const std::string& address() const { return address_; }

  // Serves `text` from now on.
  void Serve(std::string text);

 private:
  struct Client;
  struct Connections;

  MetricsServer(FileDescriptor listener, FileDescriptor wake, std::string address)
      : listener_(std::move(listener)), wake_(std::move(wake)), address_(std::move(address)) {}
  void Run();
  // Waits for the next event and handles it. Returns false if the thread is to end.
  bool Step(Connections& connections) const;
  std::shared_ptr<const std::string> text() const;
  std::string Answer(std::string_view request) const;
  // Returns false if the connection is over.
  bool Progress(Client& client) const;

  const FileDescriptor listener_;
  const FileDescriptor wake_;  // an eventfd: readable when the thread is to end
  const std::string address_;
  mutable std::mutex mutex_;  // guards text_
  std::shared_ptr<const std::string> text_ = std::make_shared<const std::string>();
  std::thread thread_;
};

}  // namespace stemtap::session
