// SPDX-License-Identifier: Apache-2.0
//
// Engine turns launches into a plan, live or replayed. It receives launches in launch order, forms
// epochs and runs the sampler on them.
//
//   Push ─► group ─► gate (only if it was not asked at the launch) ─► EpochQueue (lag, epochs) ─►
//   OnlineSampler ─► observers (mask, timeline)
//             └► excluded: only counted, and added to the history of its stream
//
// With a live gate (--level gate), the traced process asks the gate at each launch and the records
// contain the answers. Otherwise the engine asks the same table when the launch is pushed, and
// delays its duration by `lag` launches, as live feedback would. Live use with durations only has a
// lag of 0.
//
// THREADS: one caller. Epochs run in parallel on the pool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/worker_pool.h"
#include "model/kernel_groups.h"
#include "model/name_table.h"
#include "model/run_time.h"
#include "online/kernel_state.h"
#include "online/online_sampler.h"
#include "session/capture_marks.h"
#include "session/launch_tracker.h"
#include "shm/gate_table.h"
#include "shm/launch_keys.h"
#include "shm/record.h"

namespace stemtap::session {

// EngineObserver receives what the sampler decides, after each epoch. All arguments are valid only
// during the call.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  // `marks`: of the captures.
  virtual void OnDecisions(std::span<const online::MaskEvent>, const model::NameTable&,
                           const CaptureMarks& /*marks*/) {}
  // Called for each new sample allocation.
  virtual void OnAllocation(const online::SamplerStatus&) {}
};

// EpochQueue holds launches until their epoch is due: when the epoch is full and its last launch is
// more than `lag` launches old.
//
// THREADS: one caller.
class EpochQueue {
 public:
  explicit EpochQueue(std::uint64_t lag) : lag_(lag) {}

  // Adds a launch; the reference is valid until the next call.
  online::Observation& Add() { return pending_.emplace_back(); }

  // Returns whether an epoch is due after `launches` launches of the run.
  bool Due(std::uint64_t launches) const {
    return size() >= epoch_ && launches - pending_[head_ + epoch_ - 1].index > lag_;
  }
  bool empty() const { return size() == 0; }
  // Returns the length of the next epoch, except at the end of the run.
  std::uint64_t epoch() const { return epoch_; }

  // Returns the launches of the next epoch; at the end of the run, it may be shorter.
  std::span<const online::Observation> Next() const {
    return std::span(pending_).subspan(head_, std::min<std::size_t>(size(), epoch_));
  }

  // Removes the launches that Next returned.
  void Pop() {
    const std::size_t count = Next().size();
    observed_ += count;
    epoch_ = std::clamp(observed_ / kEpochShare, kMinEpoch, kMaxEpoch);
    head_ += count;
    // The head is removed when it is half of the vector, so each launch moves at most once on
    // average.
    if (head_ * 2 < pending_.size()) return;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }

 private:
  // Epoch sizes grow with the number of launches, from 64 (a short program must learn something
  // before it ends) to 8192 (larger epochs save no measurable time and delay feedback). They depend
  // only on counts, so decisions do not depend on speed.
  static constexpr std::uint64_t kMinEpoch = 64;
  static constexpr std::uint64_t kMaxEpoch = 8192;
  static constexpr std::uint64_t kEpochShare = 16;

  std::size_t size() const { return pending_.size() - head_; }

  std::uint64_t lag_;
  std::uint64_t observed_ = 0;
  std::uint64_t epoch_ = kMinEpoch;
  // Launches not yet observed are pending_[head_..], oldest first.
  std::vector<online::Observation> pending_;
  std::size_t head_ = 0;
};

// PerturbedIntervals finds the launches whose durations are not native because of a capture: the
// captured launch, and launches of other streams that share the device with it.
//
// THREADS: one caller.
class PerturbedIntervals {
 public:
  // 65,536 intervals take 4 MiB, more devices than a session has. If a program keeps changing
  // device numbers, all intervals are cleared.
  static constexpr std::size_t kMaxDevices = std::size_t{1} << 16;

