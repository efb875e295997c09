// SPDX-License-Identifier: Apache-2.0
//
// The last stage of a buffer: the queue of full buffers, the thread that delivers them, and the
// delivery itself. See the diagram in buffers.h.
//
// THREADS: any.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <vector>

#include "cupti/buffer.h"

namespace fake_cupti {

// Assigns a sequence number to a buffer that the simulated CUPTI now owns; Deliver releases it.
std::uint64_t Hold();
// NextBufferSequence returns the next buffer's number. OldestBufferSequence returns the oldest
// owned one, or the next one if there is none.
std::uint64_t NextBufferSequence();
std::uint64_t OldestBufferSequence();

// Queues a buffer for the worker thread. With the virtual clock, waits while too many are queued.
void HandToWorker(Buffer buffer);

// Moves the queued buffers that may be delivered now, or all, to `taken`.
void TakeFromWorker(bool all, std::vector<Buffer>& taken);

// Marks that a thread is about to deliver the buffer. TakeFromWorker does this itself.
void TakeInHand(const Buffer& buffer);

// Returns when all buffers that any thread is currently delivering are delivered. Ends the process
// if one is not delivered in time.
void AwaitDeliveries();

// Sorts the records and returns the buffer to the client on this thread.
void Deliver(Buffer buffer, bool forced);

// Returns the client's current complete callback.
CUpti_BuffersCallbackCompleteFunc CompleteCallback();

}  // namespace fake_cupti
