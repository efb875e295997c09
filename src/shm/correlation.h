// SPDX-License-Identifier: Apache-2.0
//
// LaunchNumber extends CUPTI's 32-bit correlation ids to 64 bits. The ids are the low 32 bits of a
// counter that grows with every API call of a process, so the full number gives launch order.
#pragma once

#include <cstdint>

namespace stemtap::shm {

// Returns the number whose low 32 bits are `id` and that is nearest to `near`, the number of
// another launch. Pass 0 as `near` if there is no other launch yet: the result then has an offset
// of 2^32, so that numbers of earlier launches do not become negative. Assumes that the two
// launches are within 2^31 API calls, which take half an hour at a million calls per second.
constexpr std::uint64_t LaunchNumber(std::uint32_t id, std::uint64_t near) {
  if (near == 0) return (std::uint64_t{1} << 32) + id;
  const auto step = static_cast<std::int32_t>(id - static_cast<std::uint32_t>(near));
  return near + static_cast<std::uint64_t>(std::int64_t{step});
}

}  // namespace stemtap::shm
