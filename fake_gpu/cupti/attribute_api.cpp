// SPDX-License-Identifier: Apache-2.0
//
// Attributes and switches of the activity API. Two attributes change the simulated CUPTI's
// behavior; the others are stored and returned.
#include <array>
#include <cstring>
#include <mutex>

#include "cupti/buffers.h"
#include "cupti/entry.h"
#include "cupti/timestamps.h"

using namespace fake_cupti;

namespace {

struct Attribute {
  CUpti_ActivityAttribute id;
  std::size_t bytes;
  std::uint64_t value;  // little endian, of the given size
};

std::mutex g_mutex;
// Defaults from cupti_activity.h.
constexpr Attribute kDefaults[] = {
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, sizeof(size_t), 3'200'000},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP, sizeof(size_t), 8u << 20},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, sizeof(size_t), 250},
    {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE, sizeof(size_t), 25'000},
    {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT, sizeof(size_t), 250},
    {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof(uint8_t), 0},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, sizeof(size_t), 3},
    {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE, sizeof(size_t), 3},
    {CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, sizeof(uint8_t), 0},
    {CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, sizeof(uint8_t), 1},
};
auto g_attributes = std::to_array(kDefaults);

Attribute* Find(CUpti_ActivityAttribute id) {
  for (Attribute& attribute : g_attributes) {
    if (attribute.id == id) return &attribute;
  }
  return nullptr;
}

}  // namespace

std::uint64_t fake_cupti::DevicePoolBytes() {
  const std::lock_guard lock(g_mutex);
  return Find(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE)->value *
         Find(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT)->value;
}

void fake_cupti::ResetAttributes() {
  const std::lock_guard lock(g_mutex);
  g_attributes = std::to_array(kDefaults);
  SetZeroedOut(false);
  SetPerThread(true);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute id, size_t* bytes,
                                                        void* value) {
  FAKE_CUPTI_ENTER(cuptiActivitySetAttribute);
  FAKE_CUPTI_REQUIRE(bytes != nullptr && value != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  const std::lock_guard lock(g_mutex);
  Attribute* attribute = Find(id);
  FAKE_CUPTI_REQUIRE(attribute != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  FAKE_CUPTI_REQUIRE(*bytes >= attribute->bytes, CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
  attribute->value = 0;
  std::memcpy(&attribute->value, value, attribute->bytes);
  if (id == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) SetZeroedOut(attribute->value != 0);
  if (id == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) SetPerThread(attribute->value != 0);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute id, size_t* bytes,
                                                        void* value) {
  FAKE_CUPTI_ENTER(cuptiActivityGetAttribute);
  FAKE_CUPTI_REQUIRE(bytes != nullptr && value != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  const std::lock_guard lock(g_mutex);
  const Attribute* attribute = Find(id);
  FAKE_CUPTI_REQUIRE(attribute != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  FAKE_CUPTI_REQUIRE(*bytes >= attribute->bytes, CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
  std::memcpy(value, &attribute->value, attribute->bytes);
  *bytes = attribute->bytes;
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t) {
  FAKE_CUPTI_ENTER(cuptiActivityEnableLatencyTimestamps);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t) {
  FAKE_CUPTI_ENTER(cuptiActivityEnableLaunchAttributes);
  return CUPTI_SUCCESS;
}

// Only Blackwell supports it; the simulated devices default to compute capability 8.0.
FAKE_CUPTI_EXPORT CUptiResult cuptiActivityEnableHWTrace(uint8_t) {
  FAKE_CUPTI_ENTER(cuptiActivityEnableHWTrace);
  return Remember(CUPTI_ERROR_NOT_SUPPORTED);
}

FAKE_CUPTI_EXPORT CUptiResult
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  FAKE_CUPTI_ENTER(cuptiActivityRegisterTimestampCallback);
  FAKE_CUPTI_REQUIRE(callback != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  SetTimestampCallback(callback);
  return CUPTI_SUCCESS;
}
