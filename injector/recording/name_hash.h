// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

// Returns shm::NameHash, which is 2 KiB of code in every file that inlines it.
std::uint64_t HashName(const char* name, std::size_t length) noexcept;

}  // namespace stemtap::inject
