// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of the activity API: what is recorded, when it is delivered, and in which order.
#include <cudaProfiler.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "probe.h"

namespace probe {
namespace {

constexpr std::uint64_t kMinute = 60'000'000'000;

// Exits without destructors and exit handlers, because kernels may still be running.
[[noreturn]] void Leave() {
  std::fflush(stdout);
  std::_Exit(0);
}

void PrintSums(const std::vector<CUpti_ActivityKernel9>& records) {
  std::uint64_t sum = 0, zero = 0;
  for (const auto& record : records) {
    sum += record.end - record.start;
    if (record.start == 0 && record.end == 0) ++zero;
  }
  Print("records", records.size());
  Print("duration_ns", sum);
  Print("zero_timestamps", zero);
  std::size_t dropped = 0;
  Check(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), "GetNumDroppedRecords");
  Print("dropped", dropped);
  Check(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), "GetNumDroppedRecords");
  Print("dropped_again", dropped);
}

// Launches 10,000 kernels from one thread; every duration must be recorded.
void Count() {
  Gpu gpu;
  Client::Start();
  for (std::uint64_t i = 0; i < 10'000; ++i) gpu.Launch(1000 + i);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto delivered = Client::Take();
  PrintSums(Records(delivered));
  Print("requests", Client::requests());
  const auto threads = Client::RequestThreads();
  Print("requested_on_launching_thread",
        static_cast<std::uint64_t>(
            std::count(threads.begin(), threads.end(), std::this_thread::get_id())));
  // The last buffer is only partially filled, so the worker cannot have delivered it.
  const bool here = std::any_of(delivered.begin(), delivered.end(), [](const Delivered& one) {
    return one.thread == std::this_thread::get_id();
  });
  Print("flushed_on_this_thread", here);
}

// With FAKE_CUPTI_LATE=1, another thread delivers buffers after FlushAll has returned.
void Late() {
  Gpu gpu;
  Client::Start();
  gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  std::vector<Delivered> delivered;
  while (delivered.empty()) {
    delivered = Client::Take();
    std::this_thread::yield();
  }
  Print("on_another_thread", delivered[0].thread != std::this_thread::get_id());
}

void OneRecord() {
  Gpu gpu;
  Client::Start();
  gpu.Launch(12345, 0, "_Z4spinv");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto delivered = Client::Take();
  const CUpti_ActivityKernel9 record = delivered.at(0).records.at(0);
  Print("kind", record.kind);
  Print("bytes", delivered[0].bytes.size());
  Print("duration_ns", record.end - record.start);
  Print("device", record.deviceId);
  Print("context", record.contextId);
  Print("stream", record.streamId);
  Print("grid", static_cast<std::uint64_t>(record.gridX * 100 + record.gridY * 10 + record.gridZ));
  Print("block",
        static_cast<std::uint64_t>(record.blockX * 100 + record.blockY * 10 + record.blockZ));
  Print("shared", static_cast<std::uint64_t>(record.dynamicSharedMemory));
  Print("name", delivered[0].names.at(0));
}

// Two streams: kernels of the second stream overtake a long kernel of the first.
void Order() {
  Gpu gpu(2);
  Client::Start();
  gpu.Launch(1'000'000, 0, "slow");
  for (int i = 0; i < 10; ++i) gpu.Launch(1000, 1, "fast");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto delivered = Client::Take();
  const auto records = Records(delivered);
  Print("by_end", std::is_sorted(records.begin(), records.end(),
                                 [](const auto& a, const auto& b) { return a.end < b.end; }));
  Print("last", delivered.at(0).names.back());
  Print("last_correlation_is_lowest", records.back().correlationId < records.front().correlationId);
}

// With the real clock, a kernel of one minute keeps running.
void Withheld() {
  Gpu gpu(2);
  Client::Start();
  gpu.Launch(1000, 0, "short");
  gpu.Launch(kMinute, 1, "long");
  Check(cuStreamSynchronize(gpu.stream(0)), "cuStreamSynchronize");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Print("buffers", Client::Take().size());
  Check(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "FlushAll forced");
  const auto records = Records(Client::Take());
  Print("forced_records", records.size());
  Print("forced_unfinished",
        static_cast<std::uint64_t>(std::count_if(
            records.begin(), records.end(), [](const auto& record) { return record.end == 0; })));
  Check(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "FlushAll forced");
  Print("redelivered", Client::Take().size());
  Leave();
}

void RealClock() {
  Gpu gpu;
  Client::Start();
  const std::uint64_t begin = WallTime();
  gpu.Launch(20'000'000);
  Print("launch_returned_at_once", WallTime() - begin < 15'000'000);
  Print("busy", cuStreamQuery(gpu.stream(0)) == CUDA_ERROR_NOT_READY);
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  Print("synchronize_waited", WallTime() - begin >= 20'000'000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  PrintSums(Records(Client::Take()));
}

// The launch queue of 1024 is full long before 3000 kernels of 100 us have run.
void QueueBlocks() {
  Gpu gpu;
  const std::uint64_t begin = WallTime();
  for (int i = 0; i < 3000; ++i) gpu.Launch(100'000);
  const std::uint64_t launching = WallTime() - begin;
  Print("launching_waited", launching >= (3000 - 1024 - 1) * std::uint64_t{100'000});
  Print("some_still_run", cuStreamQuery(gpu.stream(0)) == CUDA_ERROR_NOT_READY);
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
}

void LaunchFromThreads(Gpu& gpu, int threads, int launches) {
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&gpu, t, launches] {
      Check(cuCtxSetCurrent(gpu.context()), "cuCtxSetCurrent");
      for (int i = 0; i < launches; ++i) gpu.Launch(1000, t);
    });
  }
  for (std::thread& thread : running) thread.join();
}

// Eight threads launch while a ninth flushes continuously.
void Threads() {
  Gpu gpu(8);
  Client::Start();
  std::atomic<bool> stop{false};
  std::thread flusher([&stop] {
    while (!stop.load()) {
      Check(cuptiActivityFlushAll(0), "FlushAll");
      std::this_thread::yield();
    }
  });
  LaunchFromThreads(gpu, 8, 5000);
  stop.store(true);
  flusher.join();
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto records = Records(Client::Take());
  PrintSums(records);
  std::set<std::uint32_t> correlations;
  for (const auto& record : records) correlations.insert(record.correlationId);
  Print("distinct_correlations", correlations.size());
}

// Counts the buffers that eight threads request, with one buffer per thread and with one for all.
void BufferPerThread(bool per_thread) {
  std::uint8_t value = per_thread ? 1 : 0;
  std::size_t bytes = sizeof value;
  Check(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &value),
        "SetAttribute");
  Gpu gpu(8);
  Client::Start();
  LaunchFromThreads(gpu, 8, 10);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Print("requests", Client::requests());
  Print("records", Records(Client::Take()).size());
}

// Kernel10 has 216 bytes: tests buffers of exactly ten records, of at most three, and of none.
void Sizes() {
  Gpu gpu;
  Client::buffer_bytes = 10 * sizeof(CUpti_ActivityKernel10) + 100;
  Client::Start();
  for (int i = 0; i < 10; ++i) gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Print("filled_buffers", Client::Take().size());
  Client::max_records = 3;
  for (int i = 0; i < 9; ++i) gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Print("limited_buffers", Client::Take().size());
  Client::buffer_bytes = sizeof(CUpti_ActivityKernel10) - 8;
  gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto delivered = Client::Take();
  Print("empty_buffers", delivered.size());
  PrintSums(Records(delivered));
}

// The simulated CUPTI clears provided buffers, unless the client declares that they are zero.
void ZeroFill(bool client_zeroes) {
  std::uint8_t value = client_zeroes ? 1 : 0;
  std::size_t bytes = sizeof value;
  Check(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &value),
        "SetAttribute");
  static std::uint8_t lent[4096] __attribute__((aligned(64)));
  std::memset(lent, 0xCD, sizeof lent);
  Gpu gpu;
  Check(cuptiActivityRegisterCallbacks(
            [](std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
              *buffer = lent;
              *size = sizeof lent;
              *max_records = 0;
            },
            [](CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) {}),
        "RegisterCallbacks");
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "Enable");
  gpu.Launch(1000);
  Print("tail", lent[sizeof lent - 1]);
}

