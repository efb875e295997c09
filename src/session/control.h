// SPDX-License-Identifier: Apache-2.0
//
// A running session takes commands from other processes through a socket in its directory. A client
// connects, sends one line, and reads one line:
//
//   snapshot default /jobs/stemtap-python-4242-snapshot    ─►
//                            ◄─  ok /jobs/stemtap-python-4242-snapshot
//                            ◄─  error /jobs: cannot be written: No space left on device
//   stop                     ─►
//                            ◄─  ok off on 2 off 1 changing 0
//
// Whoever may write into the directory may control the session. The socket is removed at the end;
// a killed collector leaves one that refuses connections.
//
// See docs/formats/control.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/directory.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "session/session_directory.h"

namespace stemtap::session {

// Where the snapshot goes: the first word of its request.
struct SnapshotPlace {
  std::string_view word;
  SessionPlace place;
};
inline constexpr SnapshotPlace kSnapshotPlaces[] = {
    {"default", SessionPlace::kDefault},
    {"new", SessionPlace::kNamed},
    {"replace", SessionPlace::kReplaced},
};

// ControlServer is the end of the collector.
//
// THREADS: one caller.
class ControlServer {
 public:
  // Connections that have not sent a whole line within this time are closed, so that a client that
  // hangs does not keep a descriptor.
  static constexpr int kMaxWaitMs = 1000;
  // Descriptors that clients may take from rings. Further clients wait in the backlog.
  static constexpr std::size_t kMaxClients = 16;
  // Longest request: a command and a path of PATH_MAX bytes.
  static constexpr std::size_t kMaxRequestBytes = 8192;

  // `directory` must outlive the server.
  static Result<ControlServer> Open(const Directory& directory);
  ControlServer(ControlServer&&) = default;
  ControlServer& operator=(ControlServer&&) = delete;
  ~ControlServer();

  // Answers the requests that have arrived, without waiting. `handle` gets the request without its
  // line end; its result is sent after "ok ", or its error after "error ".
  void Poll(const std::function<Result<std::string>(std::string_view request)>& handle);

 private:
  struct Client {
    FileDescriptor socket;
    std::string request;
    double since_ms = 0.0;
  };

  ControlServer(const Directory& directory, FileDescriptor socket)
      : directory_(&directory), socket_(std::move(socket)) {}
  void Accept();

  const Directory* directory_;
  FileDescriptor socket_;
  std::vector<Client> clients_;
};

// Maximum time that a client waits for an answer. A snapshot of 4,000 kernels takes half a second;
// a collector that is stopped (SIGSTOP) never answers.
inline constexpr int kMaxAnswerS = 60;

// Sends a request to the session in `path` and returns its answer. Fails if the request has a line
// end, or if no collector answers: the session has ended, or its collector was killed or is
// stopped.
Result<std::string> SendRequest(const std::string& path, const std::string& request);

// Sends `request`, which starts or stops recording, and waits until the processes have followed.
// Returns the state of the recording (docs/formats/control.md). Fails if a process does not follow.
Result<std::string> SwitchRecording(const std::string& path, const std::string& request);

// Returns the directory of the session that records process `pid`. Fails if there is none.
Result<std::string> SessionOfProcess(std::int32_t pid);

// Starts the recording of process `pid`, which waits for it (STEMTAP_PAUSED). `variables`,
// NAME=VALUE, replace variables of its environment. Returns the directory of its session. Fails if
// the process does not wait, or with the reason why it does not record.
Result<std::string> WakeProcess(std::int32_t pid, const std::vector<std::string>& variables);

// Returns whether a collector accepts requests for the session in `path`.
bool IsControlled(const std::string& path);

}  // namespace stemtap::session
