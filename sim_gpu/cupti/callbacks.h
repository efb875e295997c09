// SPDX-License-Identifier: Apache-2.0
//
// The one subscriber and its callbacks: who is subscribed, which callbacks are on, and calling
// them.
//
// THREADS: any. Switching callbacks must be serialized by the client, who is ended if it does not.
#pragma once

#include <cupti.h>

#include <string>

#include "fake_gpu.h"

namespace fake_cupti {

// Takes the slot; false when it is taken, then `incumbent` is the owner's name.
bool Subscribe(CUpti_CallbackFunc callback, void* userdata, const char* name,
               CUpti_SubscriberHandle* handle, std::string& incumbent);

// Frees the slot and switches all callbacks off. False when `handle` is not the subscriber.
bool Unsubscribe(CUpti_SubscriberHandle handle);
void UnsubscribeAnybody();

bool IsSubscriber(CUpti_SubscriberHandle handle);

// False for a callback that does not exist.
bool CallbackExists(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
void SetCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on);
void SetDomain(CUpti_CallbackDomain domain, bool on);
bool CallbackIsOn(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);

// FakeGpuHooks::api and FakeGpuHooks::resource.
void DispatchApi(FakeGpuApiCall* call, int is_exit);
void DispatchResource(const FakeGpuResource* resource);

}  // namespace fake_cupti
