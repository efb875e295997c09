// SPDX-License-Identifier: Apache-2.0
//
// Leader decides for all runs of a job what is captured. It merges the sketches of their kernels,
// which is exact, cuts them into clusters as one run would, and divides the captures that a cluster
// still needs among the runs, at random, in proportion to their launches of the cluster:
//
//   Set, Add  ─►  Decide  ─►  first_bins, Of(run)
//
// What a run was asked to capture stays asked of it until it reports the capture, or ends.
//
// THREADS: none.  UNITS: ns.  SOURCE: docs/design/fleet.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fleet/packing.h"
#include "online/allocator.h"
#include "online/cluster.h"
#include "sampling/sampling_options.h"
#include "stats/log_sketch.h"

namespace stemtap::fleet {

// AskingPace is how soon captures are asked for.
struct AskingPace {
  // Launches that each run observes, on average, before the first capture.
  std::uint64_t observe_first = 0;
  // Of the captures that a cluster lacks, one in this many is awaited at a time, but at least one:
  // a later decision may need fewer (as in online/release_policy.cpp).
  std::uint64_t at_once = 2;

  // Captures that perturb launches (online::KernelSketch). The first launches of each run are
  // slower, and do not form a separate period then, so all captures seem to be needed at first:
  // four live runs of llm-decode captured 46 to 850 launches in all. With four times as many
  // launches before and an eighth at a time, these were 47 to 71 (one run alone: 72 to 149).
  static AskingPace OfPerturbing(std::uint64_t observe_first) { return {4 * observe_first, 8}; }
};

class Leader {
 public:
  Leader(const sampling::SamplingOptions& options, AskingPace pace);

  // Sets whether a run can still capture launches. A new run is added.
  void SetRun(const std::string& run, bool is_alive);
  // Replaces what the run knows of a kernel. Nothing is asked of a run that SetRun does not know.
  void SetSketch(const std::string& run, std::uint64_t kernel, stats::LogSketch sketch);
  // Replaces what the run has observed of a kernel besides its durations.
  void SetTraits(const std::string& run, std::uint64_t kernel, Traits traits);
  // Adds a capture of the run. `occurrence`: among the launches of the kernel in the run. `bin`
  // determines its cluster. The bin of a known capture is replaced.
  void AddCapture(const std::string& run, std::uint64_t kernel, std::uint64_t index,
                  std::uint64_t occurrence, std::uint32_t bin);

  // Continues what another leader asked of the run, if it is alive. REQUIRES: its sketches and
  // captures were set.
  void SetAsked(const std::string& run, const std::vector<DirectedKernel>& directions);

  // Decides again if launches or time have grown by an eighth, or if runs were added or ended.
  // Returns whether it did.
  bool Decide();

  // The clusters of all kernels, and how often they are captured in the job.
  std::vector<DirectedKernel> Clusters() const;
  // What a run is asked to do.
  std::vector<DirectedKernel> Of(const std::string& run) const;

  std::uint64_t launches() const { return launches_; }
  std::uint64_t duration_ns() const { return duration_ns_; }
  std::uint64_t captured() const { return captured_; }

 private:
  struct Capture {
    std::uint32_t bin = 0;
    std::uint64_t occurrence = 0;
  };
  // Captures that are awaited of a run.
  struct Asked {
    std::uint32_t bin = 0;  // one of the cluster
    std::uint64_t count = 0;
    std::uint64_t decision = 0;  // that asked for them
  };
  // What one run knows of one kernel.
  struct Share {
    stats::LogSketch sketch;
    Traits traits;
    std::map<std::uint64_t, Capture> captures;  // by launch index
    std::vector<Asked> asked;                   // in the order in which they were asked for
    std::uint64_t missed = 0;                   // captures since the last one that was awaited
  };
  struct Kernel {
    explicit Kernel(double fixed_ns) : clusters(fixed_ns) {}
    std::map<std::string, Share> shares;  // by run
    stats::LogSketch sketch;              // of all runs
    stats::LogSketch capturable;          // launches that could be captured
    std::vector<std::uint64_t> begins;    // of the launches before, and of these (KernelFacts)
    online::BinnedCells cells;
    online::KernelClusters clusters;
    bool is_stale = true;     // `sketch` lacks launches
    bool is_sampled = false;  // captures were asked for
  };
  struct Run {
    bool is_alive = true;
    double load_ns = 0.0;  // time of its captures, made or awaited
  };
  // A run that may be asked for captures of a cluster.
  struct Candidate {
    Share* share = nullptr;
    Run* run = nullptr;
    double launches = 0.0;  // of the cluster
  };

  bool IsAlive(const std::string& run) const;
  Kernel& KernelOf(std::uint64_t key);
  void Refresh();
  // Counts the captures of the kernel's clusters, and sets their prices.
  void Count(Kernel& kernel) const;
  // Returns what a run pays for captures of a cluster.
  static Price PriceOf(const Share& share, const online::Cluster& cluster, std::uint32_t first,
                       std::uint32_t end);
  static online::Source SourceOf(const Kernel& kernel, const online::Cluster& cluster,
                                 std::uint32_t first, std::uint32_t end);
  online::Facts FactsNow() const;
  void SetEnough();
  void Await(std::uint32_t bin, std::uint64_t count, Share& share) const;
  // Removes one capture from those that are awaited at `asked`.
  static void Settle(std::vector<Asked>::iterator asked, Share& share);
  // Captures of a cluster that are awaited of all runs.
  struct Awaited {
    std::uint64_t in_time = 0;
    std::uint64_t overdue = 0;
  };
  // Sets the loads of the runs.
  void Weigh();
  // Removes runs that have captured much more than others, but keeps half of the launches.
  // `lacking`: captures to be asked for.
  void SpareLoaded(std::uint64_t lacking, double mean_ns, std::vector<Candidate>& candidates) const;
  // Returns the load that runs with half of the launches do not exceed.
  static double MedianLoad(std::vector<Candidate> candidates);
  // Asks the runs for the captures that the clusters of a kernel lack.
  void Ask(std::uint64_t key, Kernel& kernel);
  // Adds the captures of the cluster that are awaited of a run, but no more than are `missing` in
  // all. The others are not awaited any more.
  void AddAwaited(std::uint64_t missing, const online::KernelClusters& clusters,
                  std::size_t cluster, Share& share, Awaited& awaited) const;

  sampling::SamplingOptions options_;
  AskingPace pace_;
  double fixed_ns_;
  online::Allocator allocator_;
  std::map<std::string, Run> runs_;
  std::map<std::uint64_t, Kernel> kernels_;  // by key
  std::uint64_t launches_ = 0;
  std::uint64_t duration_ns_ = 0;
  std::uint64_t captured_ = 0;
  double load_ns_ = 0.0;  // of all runs
  std::uint64_t decisions_ = 0;
  bool runs_changed_ = true;
};

}  // namespace stemtap::fleet
