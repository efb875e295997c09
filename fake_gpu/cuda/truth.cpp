// SPDX-License-Identifier: Apache-2.0
#include "cuda/truth.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <set>

#include "cuda/engine.h"
#include "cuda/settings.h"
#include "cuda/state.h"

namespace fake_gpu {
namespace {

struct Sum {
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
};
using Sums = std::map<std::string, Sum, std::less<>>;

struct Truth {
  std::mutex mutex;
  std::set<CUmod_st*> modules;
  Sums retired;
  pid_t process = 0;
};

Truth& truth() {
  static Truth& instance = *new Truth;  // leaked: used at exit
  return instance;
}

// Relaxed counters, read when the process is quiet.
std::atomic<std::uint64_t> g_graph_launches{0};
std::atomic<std::uint64_t> g_graph_kernels{0};

void AddModule(CUmod_st& module, Sums& sums) {
  const std::lock_guard lock(module.mutex);
  for (const auto& [name, function] : module.functions) {
    const std::uint64_t launches = function->launches.load(std::memory_order_relaxed);
    if (launches == 0) continue;
    Sum& sum = sums[std::string(name)];
    sum.launches += launches;
    sum.duration_ns += function->duration_ns.load(std::memory_order_relaxed);
  }
}

Sums Collect() {
  const std::lock_guard lock(truth().mutex);
  Sums sums = truth().retired;
  for (CUmod_st* module : truth().modules) AddModule(*module, sums);
  return sums;
}

std::string FileName() {
  std::string name = settings().truth_file;
  if (const std::size_t at = name.find("%p"); at != std::string::npos) {
    name.replace(at, 2, std::to_string(getpid()));
  }
  return name;
}

// Runs after atexit handlers, so it includes their launches.
__attribute__((destructor)) void WriteTruth() {
  if (truth().process != getpid() || settings().truth_file.empty()) return;
  std::FILE* file = std::fopen(FileName().c_str(), "w");
  if (file == nullptr) return;
  const Sums sums = Collect();
  std::uint64_t launches = 0;
  for (const auto& [name, sum] : sums) launches += sum.launches;
  char more[512] = "";
  if (const FakeGpuHooks* hooks = g_hooks.load(std::memory_order_acquire)) {
    hooks->report(more, sizeof more);
  }
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::fprintf(file,
               "# launches %llu captured %llu capture_ns %llu graph_launches %llu graph_kernels "
               "%llu unrecorded %llu%s\n",
               number(launches), number(captured_launches()), number(capture_cost_ns()),
               number(g_graph_launches.load(std::memory_order_relaxed)),
               number(g_graph_kernels.load(std::memory_order_relaxed)),
               number(unrecorded_launches()), more);
  for (const auto& [name, sum] : sums) {
    std::fprintf(file, "%llu\t%llu\t%s\n", static_cast<unsigned long long>(sum.launches),
                 static_cast<unsigned long long>(sum.duration_ns), name.c_str());
  }
  std::fclose(file);
}

}  // namespace

void RegisterForTruth(CUmod_st& module) {
  const std::lock_guard lock(truth().mutex);
  truth().modules.insert(&module);
}

void RetireForTruth(CUmod_st& module) {
  const std::lock_guard lock(truth().mutex);
  if (truth().modules.erase(&module) != 0) AddModule(module, truth().retired);
}

void CountGraphForTruth(std::uint64_t kernels) {
  g_graph_launches.fetch_add(1, std::memory_order_relaxed);
  g_graph_kernels.fetch_add(kernels, std::memory_order_relaxed);
}

void SetTruthProcess() {
  truth().process = getpid();
}

}  // namespace fake_gpu

FAKE_GPU_EXPORT CUresult fakeGpuGetStatistics(FakeGpuStatistics* statistics) {
  FAKE_GPU_REQUIRE(statistics != nullptr, CUDA_ERROR_INVALID_VALUE);
  *statistics = {};
  for (const auto& [name, sum] : fake_gpu::Collect()) {
    statistics->launches += sum.launches;
    statistics->duration_ns += sum.duration_ns;
  }
  statistics->captured = fake_gpu::captured_launches();
  statistics->capture_ns = fake_gpu::capture_cost_ns();
  return CUDA_SUCCESS;
}
