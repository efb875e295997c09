// SPDX-License-Identifier: Apache-2.0
//
// Supervisor answers system calls of a process and its descendants with an error, as the filters of
// containers and the limits of a system do, and counts how often it did: a fault that nobody met has
// not been tried.
//
//   Supervisor supervisor({.families = 1u << 3});
//   fork: in the child  supervisor.Submit();       then exec
//         in the parent supervisor.Begin();
//   ... supervisor.End();  supervisor.refused()
//
// THREADS: one of its own between Begin and End; the rest from one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace stemtap::chaos {

struct Refusals {
  // Bit n: the calls of family n (see supervisor.cpp) are refused.
  std::uint64_t families = 0;
  // So many threads and processes can be started, then no more (EAGAIN, as at RLIMIT_NPROC). The
  // first thread beside its own that a program other than stemtap starts does not count: CUPTI's.
  std::optional<std::uint64_t> starts;
};

class Supervisor {
 public:
  static constexpr int kFamilies = 10;

  // Throws if there can be no socket.
  explicit Supervisor(const Refusals& refusals);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Whether this system can do it.
  static bool Works();

  // In the child, before exec: from here on the calls are refused. False if there can be no filter.
  bool Submit();
  // In the parent, once the child was started. False if it did not submit.
  bool Begin();
  void End();

  // How often each call was refused. REQUIRES: End was called.
  const std::map<std::string, int>& refused() const { return refused_; }

 private:
  void Serve();
  bool MayStart(int thread, std::uint64_t flags);

  Refusals refusals_;
  int sockets_[2] = {-1, -1};
  int listener_ = -1;
  std::atomic<bool> ended_{false};
  std::thread server_;
  std::map<std::string, int> refused_;
  std::uint64_t started_ = 0;
};

}  // namespace stemtap::chaos
