// SPDX-License-Identifier: Apache-2.0
//
// One function per question that only a real GPU can answer. Each runs in its own process, because
// CUPTI state is per process, and returns a JSON object: durations in ns, CUPTI and CUDA results as
// numbers.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"

namespace gpu_probe {
namespace {

constexpr int kBlocks = 41;     // blocks of launches; the result is the median over blocks
constexpr int kLaunches = 500;  // per block; a launch waits for the GPU if 1,024 are pending
constexpr int kGraphKernels = 100;
constexpr std::size_t kBufferBytes = 1 << 20;

// Returns the time that one call of `launch` takes on its thread: the median over blocks. Waits for
// the GPU between blocks.
double CostNs(const Gpu& gpu, int launches, const std::function<void()>& launch) {
  std::vector<double> costs;
  for (int block = 0; block < kBlocks; ++block) {
    const std::uint64_t start = NowNs();
    for (int i = 0; i < launches; ++i) launch();
    costs.push_back(static_cast<double>(NowNs() - start) / launches);
    gpu.Wait();
  }
  std::nth_element(costs.begin(), costs.begin() + kBlocks / 2, costs.end());
  return costs[kBlocks / 2];
}

// Activity buffers and records of one client.
struct Client {
  std::atomic<std::uint64_t> requested{0};
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> foreign{0};  // completed buffers of the other client
  std::atomic<std::uint64_t> kernels{0};
  std::atomic<std::uint64_t> graphs{0};
  std::atomic<std::uint64_t> others{0};
  std::atomic<std::uint64_t> without_times{0};
  std::mutex lock;
  std::set<std::uint8_t*> lent;
  std::set<std::thread::id> requesters;
};
std::array<Client, 2> g_clients;
const Api* g_api = nullptr;

template <int kClient>
void CUPTIAPI Request(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  Client& client = g_clients[kClient];
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = kBufferBytes;
  *most = 0;
  ++client.requested;
  const std::lock_guard hold(client.lock);
  client.lent.insert(*buffer);
  client.requesters.insert(std::this_thread::get_id());
}

template <int kClient>
void CUPTIAPI Complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                       std::size_t valid) {
  Client& client = g_clients[kClient];
  ++client.completed;
  {
    const std::lock_guard hold(client.lock);
    if (client.lent.erase(buffer) == 0) ++client.foreign;
  }
  CUpti_Activity* record = nullptr;
  while (g_api->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      ++client.kernels;
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel4*>(record);
      client.without_times += kernel->start == 0 && kernel->end == 0;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
      ++client.graphs;
    } else {
      ++client.others;
    }
  }
  std::free(buffer);
}

template <int kClient>
int Register(const Api& api) {
  g_api = &api;
  return api.cuptiActivityRegisterCallbacks(Request<kClient>, Complete<kClient>);
}

// Returns the numbers of records and buffers of a client so far, after flushing completed records.
Json Got(const Gpu& gpu, const Client& client) {
  gpu.Wait();
  gpu.api.cuptiActivityFlushAll(0);
  return {{"kernels", client.kernels.load()},
          {"graphs", client.graphs.load()},
          {"other_records", client.others.load()},
          {"kernels_without_times", client.without_times.load()},
          {"buffers_requested", client.requested.load()},
          {"buffers_completed", client.completed.load()},
          {"buffers_of_the_other", client.foreign.load()}};
}

void CUPTIAPI Nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

int EnableLaunches(const Api& api, CUpti_SubscriberHandle subscriber, bool on) {
  for (const CUpti_CallbackId launch :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch}) {
    const int result =
        api.cuptiEnableCallback(on ? 1 : 0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launch);
    if (result != 0) return result;
  }
  return 0;
}

}  // namespace

std::uint64_t NowNs() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

// What does CUPTI's dispatch of a launch callback cost, and what cost remains after it is disabled?
Json Callbacks(const Api& api, const Arguments&) {
  const Gpu gpu(api);
  const auto cost = [&] { return CostNs(gpu, kLaunches, [&] { gpu.Launch(); }); };
  Json result;
  cost();  // warm-up
  result["bare_ns"] = cost();
  CUpti_SubscriberHandle subscriber = nullptr;
  Check(api.cuptiSubscribe(&subscriber, Nothing, nullptr), "cuptiSubscribe");
  result["subscribed_ns"] = cost();
  Check(EnableLaunches(api, subscriber, true), "cuptiEnableCallback");
  result["called_ns"] = cost();
  Check(EnableLaunches(api, subscriber, false), "cuptiEnableCallback");
  result["off_again_ns"] = cost();
  Check(api.cuptiUnsubscribe(subscriber), "cuptiUnsubscribe");
  result["unsubscribed_ns"] = cost();
  return result;
}

