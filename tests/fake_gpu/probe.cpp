// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace probe {
namespace {

std::mutex g_mutex;
std::vector<Delivered> g_delivered;
std::vector<std::thread::id> g_request_threads;

void Request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  {
    const std::lock_guard lock(g_mutex);
    g_request_threads.push_back(std::this_thread::get_id());
  }
  *buffer = nullptr;
  *size = Client::buffer_bytes;
  *max_records = Client::max_records;
  if (Client::lends_null) return;
  auto* memory =
      static_cast<std::uint8_t*>(std::aligned_alloc(64, (Client::buffer_bytes + 127) / 64 * 64));
  std::memset(memory, Client::fill, Client::buffer_bytes);
  if (Client::on_request) Client::on_request(memory);
  *buffer = Client::lends_unaligned ? memory + 4 : memory;
}

void Complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size, std::size_t valid) {
  if (Client::on_complete) Client::on_complete();
  if (Client::flushes_in_callback) cuptiActivityFlushAll(0);
  Delivered delivered;
  delivered.thread = std::this_thread::get_id();
  delivered.bytes.assign(buffer, buffer + valid);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    const auto copy = [record](auto& into) {
      std::memcpy(&into.emplace_back(), record, sizeof into.back());
    };
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        copy(delivered.graphs);
        break;
      case CUPTI_ACTIVITY_KIND_OVERHEAD:
        copy(delivered.overheads);
        break;
      default:
        copy(delivered.records);
        delivered.names.emplace_back(static_cast<const char*>(delivered.records.back().name));
    }
  }
  // Overwrite the returned buffer: the simulated driver must not read it any more.
  std::memset(buffer, 0xA5, size);
  std::free(buffer);
  const std::lock_guard lock(g_mutex);
  g_delivered.push_back(std::move(delivered));
}

}  // namespace

std::size_t Client::buffer_bytes = 64 * 1024;
std::size_t Client::max_records = 0;
bool Client::lends_null = false;
bool Client::lends_unaligned = false;
bool Client::flushes_in_callback = false;
std::uint8_t Client::fill = 0xCD;
std::function<void(std::uint8_t*&)> Client::on_request;
std::function<void()> Client::on_complete;

void Client::Start(CUpti_ActivityKind kind) {
  Check(cuptiActivityRegisterCallbacks(Request, Complete), "cuptiActivityRegisterCallbacks");
  Check(cuptiActivityEnable(kind), "cuptiActivityEnable");
}

std::vector<Delivered> Client::Take() {
  const std::lock_guard lock(g_mutex);
  return std::exchange(g_delivered, {});
}

std::vector<std::thread::id> Client::RequestThreads() {
  const std::lock_guard lock(g_mutex);
  return g_request_threads;
}

std::uint64_t Client::requests() {
  return RequestThreads().size();
}

std::vector<CUpti_ActivityKernel9> Records(const std::vector<Delivered>& delivered) {
  std::vector<CUpti_ActivityKernel9> all;
  for (const Delivered& one : delivered) {
    all.insert(all.end(), one.records.begin(), one.records.end());
  }
  return all;
}

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::_Exit(3);
}

void Check(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return;
  std::fprintf(stderr, "%s: CUPTI error %d\n", what, static_cast<int>(result));
  std::_Exit(4);
}

void Print(const char* key, std::uint64_t value) {
  std::printf("%s %llu\n", key, static_cast<unsigned long long>(value));
}

void Print(const char* key, const std::string& value) {
  std::printf("%s %s\n", key, value.c_str());
}

Gpu::Gpu(int streams) {
  Check(cuInit(0), "cuInit");
  Check(cuDevicePrimaryCtxRetain(&context_, 0), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(context_), "cuCtxSetCurrent");
  Check(cuModuleLoadData(&module_, ""), "cuModuleLoadData");
  for (int i = 0; i < streams; ++i) {
    CUstream stream;
    Check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    streams_.push_back(stream);
  }
}

CUfunction Gpu::Function(const char* name) {
  CUfunction function;
  Check(cuModuleGetFunction(&function, module_, name), "cuModuleGetFunction");
  return function;
}

CUgraphExec FiveKernelGraph(Gpu& gpu) {
  Check(cuStreamBeginCapture(gpu.stream(0), CU_STREAM_CAPTURE_MODE_GLOBAL), "BeginCapture");
  for (int i = 0; i < 5; ++i) gpu.Launch(1000);
  CUgraph graph;
  Check(cuStreamEndCapture(gpu.stream(0), &graph), "EndCapture");
  CUgraphExec exec;
  Check(cuGraphInstantiate(&exec, graph, 0), "Instantiate");
  return exec;
}

std::uint64_t WallTime() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void Gpu::Launch(std::uint64_t duration_ns, int stream, const char* name) {
  void* params[] = {&duration_ns};
  Check(cuLaunchKernel(Function(name), 3, 2, 1, 64, 2, 1, 512,
                       streams_[static_cast<std::size_t>(stream)], params, nullptr),
        "cuLaunchKernel");
}

}  // namespace probe

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const auto run :
       {probe::RunActivity, probe::RunCallbacks, probe::RunContexts, probe::RunDurations,
        probe::RunGraphs, probe::RunKinds, probe::RunMemory, probe::RunMisuse, probe::RunModules,
        probe::RunOwnership, probe::RunTimes}) {
    const int code = run(argv[1]);
    if (code >= 0) return code;
  }
  std::fprintf(stderr, "no scenario %s\n", argv[1]);
  return 2;
}
