// SPDX-License-Identifier: Apache-2.0
//
// OnlineSampler decides, while launches stream past, which are still worth capturing. It keeps a
// KernelState per kernel, allocates samples over all clusters from time to time, and hands the gate
// credits for the clusters that are short.
//
// It works in epochs, runs of consecutive observations chosen by the caller by count, never by
// time:
//
//   Begin(batch)      sorts the observations by kernel
//   UpdateKernel(i)   for i < touched(), in any order, on any threads: each is one kernel's business
//   Commit(parallel)  settles captures, allocates when due, publishes credits, collects events
//
// GUARANTEE  The same observations in the same epochs give the same gate, events and plan, bit for
// bit, whatever ran UpdateKernel.
//
// INVARIANT  A capture in flight is a spent credit: the captures of a line that have come back, and its
// credits that are open or in flight, never exceed what its clusters needed when the credits were
// granted, plus the captures given up as lost.
//
// THREADS: only UpdateKernel may run concurrently with itself, for different i.  UNITS: ns.
// SOURCE: docs/math/online.md, docs/math/online-bound.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "model/name_table.h"
#include "model/overview.h"
#include "model/plan.h"
#include "online/collapse.h"
#include "online/kernel_state.h"
#include "sampling/plan_builder.h"
#include "sampling/sampling_options.h"
#include "shm/gate_table.h"

namespace stemtap {

enum class MaskEventKind { kCapture, kClose, kReopen, kTopUp };

// One line of mask.ndjson; see docs/formats/mask.md.
struct MaskEvent {
  MaskEventKind kind;
  std::uint64_t index;       // launch index: of the capture, or of the latest launch known
  std::uint32_t kernel;      // its name's id
  std::uint64_t occurrence;  // of the capture; of the latest launch of the kernel otherwise
  std::uint64_t cluster;     // ordinal, ascending by duration
  std::uint64_t time_ns;     // start of that launch, by the recorder's clock
  bool imputed = false;      // the capture was made for real: its duration is that of its like
};

// What the progress line and session.json show.
struct SamplerStatus {
  std::uint64_t observed = 0;
  std::uint64_t duration_ns = 0;  // native, or imputed as of the last allocation
  std::uint64_t captured = 0;
  std::uint64_t captured_duration_ns = 0;  // as duration_ns
  std::uint64_t zero_duration = 0;
  std::uint64_t kernels = 0;
  std::uint64_t clusters_open = 0;
  std::uint64_t clusters_closed = 0;
  double bound = 0.0;  // of what has been captured so far; uncovered time counts in full
  std::uint64_t contexts_refused = 0;  // contexts that the gate table had no room for
  std::uint64_t slots_refused = 0;     // clusters that the gate table had no slot for
  std::uint64_t slowed = 0;            // launches that were captured for real, or ran beside such
  std::uint64_t slowed_beside = 0;     // ... beside such
};

class OnlineSampler {
 public:
  // Publishes into `gate`, which must outlive the sampler and belongs to it alone as writer.
  // Nothing but first sights is captured before `observe_first` launches have been observed.
  // `perturbed`: captures are made for real, and launches that these slow come with
  // shm::kFlagPerturbed.
  OnlineSampler(const SamplingOptions& options, shm::GateTable& gate,
                std::uint64_t observe_first = 0, bool perturbed = false);

  // The id of `name` in names(), of the process `pid` alone where that is given.
  std::uint32_t AddName(std::string_view name, std::int32_t pid = 0) {
    return names_.Intern(name, pid);
  }
  const NameTable& names() const { return names_; }
  // A kernel: all launches of a name, or, where `config` is given, those of one configuration. Ids
  // are given in order.
  std::uint32_t AddKernel(std::uint32_t name_id, const shm::LaunchConfig* config);
  // The id of the kernel that is all launches of `name`. REQUIRES: kernels are added in no other
  // way.
  std::uint32_t AddKernel(std::string_view name);
  std::size_t kernels() const { return kernels_.size(); }

