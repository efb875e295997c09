// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of the callback API: who may subscribe, and what callbacks show.
#include <cstring>
#include <functional>
#include <map>

#include "probe.h"

namespace probe {
namespace {

void Ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// A second subscriber is refused and receives the owner's name; the slot is free again afterwards.
void Subscribers() {
  Gpu gpu;
  CUpti_SubscriberParams params = {};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "first";
  char incumbent[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
  params.oldSubscriberName = incumbent;
  params.oldSubscriberSize = sizeof incumbent;
  CUpti_SubscriberHandle one, two;
  Print("first", cuptiSubscribe_v2(&one, Ignore, nullptr, &params));
  Print("second", cuptiSubscribe_v2(&two, Ignore, nullptr, &params));
  Print("incumbent", incumbent);
  Print("third", cuptiSubscribe(&two, Ignore, nullptr));
  Print("unsubscribe", cuptiUnsubscribe(one));
  Print("unsubscribe_again", cuptiUnsubscribe(one));
  Print("after", cuptiSubscribe(&two, Ignore, nullptr));
}

// Seen contains what a gate observes for one launch of each kind.
struct Seen {
  int enters = 0, exits = 0;
  std::uint32_t correlation = 0;
  std::uint32_t grid_x = 0;
  std::uint64_t duration_ns = 0;
  std::string symbol;
  std::uint32_t cell_kept = 0;
  int result = -1;
  std::uint32_t cbid = 0;
};

void Gate(void* userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  auto& seen = *static_cast<Seen*>(userdata);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  seen.cbid = cbid;
  if (call.callbackSite == CUPTI_API_EXIT) {
    ++seen.exits;
    seen.cell_kept += *call.correlationData == 42;
    seen.result = *static_cast<const CUresult*>(call.functionReturnValue);
    return;
  }
  ++seen.enters;
  *call.correlationData = 42;
  seen.correlation = call.correlationId;
  if (call.symbolName != nullptr) seen.symbol = call.symbolName;
  if (cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
    const auto& params = *static_cast<const cuLaunchKernel_params*>(call.functionParams);
    seen.grid_x = params.gridDimX;
    if (params.kernelParams != nullptr) {
      seen.duration_ns = *static_cast<const std::uint64_t*>(params.kernelParams[0]);
    }
  } else if (cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx) {
    const auto& params = *static_cast<const cuLaunchKernelEx_params*>(call.functionParams);
    seen.grid_x = params.config->gridDimX;
  }
}

void PrintSeen(const Seen& seen) {
  Print("enters", static_cast<std::uint64_t>(seen.enters));
  Print("exits", static_cast<std::uint64_t>(seen.exits));
  Print("grid_x", seen.grid_x);
  Print("cell_kept", seen.cell_kept);
  Print("result", static_cast<std::uint64_t>(seen.result));
  Print("symbol", seen.symbol);
}

void LaunchCallbacks() {
  Gpu gpu;
  Client::Start();
  Seen seen;
  CUpti_SubscriberHandle subscriber;
  Check(cuptiSubscribe(&subscriber, Gate, &seen), "cuptiSubscribe");
  gpu.Launch(1111);
  Print("before_enabling", static_cast<std::uint64_t>(seen.enters));
  Check(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
        "cuptiEnableCallback");
  gpu.Launch(2222, 0, "_Z1fv");
  PrintSeen(seen);
  Print("duration_ns", seen.duration_ns);
  Check(cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
        "cuptiEnableCallback");
  gpu.Launch(3333);
  Print("after_disabling", static_cast<std::uint64_t>(seen.enters));
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto records = Records(Client::Take());
  Print("records", records.size());
  Print("same_correlation", records.at(1).correlationId == seen.correlation);
}

void OtherLaunches() {
  Gpu gpu;
  Seen seen;
  CUpti_SubscriberHandle subscriber;
  Check(cuptiSubscribe(&subscriber, Gate, &seen), "cuptiSubscribe");
  Check(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), "cuptiEnableDomain");
  CUlaunchConfig config = {};
  config.gridDimX = 9;
  config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = gpu.stream(0);
  Check(cuLaunchKernelEx(&config, gpu.Function("ex"), nullptr, nullptr), "cuLaunchKernelEx");
  Print("ex_cbid_is_right", seen.cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
  Print("ex_grid_x", seen.grid_x);
  Check(
      cuLaunchCooperativeKernel(gpu.Function("coop"), 1, 1, 1, 1, 1, 1, 0, gpu.stream(0), nullptr),
      "cuLaunchCooperativeKernel");
  Print("cooperative_cbid_is_right",
        seen.cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel);
  const CUresult bad =
      cuLaunchKernel(gpu.Function("bad"), 0, 1, 1, 1, 1, 1, 0, gpu.stream(0), nullptr, nullptr);
  Print("bad_launch", bad);
  Print("bad_launch_seen", static_cast<std::uint64_t>(seen.result));
  Print("enters", static_cast<std::uint64_t>(seen.enters));
  Print("exits", static_cast<std::uint64_t>(seen.exits));
}

void Resources() {
  Gpu gpu;
  static std::map<std::uint32_t, int> seen;
  CUpti_SubscriberHandle subscriber;
  Check(cuptiSubscribe(
            &subscriber,
            [](void*, CUpti_CallbackDomain, CUpti_CallbackId cbid, const void*) { ++seen[cbid]; },
            nullptr),
        "cuptiSubscribe");
  Check(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE), "cuptiEnableDomain");
  CUcontext context;
  CUmodule module;
  Check(cuCtxCreate(&context, nullptr, 0, 0), "cuCtxCreate");
  Check(cuModuleLoadData(&module, ""), "cuModuleLoadData");
  Check(cuModuleUnload(module), "cuModuleUnload");
  Check(cuCtxDestroy(context), "cuCtxDestroy");
  Print("contexts", static_cast<std::uint64_t>(seen[CUPTI_CBID_RESOURCE_CONTEXT_CREATED] * 10 +
                                               seen[CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING]));
  Print("modules", static_cast<std::uint64_t>(seen[CUPTI_CBID_RESOURCE_MODULE_LOADED] * 10 +
                                              seen[CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING]));
}

// Subscribes to detect another subscriber, unsubscribes at once, and still records.
void ProbeAndLeave() {
  Gpu gpu;
  CUpti_SubscriberHandle subscriber;
  Check(cuptiSubscribe(&subscriber, Ignore, nullptr), "cuptiSubscribe");
  Check(cuptiUnsubscribe(subscriber), "cuptiUnsubscribe");
  Client::Start();
  gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Print("records", Records(Client::Take()).size());
}

// Calls cuptiFinalize at the exit of a launch, as Kineto does; CUPTI is then in its initial state.
void FinalizeAtExit() {
  Gpu gpu;
  static int calls = 0;
  CUpti_SubscriberHandle subscriber;
  Check(cuptiSubscribe(
            &subscriber,
            [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* info) {
              ++calls;
              const auto* data = static_cast<const CUpti_CallbackData*>(info);
              if (data->callbackSite == CUPTI_API_EXIT) Check(cuptiFinalize(), "Finalize");
            },
            nullptr),
        "cuptiSubscribe");
  const auto attribute = [](std::uint8_t value, bool set) {
    std::size_t bytes = sizeof value;
    const auto id = CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER;
    Check(set ? cuptiActivitySetAttribute(id, &bytes, &value)
              : cuptiActivityGetAttribute(id, &bytes, &value),
          "Attribute");
    return value;
  };
  attribute(0, true);
  Client::Start();
  gpu.Launch(1000);
  Check(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
        "EnableCallback");
  gpu.Launch(1000);
  for (int i = 0; i < 10; ++i) gpu.Launch(1000);
  Print("calls", static_cast<std::uint64_t>(calls));  // one entry, one exit
  Print("records", Records(Client::Take()).size());   // delivered by cuptiFinalize
  Print("flush", cuptiActivityFlushAll(0));           // no callbacks are registered
  Print("per_thread", attribute(9, false));
  Print("old_handle", cuptiUnsubscribe(subscriber));
  Print("subscribe", cuptiSubscribe(&subscriber, Ignore, nullptr));
  Client::Start();
  gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Print("records_again", Records(Client::Take()).size());
}

// Two devices with two contexts each.
void Contexts() {
  Gpu gpu;
  Client::Start();
  std::string seen;
  for (const int device : {0, 0, 3, 3}) {
    CUcontext context;
    CUmodule module;
    CUfunction function;
    Check(cuCtxCreate(&context, nullptr, 0, device), "cuCtxCreate");
    Check(cuModuleLoadData(&module, ""), "cuModuleLoadData");
    Check(cuModuleGetFunction(&function, module, "k"), "cuModuleGetFunction");
    Check(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "Launch");
  }
  Check(cuptiActivityFlushAll(0), "FlushAll");
  for (const auto& record : Records(Client::Take())) {
    seen += std::to_string(record.deviceId) + ":" + std::to_string(record.contextId) + " ";
  }
  Print("seen", seen);
}

void Results() {
  Gpu gpu;
  CUpti_SubscriberHandle subscriber;
  std::uint32_t version = 0;
  Print("version_result", cuptiGetVersion(&version));
  Print("version", version);
  Print("subscribe", cuptiSubscribe(&subscriber, Ignore, nullptr));
  Print("subscribe_again", cuptiSubscribe(&subscriber, Ignore, nullptr));
  Print("enable", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  Print("last_error", cuptiGetLastError());
}

}  // namespace

int RunCallbacks(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"subscribers", Subscribers},         {"launch_callbacks", LaunchCallbacks},
      {"other_launches", OtherLaunches},    {"resources", Resources},
      {"probe_and_leave", ProbeAndLeave},   {"results", Results},
      {"finalize_at_exit", FinalizeAtExit}, {"contexts", Contexts},
  };
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
