// SPDX-License-Identifier: Apache-2.0
//
// The clock that CUPTI shows: CLOCK_REALTIME, or what a client has registered for the whole process,
// which cannot be undone. Kineto registers the processor's cycle counter.
//
// With a client's clock, records of kernels that began after it was registered are converted at
// delivery, as CUPTI converts the GPU's times: linearly, between two readings of the client's clock
// beside ours. Records from before it keep their times, in the same buffer.
//
// THREADS: any.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "cupti/buffer.h"

namespace fake_cupti {

void SetTimestampCallback(CUpti_TimestampCallbackFunc callback);
// Back to CLOCK_REALTIME, as cuptiFinalize leaves it.
void ResetTimestampCallback();

// What cuptiGetTimestamp says.
std::uint64_t TimestampNow();

// Converts the times of the records to the client's clock, if there is one.
void ConvertTimes(const Buffer& buffer);

}  // namespace fake_cupti
