// SPDX-License-Identifier: Apache-2.0
//
// Playback is a reader that plays a script on a synthetic GPU: it adds noise, gaps and start times.
// A Script has
//
//   const Launch& launch() const      the current launch
//   void Advance()                    moves to the next launch; never reads the noise
//   std::string_view Name(kernel)     name of a launch's kernel
//   std::uint64_t Duration(noisy, draw, launched, noise)
//                                     in ns: `noisy` is the launch's median times its noise, times
//                                     kOne; `draw` is the launch's 64 bits; `launched` its number
//   std::uint64_t Gap(gap_draw) const additional idle ns before the launch; 0 <= gap_draw < 1024
//
// Each launch uses one draw: bits 0 to 11 for its noise, 12 to 21 for the gap before it, the rest
// for the script. The script may take further draws of `noise`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/profile.h"
#include "research/workloads/launch.h"
#include "research/workloads/workload.h"

namespace stemtap::research {

// Noise and script must use different draws if they share a seed.
inline Rng NoiseRng(const WorkloadOptions& options) {
  return Rng(~(options.noise_seed == 0 ? options.seed : options.noise_seed));
}

template <class Script>
class Playback final : public model::ProfileReader {
 public:
  Playback(const WorkloadOptions& options, Script script)
      : launches_(options.launches),
        other_gpu_(options.other_gpu),
        script_(std::move(script)),
        noise_(NoiseRng(options)) {}

  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t limit) override {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(limit, launches_ - launched_));
    batch.metrics.clear();
    batch.records.resize(count);
    for (shm::KernelRecord& record : batch.records) {
      Play(record);
      script_.Advance();
      ++launched_;
    }
    return count;
  }

 private:
  void Play(shm::KernelRecord& record) {
    const Launch& launch = script_.launch();
    const std::uint64_t draw = other_gpu_ ? 0 : noise_.Next();
    const std::uint64_t gap_draw = (draw >> 12) % 1024;
    record = launch.record;
    record.name_id = NameId(launch.kernel);
    record.correlation_id = static_cast<std::uint32_t>(launched_);
    record.duration_ns =
        other_gpu_ ? OnOtherGpu(launch)
                   : script_.Duration(launch.median_ns * (*launch.noise)[draw % kQuantiles], draw,
                                      launched_, noise_);
    record.start_ns = clock_ns_ + 200 + gap_draw / 2 + script_.Gap(gap_draw);
    if (record.stream != kComputeStream) {
      // Runs beside the compute stream, after the previous kernel there.
      record.start_ns = std::max(record.start_ns, concurrent_end_ns_);
      concurrent_end_ns_ = record.start_ns + record.duration_ns;
      clock_ns_ = record.start_ns;
    } else {
      if (launch.joins) record.start_ns = std::max(record.start_ns, concurrent_end_ns_);
      clock_ns_ = record.start_ns + record.duration_ns;
    }
  }

  static std::uint64_t OnOtherGpu(const Launch& launch) {
    return (launch.median_ns * kOtherGpuPerMille[static_cast<std::size_t>(launch.bound)] + 500) /
           1000;
  }

  std::uint32_t NameId(std::uint32_t kernel) {
    if (kernel >= name_ids_.size()) name_ids_.resize(kernel + 1, shm::kUnknown32);
    std::uint32_t& id = name_ids_[kernel];
    if (id == shm::kUnknown32) id = names_.Intern(script_.Name(kernel));
    return id;
  }

  const std::uint64_t launches_;
  const bool other_gpu_;
  Script script_;
  Rng noise_;
  std::vector<std::uint32_t> name_ids_;  // by number of the kernel in the script
  std::uint64_t launched_ = 0;
  std::uint64_t clock_ns_ = 0;  // no later launch starts earlier
  std::uint64_t concurrent_end_ns_ =
      0;  // end of the last kernel concurrent with the compute stream
};

// Rounds a fixed-point number to an integer; for scripts whose durations have no other effects than
// noise.
inline std::uint64_t Rounded(std::uint64_t fixed_point) {
  return (fixed_point + kOne / 2) / kOne;
}

}  // namespace stemtap::research
