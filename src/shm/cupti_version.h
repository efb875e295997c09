// SPDX-License-Identifier: Apache-2.0
//
// The oldest CUPTI version that the injected library supports.
//
// Used by the injected library: needs libc only.
#pragma once

#include <cstdint>

namespace stemtap::shm {

// CUPTI_API_VERSION of CUDA 10.1, the oldest version whose kernel records have the layout that the
// decoder expects. If smaller, records of older versions are decoded wrongly; if larger, programs
// with a supported libcupti are not recorded.
inline constexpr std::uint32_t kOldestCupti = 12;

}  // namespace stemtap::shm
