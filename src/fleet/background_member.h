// SPDX-License-Identifier: Apache-2.0
//
// BackgroundMember is a member of a job for a live run: its own thread talks to the server, so
// that the collector never waits for it, except at the end, for some seconds. The thread also
// enters the job, whose server may start later, or be slow.
//
// THREADS: Direct, Start and Leave are called by one thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
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
  using Enter = std::function<Result<std::unique_ptr<Member>>()>;
  using Report = std::function<void(const Error&)>;

  explicit BackgroundMember(std::unique_ptr<Member> member) : member_(std::move(member)) {}
  // The thread calls `enter` until it succeeds. Meanwhile, nothing is captured. If it fails for
  // kMaxFind, or until the run ends, the thread calls `fail`, and the sampler decides itself.
  BackgroundMember(Enter enter, Report fail) : enter_(std::move(enter)), fail_(std::move(fail)) {}
  ~BackgroundMember() override;

  // Starts the thread, with all signals blocked. Call it before Direct.
  void Start();

  // Hands the report to the thread, and returns the newest directions. A report that the thread has
  // not taken yet is replaced.
  std::optional<online::Directions> Direct(std::span<const online::KernelReport> kernels,
                                           bool has_ended) override;

  // Sends the last report and ends the thread. Then as Member::Leave; succeeds if `fail` was
  // called.
  Status Leave(const std::string& folder);
  // Whether the run was in the job. REQUIRES: it has left.
  bool has_entered() const { return member_ != nullptr; }
  // As Member::alone. REQUIRES: the run has left the job.
  std::string alone() const { return member_ == nullptr ? std::string() : member_->alone(); }

 private:
  // A copy of what a report refers to.
  struct Kernel {
    model::KernelId id;
    stats::LogSketch durations;
    std::vector<online::Capture> captures;
    std::vector<online::Cluster> clusters;
    stats::Correlations correlations;
    std::optional<stats::LogSketch> before;
    bool imputes = false;
  };
  struct Kernels {
    std::vector<Kernel> kernels;
    bool has_ended = false;
  };

  void Run();
  // Returns whether the run is in the job.
  bool EnterJob();
  void Stop();

  Enter enter_;
  Report fail_;
  std::unique_ptr<Member> member_;  // null: not in the job; set by the thread
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::optional<Kernels> report_;  // not taken by the thread yet
  std::optional<online::Directions> directions_ = online::Directions();
  bool stops_ = false;
};

}  // namespace stemtap::fleet