// Graph launches: N kernels with one correlation id; none for a graph instantiated before the kind
// was enabled.
void Graph() {
  Gpu gpu;
  const CUgraphExec early = FiveKernelGraph(gpu);
  Client::Start();
  const CUgraphExec late = FiveKernelGraph(gpu);
  Check(cuGraphLaunch(early, gpu.stream(0)), "Launch");
  Check(cuGraphLaunch(late, gpu.stream(0)), "Launch");
  Check(cuGraphLaunch(late, gpu.stream(0)), "Launch");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto records = Records(Client::Take());
  std::set<std::uint32_t> correlations, graphs;
  std::set<std::uint64_t> nodes;
  for (const auto& record : records) {
    correlations.insert(record.correlationId);
    graphs.insert(record.graphId);
    nodes.insert(record.graphNodeId);
  }
  Print("records", records.size());
  Print("correlations", correlations.size());
  Print("graphs", graphs.size());
  Print("nodes", nodes.size());
  FakeGpuStatistics statistics;
  Check(fakeGpuGetStatistics(&statistics), "fakeGpuGetStatistics");
  Print("launches", statistics.launches);
}

// Names outlive their module until their records are delivered.
void UnloadedModule() {
  Gpu gpu;
  Client::Start();
  gpu.Launch(1000, 0, "gone_tomorrow");
  Check(cuModuleUnload(gpu.module()), "cuModuleUnload");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Print("name", Client::Take().at(0).names.at(0));
}

