// SPDX-License-Identifier: Apache-2.0
//
// The clock that CUPTI reports: CLOCK_REALTIME, or a clock that a client has registered for the
// whole process, which cannot be undone. Kineto registers the processor's cycle counter.
//
// With a client's clock, records of kernels that started after its registration are converted at
// delivery, as CUPTI converts GPU times: linearly, between two simultaneous readings of the
// client's clock and the simulated clock. Earlier records keep their times, even in the same
// buffer.
//
// THREADS: any.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "cupti/buffer.h"

namespace fake_cupti {

void SetTimestampCallback(CUpti_TimestampCallbackFunc callback);
// Resets to CLOCK_REALTIME, as cuptiFinalize does.
void ResetTimestampCallback();

// Returns the value of cuptiGetTimestamp.
std::uint64_t TimestampNow();

// Converts the times of the records to the client's clock, if there is one.
void ConvertTimes(const Buffer& buffer);

}  // namespace fake_cupti
