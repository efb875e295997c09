// SPDX-License-Identifier: Apache-2.0
//
// Buffer is a client's activity buffer while the simulated CUPTI owns it.
//
//   data  ┌ record 0 ┬ record 1 ┬ ... ┬ unused ┬ room for one overhead record ┐  size
//           entries[0] entries[1]
//
// Record data is kept in `entries` and not read back from the client's memory: the times there may
// use another unit by the time of delivery, and the memory is compared with what was written
// (ownership.h).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fake_cupti {

struct Entry {
  std::uint64_t start_ns;  // host clock, whatever the record shows
  std::uint64_t end_ns;
  std::uint32_t offset;  // into the buffer
  std::uint32_t bytes;
  std::uint32_t check;  // checksum of the record as written
};

// Lease is shared by all buffers in the same memory.
struct Lease {
  std::atomic<bool> shared{false};  // provided again before it was returned; contents not checked
};

struct Buffer {
  std::uint8_t* data = nullptr;  // nullptr: no buffer
  std::size_t size = 0;          // bytes
  std::size_t max_records = 0;   // 0: as many as fit
  std::size_t used = 0;          // bytes
  std::vector<Entry> entries;
  std::uint64_t last_end_ns = 0;  // when the last kernel in it ends
  std::uint64_t sequence = 0;     // see Hold()
  std::uint32_t thread = 0;       // thread that requested it

  std::shared_ptr<Lease> lease;
  bool zeroed = false;   // the unused part was all zero when CUPTI received it
  bool guarded = false;  // currently inaccessible to the client
  // The first bytes of the first and the last record, as written.
  std::array<std::uint64_t, 2> first_head{};
  std::array<std::uint64_t, 2> last_head{};
};

}  // namespace fake_cupti