// What does recording cost a launching thread, and what cost remains after it is disabled?
Json Records(const Api& api, const Arguments& arguments) {
  const Gpu gpu(api);
  Json result;
  const auto costs = [&](const char* when) {
    CUgraphExec graph = gpu.Graph(kGraphKernels, false);  // enabled kinds apply to new graphs
    Check(api.cuGraphLaunch(graph, gpu.stream), "cuGraphLaunch");
    gpu.Wait();
    result[when] = {
        {"launch_ns", CostNs(gpu, kLaunches, [&] { gpu.Launch(); })},
        {"graph_of_100_ns",
         CostNs(gpu, 20, [&] { Check(api.cuGraphLaunch(graph, gpu.stream), "cuGraphLaunch"); })},
        {"graph_of_100_with_wait_ns", CostNs(gpu, 20, [&] {
           Check(api.cuGraphLaunch(graph, gpu.stream), "cuGraphLaunch");
           gpu.Wait();
         })}};
    Check(api.cuGraphExecDestroy(graph), "cuGraphExecDestroy");
  };
  costs("bare");
  Check(Register<0>(api), "cuptiActivityRegisterCallbacks");
  const CUpti_ActivityKind kind = arguments.variant == "graphs"
                                      ? CUPTI_ACTIVITY_KIND_GRAPH_TRACE
                                      : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  Check(api.cuptiActivityEnable(kind), "cuptiActivityEnable");
  costs("recording");
  result["got"] = Got(gpu, g_clients[0]);
  Check(api.cuptiActivityDisable(kind), "cuptiActivityDisable");
  costs("off_again");
  return result;
}

// Do records arrive after the subscriber slot was claimed and released? Can it be claimed again?
Json Subscribing(const Api& api, const Arguments&) {
  Json result;
  CUpti_SubscriberHandle first = nullptr;
  CUpti_SubscriberHandle second = nullptr;
  result["first"] = api.cuptiSubscribe(&first, Nothing, nullptr);
  result["second_beside_it"] = api.cuptiSubscribe(&second, Nothing, nullptr);
  result["unsubscribe"] = api.cuptiUnsubscribe(first);
  result["register"] = Register<0>(api);
  result["enable"] = api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  const Gpu gpu(api);
  for (int i = 0; i < kLaunches; ++i) gpu.Launch();
  result["launched"] = kLaunches;
  result["got"] = Got(gpu, g_clients[0]);
  result["a_later_one"] = api.cuptiSubscribe(&second, Nothing, nullptr);
  for (int i = 0; i < kLaunches; ++i) gpu.Launch();
  result["launched_with_it"] = kLaunches;
  result["got_with_it"] = Got(gpu, g_clients[0]);
  return result;
}

