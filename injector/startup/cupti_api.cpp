// SPDX-License-Identifier: Apache-2.0
#include "startup/cupti_api.h"

#include <cstddef>

#include "recording/decoder.h"
#include "startup/runtime.h"

namespace stemtap::inject {

// Checks the decoder's offsets against the newest records in the headers of this build.
using NewestKernel = CUpti_ActivityKernel10;
static_assert(offsetof(NewestKernel, start) == kOffsetStart);
static_assert(offsetof(NewestKernel, end) == kOffsetEnd);
static_assert(offsetof(NewestKernel, deviceId) == kOffsetDevice);
static_assert(offsetof(NewestKernel, streamId) == kOffsetStream);
static_assert(offsetof(NewestKernel, gridX) == kOffsetGrid);
static_assert(offsetof(NewestKernel, blockX) == kOffsetBlock);
static_assert(offsetof(NewestKernel, staticSharedMemory) == kOffsetStaticShared);
static_assert(offsetof(NewestKernel, dynamicSharedMemory) == kOffsetDynamicShared);
static_assert(offsetof(NewestKernel, correlationId) == kOffsetCorrelation);
static_assert(offsetof(NewestKernel, name) == kOffsetName);
static_assert(offsetof(NewestKernel, graphNodeId) == kOffsetGraphNode);
static_assert(offsetof(NewestKernel, graphId) == kOffsetGraph);

using NewestGraph = CUpti_ActivityGraphTrace2;
static_assert(offsetof(NewestGraph, correlationId) == kOffsetGraphCorrelation);
static_assert(offsetof(NewestGraph, start) == kOffsetGraphStart);
static_assert(offsetof(NewestGraph, end) == kOffsetGraphEnd);
static_assert(offsetof(NewestGraph, deviceId) == kOffsetGraphDevice);
static_assert(offsetof(NewestGraph, graphId) == kOffsetGraphGraph);
static_assert(offsetof(NewestGraph, streamId) == kOffsetGraphStream);

using NewestOverhead = CUpti_ActivityOverhead3;
static_assert(offsetof(NewestOverhead, overheadKind) == kOffsetOverheadKind);
static_assert(offsetof(NewestOverhead, start) == kOffsetOverheadStart);
static_assert(offsetof(NewestOverhead, end) == kOffsetOverheadEnd);
static_assert(kOverheadFlush == CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
static_assert(kOverheadInstrumentation == CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION);
static_assert(kOverheadResource == CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE);

namespace {

template <typename Function>
bool Load(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(FindSymbol(library, name));
  return function != nullptr;
}

}  // namespace

const char* CuptiApi::Describe(CUptiResult result) const noexcept {
  const char* text = nullptr;
  if (GetResultString == nullptr || GetResultString(result, &text) != CUPTI_SUCCESS) return "";
  return text != nullptr ? text : "";
}

const char* LoadCuptiApi(void* library, CuptiApi& api) noexcept {
  Load(library, "cuptiSubscribe_v2", api.SubscribeV2);
  Load(library, "cuptiGetResultString", api.GetResultString);
  Load(library, "cuptiGetTimestamp", api.GetTimestamp);
  Load(library, "cuptiActivityGetAttribute", api.ActivityGetAttribute);
  Load(library, "cuptiGetGraphExecId", api.GetGraphExecId);
#define STEMTAP_LOAD(function, name) \
  if (!Load(library, name, api.function)) return name
  STEMTAP_LOAD(GetVersion, "cuptiGetVersion");
  STEMTAP_LOAD(Subscribe, "cuptiSubscribe");
  STEMTAP_LOAD(Unsubscribe, "cuptiUnsubscribe");
  STEMTAP_LOAD(EnableCallback, "cuptiEnableCallback");
  STEMTAP_LOAD(ActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
  STEMTAP_LOAD(ActivityEnable, "cuptiActivityEnable");
  STEMTAP_LOAD(ActivityDisable, "cuptiActivityDisable");
  STEMTAP_LOAD(ActivitySetAttribute, "cuptiActivitySetAttribute");
  STEMTAP_LOAD(ActivityFlushAll, "cuptiActivityFlushAll");
  STEMTAP_LOAD(ActivityGetNextRecord, "cuptiActivityGetNextRecord");
  STEMTAP_LOAD(ActivityGetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords");
#undef STEMTAP_LOAD
  return nullptr;
}

}  // namespace stemtap::inject
