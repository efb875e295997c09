// SPDX-License-Identifier: Apache-2.0
//
// Buffer is a client's activity buffer while the fake owns it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake_cupti {

struct Buffer {
  std::uint8_t* data = nullptr;   // nullptr: no buffer
  std::size_t size = 0;           // bytes
  std::size_t capacity = 0;       // records
  std::size_t used = 0;           // records
  std::uint64_t last_end_ns = 0;  // when the last kernel in it ends
  std::uint64_t sequence = 0;     // see Hold()
};

}  // namespace fake_cupti
