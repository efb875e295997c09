// SPDX-License-Identifier: Apache-2.0
#include "cupti/callbacks.h"

#include <atomic>
#include <mutex>

#include "cupti/driver.h"
#include "cupti/entry.h"
#include "cupti/settings.h"

// The object behind the opaque handle.
struct CUpti_Subscriber_st {
  std::atomic<CUpti_CallbackFunc> callback{nullptr};
  std::atomic<void*> userdata{nullptr};
  std::string name;    // guarded by g_mutex
  bool taken = false;  // guarded by g_mutex
};

namespace fake_cupti {
namespace {

// Larger than any callback domain of CUPTI 13 (the driver domain has 807).
constexpr std::size_t kMaxCallbacks = 1024;

std::mutex g_mutex;
CUpti_Subscriber_st& slot() {
  static CUpti_Subscriber_st& instance = *new CUpti_Subscriber_st;  // leaked: used at exit
  return instance;
}

// Relaxed: a switch takes effect at once, and a launch that races with it may see either value.
std::atomic<bool> g_on[CUPTI_CB_DOMAIN_SIZE][kMaxCallbacks];
std::atomic<int> g_count_on[CUPTI_CB_DOMAIN_SIZE];

// Detects a client that switches callbacks from two threads concurrently.
std::atomic<bool> g_switching{false};

class Switching {
 public:
  Switching() {
    if (g_switching.exchange(true, std::memory_order_acquire)) {
      Die("callbacks are switched by two threads at once; the client must serialise that");
    }
  }
  ~Switching() { g_switching.store(false, std::memory_order_release); }
};

std::size_t CallbackCount(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return CUPTI_DRIVER_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return CUPTI_RUNTIME_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return CUPTI_CBID_RESOURCE_SIZE;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return CUPTI_CBID_SYNCHRONIZE_SIZE;
    case CUPTI_CB_DOMAIN_STATE:
      return CUPTI_CBID_STATE_SIZE;
    default:
      return 0;
  }
}
static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE <= kMaxCallbacks &&
              CUPTI_RUNTIME_TRACE_CBID_SIZE <= kMaxCallbacks);

void Set(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on) {
  if (g_on[domain][cbid].exchange(on, std::memory_order_relaxed) != on) {
    g_count_on[domain].fetch_add(on ? 1 : -1, std::memory_order_relaxed);
  }
}

void TellDriver() {
  if (ConnectedDriver() == nullptr) return;
  const auto any = [](CUpti_CallbackDomain domain) {
    return g_count_on[domain].load(std::memory_order_relaxed) != 0;
  };
  SetInterest(FAKE_GPU_INTEREST_API, any(CUPTI_CB_DOMAIN_DRIVER_API));
  SetInterest(FAKE_GPU_INTEREST_RESOURCES, any(CUPTI_CB_DOMAIN_RESOURCE));
}

void SwitchAllOff() {
  const Switching guard;
  for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    for (std::size_t cbid = 0; cbid < kMaxCallbacks; ++cbid) {
      Set(static_cast<CUpti_CallbackDomain>(domain), static_cast<CUpti_CallbackId>(cbid), false);
    }
  }
  TellDriver();
}

void Free() {
  slot().callback.store(nullptr, std::memory_order_relaxed);
  slot().taken = false;
  slot().name.clear();
}

}  // namespace

bool Subscribe(CUpti_CallbackFunc callback, void* userdata, const char* name,
               CUpti_SubscriberHandle* handle, std::string& incumbent) {
  const std::lock_guard lock(g_mutex);
  if (!settings().occupied_by.empty()) {
    incumbent = settings().occupied_by;
    return false;
  }
  if (slot().taken) {
    incumbent = slot().name;
    return false;
  }
  slot().taken = true;
  slot().name = "CUPTI for ";
  slot().name +=
      std::string(name == nullptr ? "unknown" : name).substr(0, CUPTI_SUBSCRIBER_NAME_MAX_LEN);
  slot().userdata.store(userdata, std::memory_order_relaxed);
  slot().callback.store(callback, std::memory_order_release);  // pairs with the load in Call
  *handle = &slot();
  return true;
}

bool Unsubscribe(CUpti_SubscriberHandle handle) {
  {
    const std::lock_guard lock(g_mutex);
    if (handle != &slot() || !slot().taken) return false;
    Free();
  }
  SwitchAllOff();
  return true;
}

void UnsubscribeAnybody() {
  {
    const std::lock_guard lock(g_mutex);
    Free();
  }
  SwitchAllOff();
}

bool IsSubscriber(CUpti_SubscriberHandle handle) {
  const std::lock_guard lock(g_mutex);
  return handle == &slot() && slot().taken;
}

bool CallbackExists(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  return cbid != 0 && cbid < CallbackCount(domain);
}

void SetCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on) {
  const Switching guard;
  Set(domain, cbid, on);
  TellDriver();
}

void SetDomain(CUpti_CallbackDomain domain, bool on) {
  const Switching guard;
  for (std::size_t cbid = 1; cbid < CallbackCount(domain); ++cbid) {
    Set(domain, static_cast<CUpti_CallbackId>(cbid), on);
  }
  TellDriver();
}

bool CallbackIsOn(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  return g_on[domain][cbid].load(std::memory_order_relaxed);
}

namespace {

void Call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, ThreadRole role, const void* data) {
  if (!CallbackIsOn(domain, cbid)) return;
  const CUpti_CallbackFunc callback = slot().callback.load(std::memory_order_acquire);
  if (callback == nullptr) return;
  const ScopedRole scope(role);
  Guarded([&] { callback(slot().userdata.load(std::memory_order_relaxed), domain, cbid, data); });
}

}  // namespace

void DispatchApi(FakeGpuApiCall* call, int is_exit) {
  CUpti_CallbackData data = {};
  data.callbackSite = is_exit != 0 ? CUPTI_API_EXIT : CUPTI_API_ENTER;
  data.functionName = call->function_name;
  data.functionParams = call->params;
  data.functionReturnValue = is_exit != 0 ? &call->result : nullptr;
  data.symbolName = call->symbol_name;
  data.context = call->context;
  data.contextUid = call->context_uid;
  data.correlationData = &call->correlation_data;
  data.correlationId = call->correlation_id;
  Call(CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, ThreadRole::kApiCallback, &data);
}

void DispatchResource(const FakeGpuResource* resource) {
  CUpti_ModuleResourceData module = {};
  module.moduleId = resource->module_id;
  CUpti_ResourceData data = {};
  data.context = resource->context;
  data.resourceHandle.stream = resource->stream;
  if (resource->module_id != 0) data.resourceDescriptor = &module;
  Call(CUPTI_CB_DOMAIN_RESOURCE, resource->cbid, ThreadRole::kResourceCallback, &data);
}

}  // namespace fake_cupti
