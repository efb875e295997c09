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
// THREADS: only UpdateKernel may run concurrently with itself, for different i.  UNITS: ns.
// SOURCE: docs/math/online.md, docs/math/online-bound.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "model/kernel_id.h"
#include "model/name_table.h"
#include "model/overview.h"
#include "model/plan.h"
#include "online/allocator.h"
#include "online/director.h"
#include "online/gate_publisher.h"
#include "online/kernel_sketch.h"
#include "online/kernel_state.h"
#include "sampling/sampling_options.h"
#include "shm/context_key.h"
#include "shm/gate_table.h"

namespace stemtap::online {

// KernelBatches sorts the observations of an epoch by kernel. The order within a kernel stays the
// launch order, so every decision follows it.
//
// THREADS: none.
class KernelBatches {
 public:
  void AddKernel() { counts_.push_back(0); }

  // Begins an epoch. Call Count for each of its observations, then Sort. `batch` must be valid
  // until the end of the epoch.
  void Begin(std::span<const Observation> batch) {
    batch_ = batch;
    touched_.clear();
  }
  void Count(std::uint32_t kernel) {
    if (counts_[kernel]++ == 0) touched_.push_back({kernel, 0, 0});
  }
  void Sort() {
    std::uint32_t first = 0;
    for (Touched& t : touched_) {
      t.first = first;
      first += std::exchange(counts_[t.kernel], first);
      t.count = first - t.first;
    }
    order_.resize(batch_.size());
    for (std::uint32_t i = 0; i < batch_.size(); ++i) {
      order_[counts_[batch_[i].record.name_id]++] = i;
    }
    for (const Touched& t : touched_) counts_[t.kernel] = 0;
  }
  // Adds the kernels without launches in this epoch for which is_wanted(kernel) is true.
  template <typename IsWanted>
  void AddIdle(const IsWanted& is_wanted) {
    for (const Touched& t : touched_) counts_[t.kernel] = 1;
    for (std::uint32_t kernel = 0; kernel < counts_.size(); ++kernel) {
      const bool idle = std::exchange(counts_[kernel], 0) == 0;
      if (idle && is_wanted(kernel)) touched_.push_back({kernel, 0, 0});
    }
  }

  // The kernels of the epoch, in order of their first launch; idle ones last.
  std::size_t size() const { return touched_.size(); }
  std::uint32_t kernel(std::size_t i) const { return touched_[i].kernel; }
  std::span<const Observation> batch() const { return batch_; }
  // Positions in batch() of the launches of the i-th kernel.
  std::span<const std::uint32_t> order(std::size_t i) const {
    return std::span(order_).subspan(touched_[i].first, touched_[i].count);
  }

 private:
  struct Touched {
    std::uint32_t kernel;
    std::uint32_t first;  // into order_
    std::uint32_t count;
  };

  std::span<const Observation> batch_;
  std::vector<std::uint32_t> order_;  // batch positions, grouped by kernel
  std::vector<Touched> touched_;
  std::vector<std::uint32_t> counts_;  // by kernel; zero between epochs
};

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
  std::uint64_t explored = 0;              // exploratory captures, part of `captured`
  std::uint64_t captured_duration_ns = 0;  // as duration_ns
  std::uint64_t zero_duration = 0;
  std::uint64_t kernels = 0;
  std::uint64_t clusters_open = 0;
  std::uint64_t clusters_closed = 0;
  double bound = 0.0;                  // of the captures so far; uncovered time counts in full
  double scope_bound = 0.0;            // with BoundScope::kRange, the greatest bound of a range
  std::uint64_t contexts_refused = 0;  // failed attempts to publish a context (gate table full)
  std::uint64_t slots_refused = 0;     // failed attempts to get a gate slot for a credit line
  std::uint64_t perturbed = 0;
  std::uint64_t perturbed_concurrent = 0;  // concurrent with a captured launch

  // Adds the duration of a launch.
  void Count(const shm::KernelRecord& record) {
    if ((record.flags & shm::kFlagPerturbed) == 0) {
      duration_ns += record.duration_ns;
    } else {
      ++perturbed;
      perturbed_concurrent += (record.flags & shm::kFlagCaptured) == 0;
    }
    zero_duration += record.duration_ns == 0;
  }
};

// When Commit publishes its decisions in the gate table.
enum class Publish : std::uint8_t {
  kNow,
  // With the next Commit that publishes: further launches are at hand, and decisions would be
  // outdated before a launch could follow them.
  kLater,
  kNever,  // the run has ended, in a copy of the sampler
};

// MEMBERS: names, ranges and kernels; one for each step from an epoch to the gate; and what the
// last epoch reports.
class OnlineSampler {
 public:
  // Publishes into `gate`, which must outlive the sampler and must have no other writer. Only
  // exploratory captures are made before `observe_first` launches have been observed. `perturbed`:
  // captures perturb launches, and perturbed launches have shm::kFlagPerturbed.
  OnlineSampler(const sampling::SamplingOptions& options, shm::GateTable& gate,
                std::uint64_t observe_first = 0, bool perturbed = false);

  // From now on, allocations follow `director`, which must outlive the sampler or be replaced. If
  // it is null, the sampler decides itself.
  void SetDirector(Director* director) {
    director_ = director;
    allocator_.SetOften(director != nullptr);
  }

