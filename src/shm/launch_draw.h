// SPDX-License-Identifier: Apache-2.0
//
// LaunchDraws generates one uniform 32-bit number per launch. The gate compares it with
// CreditSlot::accept to decide whether the launch spends an open credit (docs/design/gate.md,
// "Which launches spend credits").
//
// The draw of a launch is a function of the seed, the process and the launch number. The generator
// has no mutable state, so threads share nothing, the injected library needs no thread-local
// storage, and a draw does not depend on how many earlier launches found an open credit.
//
// SOURCE: SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
// The draw of launch i is the upper half of the generator's output i.
//
// THREADS: immutable after construction.
//
// Used by the injected library: needs libc only.
#pragma once

#include <cstdint>

#include "shm/context_key.h"

namespace stemtap::shm {

class LaunchDraws {
 public:
  LaunchDraws() = default;  // not seeded; all bytes are zero
  // Processes that number their launches independently need different values of `process`.
  constexpr explicit LaunchDraws(std::uint64_t seed, std::uint64_t process = 0) noexcept
      : start_(MixKeys(seed, process)) {}

  // Returns the draw of launch number `launch`.
  constexpr std::uint32_t operator()(std::uint64_t launch) const noexcept {
    return static_cast<std::uint32_t>(MixKeys(launch, start_) >> 32);
  }

 private:
  std::uint64_t start_ = 0;
};

// Returns the draws of a traced process. Ranks of a job in different containers or on different
// machines often have the same pid. `pid_namespace` and `host_hash` (NameHash of the host name)
// distinguish them: with equal draws, all ranks would capture the same launches, and their errors
// would not cancel.
inline LaunchDraws ProcessDraws(std::uint64_t seed, std::int32_t pid, std::uint32_t pid_namespace,
                                std::uint64_t host_hash) noexcept {
  const std::uint64_t process =
      (std::uint64_t{pid_namespace} << 32) | static_cast<std::uint32_t>(pid);
  return LaunchDraws(seed, MixKeys(process, host_hash));
}

}  // namespace stemtap::shm
