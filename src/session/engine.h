// SPDX-License-Identifier: Apache-2.0
//
// Engine is the one path from launches to a plan, live or replayed: launches go in, in launch
// order, and it forms epochs, runs the sampler on them, and writes the mask as decisions fall.
//
//   Push ─► group ─► gate (only where none was asked at the launch) ─► lag ─► epoch ─►
//   OnlineSampler ─► mask
//             └► excluded: counted, and part of the histories of its stream, nothing else
//
// Who asks the gate: with a live gate (--level gate) the traced process asked it at each launch and
// the records say what it answered. Else the engine asks the same table here, when the launch goes
// in, and holds its duration back for `lag` launches, as live feedback would. Durations-only live
// use is a lag of 0.
//
// THREADS: one caller. Epochs fan out to the pool inside.
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

namespace stemtap {

enum class GateAsked { kAtLaunch, kByEngine };

// Whether a capture is only noted, or slows the launch that is captured: then the durations of such
// launches, and of those that ran beside them, are not native (shm::kFlagPerturbed).
enum class Captures { kNoted, kForReal };

class Engine {
 public:
  // All referenced objects must outlive the engine. REQUIRES: KernelGroups::Create takes
  // options.exclude (a pattern that it refuses excludes nothing).
  Engine(const SamplingOptions& options, shm::GateTable& gate, GateAsked asked, std::uint64_t lag,
         WorkerPool& pool, MaskWriter& mask, Captures captures = Captures::kNoted);

  // Notes a point whenever samples are allocated anew. Must outlive the engine.
  void KeepTimeline(Timeline* timeline) { timeline_ = timeline; }

  // The id under which Push expects launches of the kernel `name`; `pid` where it is a kernel of that
  // process alone.
  std::uint32_t AddKernel(std::string_view name, std::int32_t pid = 0) {
    return sampler_.AddName(name, pid);
  }

  // One launch; record.name_id is an AddKernel id. Calls must come in launch order. `process` tells
  // apart those whose devices and streams are numbered alike. Returns false if the run's durations
  // would exceed RunTime::kMaxNs: the launch is then skipped, and the caller counts it.
  bool Push(const shm::KernelRecord& record, std::uint16_t process = 0);

  // A launch whose duration will never be known: it keeps its index, its occurrence and its place in
  // the history of its stream, and is no part of anything else.
  void Skip(const shm::KernelRecord& record, std::uint16_t process = 0);

  // Works off what is held back, ends the sampler and returns the plan. Call once.
  Plan Finish();

  std::uint64_t launches() const { return launches_; }  // those excluded too
  // Of these, launches of a graph timed as one.
  std::uint64_t graph_launches() const { return graph_launches_; }
  const ExcludedTotals& excluded() const { return groups_.excluded(); }
  // Excluded launches that a live gate let a tracer capture, before it knew. Not in the plan.
  std::uint64_t excluded_captured() const { return excluded_captured_; }
  const SamplerStatus& status() const { return sampler_.status(); }
  // Fills in what the overview says of launches and kernels.
  void Describe(Overview& overview) const;
  // Launches of a process that were captured, those not worked off yet too.
  std::uint64_t captured_of(std::size_t process) const {
    return process < captured_.size() ? captured_[process] : 0;
  }
  // Of all launches pushed, those excluded too.
  std::vector<DeviceTotals> devices() const { return device_use_.Totals(); }

 private:
  // Epochs grow with the stream, from 64 launches (a short program must learn something before it
  // ends) to 8192 (beyond, the cost of an epoch's fixed part no longer shows, and feedback gets
  // later): by count alone, so that decisions do not depend on speed.
  static constexpr std::uint64_t kFirstEpoch = 64;
  static constexpr std::uint64_t kLastEpoch = 8192;
  static constexpr std::uint64_t kEpochShare = 16;

  // With a live gate feedback takes 0.1 to 0.5 s; how many launches that is differs from program to
  // program. Half of the slowest of them: a run of that many ends with more than first sights.
  static constexpr std::uint64_t kLiveObserveFirst = 1024;

  // The streams whose history is remembered: 65,536 take 4 MiB, and no program runs that many at a
  // time. One that makes new streams without end starts over with all histories.
  static constexpr std::size_t kMostStreams = std::size_t{1} << 16;

  shm::LaunchHistory& HistoryOf(const shm::KernelRecord& record, std::uint16_t process);
  std::uint32_t KernelOf(const shm::KernelRecord& record);
  void LeaveOut(const shm::KernelRecord& record, std::uint64_t name_hash);
  bool Slowed(const shm::KernelRecord& record, std::uint16_t process);
  void AskGate(Observation& launch, std::uint32_t name_id);
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
  OnlineSampler sampler_;
  Timeline* timeline_ = nullptr;
  GroupBy group_by_;
  KernelGroups groups_;

  RunTime time_;
  DeviceUse device_use_;
  std::uint64_t launches_ = 0;
  std::uint64_t graph_launches_ = 0;
  std::uint64_t observed_ = 0;
  std::uint64_t epoch_;
  // Launches not yet observed: pending_[head_..], oldest first.
  std::vector<Observation> pending_;
  std::size_t head_ = 0;
  // The two kernels last launched on each (process, device, stream).
  std::unordered_map<std::uint64_t, shm::LaunchHistory> histories_;
  std::uint64_t last_stream_key_ = ~std::uint64_t{0};
  shm::LaunchHistory* last_history_ = nullptr;
  // When the latest launch that was captured for real ran, by (process, device).
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

}  // namespace stemtap
