// SPDX-License-Identifier: Apache-2.0
//
// Whose a buffer is. From the request callback until the complete callback it is the fake's, and a
// client that unmaps, frees, clears, reuses or writes to it meanwhile is ended with a message, where
// the real CUPTI corrupts its heap or loses records. Noticed at the next record, or at the latest
// at the delivery:
//
//   * the first and the last record begin as they were written (before each further record)
//   * all of the buffer is mapped, every record is as it was written, and samples of the unused rest
//     are zero (at the delivery)
//   * with FAKE_CUPTI_GUARD=1 its whole pages are unreadable between two records, so that the client
//     gets a segmentation fault where it touches them
//
// Memory that is lent a second time while it is out is let pass, for a client may have contents that
// it throws away written anywhere; it is counted.
//
// THREADS: one at a time for each buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/buffer.h"

namespace fake_cupti {

// Begins with data and size set, and clears it unless the client says that it is zero already.
void TakeOwnership(Buffer& buffer, bool client_zeroes);

// Before a record is written; ends a client that has touched the buffer.
void Reclaim(Buffer& buffer);
// After it was written: the last of the entries.
void Seal(Buffer& buffer);

// At the delivery: ends a client that has touched the buffer, and makes it the client's again.
void GiveUpOwnership(Buffer& buffer);

// What has become of all buffers so far.
struct Ownership {
  std::uint64_t lent = 0;
  std::uint64_t returned = 0;
  std::uint64_t lent_twice = 0;  // memory that was out already
  std::uint64_t unzeroed = 0;    // not zero, though the client had said so
};
Ownership OwnershipSoFar();

}  // namespace fake_cupti
