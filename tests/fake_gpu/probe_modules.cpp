// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of modules, libraries and occupancy.
#include <functional>
#include <map>

#include "probe.h"

namespace probe {
namespace {

constexpr const char* kPtx = ".version 8.0\n.target sm_90\n";

// Launches a kernel of a library as a function.
void Library() {
  Gpu gpu;
  Client::Start();
  CUlibrary library;
  CUkernel kernel;
  CUfunction function;
  CUmodule module;
  unsigned count = 0;
  const char* name = nullptr;
  Check(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), "Load");
  Check(cuLibraryGetKernel(&kernel, library, "of_library"), "cuLibraryGetKernel");
  Check(cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
  Check(cuLibraryGetModule(&module, library), "cuLibraryGetModule");
  Check(cuKernelGetName(&name, kernel), "cuKernelGetName");
  Print("name", std::string(name));
  Check(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, gpu.stream(0),
                       nullptr, nullptr),
        "cuLaunchKernel");
  Check(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, gpu.stream(0), nullptr, nullptr),
        "cuLaunchKernel");
  Check(cuLibraryGetKernelCount(&count, library), "cuLibraryGetKernelCount");
  Print("kernels", count);
  Print("unload_module", cuModuleUnload(module));
  Check(cuLibraryUnload(library), "cuLibraryUnload");
  Check(cuptiActivityFlushAll(0), "FlushAll");
  std::string names;
  for (const Delivered& one : Client::Take()) {
    for (const std::string& recorded : one.names) names += recorded + " ";
  }
  Print("recorded", names);
  FakeGpuStatistics statistics;
  Check(fakeGpuGetStatistics(&statistics), "fakeGpuGetStatistics");
  Print("launches", statistics.launches);
}

// Prints whether variables exist, for a placeholder and for real code.
void Globals() {
  const Gpu gpu;
  CUdeviceptr address = 0;
  CUdeviceptr again = 0;
  std::size_t bytes = 0;
  Print("placeholder", cuModuleGetGlobal(&address, &bytes, gpu.module(), "v"));
  CUmodule module;
  Check(cuModuleLoadData(&module, kPtx), "cuModuleLoadData");
  Check(cuModuleGetGlobal(&address, &bytes, module, "v"), "cuModuleGetGlobal");
  Check(cuModuleGetGlobal(&again, nullptr, module, "v"), "cuModuleGetGlobal");
  Print("same", address == again);
  Print("bytes", bytes);
  Print("zero", *reinterpret_cast<char*>(address + bytes - 1) == 0);
}

// Links an image and loads it.
void Link() {
  const Gpu gpu;
  CUlinkState state;
  CUmodule module;
  void* image = nullptr;
  std::size_t bytes = 0;
  char text[] = ".version 8.0\n.target sm_90\n";
  Check(cuLinkCreate(0, nullptr, nullptr, &state), "cuLinkCreate");
  Check(cuLinkAddData(state, CU_JIT_INPUT_PTX, text, sizeof text, "", 0, nullptr, nullptr), "Add");
  Check(cuLinkComplete(state, &image, &bytes), "cuLinkComplete");
  Check(cuModuleLoadData(&module, image), "cuModuleLoadData");
  Check(cuLinkDestroy(state), "cuLinkDestroy");
  Print("bytes", bytes);
}

void Attributes() {
  Gpu gpu;
  const CUfunction function = gpu.Function("f");
  int value = 0;
  Check(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function), "Get");
  Print("binary_version", static_cast<std::uint64_t>(value));
  constexpr auto kShared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  Print("too_large", cuFuncSetAttribute(function, kShared, 228 * 1024));
  Check(cuFuncSetAttribute(function, kShared, 100 * 1024), "Set");
  Check(cuFuncGetAttribute(&value, kShared, function), "Get");
  Print("shared", static_cast<std::uint64_t>(value));
  const auto blocks = [function](const char* key, int threads, std::size_t shared) {
    int result = 0;
    Check(cuOccupancyMaxActiveBlocksPerMultiprocessor(&result, function, threads, shared), key);
    Print(key, static_cast<std::uint64_t>(result));
  };
  blocks("small_blocks", 32, 0);
  blocks("large_blocks", 1024, 0);
  blocks("shared_blocks", 128, 100 * 1024);
  blocks("impossible_blocks", 2048, 0);
  int grid = 0;
  int threads = 0;
  Check(cuOccupancyMaxPotentialBlockSize(&grid, &threads, function, nullptr, 0, 0), "Potential");
  Print("potential", std::to_string(grid) + " " + std::to_string(threads));
}

}  // namespace

int RunModules(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"library", Library}, {"globals", Globals}, {"link", Link}, {"attributes", Attributes}};
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
