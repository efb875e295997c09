// SPDX-License-Identifier: Apache-2.0
//
// OnlineSampler decides during the run which launches are still worth capturing. It keeps a
// KernelState per kernel, allocates samples over all clusters from time to time, and grants the
// gate credits for clusters that need captures.
//
// It works in epochs. An epoch is a sequence of consecutive observations; the caller chooses its
// length by count, never by time:
//
//   Begin(batch)      sorts the observations by kernel
//   UpdateKernel(i)   for i < touched(), in any order, on any threads; each call updates one kernel
//   Commit(parallel)  settles captures, allocates if due, publishes credits, collects events
//
// GUARANTEE  The same observations in the same epochs give the same gate, events, and plan, bit for
// bit, independent of the threads that run UpdateKernel.
//
// INVARIANT  For each line, returned captures + open credits + captures in flight never exceed what
// its clusters needed when the credits were granted, plus the captures written off as lost.
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
#include "online/credit_ledger.h"
#include "online/kernel_state.h"
#include "sampling/plan_builder.h"
#include "sampling/sampling_options.h"
#include "shm/gate_table.h"

namespace stemtap::online {

enum class MaskEventKind { kCapture, kClose, kReopen, kTopUp };

// MaskEvent is one line of mask.ndjson; see docs/formats/mask.md.
struct MaskEvent {
  MaskEventKind kind;
  std::uint64_t index;       // launch index of the capture, or of the latest known launch
  std::uint32_t kernel;      // name id
  std::uint64_t occurrence;  // of the capture, or of the kernel's latest launch
  std::uint64_t cluster;     // ordinal, ascending by duration
  std::uint64_t time_ns;     // start of that launch, recorder's clock
  bool imputed = false;      // the duration of the capture is imputed
};

// SamplerStatus contains the values for the progress line and session.json.
struct SamplerStatus {
  std::uint64_t observed = 0;
  std::uint64_t duration_ns = 0;  // native, or imputed as of the last allocation
  std::uint64_t captured = 0;
  std::uint64_t captured_duration_ns = 0;  // as duration_ns
  std::uint64_t zero_duration = 0;
  std::uint64_t kernels = 0;
  std::uint64_t clusters_open = 0;
  std::uint64_t clusters_closed = 0;
  double bound = 0.0;                  // of the captures so far; uncovered time counts in full
  std::uint64_t contexts_refused = 0;  // failed attempts to publish a context (gate table full)
  std::uint64_t slots_refused = 0;     // failed attempts to get a gate slot for a credit line
  std::uint64_t slowed = 0;            // perturbed launches
  std::uint64_t slowed_beside = 0;     // perturbed launches that were not captured themselves
};

class OnlineSampler {
 public:
  // Publishes into `gate`, which must outlive the sampler and must have no other writer. Only
  // exploratory captures are made before `observe_first` launches have been observed. `perturbed`:
  // captures perturb launches, and perturbed launches have shm::kFlagPerturbed.
  OnlineSampler(const sampling::SamplingOptions& options, shm::GateTable& gate,
                std::uint64_t observe_first = 0, bool perturbed = false);

  // Returns the id of `name` in names(). If `pid` is given, the name belongs to that process only.
  std::uint32_t AddName(std::string_view name, std::int32_t pid = 0) {
    return names_.Intern(name, pid);
  }
  const model::NameTable& names() const { return names_; }
  // Adds a kernel: all launches of a name or, if `config` is given, of that configuration. Ids are
  // assigned in order.
  std::uint32_t AddKernel(std::uint32_t name_id, const shm::LaunchConfig* config);
  // Returns the id of the kernel that consists of all launches of `name`. REQUIRES: kernels are
  // added only with this function.
  std::uint32_t AddKernel(std::string_view name);
  std::size_t kernels() const { return kernels_.size(); }

  void Begin(std::span<const Observation> batch);
  std::size_t touched() const { return touched_.size(); }
  void UpdateKernel(std::size_t i);
  void Commit(const ParallelFor& parallel = Serially);

  // Events of the last Commit or Finish, in order.
  const std::vector<MaskEvent>& events() const { return events_; }
  const SamplerStatus& status() const { return status_; }

  // Whether the last Commit allocated samples.
  bool allocated() const { return allocate_now_; }

  // Sets the fields of `overview` for launches and kernels as of the last Commit or Finish. After
  // Finish, the plan has the final clusters (TakeClusters). REQUIRES: not between Begin and Commit.
  void Describe(model::Overview& overview) const;

  // Returns the plan of all observations. Clusters without a capture are joined to a neighbor
  // (JoinStrata) or left uncovered. Uncovered clusters are reported as top_up events, except
  // kernels on the deny list. Call once, at the end.
  model::Plan Finish(const ParallelFor& parallel = Serially);

 private:
  struct Touched {
    std::uint32_t kernel;
    std::uint32_t first;  // into order_
    std::uint32_t count;
  };

  bool AllocationDue() const;
  void SettleCaptures();
  void Allocate(const ParallelFor& parallel, bool last);
  // The captures that count: by credit and not outlived, or all (at the end).
  enum class Standing { kCurrent, kAll };
  // Joins the clusters of a kernel without captures to others. `bias_ns`: see JoinStrata.
  std::vector<JointStratum> JoinedOf(const KernelState& kernel, Standing standing,
                                     double& bias_ns) const;
  // Returns the captured time per capture of a cluster.
  double PriceOf(const KernelState& kernel, std::size_t cluster) const;
  // Returns the minimum number of captures of a cluster.
  std::uint64_t Least(const KernelState& kernel, std::size_t cluster) const;
  // Returns whether the captures so far meet the error bound.
  bool Enough() const;
  // Cuts the kernels into clusters. Returns the best cut; a kernel may keep its current cut.
  sampling::WorkloadStrata CutAll(const ParallelFor& parallel);
  void CutKernel(KernelState& kernel, std::span<const sampling::StratumRange> strata) const;
  void Hold();
  // Sets the targets of the clusters. `planned_ns` is the captured time of the best cut.
  void SetTargets(double planned_ns);
  void Release();
  std::uint64_t FirstRelease() const;
  bool Waiting() const;
  void Supplement(bool enough);
  void SetStatus();
  void UpdateStanding(std::uint32_t id);
  void PublishKernel(std::uint32_t id);
  void SetCredits(std::uint32_t id);
  void Emit(MaskEventKind kind, std::uint32_t kernel, std::size_t cluster);

  sampling::SamplingOptions options_;
  sampling::ErrorTarget target_;
  shm::GateTable& gate_;
  CreditLedger ledger_;
  std::uint64_t observe_first_;
  bool perturbed_;
  model::NameTable names_;
  std::deque<KernelState> kernels_;

  // The current epoch.
  std::span<const Observation> batch_;
  std::vector<std::uint32_t> order_;  // batch positions, grouped by kernel
  std::vector<Touched> touched_;
  std::vector<std::uint32_t> batch_counts_;  // by kernel; zero between epochs
  bool allocate_now_ = false;

  // An allocation is due at this number of observations or at this total of their time.
  std::uint64_t next_allocation_ = 0;
  std::uint64_t next_allocation_ns_ = 0;
  double supplemented_ns_ = 0.0;
  double multiplier_ = 0.0;          // price at the end of the last search for strata
  std::uint64_t cuts_observed_ = 0;  // launches observed at the last comparison of cuts
  std::uint64_t last_index_ = 0;
  std::uint64_t last_time_ns_ = 0;
  std::vector<MaskEvent> events_;
  SamplerStatus status_;
};

}  // namespace stemtap::online
