// SPDX-License-Identifier: Apache-2.0
//
// Version, time, errors, and the ids behind handles.
#include "cupti/driver.h"
#include "cupti/entry.h"
#include "cupti/settings.h"
#include "cupti/timestamps.h"

using namespace fake_cupti;

namespace {

struct ResultText {
  CUptiResult result;
  const char* text;
};

#define FAKE_CUPTI_TEXT(name) \
  { name, #name }
constexpr ResultText kTexts[] = {
    FAKE_CUPTI_TEXT(CUPTI_SUCCESS),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_INVALID_PARAMETER),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_INVALID_CONTEXT),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_INVALID_OPERATION),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_OUT_OF_MEMORY),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_MAX_LIMIT_REACHED),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_NOT_COMPATIBLE),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_NOT_INITIALIZED),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_INVALID_KIND),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_HARDWARE_BUSY),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_NOT_SUPPORTED),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES),
    FAKE_CUPTI_TEXT(CUPTI_ERROR_UNKNOWN),
};
#undef FAKE_CUPTI_TEXT

CUptiResult TextOf(CUptiResult result, const char** text) {
  FAKE_CUPTI_REQUIRE(text != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  for (const ResultText& one : kTexts) {
    if (one.result == result) {
      *text = one.text;
      return CUPTI_SUCCESS;
    }
  }
  *text = "<unknown>";
  return CUPTI_ERROR_INVALID_PARAMETER;
}

// Converts a driver result: ids come from the driver.
CUptiResult FromDriver(CUresult result) {
  return result == CUDA_SUCCESS ? CUPTI_SUCCESS : Remember(CUPTI_ERROR_INVALID_PARAMETER);
}

}  // namespace

FAKE_CUPTI_EXPORT CUptiResult cuptiGetVersion(uint32_t* version) {
  FAKE_CUPTI_ENTER(cuptiGetVersion);
  FAKE_CUPTI_REQUIRE(version != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  *version = settings().version;
  return CUPTI_SUCCESS;
}

// Returns CLOCK_REALTIME, even if the virtual clock is ahead of it, or the client's clock.
FAKE_CUPTI_EXPORT CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  FAKE_CUPTI_ENTER(cuptiGetTimestamp);
  FAKE_CUPTI_REQUIRE(timestamp != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  *timestamp = TimestampNow();
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  FAKE_CUPTI_ENTER(cuptiGetResultString);
  return TextOf(result, text);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) {
  FAKE_CUPTI_ENTER(cuptiGetErrorMessage);
  return TextOf(result, text);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiGetLastError(void) {
  CheckCaller("cuptiGetLastError");
  return TakeLastError();
}

FAKE_CUPTI_EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  FAKE_CUPTI_ENTER(cuptiGetContextId);
  FAKE_CUPTI_REQUIRE(ConnectedDriver() != nullptr, CUPTI_ERROR_NOT_INITIALIZED);
  return FromDriver(ConnectedDriver()->context_uid(context, id));
}

FAKE_CUPTI_EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  FAKE_CUPTI_ENTER(cuptiGetDeviceId);
  FAKE_CUPTI_REQUIRE(ConnectedDriver() != nullptr, CUPTI_ERROR_NOT_INITIALIZED);
  return FromDriver(ConnectedDriver()->context_device(context, id));
}

FAKE_CUPTI_EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t,
                                                 uint32_t* id) {
  FAKE_CUPTI_ENTER(cuptiGetStreamIdEx);
  FAKE_CUPTI_REQUIRE(ConnectedDriver() != nullptr, CUPTI_ERROR_NOT_INITIALIZED);
  return FromDriver(ConnectedDriver()->stream_id(context, stream, id));
}

FAKE_CUPTI_EXPORT CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  FAKE_CUPTI_ENTER(cuptiGetStreamId);
  FAKE_CUPTI_REQUIRE(ConnectedDriver() != nullptr, CUPTI_ERROR_NOT_INITIALIZED);
  return FromDriver(ConnectedDriver()->stream_id(context, stream, id));
}

FAKE_CUPTI_EXPORT CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  FAKE_CUPTI_ENTER(cuptiGetGraphExecId);
  FAKE_CUPTI_REQUIRE(ConnectedDriver() != nullptr, CUPTI_ERROR_NOT_INITIALIZED);
  return FromDriver(ConnectedDriver()->graph_exec_id(exec, id));
}