// A name pointer is invalid after the complete callback.
void StaleName() {
  Gpu gpu;
  Client::Start();
  gpu.Launch(1000, 0, "gone_tomorrow");
  Check(cuModuleUnload(gpu.module()), "cuModuleUnload");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const char* name = Records(Client::Take()).at(0).name;
  std::fflush(stdout);
  Print("name", name);  // a segmentation fault
}

// Disables the kind and enables it again.
void Disable() {
  Gpu gpu;
  Client::Start();
  gpu.Launch(1);
  Check(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "Disable");
  gpu.Launch(10);
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "Enable");
  gpu.Launch(100);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  PrintSums(Records(Client::Take()));
}

void Correlations() {
  Gpu gpu;
  Client::Start();
  for (int i = 0; i < 100; ++i) gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  const auto records = Records(Client::Take());
  Print("first", records.front().correlationId);
  Print("last", records.back().correlationId);
}

// A launch between cuProfilerStart and cuProfilerStop costs wall time, not recorded time.
void Capture() {
  Gpu gpu;
  Client::Start();
  gpu.Launch(5000);
  Check(cuProfilerStart(), "cuProfilerStart");
  const std::uint64_t begin = WallTime();
  gpu.Launch(5000);
  Print("blocked", WallTime() - begin >= 5'000'000);
  Check(cuProfilerStop(), "cuProfilerStop");
  gpu.Launch(5000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  PrintSums(Records(Client::Take()));
  FakeGpuStatistics statistics;
  Check(fakeGpuGetStatistics(&statistics), "fakeGpuGetStatistics");
  Print("captured", statistics.captured);
  Print("capture_cost_is_5_ms", statistics.capture_ns >= 5'000'000);
  Print("native_ns", statistics.duration_ns);
}

// Reads the simulated CUPTI's buffers with NVIDIA's reader.
void RealReader() {
  const char* path = std::getenv("REAL_CUPTI");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    Print("skipped", 1);
    return;
  }
  const auto next = reinterpret_cast<decltype(&cuptiActivityGetNextRecord)>(
      dlsym(library, "cuptiActivityGetNextRecord"));
  Print("is_another", next != &cuptiActivityGetNextRecord);
  Gpu gpu(3);
  Client::Start();
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), "Enable");
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD), "Enable");
  const CUgraphExec exec = FiveKernelGraph(gpu);
  for (int i = 0; i < 5000; ++i) {
    gpu.Launch(1000 + static_cast<std::uint64_t>(i), i % 3);
    if (i % 100 == 0) Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
  }
  Check(cuptiActivityFlushAll(0), "FlushAll");
  auto delivered = Client::Take();
  std::uint64_t same = 0;
  std::map<std::uint32_t, std::uint64_t> by_kind;
  for (Delivered& one : delivered) {
    CUpti_Activity* record = nullptr;
    std::size_t i = 0;
    while (next(one.bytes.data(), one.bytes.size(), &record) == CUPTI_SUCCESS) {
      ++by_kind[record->kind];
      if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      if (i < one.records.size() && kernel->start == one.records[i].start &&
          kernel->end == one.records[i].end &&
          kernel->correlationId == one.records[i].correlationId) {
        ++same;
      }
      ++i;
    }
  }
  Print("kernels", by_kind[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]);
  Print("same", same);
  Print("graphs", by_kind[CUPTI_ACTIVITY_KIND_GRAPH_TRACE]);
  Print("an_overhead_per_buffer", by_kind[CUPTI_ACTIVITY_KIND_OVERHEAD] == delivered.size());
  Leave();
}

using NextRecord = decltype(&cuptiActivityGetNextRecord);

