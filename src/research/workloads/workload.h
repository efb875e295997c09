// SPDX-License-Identifier: Apache-2.0
//
// The invented workloads: recorded runs that stand in for real profiles where none may be shipped,
// and whose truth is known. docs/formats/workloads.md describes each kernel, duration and source of
// noise. The script (kernels, grids, order) depends on `seed`, the noise (durations, start times)
// on `noise_seed`. The same options give the same records on every machine.
//
// THREADS: none; readers of their own may be used by threads of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "model/profile_reader.h"

namespace stemtap {

struct WorkloadOptions {
  std::uint64_t launches = 1'000'000;  // exactly that many, 1 to 10^12
  std::uint64_t seed = 1;
  std::uint64_t noise_seed = 0;  // 0: as seed; another value: a second run of the same launches
  // The same launches on the simulated other GPU: each lasts its median times a factor of what
  // bounds it (kOtherGpuPerMille), without noise, outliers, waiting or warm-up.
  bool other_gpu = false;
  std::optional<unsigned> layers;  // of the model, where there is one, 1 to 256; absent: 12
};

using MadeWorkload = Result<std::unique_ptr<ProfileReader>>;

struct Workload {
  const char* name;
  const char* help;
  bool has_layers;
  std::unique_ptr<ProfileReader> (*make)(const WorkloadOptions&);  // REQUIRES: options in range
};

// Every workload.
std::span<const Workload> Workloads();

// A reader of the run in constant memory but for the names, without metrics or warnings. An error
// (exit code 2): a name that is none, an option out of its range, layers where there are none.
MadeWorkload MakeWorkload(std::string_view name, const WorkloadOptions& options);

}  // namespace stemtap
