// SPDX-License-Identifier: Apache-2.0
//
// BackgroundMember is a member of a job for a live run: its own thread talks to the server, so
// that the collector never waits for it, except at the end, for some seconds.
//
// THREADS: Direct, Start and Leave are called by one thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "fleet/member.h"
#include "online/director.h"

namespace stemtap::fleet {

class BackgroundMember : public online::Director {
 public:
  explicit BackgroundMember(std::unique_ptr<Member> member) : member_(std::move(member)) {}
  ~BackgroundMember() override;

  // Starts the thread, with all signals blocked. Call it before Direct.
  void Start();

  // Hands the report to the thread, and returns the newest directions. A report that the thread has
  // not taken yet is replaced.
  std::optional<online::Directions> Direct(std::span<const online::KernelReport> kernels,
                                           bool has_ended) override;

  // Sends the last report and ends the thread. Then as Member::Leave.
  Status Leave(const std::string& folder);

 private:
  // A copy of what a report refers to.
  struct Kernel {
    model::KernelId id;
    stats::LogSketch durations;
    std::vector<online::Capture> captures;
    std::vector<online::Cluster> clusters;
    stats::Correlations correlations;
    std::optional<stats::LogSketch> before;
  };
  struct Report {
    std::vector<Kernel> kernels;
    bool has_ended = false;
  };

  void Run();
  void Stop();

  std::unique_ptr<Member> member_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::optional<Report> report_;  // not taken by the thread yet
  std::optional<online::Directions> directions_ = online::Directions();
  bool stops_ = false;
};

}  // namespace stemtap::fleet
