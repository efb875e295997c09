// SPDX-License-Identifier: Apache-2.0
#include "recording/name_hash.h"

#include "shm/context_key.h"

namespace stemtap::inject {

std::uint64_t HashName(const char* name, std::size_t length) noexcept {
  return shm::NameHash(name, length);
}

}  // namespace stemtap::inject
