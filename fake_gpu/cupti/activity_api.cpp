// SPDX-License-Identifier: Apache-2.0
//
// The activity API: kinds, buffer callbacks, flushing, reading records.
#include <atomic>

#include "cupti/buffers.h"
#include "cupti/callbacks.h"
#include "cupti/driver.h"
#include "cupti/entry.h"
#include "cupti/records.h"
#include "cupti/timestamps.h"

using namespace fake_cupti;

namespace {

std::atomic<bool> g_enabled[CUPTI_ACTIVITY_KIND_COUNT];

bool IsKernelKind(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_KERNEL;
}

CUpti_ActivityKind OtherKernelKind(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_KERNEL ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                            : CUPTI_ACTIVITY_KIND_KERNEL;
}

bool KindExists(CUpti_ActivityKind kind) {
  return kind > CUPTI_ACTIVITY_KIND_INVALID && kind < CUPTI_ACTIVITY_KIND_COUNT;
}

// Returns whether the simulated CUPTI does not implement records of this kind.
bool IsMissing(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE || kind == CUPTI_ACTIVITY_KIND_DRIVER ||
         kind == CUPTI_ACTIVITY_KIND_RUNTIME;
}

// Makes the driver report what records of this kind need, or stops it.
void Switch(CUpti_ActivityKind kind, bool on) {
  if (on && RecordBytes(kind) != 0) StartWorker();
  if (IsKernelKind(kind)) {
    if (on) SetKernelKind(kind);
    SetInterest(FAKE_GPU_INTEREST_KERNELS, on);
    SetInterest(FAKE_GPU_SERIALISE, on && kind == CUPTI_ACTIVITY_KIND_KERNEL);
  }
  if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) SetInterest(FAKE_GPU_INTEREST_GRAPHS, on);
  if (kind == CUPTI_ACTIVITY_KIND_OVERHEAD) SetOverhead(on);
  SetCopies(g_enabled[CUPTI_ACTIVITY_KIND_MEMCPY].load() &&
            g_enabled[CUPTI_ACTIVITY_KIND_MEMSET].load());
}

CUptiResult Enable(CUpti_ActivityKind kind) {
  FAKE_CUPTI_REQUIRE(KindExists(kind), CUPTI_ERROR_INVALID_KIND);
  FAKE_CUPTI_REQUIRE(ConnectedDriver() != nullptr, CUPTI_ERROR_UNKNOWN);
  FAKE_CUPTI_REQUIRE(!IsMissing(kind), CUPTI_ERROR_NOT_SUPPORTED);
  if (IsKernelKind(kind)) {
    FAKE_CUPTI_REQUIRE(!g_enabled[OtherKernelKind(kind)].load(), CUPTI_ERROR_NOT_COMPATIBLE);
  }
  g_enabled[kind].store(true);
  Switch(kind, true);
  return CUPTI_SUCCESS;
}

CUptiResult Disable(CUpti_ActivityKind kind) {
  FAKE_CUPTI_REQUIRE(KindExists(kind), CUPTI_ERROR_INVALID_KIND);
  FAKE_CUPTI_REQUIRE(ConnectedDriver() != nullptr, CUPTI_ERROR_UNKNOWN);
  const bool was_on = g_enabled[kind].exchange(false);
  if (was_on) Switch(kind, false);
  return CUPTI_SUCCESS;
}

bool InBufferCallback() {
  return thread_role() == ThreadRole::kRequestCallback ||
         thread_role() == ThreadRole::kCompleteCallback;
}

void DieWhereFlushIsForbidden() {
  if (InBufferCallback()) {
    Die("cuptiActivityFlushAll called from a buffer callback, which deadlocks the real one");
  }
  if (thread_role() == ThreadRole::kResourceCallback) {
    Die("cuptiActivityFlushAll called from a resource callback, which is not allowed");
  }
}

CUptiResult FlushEither(uint32_t flag) {
  DieWhereFlushIsForbidden();
  FAKE_CUPTI_REQUIRE(ConnectedDriver() != nullptr, CUPTI_ERROR_UNKNOWN);
  FAKE_CUPTI_REQUIRE(HasBufferCallbacks(), CUPTI_ERROR_INVALID_OPERATION);
  Flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  return CUPTI_SUCCESS;
}

}  // namespace

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAKE_CUPTI_ENTER(cuptiActivityEnable);
  return Enable(kind);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  FAKE_CUPTI_ENTER(cuptiActivityDisable);
  return Disable(kind);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityEnableContext(CUcontext, CUpti_ActivityKind kind) {
  FAKE_CUPTI_ENTER(cuptiActivityEnableContext);
  return Enable(kind);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityDisableContext(CUcontext, CUpti_ActivityKind kind) {
  FAKE_CUPTI_ENTER(cuptiActivityDisableContext);
  return Disable(kind);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  FAKE_CUPTI_ENTER(cuptiActivityRegisterCallbacks);
  FAKE_CUPTI_REQUIRE(request != nullptr && complete != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  SetBufferCallbacks(request, complete);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  FAKE_CUPTI_ENTER(cuptiActivityFlushAll);
  return FlushEither(flag);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) {
  FAKE_CUPTI_ENTER(cuptiActivityFlush);
  return FlushEither(flag);
}

// Does nothing: the simulated CUPTI delivers full buffers at once, which is all that a period would
// change.
FAKE_CUPTI_EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t) {
  FAKE_CUPTI_ENTER(cuptiActivityFlushPeriod);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                                         CUpti_Activity** record) {
  FAKE_CUPTI_ENTER(cuptiActivityGetNextRecord);
  FAKE_CUPTI_REQUIRE(buffer != nullptr && record != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  const std::uint8_t* end = buffer + valid_bytes;
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    next = reinterpret_cast<std::uint8_t*>(*record);
    next += RecordBytes(KindOf(next));
  }
  if (next + sizeof(CUpti_ActivityKind) > end) return Remember(CUPTI_ERROR_MAX_LIMIT_REACHED);
  const std::size_t bytes = RecordBytes(KindOf(next));
  FAKE_CUPTI_REQUIRE(bytes != 0, CUPTI_ERROR_INVALID_KIND);
  if (next + bytes > end) return Remember(CUPTI_ERROR_MAX_LIMIT_REACHED);
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t,
                                                                size_t* dropped) {
  FAKE_CUPTI_ENTER(cuptiActivityGetNumDroppedRecords);
  FAKE_CUPTI_REQUIRE(dropped != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  // NVIDIA's samples call this in the complete callback. In the request callback, the buffer's lock
  // is held.
  if (thread_role() == ThreadRole::kRequestCallback) {
    Die("cuptiActivityGetNumDroppedRecords called from the request callback, which deadlocks");
  }
  *dropped = TakeDropped();
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiFinalize(void) {
  FAKE_CUPTI_ENTER(cuptiFinalize);
  if (InBufferCallback()) Die("cuptiFinalize called from a buffer callback");
  if (ConnectedDriver() == nullptr) return CUPTI_SUCCESS;
  for (int kind = 1; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
    Disable(static_cast<CUpti_ActivityKind>(kind));
  }
  if (HasBufferCallbacks()) Flush(true);
  UnsubscribeAnybody();
  SetBufferCallbacks(nullptr, nullptr);
  ResetAttributes();
  ResetTimestampCallback();
  return CUPTI_SUCCESS;
}