// Which client gets which records when another client registers its buffers, stops, and the first
// client registers again?
Json Takeover(const Api& api, const Arguments&) {
  Json result;
  const auto attribute = [&api](std::uint8_t value) {
    std::size_t size = sizeof(value);
    return api.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size,
                                         &value);
  };
  result["per_thread_on"] = attribute(1);
  Check(Register<0>(api), "cuptiActivityRegisterCallbacks");
  Check(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
  const Gpu gpu(api);
  const auto step = [&](const char* when) {
    for (int i = 0; i < kLaunches; ++i) gpu.Launch();
    result[when] = {{"launched", kLaunches},
                    {"first", Got(gpu, g_clients[0])},
                    {"second", Got(gpu, g_clients[1])}};
  };
  step("first_alone");
  for (int i = 0; i < kLaunches; ++i)
    gpu.Launch();  // their buffer is in use when the client changes
  Check(Register<1>(api), "cuptiActivityRegisterCallbacks");
  Check(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
  step("second_registered");
  Check(api.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityDisable");
  result["per_thread_off"] = attribute(0);
  Check(api.cuptiActivityFlushAll(1), "cuptiActivityFlushAll");
  step("second_stopped");
  result["per_thread_on_again"] = attribute(1);
  Check(Register<0>(api), "cuptiActivityRegisterCallbacks");
  Check(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
  step("first_again");
  return result;
}

// How many buffers are in use when many threads launch, and which threads request them?
Json Threads(const Api& api, const Arguments&) {
  Check(Register<0>(api), "cuptiActivityRegisterCallbacks");
  Check(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
  const Gpu gpu(api);
  Json result = Json::array();
  for (const int count : {1, 8, 64}) {
    const std::uint64_t before = g_clients[0].requested;
    std::set<std::thread::id> launchers;
    std::mutex lock;
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
      threads.emplace_back([&] {
        Check(api.cuCtxSetCurrent(gpu.context), "cuCtxSetCurrent");
        for (int i = 0; i < 100; ++i) gpu.Launch();
        const std::lock_guard hold(lock);
        launchers.insert(std::this_thread::get_id());
        ++ready;
      });
    }
    for (std::thread& thread : threads) thread.join();
    const std::lock_guard hold(g_clients[0].lock);
    int by_launchers = 0;
    for (const std::thread::id& id : g_clients[0].requesters) {
      by_launchers += static_cast<int>(launchers.contains(id));
    }
    result.push_back({{"threads", count},
                      {"buffers_requested", g_clients[0].requested - before},
                      {"buffers_out", g_clients[0].lent.size()},
                      {"launching_threads_that_asked", by_launchers}});
  }
  gpu.Wait();
  api.cuptiActivityFlushAll(0);
  return result;
}

// Do graphs with copies leak device memory or timestamps, and does enabling the copy kinds help?
Json GraphLeak(const Api& api, const Arguments& arguments) {
  Check(Register<0>(api), "cuptiActivityRegisterCallbacks");
  Check(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
  if (arguments.variant == "copies") {
    Check(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), "cuptiActivityEnable");
    Check(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), "cuptiActivityEnable");
  }
  const Gpu gpu(api);
  CUgraphExec graph = gpu.Graph(kGraphKernels, true);
  const auto free_bytes = [&] {
    std::size_t free = 0;
    std::size_t total = 0;
    gpu.Wait();
    api.cuptiActivityFlushAll(0);
    Check(api.cuMemGetInfo(&free, &total), "cuMemGetInfo");
    return free;
  };
  Json result;
  const auto launch = [&](std::uint64_t count) {
    for (std::uint64_t i = 1; i <= count; ++i) {
      Check(api.cuGraphLaunch(graph, gpu.stream), "cuGraphLaunch");
      if (i % 1000 == 0) free_bytes();
    }
  };
  launch(1000);
  const std::size_t before = free_bytes();
  launch(arguments.graph_launches);
  result["graph_launches"] = arguments.graph_launches + 1000;
  result["kernels_per_graph"] = kGraphKernels;
  result["device_memory_lost_bytes"] =
      static_cast<std::int64_t>(before) - static_cast<std::int64_t>(free_bytes());
  result["got"] = Got(gpu, g_clients[0]);
  return result;
}

// Does the GPU support hardware tracing, and which threads request buffers then?
Json HardwareTrace(const Api& api, const Arguments&) {
  Json result;
  if (api.EnableHWTrace == nullptr) return {{"offered", false}};
  result["offered"] = true;
  result["enable"] = api.EnableHWTrace(1);
  Check(Register<0>(api), "cuptiActivityRegisterCallbacks");
  Check(api.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
  const Gpu gpu(api);
  for (int i = 0; i < kLaunches; ++i) gpu.Launch();
  result["launched"] = kLaunches;
  result["got"] = Got(gpu, g_clients[0]);
  const std::lock_guard hold(g_clients[0].lock);
  result["launching_thread_asked"] = g_clients[0].requesters.contains(std::this_thread::get_id());
  result["threads_that_asked"] = g_clients[0].requesters.size();
  return result;
}

namespace {

struct Bracket {
  const Api* api;
  int start = -1;  // results of the last calls
  int stop = -1;
  bool on = false;
};

void CUPTIAPI StartAndStop(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  auto& bracket = *static_cast<Bracket*>(self);
  if (!bracket.on) return;
  if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_ENTER) {
    bracket.start = bracket.api->cuProfilerStart();
  } else {
    bracket.stop = bracket.api->cuProfilerStop();
  }
}

}  // namespace

// Can callbacks of a launch call cuProfilerStart and cuProfilerStop around it, and at what cost?
Json ProfilerBracket(const Api& api, const Arguments&) {
  Bracket bracket{&api};
  CUpti_SubscriberHandle subscriber = nullptr;
  Check(api.cuptiSubscribe(&subscriber, StartAndStop, &bracket), "cuptiSubscribe");
  Check(EnableLaunches(api, subscriber, true), "cuptiEnableCallback");
  const Gpu gpu(api);
  const auto cost = [&] { return CostNs(gpu, 50, [&] { gpu.Launch(); }); };
  Json result;
  cost();
  result["called_ns"] = cost();
  bracket.on = true;
  result["bracketed_ns"] = cost();
  bracket.on = false;
  result["start"] = bracket.start;
  result["stop"] = bracket.stop;
  return result;
}

// Does the driver call the injection function of a library that is only preloaded?
Json PreloadAlone(const Api& api, const Arguments&) {
  const char* called = ::getenv("GPU_PROBE_INJECTED");  // set by injection.c when it is called
  (void)api;
  return {{"preloaded", ::getenv("LD_PRELOAD") != nullptr}, {"called", called != nullptr}};
}

}  // namespace gpu_probe
