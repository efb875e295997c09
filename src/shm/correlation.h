// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's correlation ids are the low 32 bits of a number that grows with every API call of a process:
// here they become that number again, which is launch order.
#pragma once

#include <cstdint>

namespace stemtap::shm {

// The number that ends in `id` and is nearest to `near`, the number of another launch; 0: there is none
// yet. Ids are taken to lie within 2^31 calls of each other, which at a million calls a second is half
// an hour. The first is placed a full turn up, so that earlier ones do not go below 0.
constexpr std::uint64_t LaunchNumber(std::uint32_t id, std::uint64_t near) {
  if (near == 0) return (std::uint64_t{1} << 32) + id;
  const auto step = static_cast<std::int32_t>(id - static_cast<std::uint32_t>(near));
  return near + static_cast<std::uint64_t>(std::int64_t{step});
}

}  // namespace stemtap::shm
