// SPDX-License-Identifier: Apache-2.0
//
// Streams and events: cuStream*, cuEvent*. Stream capture is in capture_api.cpp.
#include <cupti.h>

#include <algorithm>

#include "cuda/capture.h"
#include "cuda/clock.h"
#include "cuda/contexts.h"
#include "cuda/engine.h"
#include "cuda/host_work.h"
#include "cuda/state.h"

using namespace fake_gpu;

namespace {

// Makes a stream with `ticket` wait for the later of two pieces of host work.
void WaitForLater(std::atomic<std::uint64_t>& ticket, const std::atomic<std::uint64_t>& other) {
  const std::uint64_t later =
      std::max(ticket.load(std::memory_order_relaxed), other.load(std::memory_order_relaxed));
  ticket.store(later, std::memory_order_relaxed);
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  CUctx_st* context = CurrentContext();
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  *out = NewStream(*context);
  (*out)->flags = flags;
  (*out)->priority = priority;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuStreamCreate(CUstream* out, unsigned flags) {
  return cuStreamCreateWithPriority(out, flags, 0);
}

FAKE_GPU_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(
      stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD,
      CUDA_ERROR_INVALID_HANDLE);
  NextCorrelation();
  CUctx_st& context = *stream->context;
  TellResource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, &context, stream, 0);
  const std::lock_guard lock(context.mutex);
  auto& all = context.streams;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [stream](const auto& one) { return one.get() == stream; });
  FAKE_GPU_REQUIRE(found != all.end(), CUDA_ERROR_INVALID_HANDLE);
  // Its work still runs to its end, and synchronizing the context waits for it.
  CUstream_st& rest = context.default_stream;
  const std::uint64_t ready = (*found)->ready_ns;
  LeaveCapture(**found);
  WaitForLater(rest.host_ticket, (*found)->host_ticket);
  all.erase(found);
  const std::lock_guard rest_lock(rest.mutex);
  rest.ready_ns = std::max(rest.ready_ns, ready);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamDestroy", "cuStreamDestroy_v2");

FAKE_GPU_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  NextCorrelation();
  if (IsCapturing(*stream)) return RefuseCaptured(*stream);
  Synchronize(*stream);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamSynchronize_ptsz", "cuStreamSynchronize");

FAKE_GPU_EXPORT CUresult cuStreamQuery(CUstream handle) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  if (IsCapturing(*stream)) return RefuseCaptured(*stream);
  // With the virtual clock, work is complete whenever it is queried, so that polling ends.
  if (!ClockIsReal()) WaitUntil(ReadyTime(*stream));
  const bool is_done = ReadyTime(*stream) <= Now() &&
                       IsHostWorkDone(stream->host_ticket.load(std::memory_order_relaxed));
  return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
FAKE_GPU_ALIAS("cuStreamQuery_ptsz", "cuStreamQuery");

FAKE_GPU_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && event != nullptr, CUDA_ERROR_INVALID_HANDLE);
  NextCorrelation();
  if (const auto captured = WaitCaptured(*stream, *event, flags)) return *captured;
  const std::lock_guard lock(stream->mutex);
  stream->ready_ns = std::max(stream->ready_ns, event->time_ns.load(std::memory_order_relaxed));
  WaitForLater(stream->host_ticket, event->host_ticket);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamWaitEvent_ptsz", "cuStreamWaitEvent");

FAKE_GPU_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext* out) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *out = stream->context;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamGetCtx_ptsz", "cuStreamGetCtx");

FAKE_GPU_EXPORT CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* out, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return cuStreamGetCtx(handle, out);
}
FAKE_GPU_ALIAS("cuStreamGetCtx_v2_ptsz", "cuStreamGetCtx_v2");

FAKE_GPU_EXPORT CUresult cuStreamGetPriority(CUstream handle, int* out) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *out = stream->priority;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamGetPriority_ptsz", "cuStreamGetPriority");

FAKE_GPU_EXPORT CUresult cuStreamGetFlags(CUstream handle, unsigned* out) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *out = stream->flags;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamGetFlags_ptsz", "cuStreamGetFlags");

FAKE_GPU_EXPORT CUresult cuStreamGetId(CUstream handle, unsigned long long* out) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && out != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *out = stream->id;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamGetId_ptsz", "cuStreamGetId");

FAKE_GPU_EXPORT CUresult cuStreamGetDevice(CUstream handle, CUdevice* out) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && out != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *out = stream->context->device;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamGetDevice_ptsz", "cuStreamGetDevice");

