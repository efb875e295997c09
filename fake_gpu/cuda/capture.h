// SPDX-License-Identifier: Apache-2.0
//
// Stream capture: while a stream is captured, its work is added to a graph. A stream joins the
// capture when it waits for an event that was recorded in a captured stream.
//
// THREADS: any; calls on one stream are serialized by the program.
#pragma once

#include <optional>

#include "cuda/graph_objects.h"

namespace fake_gpu {

inline bool IsCapturing(const CUstream_st& stream) {
  return stream.capture != nullptr;
}

// Adds work to the graph that `stream` is captured into. REQUIRES: IsCapturing(stream).
CUresult AddCaptured(CUstream_st& stream, NodeWork work);

// What cuEventRecord and cuStreamWaitEvent do if the stream or the event is captured. Returns no
// value if neither is.
std::optional<CUresult> RecordCaptured(CUevent_st& event, CUstream_st& stream, unsigned flags);
std::optional<CUresult> WaitCaptured(CUstream_st& stream, CUevent_st& event, unsigned flags);

// Returns the error for a call that needs the end of a captured stream, and invalidates the
// capture.
CUresult RefuseCaptured(CUstream_st& stream);

// Forgets a stream that is about to be destroyed.
void LeaveCapture(CUstream_st& stream);

}  // namespace fake_gpu