  // Returns the id of `name` in names(). If `pid` is given, the name belongs to that process only,
  // and if `range` is, to launches in that range.
  std::uint32_t AddName(std::string_view name, std::int32_t pid = 0, std::string_view range = {}) {
    return names_.Intern(name, pid, range);
  }
  const model::NameTable& names() const { return names_; }
  // Adds a kernel: all launches of a name or, if `config` is given, of that configuration. Ids are
  // assigned in order.
  std::uint32_t AddKernel(std::uint32_t name_id, const shm::LaunchConfig* config);
  // Adds a further name to a kernel: the launches of both names are launches of the kernel. The
  // gate learns of it with launch `index`, the first launch of the name.
  void AddNameOf(std::uint32_t kernel, std::uint32_t name_id, std::uint64_t index) {
    new_names_.push_back({kernel, names_.hash(name_id), index});
  }
  // Tells the gate not to capture launches of a name that belongs to no kernel.
  void Exclude(std::uint64_t name_hash) { publisher_.PublishName(shm::NameKey(name_hash)); }
  // Returns the id of the kernel that consists of all launches of `name`. REQUIRES: kernels are
  // added only with this function.
  std::uint32_t AddKernel(std::string_view name);
  std::size_t kernels() const { return kernels_.size(); }

  void Begin(std::span<const Observation> batch);
  std::size_t touched() const { return batches_.size(); }
  void UpdateKernel(std::size_t i);
  void Commit(const ParallelFor& parallel = Serially, Publish publish = Publish::kNow);

  // Reports that no further launch can be captured, because the program has ended. From now on,
  // cuts and targets stay as they are while the remaining launches are observed.
  void EndCaptures() { allocator_.EndCaptures(); }

  // Events of the last Commit or Finish, in order.
  const std::vector<MaskEvent>& events() const { return events_; }
  const SamplerStatus& status() const { return status_; }

  // Whether the last Commit allocated samples.
  bool allocated() const { return allocator_.due(); }

  // Sets the fields of `overview` for launches and kernels as of the last Commit or Finish. After
  // Finish, the plan has the final clusters (TakeClusters). REQUIRES: not between Begin and Commit.
  void Describe(model::Overview& overview) const;

  // Returns the highest number of credits ever granted to a gate slot in total.
  std::uint32_t MostGranted(std::uint32_t slot) const { return publisher_.MostGranted(slot); }

  // Begins another run after Finish, with the same names and the same gate table: no launch, kernel
  // or event of the run before counts. `observe_first`: as in the constructor.
  void StartOver(std::uint64_t observe_first);

  // Returns the plan of all observations. Clusters without a capture are joined to a neighbor
  // (JoinStrata) or left uncovered. If the plan does not meet the error bound, the kernels are cut
  // again, and the cut with the smaller certified bound is kept. Uncovered clusters are reported as
  // top_up events, except kernels on the deny list. Call once, at the end.
  model::Plan Finish(const ParallelFor& parallel = Serially);

 private:
  void SettleCaptures();
  // Allocates samples: cuts kernels again and sets the decisions of the clusters.
  void Allocate(const ParallelFor& parallel);
  // Reports to the director. Returns whether it has given directions, which are followed then.
  bool FollowDirector();
  // Notes that launches of the kernel may be captured from now on.
  void SetSampled(std::size_t kernel);
  // Sets the clusters and targets of a kernel, and how many captures it may make for them.
  static void Follow(std::span<const DirectedCluster> directed, KernelState& kernel);
  // Updates the clusters with the launches since the last allocation.
  void UpdateClusters();
  // Sums the imputed durations again, which change with every native launch.
  void UpdateDurations();
  void ApplyCuts(const Cuts& cuts, const ParallelFor& parallel);
  // Sets how many captures the clusters need in a plan of the launches so far.
  void SetEnough();
  Facts FactsNow() const;
  // Closes and reopens the clusters of a kernel and publishes their credits.
  void PublishKernel(std::uint32_t id, Publish publish);
  void PublishAll(Publish publish);
  void Emit(MaskEventKind kind, std::uint32_t kernel, std::size_t cluster);
  model::KernelId IdOf(const KernelState& kernel) const {
    const std::uint32_t name = kernel.name_id();
    return {names_.name(name), names_.process(name), kernel.config(),
            std::string(names_.range(name))};
  }
  // Returns the plan of the current cuts.
  model::Plan BuildPlan() const;
  // Builds the plan of the present cuts; if it misses the error bound, from the captures that give
  // the smaller bound: the newest that suffice, or all.
  model::Plan BuildBestPlan();
  // Returns the certified bound of the total or, if each range has a bound, the greatest.
  double CertifiedBoundOf(const model::Plan& plan) const;
  void EmitTopUps(const model::Plan& plan);

  sampling::SamplingOptions options_;
  bool perturbed_;
  Director* director_ = nullptr;
  // By kernel: KernelReport::before.
  std::vector<std::optional<stats::LogSketch>> before_;
  struct NewName {
    std::uint32_t kernel;
    std::uint64_t hash;
    std::uint64_t index;
  };
  model::NameTable names_;
  model::NameTable ranges_;              // of the kernels, numbered for BoundScope::kRange
  std::vector<std::uint32_t> range_of_;  // by kernel, id in ranges_
  std::deque<NewName> new_names_;  // whose first launch is not observed yet, ascending by index
  std::deque<KernelState> kernels_;
  GatePublisher publisher_;
  KernelBatches batches_;  // of the current epoch
  Allocator allocator_;
  Observation latest_;  // last launch of the last epoch
  std::vector<MaskEvent> events_;
  SamplerStatus status_;
  bool unpublished_ = false;  // the last Commit did not publish
};

}  // namespace stemtap::online