  // Returns whether the launch is perturbed. Call in launch order: launches made before the
  // captured launch have already been passed on.
  bool Add(const shm::KernelRecord& record, std::uint16_t process) {
    const bool captured = (record.flags & shm::kFlagCaptured) != 0;
    // A start that overflows with the duration is damage.
    if (record.start_ns > shm::kUnknownTime - 1 - record.duration_ns) return captured;
    const std::uint64_t end_ns = record.start_ns + record.duration_ns;
    const std::uint32_t key = std::uint32_t{process} << 16 | record.device;
    if (captured) {
      if (latest_.size() >= kMaxDevices) latest_.clear();
      latest_[key] = {record.start_ns, end_ns};
      return true;
    }
    const auto latest = latest_.find(key);
    return latest != latest_.end() && record.start_ns < latest->second.end_ns &&
           latest->second.start_ns < end_ns;
  }

 private:
  struct Interval {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
  };
  std::unordered_map<std::uint32_t, Interval> latest_;  // captured launch, by process and device
};

enum class GateAsked { kAtLaunch, kByEngine };

// Whether a capture is only noted, or perturbs the captured launch. In the second case the
// durations of captured launches and of launches concurrent with them are not native
// (shm::kFlagPerturbed).
enum class Captures { kNoted, kPerturb };

struct LaunchCounts {
  std::uint64_t launches = 0;
  std::uint64_t graph_launches = 0;
  std::uint64_t excluded_captured = 0;
  std::uint64_t unobserved = 0;         // part of launches
  std::vector<std::uint64_t> captured;  // by process

  void AddCapture(std::uint16_t process) {
    if (process >= captured.size()) captured.resize(std::size_t{process} + 1, 0);
    ++captured[process];
  }
};

// MEMBERS: one for each step from a launch to an epoch.
class Engine {
 public:
  // Launches that a live run observes before the first capture by credit. Live feedback takes 0.1
  // to 0.5 s; the number of launches in that time differs by program. This is half of that number
  // for the slowest programs, so a run of that length ends with more than exploratory captures.
  static constexpr std::uint64_t kLiveObserveFirst = 1024;

  // All referenced objects must outlive the engine. REQUIRES: KernelGroups::Create accepts
  // options.exclude (an invalid pattern excludes nothing).
  Engine(const sampling::SamplingOptions& options, shm::GateTable& gate, GateAsked asked,
         std::uint64_t lag, WorkerPool& pool, Captures captures = Captures::kNoted);

  // `observer` must outlive the engine.
  void AddObserver(EngineObserver& observer) { observers_.push_back(&observer); }

  // From now on, the sampler follows `director`, which must outlive the engine. An engine that asks
  // the gate itself then makes no exploratory captures, which every run would pay for.
  void SetDirector(online::Director& director) {
    sampler_.SetDirector(&director);
    if (local_gate_) local_gate_->EndExploration();
  }

  // Returns the id that Push expects for launches of the kernel `name`. `pid` is nonzero if the
  // kernel belongs to only that process. `range`: of the launches, if they are grouped by range.
  std::uint32_t AddKernel(std::string_view name, std::int32_t pid = 0,
                          std::string_view range = {}) {
    return sampler_.AddName(name, pid, range);
  }

  // Returns the names of the AddKernel ids.
  const model::NameTable& names() const { return sampler_.names(); }

  // Adds one launch; record.name_id is an AddKernel id. Call in launch order. `process`
  // distinguishes processes whose devices and streams have the same numbers. Returns false if the
  // total duration of the run would exceed RunTime::kMaxNs; the launch is then skipped, and the
  // caller counts it. `mark`: of a captured launch.
  bool Push(const shm::KernelRecord& record, std::uint16_t process = 0, const NamedMark& mark = {});

  // Adds a launch whose duration will never be known. It advances the launch index, the kernel's
  // occurrence count and the history of its stream, and has no other effect.
  void Skip(const shm::KernelRecord& record, std::uint16_t process = 0);

  // Counts a launch that is not observed. It has the effect of Skip, and a place in the plan's
  // totals.
  void CountOnly(const shm::KernelRecord& record, std::uint16_t process) {
    ++counts_.unobserved;
    Skip(record, process);
  }

