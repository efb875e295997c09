// SPDX-License-Identifier: Apache-2.0
//
// Records of API calls and external correlation ids. The simulated CUPTI yields neither: the
// switches that a profiler such as Kineto sets for them are accepted and have no effect.
#include <cstdio>
#include <vector>

#include "cupti/entry.h"

using namespace fake_cupti;

namespace {

struct ExternalId {
  CUpti_ExternalCorrelationKind kind;
  std::uint64_t id;
};
thread_local std::vector<ExternalId> t_external_ids;

}  // namespace

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, uint8_t) {
  FAKE_CUPTI_ENTER(cuptiActivityEnableDriverApi);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId, uint8_t) {
  FAKE_CUPTI_ENTER(cuptiActivityEnableRuntimeApi);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) {
  FAKE_CUPTI_ENTER(cuptiActivityEnableCudaEventDeviceTimestamps);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  FAKE_CUPTI_ENTER(cuptiActivityPushExternalCorrelationId);
  FAKE_CUPTI_REQUIRE(
      kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE,
      CUPTI_ERROR_INVALID_PARAMETER);
  t_external_ids.push_back({kind, id});
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last_id) {
  FAKE_CUPTI_ENTER(cuptiActivityPopExternalCorrelationId);
  for (auto last = t_external_ids.rbegin(); last != t_external_ids.rend(); ++last) {
    if (last->kind != kind) continue;
    if (last_id != nullptr) *last_id = last->id;
    t_external_ids.erase(std::next(last).base());
    return CUPTI_SUCCESS;
  }
  return Remember(CUPTI_ERROR_QUEUE_EMPTY);
}

// Names every callback by its domain and number: the real names would need a table of a thousand
// functions.
FAKE_CUPTI_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
                                                   const char** name) {
  FAKE_CUPTI_ENTER(cuptiGetCallbackName);
  FAKE_CUPTI_REQUIRE(
      name != nullptr && domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE,
      CUPTI_ERROR_INVALID_PARAMETER);
  thread_local char text[32];
  std::snprintf(text, sizeof text, "callback %d.%u", static_cast<int>(domain), cbid);
  *name = text;
  return CUPTI_SUCCESS;
}
