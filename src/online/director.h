// SPDX-License-Identifier: Apache-2.0
//
// Director decides for the samplers of several runs, such as the ranks of a job. If a sampler has
// one, it reports its kernels at each allocation and follows the director instead of its own
// Allocator.
//
// THREADS: as the sampler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/kernel_id.h"
#include "online/cluster.h"
#include "online/kernel_sketch.h"
#include "stats/log_sketch.h"
#include "stats/serial_correlation.h"

namespace stemtap::online {

// KernelReport is what a director learns of a kernel. It is valid only during the call.
struct KernelReport {
  model::KernelId id;
  // All launches without exploratory captures: their durations or, if `imputes`, SketchOfCells.
  const stats::LogSketch* durations = nullptr;
  std::span<const Capture> captures;  // by credit; those known before come first
  std::span<const Cluster> clusters;  // of this run
  stats::Correlations correlations;   // of launches of one cluster
  // Launches before the first one that could be captured; null: none can be captured yet.
  const stats::LogSketch* before = nullptr;
  // Captures perturb launches (KernelSketch): imputed durations and bins of captures may change.
  bool imputes = false;
};

// DirectedCluster is the durations from `first_bin` (stats::LogSketch) up to the next cluster, and
// how many launches of this run with these durations are to be captured in total.
struct DirectedCluster {
  std::uint32_t first_bin = 0;
  std::uint64_t target = 0;
};

// The contexts of a run may predict the cluster of a capture wrongly. In place of the captures of a
// kernel that it is asked for, a run makes at most so many of other clusters; then another run is
// asked. Without this limit, a run that had launches of the cluster only at its beginning made 100
// captures for one, three quarters of what its job captured.
inline constexpr std::uint64_t kMaxAstray = 4;

struct KernelDirections {
  // Ascending. Nothing is captured of a kernel without clusters.
  std::vector<DirectedCluster> clusters;
  // From now on, launches of the kernel may be captured, in this run or another one.
  bool is_sampled = false;
};
using Directions = std::vector<KernelDirections>;  // by kernel

class Director {
 public:
  virtual ~Director() = default;

  // `kernels`: in order of their ids; kernels are only added, at the end. `has_ended`: no further
  // launch can be captured; another call may report launches that were made before. Returns the
  // directions, with one entry for each kernel, or nullopt if the sampler has to decide itself.
  virtual std::optional<Directions> Direct(std::span<const KernelReport> kernels,
                                           bool has_ended) = 0;
};

}  // namespace stemtap::online
