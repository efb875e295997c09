// SPDX-License-Identifier: Apache-2.0
//
// Supervisor makes system calls of a process and its descendants fail, as container filters and
// system limits do. It counts the failures, because a fault that never occurred was not tested.
//
//   Supervisor supervisor({.families = 1u << 3});
//   fork: in the child  supervisor.Submit();       then exec
//         in the parent supervisor.Begin();
//   ... supervisor.End();  supervisor.refused()
//
// THREADS: one caller. Runs its own thread between Begin and End.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace stemtap::chaos {

struct Refusals {
  // If bit n is set, the calls of family n (see supervisor.cpp) fail.
  std::uint64_t families = 0;
  // Number of threads and processes that can be started; later starts fail with EAGAIN, as at
  // RLIMIT_NPROC. The first additional thread of a program other than stemtap does not count,
  // because it is CUPTI's.
  std::optional<std::uint64_t> starts;
};

class Supervisor {
 public:
  static constexpr int kFamilies = 10;

  // Throws if the socket cannot be created.
  explicit Supervisor(const Refusals& refusals);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Returns whether this system supports supervision.
  static bool Works();

  // Makes the calls fail from now on. Call it in the child before exec. Returns false if the filter
  // cannot be installed.
  bool Submit();
  // Starts to supervise. Call it in the parent after the child has started. Returns false if the
  // child did not submit.
  bool Begin();
  void End();

  // Returns how often each call failed. REQUIRES: End was called.
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
