// SPDX-License-Identifier: Apache-2.0
//
// The last stage of a buffer's way: the queue of full buffers, the thread that delivers them, and
// the delivery itself. See buffers.h for the picture.
//
// THREADS: any.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <vector>

#include "cupti/buffer.h"

namespace fake_cupti {

// Numbers a buffer that the fake now holds; Deliver lets go of it.
std::uint64_t Hold();
// The number that the next buffer will get, and the oldest one held (the next one if there is
// none).
std::uint64_t NextBufferSequence();
std::uint64_t OldestBufferSequence();

// Queues a buffer for the worker thread. Under the virtual clock it waits while too many are
// queued.
void HandToWorker(Buffer buffer);

// Moves the queued buffers that may be delivered now, or all, to `taken`.
void TakeFromWorker(bool all, std::vector<Buffer>& taken);

// From here on some thread is about to deliver the buffer; TakeFromWorker does it by itself.
void TakeInHand(const Buffer& buffer);

// Returns when all buffers that any thread has in hand now are delivered, or the process has ended
// because one is not.
void AwaitDeliveries();

// Orders the records, and gives the buffer back to the client on this thread.
void Deliver(Buffer buffer, bool forced);

// The client's complete callback now in force.
CUpti_BuffersCallbackCompleteFunc CompleteCallback();

}  // namespace fake_cupti
