// SPDX-License-Identifier: Apache-2.0
//
// The single subscriber and its callbacks: subscription, enabled callbacks, and dispatch.
//
// THREADS: any. The client must serialize switching; otherwise the process is aborted.
#pragma once

#include <cupti.h>

#include <string>

#include "fake_gpu.h"

namespace fake_cupti {

// Takes the slot. Returns false if it is taken, with the owner's name in `incumbent`.
bool Subscribe(CUpti_CallbackFunc callback, void* userdata, const char* name,
               CUpti_SubscriberHandle* handle, std::string& incumbent);

// Frees the slot and disables all callbacks. Returns false if `handle` is not the subscriber.
bool Unsubscribe(CUpti_SubscriberHandle handle);
void UnsubscribeAnybody();

bool IsSubscriber(CUpti_SubscriberHandle handle);

// Returns false if the callback does not exist.
bool CallbackExists(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
void SetCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on);
void SetDomain(CUpti_CallbackDomain domain, bool on);
bool CallbackIsOn(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);

// FakeGpuHooks::api and FakeGpuHooks::resource.
void DispatchApi(FakeGpuApiCall* call, int is_exit);
void DispatchResource(const FakeGpuResource* resource);

}  // namespace fake_cupti
