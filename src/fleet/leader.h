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

class Leader {
 public:
  // `observe_first`: launches that each run observes, on average, before the first capture.
  Leader(const sampling::SamplingOptions& options, std::uint64_t observe_first);

  // Sets whether a run can still capture launches. A new run is added.
  void SetRun(const std::string& run, bool is_alive);
  // Replaces what the run knows of a kernel. Nothing is asked of a run that SetRun does not know.
  void SetSketch(const std::string& run, std::uint64_t kernel, stats::LogSketch sketch);
  // Replaces what the run pays for captures of a kernel.
  void SetPrices(const std::string& run, std::uint64_t kernel, std::vector<Price> prices);
  // Adds a capture of the run. `occurrence`: among the launches of the kernel in the run. A capture
  // that is known is ignored.
  void AddCapture(const std::string& run, std::uint64_t kernel, std::uint64_t index,
                  std::uint64_t occurrence, std::uint64_t duration_ns);

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
  };
  // What one run knows of one kernel.
  struct Share {
    stats::LogSketch sketch;
    std::vector<Price> prices;
    std::map<std::uint64_t, Capture> captures;  // by launch index
    std::vector<Asked> asked;                   // in the order in which they were asked for
    std::uint64_t missed = 0;                   // captures since the last one that was awaited
  };
  struct Kernel {
    explicit Kernel(double fixed_ns) : clusters(fixed_ns) {}
    std::map<std::string, Share> shares;  // by run
    stats::LogSketch sketch;              // of all runs
    online::BinnedCells cells;
    online::KernelClusters clusters;
    bool is_stale = true;  // `sketch` lacks launches
  };
  struct Run {
    bool is_alive = true;
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
  static void Await(std::uint32_t bin, std::uint64_t count, Share& share);
  // Removes one capture from those that are awaited at `asked`.
  static void Settle(std::vector<Asked>::iterator asked, Share& share);
  // Asks the runs for the captures that the clusters of a kernel lack.
  void Ask(std::uint64_t key, Kernel& kernel);
  // Awaits at most `most` captures of the cluster. Returns how many are awaited of it.
  static std::uint64_t Limit(std::uint64_t most, const online::KernelClusters& clusters,
                             std::size_t cluster, Share& share);

  sampling::SamplingOptions options_;
  double fixed_ns_;
  online::Allocator allocator_;
  std::map<std::string, Run> runs_;
  std::map<std::uint64_t, Kernel> kernels_;  // by key
  std::uint64_t launches_ = 0;
  std::uint64_t duration_ns_ = 0;
  std::uint64_t captured_ = 0;
  std::uint64_t decisions_ = 0;
  bool runs_changed_ = true;
};

}  // namespace stemtap::fleet