// Returns the size of a record of this kind: the distance between two records in a buffer of only
// this kind. Returns 0 if the reader does not support the kind.
std::uint64_t RecordSize(NextRecord next, std::uint64_t kind) {
  std::vector<std::uint64_t> words(128, kind);  // several records of the largest kind
  auto* buffer = reinterpret_cast<std::uint8_t*>(words.data());
  const std::size_t bytes = words.size() * sizeof words[0];
  CUpti_Activity* record = nullptr;
  if (next(buffer, bytes, &record) != CUPTI_SUCCESS) return 0;
  const CUpti_Activity* first = record;
  if (next(buffer, bytes, &record) != CUPTI_SUCCESS) return 0;
  return static_cast<std::uint64_t>(reinterpret_cast<const std::uint8_t*>(record) -
                                    reinterpret_cast<const std::uint8_t*>(first));
}

// Compares the sizes of all the simulated CUPTI's records as the simulated CUPTI and NVIDIA's
// library step over them.
void RecordSizes() {
  const char* path = std::getenv("REAL_CUPTI");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    Print("skipped", 1);
    return;
  }
  const auto next = reinterpret_cast<NextRecord>(dlsym(library, "cuptiActivityGetNextRecord"));
  const auto get_version =
      reinterpret_cast<decltype(&cuptiGetVersion)>(dlsym(library, "cuptiGetVersion"));
  Print("is_another", next != &cuptiActivityGetNextRecord);
  std::uint32_t version = 0;
  Check(get_version(&version), "cuptiGetVersion");
  Print("version", version);
  const std::map<std::string, CUpti_ActivityKind> kinds = {
      {"kernel", CUPTI_ACTIVITY_KIND_KERNEL},
      {"concurrent_kernel", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
      {"graph", CUPTI_ACTIVITY_KIND_GRAPH_TRACE},
      {"overhead", CUPTI_ACTIVITY_KIND_OVERHEAD}};
  for (const auto& [name, kind] : kinds) {
    Print(("real_" + name).c_str(), RecordSize(next, kind));
    Print(("fake_" + name).c_str(), RecordSize(&cuptiActivityGetNextRecord, kind));
  }
  Leave();
}

// Prints nanoseconds per launch, without a check: `off`, `kernels`, and `gate` with callbacks.
void Speed() {
  Gpu gpu;
  const CUfunction spin = gpu.Function("spin");
  const auto measure = [&gpu, spin](const char* what) {
    constexpr int kLaunches = 2'000'000;
    std::uint64_t duration = 5000;
    void* params[] = {&duration};
    const std::uint64_t begin = WallTime();
    for (int i = 0; i < kLaunches; ++i) {
      cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, gpu.stream(0), params, nullptr);
    }
    std::printf("%s %.1f\n", what, static_cast<double>(WallTime() - begin) / kLaunches);
  };
  measure("off_ns");
  static std::vector<std::vector<std::uint8_t>> pool(16, std::vector<std::uint8_t>(512 * 1024));
  static std::atomic<std::size_t> turn{0};
  Check(cuptiActivityRegisterCallbacks(
            [](std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
              *buffer = pool[turn.fetch_add(1) % pool.size()].data();
              *size = pool[0].size();
              *max_records = 0;
            },
            [](CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) {}),
        "RegisterCallbacks");
  std::uint8_t zeroed = 1;
  std::size_t bytes = sizeof zeroed;
  Check(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &zeroed),
        "SetAttribute");
  Check(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "Enable");
  measure("kernels_ns");
  CUpti_SubscriberHandle subscriber;
  Check(
      cuptiSubscribe(
          &subscriber, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr),
      "Subscribe");
  Check(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
        "EnableCallback");
  measure("kernels_and_callbacks_ns");
}

}  // namespace

int RunActivity(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"count", Count},
      {"late", Late},
      {"one_record", OneRecord},
      {"order", Order},
      {"withheld", Withheld},
      {"real_clock", RealClock},
      {"queue_blocks", QueueBlocks},
      {"threads", Threads},
      {"buffer_per_thread", [] { BufferPerThread(true); }},
      {"buffer_for_all", [] { BufferPerThread(false); }},
      {"sizes", Sizes},
      {"zero_fill", [] { ZeroFill(false); }},
      {"client_zeroes", [] { ZeroFill(true); }},
      {"graph", Graph},
      {"unloaded_module", UnloadedModule},
      {"stale_name", StaleName},
      {"disable", Disable},
      {"correlations", Correlations},
      {"capture", Capture},
      {"real_reader", RealReader},
      {"record_sizes", RecordSizes},
      {"speed", Speed},
  };
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