  // Sets how many launches the caller holds beyond the next one that it pushes. Decisions are
  // published after the last epoch of these launches, so that a live gate does not capture by what
  // was known in the middle of a batch.
  void SetAtHand(std::size_t launches) { at_hand_ = launches; }

  // Reports that the program has ended, so that a live gate captures no launch any more. An engine
  // that asks the gate itself captures launches as they are pushed, until Finish.
  void EndCaptures() {
    if (!local_gate_) sampler_.EndCaptures();
  }

  // Processes pending launches, ends the sampler and returns the plan. Call once per window.
  model::Plan Finish();

  // Begins another window of the run, after Finish. Launches keep their numbers: the launches so
  // far count as not observed in the new window.
  void StartOver();

  // Ended is a sampler that has ended, and its plan.
  struct Ended {
    online::OnlineSampler sampler;
    model::Plan plan;
  };
  // Returns what Finish would leave if the program had ended now, and reports the decisions that
  // Finish would report to `observer`. Changes nothing. Takes as much memory as the sampler.
  Ended EndNow(EngineObserver& observer) const;

  std::uint64_t launches() const { return counts_.launches; }  // including excluded launches
  // Launches of a graph timed as one; part of launches().
  std::uint64_t graph_launches() const { return counts_.graph_launches; }
  const model::ExcludedTotals& excluded() const { return groups_.excluded(); }
  // Excluded launches that were captured before the live gate learned of the exclusion. Not in the
  // plan.
  std::uint64_t excluded_captured() const { return counts_.excluded_captured; }
  // Returns whether --exclude leaves out the kernel with this AddKernel id.
  bool IsExcluded(std::uint32_t name_id) { return groups_.Excludes(name_id, sampler_.names()); }
  // Adds what a user should know about the gate. Call after Finish.
  void AddWarnings(std::vector<std::string>& warnings) const;
  // Whether the gate is asked at the launch, so that records contain its answers.
  bool has_live_gate() const { return !local_gate_; }
  // Returns the highest number of credits ever granted to a gate slot in total.
  std::uint32_t MostGranted(std::uint32_t slot) const { return sampler_.MostGranted(slot); }
  const online::SamplerStatus& status() const { return sampler_.status(); }
  const online::OnlineSampler& sampler() const { return sampler_; }
  // Fills in the launches and kernels of the overview, from this engine's sampler or from `sampler`
  // of EndNow.
  void Describe(model::Overview& overview) const { Describe(sampler_, overview); }
  void Describe(const online::OnlineSampler& sampler, model::Overview& overview) const;
  // Returns the number of captured launches of a process, including pending ones.
  std::uint64_t captured_of(std::size_t process) const {
    return process < counts_.captured.size() ? counts_.captured[process] : 0;
  }

 private:
  std::uint32_t KernelOf(const shm::KernelRecord& record);
  // Returns the id of the name that the plan lists launches of `name_id` under: the same name or,
  // grouped by function, the function.
  std::uint32_t PlanName(std::uint32_t name_id);
  void LeaveOut(const shm::KernelRecord& record, std::uint64_t name_hash);
  void RunEpoch();
  // Passes an epoch to `sampler`.
  void Observe(std::span<const online::Observation> epoch, online::Publish publish,
               online::OnlineSampler& sampler) const;
  // Adds what the sampler does not know to its plan.
  void Complete(model::Plan& plan) const;
  void ReportDecisions();

  sampling::SamplingOptions options_;
  shm::GateTable& gate_;
  std::optional<LocalGate> local_gate_;          // if the gate is asked by the engine
  std::optional<PerturbedIntervals> perturbed_;  // if captures perturb launches
  WorkerPool& pool_;
  online::OnlineSampler sampler_;
  std::vector<EngineObserver*> observers_;
  model::KernelGroups groups_;
  std::vector<std::uint32_t> functions_;  // by name id: PlanName, if grouped by function
  std::vector<bool> is_name_of_kernel_;   // by name id: the sampler knows its kernel, likewise
  model::RunTime time_;
  LaunchCounts counts_;
  model::OccurrenceCounter occurrences_;
  LaunchTracker tracker_;
  CaptureMarks marks_;
  std::uint64_t lag_;
  EpochQueue queue_;
  std::size_t at_hand_ = 0;
};

}  // namespace stemtap::session
