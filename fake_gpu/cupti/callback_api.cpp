// SPDX-License-Identifier: Apache-2.0
//
// The callback API: cuptiSubscribe, cuptiEnableCallback and related functions.
#include <algorithm>
#include <cstring>

#include "cupti/callbacks.h"
#include "cupti/driver.h"
#include "cupti/entry.h"

using namespace fake_cupti;

namespace {

constexpr CUpti_CallbackDomain kDomains[] = {
    CUPTI_CB_DOMAIN_DRIVER_API,  CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
    CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_NVTX,        CUPTI_CB_DOMAIN_STATE};

bool DomainExists(CUpti_CallbackDomain domain) {
  return domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE;
}

// Copies the current subscriber's name to the client's buffer, truncated to its size.
void TellIncumbent(const std::string& name, CUpti_SubscriberParams* params) {
  if (params == nullptr || params->oldSubscriberName == nullptr || params->oldSubscriberSize == 0) {
    return;
  }
  const std::size_t length = std::min(name.size(), params->oldSubscriberSize - 1);
  std::memcpy(params->oldSubscriberName, name.data(), length);
  params->oldSubscriberName[length] = '\0';
}

CUptiResult SubscribeEither(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                            void* userdata, CUpti_SubscriberParams* params) {
  FAKE_CUPTI_REQUIRE(subscriber != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  FAKE_CUPTI_REQUIRE(ConnectedDriver() != nullptr, CUPTI_ERROR_UNKNOWN);
  std::string incumbent;
  const char* name = params == nullptr ? nullptr : params->subscriberName;
  if (!Subscribe(callback, userdata, name, subscriber, incumbent)) {
    TellIncumbent(incumbent, params);
    return Remember(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  }
  return CUPTI_SUCCESS;
}

}  // namespace

FAKE_CUPTI_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber,
                                             CUpti_CallbackFunc callback, void* userdata) {
  FAKE_CUPTI_ENTER(cuptiSubscribe);
  return SubscribeEither(subscriber, callback, userdata, nullptr);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber,
                                                CUpti_CallbackFunc callback, void* userdata,
                                                CUpti_SubscriberParams* params) {
  FAKE_CUPTI_ENTER(cuptiSubscribe_v2);
  FAKE_CUPTI_REQUIRE(params == nullptr || params->structSize == CUpti_SubscriberParams_STRUCT_SIZE,
                     CUPTI_ERROR_INVALID_PARAMETER);
  return SubscribeEither(subscriber, callback, userdata, params);
}

FAKE_CUPTI_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  FAKE_CUPTI_ENTER(cuptiUnsubscribe);
  FAKE_CUPTI_REQUIRE(Unsubscribe(subscriber), CUPTI_ERROR_INVALID_PARAMETER);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable,
                                                  CUpti_SubscriberHandle subscriber,
                                                  CUpti_CallbackDomain domain,
                                                  CUpti_CallbackId cbid) {
  FAKE_CUPTI_ENTER(cuptiEnableCallback);
  FAKE_CUPTI_REQUIRE(
      IsSubscriber(subscriber) && DomainExists(domain) && CallbackExists(domain, cbid),
      CUPTI_ERROR_INVALID_PARAMETER);
  SetCallback(domain, cbid, enable != 0);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                                CUpti_CallbackDomain domain) {
  FAKE_CUPTI_ENTER(cuptiEnableDomain);
  FAKE_CUPTI_REQUIRE(IsSubscriber(subscriber) && DomainExists(domain),
                     CUPTI_ERROR_INVALID_PARAMETER);
  SetDomain(domain, enable != 0);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiEnableAllDomains(uint32_t enable,
                                                    CUpti_SubscriberHandle subscriber) {
  FAKE_CUPTI_ENTER(cuptiEnableAllDomains);
  FAKE_CUPTI_REQUIRE(IsSubscriber(subscriber), CUPTI_ERROR_INVALID_PARAMETER);
  for (const CUpti_CallbackDomain domain : kDomains) SetDomain(domain, enable != 0);
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiGetCallbackState(uint32_t* enable,
                                                    CUpti_SubscriberHandle subscriber,
                                                    CUpti_CallbackDomain domain,
                                                    CUpti_CallbackId cbid) {
  FAKE_CUPTI_ENTER(cuptiGetCallbackState);
  FAKE_CUPTI_REQUIRE(enable != nullptr && IsSubscriber(subscriber) && DomainExists(domain) &&
                         CallbackExists(domain, cbid),
                     CUPTI_ERROR_INVALID_PARAMETER);
  *enable = CallbackIsOn(domain, cbid) ? 1 : 0;
  return CUPTI_SUCCESS;
}

FAKE_CUPTI_EXPORT CUptiResult cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  FAKE_CUPTI_ENTER(cuptiSupportedDomains);
  FAKE_CUPTI_REQUIRE(count != nullptr && table != nullptr, CUPTI_ERROR_INVALID_PARAMETER);
  static CUpti_CallbackDomain domains[std::size(kDomains)];
  std::copy(std::begin(kDomains), std::end(kDomains), domains);
  *count = std::size(kDomains);
  *table = domains;
  return CUPTI_SUCCESS;
}