  void Begin(std::span<const Observation> batch);
  std::size_t touched() const { return touched_.size(); }
  void UpdateKernel(std::size_t i);
  void Commit(const ParallelFor& parallel = Serially);

  // Events of the last Commit (or Finish), in order.
  const std::vector<MaskEvent>& events() const { return events_; }
  const SamplerStatus& status() const { return status_; }

  // Whether the last Commit allocated samples anew.
  bool allocated() const { return allocate_now_; }

  // Fills in what is known of launches and kernels, as of the last Commit (or Finish, whose plan then
  // has the clusters: TakeClusters). Not between Begin and Commit.
  void Describe(Overview& overview) const;

  // The plan of everything observed. Clusters without a capture are joined to a neighbor (JoinStrata)
  // or left uncovered. Uncovered clusters are listed as top_up events, except those whose names are on
  // the deny list. Call once, at the end.
  Plan Finish(const ParallelFor& parallel = Serially);

 private:
  struct Touched {
    std::uint32_t kernel;
    std::uint32_t first;  // into order_
    std::uint32_t count;
  };

  bool AllocationDue() const;
  void SettleCaptures();
  void Allocate(const ParallelFor& parallel, bool last);
  // Captures that count: those by credit that are not outlived, or all (at the end).
  enum class Standing { kCurrent, kAll };
  // The clusters of a kernel, those without captures joined to others. `bias_ns`: see JoinStrata.
  std::vector<JointStratum> JoinedOf(const KernelState& kernel, Standing standing,
                                     double& bias_ns) const;
  // Captured time per capture of a cluster.
  double PriceOf(const KernelState& kernel, std::size_t cluster) const;
  // The fewest captures that a cluster needs.
  std::uint64_t Least(const KernelState& kernel, std::size_t cluster) const;
  // Whether the captures made so far meet the error bound.
  bool Enough() const;
  // Cuts the kernels into clusters. Returns the best cut; kernels may keep the cut that they have.
  WorkloadStrata CutAll(const ParallelFor& parallel);
  void CutKernel(KernelState& kernel, std::span<const StratumRange> strata) const;
  void Hold();
  // Sets how many captures each cluster needs. `planned_ns`: captured time of the best cut.
  void SetTargets(double planned_ns);
  void Release();
  std::uint64_t FirstRelease() const;
  bool Waiting() const;
  void Supplement(bool enough);
  void SetStatus();
  void UpdateStanding(std::uint32_t id);
  void GiveUpLost(CreditLine& line) const;
  void PublishKernel(std::uint32_t id);
  std::uint32_t SlotOf(KernelState& kernel, std::size_t line);
  void SetCredits(KernelState& kernel);
  void Emit(MaskEventKind kind, std::uint32_t kernel, std::size_t cluster);

  SamplingOptions options_;
  ErrorTarget target_;
  shm::GateTable& gate_;
  std::uint64_t observe_first_;
  bool perturbed_;
  NameTable names_;
  std::deque<KernelState> kernels_;

  // The epoch in hand.
  std::span<const Observation> batch_;
  std::vector<std::uint32_t> order_;  // batch positions, grouped by kernel
  std::vector<Touched> touched_;
  std::vector<std::uint32_t> batch_counts_;  // by kernel, zero between epochs
  bool allocate_now_ = false;

  // An allocation is due at this many observations, or at this much of their time.
  std::uint64_t next_allocation_ = 0;
  std::uint64_t next_allocation_ns_ = 0;
  double supplemented_ns_ = 0.0;
  double multiplier_ = 0.0;          // where the last search for the strata ended
  std::uint64_t cuts_observed_ = 0;  // launches observed when cuts were last looked for
  std::uint32_t next_slot_ = 1;
  std::uint64_t last_index_ = 0;
  std::uint64_t last_time_ns_ = 0;
  std::vector<MaskEvent> events_;
  SamplerStatus status_;
};

}  // namespace stemtap
