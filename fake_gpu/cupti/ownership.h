// SPDX-License-Identifier: Apache-2.0
//
// Checks buffer ownership. The simulated CUPTI owns a buffer from the request callback until the
// complete callback. If the client unmaps, frees, clears, reuses or writes to it in that time, the
// process ends with a message where the real CUPTI corrupts its heap or loses records. The
// violation is detected at the next record, or at the latest at delivery:
//
//   * before each further record: the first and the last record begin as written
//   * at delivery: the whole buffer is mapped, every record is as written, and samples of the
//     unused part are zero
//   * with FAKE_CUPTI_GUARD=1, whole pages are inaccessible between two records, so that a client
//     that touches them gets a segmentation fault
//
// Memory that is provided again before it was returned is allowed, because a client may have
// records that it discards written anywhere. It is counted.
//
// THREADS: one at a time for each buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/buffer.h"

namespace fake_cupti {

// Starts with data and size set. Clears the buffer unless the client declares that it is zero.
void TakeOwnership(Buffer& buffer, bool client_zeroes);

// Call before writing a record. Ends the process if the client touched the buffer.
void Reclaim(Buffer& buffer);
// Call after writing a record, which is the last entry.
void Seal(Buffer& buffer);

// Call at delivery. Ends the process if the client touched the buffer, and returns the buffer to
// the client.
void GiveUpOwnership(Buffer& buffer);

// Ownership counts what happened to all buffers so far.
struct Ownership {
  std::uint64_t lent = 0;
  std::uint64_t returned = 0;
  std::uint64_t lent_twice = 0;  // memory that CUPTI already owned
  std::uint64_t unzeroed = 0;    // not zero, although the client declared it zero
};
Ownership OwnershipSoFar();

}  // namespace fake_cupti
