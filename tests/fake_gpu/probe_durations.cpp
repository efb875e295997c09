// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of durations: from the first parameter of a launch, and from the model.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

#include "probe.h"

namespace probe {
namespace {

const char* const kImages[][2] = {
    {"empty", ""},
    {"text", "image"},
    {"comment", "// .version 8.0\n"},
    {"ptx", "//\n// Generated\n/* by hand */\n.version 8.0\n.target sm_90\n.address_size 64\n"},
    {"ptx_without_target", ".version 8.0\n"},
    {"fatbin", "\x50\xED\x55\xBA\x01"},
    {"wrapper", "\xB1\x43\x62\x46\x01"},
    {"elf",
     "\x7F"
     "ELF\x02"}};

const char* ImageOfName(const std::string& name) {
  for (const auto& image : kImages) {
    if (name == image[0]) return image[1];
  }
  std::exit(2);
}

CUfunction Load(const std::string& image, const char* name) {
  CUmodule module;
  CUfunction function;
  Check(cuModuleLoadData(&module, ImageOfName(image)), "cuModuleLoadData");
  Check(cuModuleGetFunction(&function, module, name), "cuModuleGetFunction");
  return function;
}

// Returns the duration of one launch whose first parameter requests 7 ns.
std::uint64_t DurationOf(CUfunction function, unsigned blocks = 1) {
  FakeGpuStatistics before;
  FakeGpuStatistics after;
  std::uint64_t requested = 7;
  void* params[] = {&requested};
  Check(fakeGpuGetStatistics(&before), "fakeGpuGetStatistics");
  Check(cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr), "Launch");
  Check(fakeGpuGetStatistics(&after), "fakeGpuGetStatistics");
  return after.duration_ns - before.duration_ns;
}

// Prints which images the model applies to.
void Images() {
  const Gpu gpu;
  for (const auto& image : kImages) {
    Print(image[0], DurationOf(Load(image[0], "k")) == 7 ? "parameter" : "model");
  }
  const char* path = std::getenv("IMAGE_FILE");
  if (path == nullptr) return;
  CUmodule module;
  CUfunction function;
  Check(cuModuleLoad(&module, path), "cuModuleLoad");
  Check(cuModuleGetFunction(&function, module, "k"), "cuModuleGetFunction");
  Print("file", DurationOf(function) == 7 ? "parameter" : "model");
}

// Prints durations of four kernels, for one block and for 100 waves.
void Model() {
  const Gpu gpu;
  std::uint64_t shortest = ~0ull;
  std::uint64_t longest = 0;
  std::uint64_t total = 0;
  bool grows = true;
  for (const char* name : {"a", "b", "c", "d"}) {
    const CUfunction function = Load("ptx", name);
    std::uint64_t small = 0;
    std::uint64_t large = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t one = DurationOf(function);
      const std::uint64_t many = DurationOf(function, 132 * 8 * 100);
      shortest = std::min(shortest, one);
      longest = std::max(longest, many);
      small += one;
      large += many;
    }
    grows &= large > small + 1000 * 99 * 400 / 2;
    total += small + large;
  }
  Print("shortest_ns", shortest);
  Print("longest_ns", longest);
  Print("grows", grows);
  Print("total_ns", total);
}

// A graph of modeled kernels draws a new duration in each launch.
void ModelInGraph() {
  Gpu gpu;
  const CUfunction function = Load("fatbin", "in_graph");
  Check(cuStreamBeginCapture(gpu.stream(0), CU_STREAM_CAPTURE_MODE_GLOBAL), "BeginCapture");
  Check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, gpu.stream(0), nullptr, nullptr), "Launch");
  CUgraph graph;
  CUgraphExec exec;
  Check(cuStreamEndCapture(gpu.stream(0), &graph), "EndCapture");
  Check(cuGraphInstantiate(&exec, graph, 0), "Instantiate");
  std::map<std::uint64_t, int> durations;
  FakeGpuStatistics statistics;
  std::uint64_t before = 0;
  for (int i = 0; i < 100; ++i) {
    Check(cuGraphLaunch(exec, gpu.stream(0)), "cuGraphLaunch");
    Check(fakeGpuGetStatistics(&statistics), "fakeGpuGetStatistics");
    ++durations[statistics.duration_ns - before];
    before = statistics.duration_ns;
  }
  Print("distinct", durations.size());
}

}  // namespace

int RunDurations(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"images", Images}, {"model", Model}, {"model_in_graph", ModelInGraph}};
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
