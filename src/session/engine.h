// SPDX-License-Identifier: Apache-2.0
//
// Engine turns launches into a plan, live or replayed. It receives launches in launch order, forms
// epochs, runs the sampler on them, and writes the mask as decisions are made.
//
//   Push ─► group ─► gate (only if it was not asked at the launch) ─► lag ─► epoch ─►
//   OnlineSampler ─► mask
//             └► excluded: only counted, and added to the history of its stream
//
// With a live gate (--level gate), the traced process asks the gate at each launch and the records
// contain the answers. Otherwise the engine asks the same table when the launch is pushed, and
// delays its duration by `lag` launches, as live feedback would. Live use with durations only has a
// lag of 0.
//
// THREADS: one caller. Epochs run in parallel on the pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/worker_pool.h"
#include "model/run_time.h"
#include "online/online_sampler.h"
#include "session/device_use.h"
#include "session/mask_writer.h"
#include "session/timeline.h"
#include "shm/context_key.h"
#include "shm/gate_table.h"
#include "shm/launch_draw.h"

namespace stemtap::session {

enum class GateAsked { kAtLaunch, kByEngine };

// Whether a capture is only noted, or slows the captured launch. In the second case the durations
// of captured launches and of launches concurrent with them are not native (shm::kFlagPerturbed).
enum class Captures { kNoted, kForReal };

class Engine {
 public:
  // All referenced objects must outlive the engine. REQUIRES: KernelGroups::Create accepts
  // options.exclude (an invalid pattern excludes nothing).
  Engine(const sampling::SamplingOptions& options, shm::GateTable& gate, GateAsked asked,
         std::uint64_t lag, WorkerPool& pool, MaskWriter& mask,
         Captures captures = Captures::kNoted);

  // Adds a point to `timeline` for each new sample allocation. `timeline` must outlive the engine.
  void KeepTimeline(Timeline* timeline) { timeline_ = timeline; }

  // Returns the id that Push expects for launches of the kernel `name`. `pid` is nonzero if the
  // kernel belongs to only that process.
  std::uint32_t AddKernel(std::string_view name, std::int32_t pid = 0) {
    return sampler_.AddName(name, pid);
  }

  // Adds one launch; record.name_id is an AddKernel id. Call in launch order. `process`
  // distinguishes processes whose devices and streams have the same numbers. Returns false if the
  // total duration of the run would exceed RunTime::kMaxNs; the launch is then skipped, and the
  // caller counts it.
  bool Push(const shm::KernelRecord& record, std::uint16_t process = 0);

  // Adds a launch whose duration will never be known. It advances the launch index, the kernel's
  // occurrence count and the history of its stream, and has no other effect.
  void Skip(const shm::KernelRecord& record, std::uint16_t process = 0);

  // Processes pending launches, ends the sampler and returns the plan. Call once.
  model::Plan Finish();

  std::uint64_t launches() const { return launches_; }  // including excluded launches
  // Launches of a graph timed as one; part of launches().
  std::uint64_t graph_launches() const { return graph_launches_; }
  const model::ExcludedTotals& excluded() const { return groups_.excluded(); }
  // Excluded launches that were captured before the live gate learned of the exclusion. Not in the
  // plan.
  std::uint64_t excluded_captured() const { return excluded_captured_; }
  const online::SamplerStatus& status() const { return sampler_.status(); }
  // Fills in the launches and kernels of the overview.
  void Describe(model::Overview& overview) const;
  // Returns the number of captured launches of a process, including pending ones.
  std::uint64_t captured_of(std::size_t process) const {
    return process < captured_.size() ? captured_[process] : 0;
  }
  // Totals over all pushed launches, including excluded ones.
  std::vector<DeviceTotals> devices() const { return device_use_.Totals(); }

 private:
  // Epoch sizes grow with the number of launches, from 64 (a short program must learn something
  // before it ends) to 8192 (larger epochs save no measurable time and delay feedback). They depend
  // only on counts, so decisions do not depend on speed.
  static constexpr std::uint64_t kFirstEpoch = 64;
  static constexpr std::uint64_t kLastEpoch = 8192;
  static constexpr std::uint64_t kEpochShare = 16;

  // Live feedback takes 0.1 to 0.5 s; the number of launches in that time differs by program. This
  // is half of that number for the slowest programs, so a run of that length ends with more than
  // exploratory captures.
  static constexpr std::uint64_t kLiveObserveFirst = 1024;

  // Maximum streams with a remembered history: 65,536 take 4 MiB, more than any program uses at a
  // time. If a program keeps creating streams, all histories are cleared.
  static constexpr std::size_t kMostStreams = std::size_t{1} << 16;

  shm::LaunchHistory& HistoryOf(const shm::KernelRecord& record, std::uint16_t process);
  std::uint32_t KernelOf(const shm::KernelRecord& record);
  void LeaveOut(const shm::KernelRecord& record, std::uint64_t name_hash);
  bool Slowed(const shm::KernelRecord& record, std::uint16_t process);
  void AskGate(online::Observation& launch, std::uint32_t name_id);
  void RunDueEpochs();
  void RunEpoch(std::size_t count);
  std::uint64_t NextEpoch() const;

  GateAsked asked_;
  Captures captures_;
  std::uint64_t lag_;
  shm::GateTable& gate_;
  shm::LaunchDraws draws_;  // by launch index (kByEngine only)
  WorkerPool& pool_;
  MaskWriter& mask_;
  online::OnlineSampler sampler_;
  Timeline* timeline_ = nullptr;
  model::GroupBy group_by_;
  model::KernelGroups groups_;

  model::RunTime time_;
  DeviceUse device_use_;
  std::uint64_t launches_ = 0;
  std::uint64_t graph_launches_ = 0;
  std::uint64_t observed_ = 0;
  std::uint64_t epoch_;
  // Launches not yet observed are pending_[head_..], oldest first.
  std::vector<online::Observation> pending_;
  std::size_t head_ = 0;
  // The last two kernels launched on each (process, device, stream).
  std::unordered_map<std::uint64_t, shm::LaunchHistory> histories_;
  std::uint64_t last_stream_key_ = ~std::uint64_t{0};
  shm::LaunchHistory* last_history_ = nullptr;
  // Interval of the latest launch perturbed by its capture, by (process, device).
  struct Interval {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
  };
  std::unordered_map<std::uint32_t, Interval> tracing_;
  // By name id.
  std::vector<std::uint64_t> occurrences_;
  std::vector<bool> explored_;  // had its exploratory capture (kByEngine only)
  std::uint64_t excluded_captured_ = 0;
  std::vector<std::uint64_t> captured_;  // by process
};

}  // namespace stemtap::session
