// SPDX-License-Identifier: Apache-2.0
//
// Synthetic workloads: recorded runs that replace real profiles that cannot be distributed, and
// whose true totals are known. docs/formats/workloads.md describes each kernel, duration and source
// of noise. The script (kernels, grids, order) depends on `seed`, the noise (durations, start
// times) on `noise_seed`. The same options give the same records on every machine.
//
// THREADS: a reader is not thread-safe; different threads may use different readers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace stemtap::research {

struct WorkloadOptions {
  std::uint64_t launches = 1'000'000;  // exact number, 1 to 10^12
  std::uint64_t seed = 1;
  // 0: same as seed; another value: a second run of the same launches.
  std::uint64_t noise_seed = 0;
  // The same launches on the simulated other GPU: each takes its median times a factor of the
  // resource that limits it (kOtherGpuPerMille), without noise, outliers, waiting or warm-up.
  bool other_gpu = false;
  std::optional<unsigned> layers;  // of the model if there is one, 1 to 256; default 12
};

using MadeWorkload = Result<std::unique_ptr<model::ProfileReader>>;

struct Workload {
  const char* name;
  const char* help;
  bool has_layers;
  std::unique_ptr<model::ProfileReader> (*make)(
      const WorkloadOptions&);  // REQUIRES: options in range
};

// Returns all workloads.
std::span<const Workload> Workloads();

// Returns a reader of the run, without metrics or warnings. Its memory is constant except for the
// names. Errors (exit code 2): an unknown name, an option out of range, layers for a workload
// without layers.
MadeWorkload MakeWorkload(std::string_view name, const WorkloadOptions& options);

}  // namespace stemtap::research
