// SPDX-License-Identifier: Apache-2.0
//
// Member is a collector of a job (src/fleet/job.h). It reports what its sampler has observed, and
// returns what the job's leader wants captured. One member at a time is the leader.
//
// If the server is away, the member keeps the last directions and tries again after a pause, which
// doubles each time. When the launches have doubled since the last contact, and are twice
// AskingPace::observe_first, its sampler decides itself.
//
// THREADS: one caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "fleet/job.h"
#include "fleet/leader.h"
#include "online/director.h"
#include "sampling/sampling_options.h"

namespace stemtap::fleet {

// MEMBERS: the job, what was reported to it, what it answered, and the leader's state.
class Member : public online::Director {
 public:
  // An update has at most so many fields of each kind: the server does nothing else meanwhile. All
  // 500 kernels of a run in one update take it 7 ms (fleet_load).
  static constexpr std::size_t kFieldsAtOnce = 100;

  Member(RedisUrl url, const std::string& job, RunInfo run,
         const sampling::SamplingOptions& options, AskingPace pace);

  // Waits until `runs` runs have entered the job. From now on, Direct waits while the run is ahead
  // of others in the job. Both wait at most some seconds: replays take turns on a few cores, but
  // ranks run side by side.
  void KeepPace(std::uint64_t runs);

  // Enters the job. Fails if the server cannot be reached.
  Status Join();

  std::optional<online::Directions> Direct(std::span<const online::KernelReport> kernels,
                                           bool has_ended) override;

  // Whether this member was the leader at the last exchange.
  bool leads() const { return leader_ != nullptr; }

  // Returns since when and why the run's sampler decided itself; empty if it did not.
  const std::string& alone() const { return alone_; }

  // Stores the files of the session in `folder` in the job, and gives up the lead. Fails if after
  // some seconds, not all that the run knows has reached the server.
  Status Leave(const std::string& folder);

 private:
  using Clock = std::chrono::steady_clock;

  struct Sent {
    std::uint64_t launches = 0;
    std::size_t captures = 0;
  };

  // Adds the kernels that are new to the run.
  void AddKernels(std::span<const online::KernelReport> kernels);
  Status Exchange(std::span<const online::KernelReport> kernels);
  // Whether the sketch of a kernel with so many launches is sent again.
  bool IsReported(std::uint64_t launches, const Sent& sent) const;
  // Returns what the server lacks, or all.
  Update UpdateOf(std::span<const online::KernelReport> kernels, const std::vector<Sent>& sent);
  // Sends an update in parts that keep the server busy for a short time only.
  Result<Answer> Send(Update update);
  // Forgets what the server has, after it has lost something or may have.
  Status StartAgain();
  Status Lead();
  Status Store(const std::map<std::string, std::string>& files);
  // Exchanges again after a failure, for kMaxTried in all.
  Status TryAgain(std::span<const online::KernelReport> kernels);
  // Exchanges until `is_over` returns true, an exchange fails, or for kMaxWait in all.
  template <typename IsOver>
  void Wait(std::span<const online::KernelReport> kernels, const IsOver& is_over);
  online::Directions DirectionsOf(std::size_t kernels) const;

  Job job_;
  RunInfo run_;
  sampling::SamplingOptions options_;
  AskingPace pace_;
  std::vector<std::uint64_t> keys_;  // by kernel
  std::vector<Sent> sent_;           // by kernel: what the server has
  std::uint64_t number_ = 0;         // of the last update
  std::uint64_t confirmed_ = 0;      // of the last update that the server has confirmed
  Update whole_;                     // all that the run knows, when it has ended
  std::uint64_t version_ = 0;
  std::unordered_map<std::uint64_t, online::KernelDirections> directed_;  // by key
  bool has_directions_ = false;
  std::unique_ptr<Leader> leader_;       // null: another run leads
  std::map<std::string, RunInfo> runs_;  // of the job, as far as this leader knows
  std::uint64_t slowest_ = 0;            // Answer::slowest
  std::uint64_t joined_ = 0;             // Answer::runs
  bool keeps_pace_ = false;
  Clock::duration waited_ = {};
  Clock::duration tried_ = {};
  std::uint64_t contact_at_ = 0;  // launches at the last contact
  Clock::time_point next_try_ = {};
  Clock::duration pause_ = {};
  std::optional<Error> problem_;  // of the last exchange
  std::string alone_;
};

}  // namespace stemtap::fleet