FAKE_GPU_EXPORT CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id,
                                              CUstreamAttrValue* out) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(stream->mutex);
  *out = stream->attributes[id];
  if (id == CU_STREAM_ATTRIBUTE_PRIORITY) out->priority = stream->priority;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamGetAttribute_ptsz", "cuStreamGetAttribute");

FAKE_GPU_EXPORT CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id,
                                              const CUstreamAttrValue* value) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && value != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(stream->mutex);
  stream->attributes[id] = *value;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamSetAttribute_ptsz", "cuStreamSetAttribute");

FAKE_GPU_EXPORT CUresult cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* to = ResolveStream(to_handle);
  CUstream_st* from = ResolveStream(from_handle);
  FAKE_GPU_REQUIRE(to != nullptr && from != nullptr, CUDA_ERROR_INVALID_VALUE);
  if (to == from) return CUDA_SUCCESS;
  const std::scoped_lock lock(to->mutex, from->mutex);
  to->attributes = from->attributes;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuStreamCopyAttributes_ptsz", "cuStreamCopyAttributes");

FAKE_GPU_EXPORT CUresult cuEventCreate(CUevent* out, unsigned) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = new CUevent_st;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  FAKE_GPU_REQUIRE_READY();
  delete event;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuEventDestroy", "cuEventDestroy_v2");

FAKE_GPU_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned flags) {
  FAKE_GPU_REQUIRE_READY();
  CUstream_st* stream = ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr && event != nullptr, CUDA_ERROR_INVALID_HANDLE);
  NextCorrelation();
  if (const auto captured = RecordCaptured(*event, *stream, flags)) return *captured;
  event->time_ns.store(ReadyTime(*stream), std::memory_order_relaxed);
  event->host_ticket.store(stream->host_ticket.load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuEventRecordWithFlags_ptsz", "cuEventRecordWithFlags");

FAKE_GPU_EXPORT CUresult cuEventRecord(CUevent event, CUstream handle) {
  return cuEventRecordWithFlags(event, handle, CU_EVENT_RECORD_DEFAULT);
}
FAKE_GPU_ALIAS("cuEventRecord_ptsz", "cuEventRecord");

FAKE_GPU_EXPORT CUresult cuEventQuery(CUevent event) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(event != nullptr, CUDA_ERROR_INVALID_HANDLE);
  FAKE_GPU_REQUIRE(event->capture == nullptr, CUDA_ERROR_CAPTURED_EVENT);
  const std::uint64_t time = event->time_ns.load(std::memory_order_relaxed);
  if (!ClockIsReal()) WaitUntil(time);
  const bool is_done =
      time <= Now() && IsHostWorkDone(event->host_ticket.load(std::memory_order_relaxed));
  return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

FAKE_GPU_EXPORT CUresult cuEventSynchronize(CUevent event) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(event != nullptr, CUDA_ERROR_INVALID_HANDLE);
  FAKE_GPU_REQUIRE(event->capture == nullptr, CUDA_ERROR_CAPTURED_EVENT);
  NextCorrelation();
  WaitUntil(event->time_ns.load(std::memory_order_relaxed));
  WaitForHostWork(event->host_ticket.load(std::memory_order_relaxed));
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(milliseconds != nullptr && begin != nullptr && end != nullptr,
                   CUDA_ERROR_INVALID_VALUE);
  FAKE_GPU_REQUIRE(begin->capture == nullptr && end->capture == nullptr, CUDA_ERROR_CAPTURED_EVENT);
  const auto from = static_cast<std::int64_t>(begin->time_ns.load(std::memory_order_relaxed));
  const auto to = static_cast<std::int64_t>(end->time_ns.load(std::memory_order_relaxed));
  FAKE_GPU_REQUIRE(from != 0 && to != 0, CUDA_ERROR_INVALID_HANDLE);
  *milliseconds = static_cast<float>(static_cast<double>(to - from) / 1e6);
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuEventElapsedTime", "cuEventElapsedTime_v2");

FAKE_GPU_EXPORT CUresult fakeGpuStreamCreate(CUstream* out, int device, uint32_t stream_id) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  CUctx_st* context = PrimaryContext(device);
  FAKE_GPU_REQUIRE(context != nullptr, CUDA_ERROR_INVALID_DEVICE);
  *out = NewStream(*context, stream_id);
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult fakeGpuStreamId(CUcontext context, CUstream handle, uint32_t* id) {
  FAKE_GPU_REQUIRE(id != nullptr, CUDA_ERROR_INVALID_VALUE);
  CUstream_st* stream =
      handle == nullptr && context != nullptr ? &context->default_stream : ResolveStream(handle);
  FAKE_GPU_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  *id = stream->id;
  return CUDA_SUCCESS;
}
