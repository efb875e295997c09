// SPDX-License-Identifier: Apache-2.0
//
// How many blocks a multiprocessor of an H100 holds.
//
// THREADS: any.
#pragma once

#include <cstdint>

namespace fake_gpu {

inline constexpr std::uint64_t kMultiprocessors = 132;
inline constexpr std::uint64_t kSharedPerMultiprocessor = 228 * 1024;
inline constexpr std::uint64_t kReservedSharedPerBlock = 1024;

// Returns 0 if a single block does not fit. `registers` are per thread; 0 is no limit.
std::uint64_t BlocksPerMultiprocessor(std::uint64_t threads, std::uint64_t shared_bytes,
                                      std::uint64_t registers);

}  // namespace fake_gpu
