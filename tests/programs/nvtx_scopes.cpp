// SPDX-License-Identifier: Apache-2.0
//
// Launches kernels inside the ranges of NVTX's C++ interface. The name of each kernel is the range
// that its launches are expected to have.
#include <nvtx3/nvtx3.hpp>
#include <string>
#include <thread>

extern "C" {
#include "victim.h"
}

namespace {

Victim victim;

void LaunchIn(const char* range) {
  CUfunction function;
  std::uint64_t duration_ns = 5000;
  void* params[] = {&duration_ns};
  Check(cuModuleGetFunction(&function, victim.module, range), "cuModuleGetFunction");
  Check(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, victim.stream, params, nullptr),
        "cuLaunchKernel");
}

struct Engine {
  static constexpr const char* name{"engine"};
};

struct Forward {
  static constexpr const char* message{"forward"};
};

void Attend() {
  NVTX3_FUNC_RANGE_IN(Engine);
  LaunchIn("Decode/engine:layer/engine:Attend");
}

void Decode() {
  NVTX3_FUNC_RANGE();
  LaunchIn("Decode");
  const nvtx3::scoped_range_in<Engine> layer{"layer", nvtx3::rgb{0, 255, 0}, nvtx3::payload{7}};
  LaunchIn("Decode/engine:layer");
  Attend();
}

void Run() {
  {
    const nvtx3::scoped_range range{std::string("text")};
    LaunchIn("text");
    const nvtx3::scoped_range wide{L"w\u00EFde"};
    LaunchIn("text/w\u00EFde");
  }
  {
    const auto& message = nvtx3::registered_string_in<Engine>::get<Forward>();
    const nvtx3::scoped_range_in<Engine> range{message};
    LaunchIn("engine:forward");
  }
  Decode();
  {
    // Belongs to no thread.
    nvtx3::unique_range_in<Engine> request{"request"};
    std::thread([] {
      Check(cuCtxSetCurrent(victim.context), "cuCtxSetCurrent");
      LaunchIn("engine:request");
    }).join();
  }
  nvtx3::mark("mark");
  LaunchIn("none");
}

}  // namespace

int main() {
  Check(cuInit(0), "cuInit");
  Open(&victim);
  Run();
  Check(cuCtxSynchronize(), "cuCtxSynchronize");
  Close(&victim);
  return 0;
}
