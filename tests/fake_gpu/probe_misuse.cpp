// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of calls that CUDA and CUPTI refuse, some of which end the process; and of cuInit.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "probe.h"

namespace probe {
namespace {

void Null() {
  Gpu gpu;
  Client::lends_null = true;
  Client::Start();
  gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  std::size_t dropped = 0;
  Check(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), "GetNumDroppedRecords");
  Print("dropped", dropped);
}

void Unaligned() {
  Gpu gpu;
  Client::lends_unaligned = true;
  Client::Start();
  gpu.Launch(1000);
}

void FlushInCallback() {
  Gpu gpu;
  Client::flushes_in_callback = true;
  Client::Start();
  gpu.Launch(1000);
  cuptiActivityFlushAll(0);
}

// With FAKE_CUPTI_FORK=hang, the child is still running after a while and is killed.
void ForkHangs() {
  Gpu gpu;
  Client::Start();
  const pid_t child = fork();
  if (child == 0) {
    cuptiActivityFlushAll(0);
    _exit(0);
  }
  const std::uint64_t until = WallTime() + 200'000'000;
  int status = 0;
  pid_t ended = 0;
  while (ended == 0 && WallTime() < until) ended = waitpid(child, &status, WNOHANG);
  Print("child_hangs", ended == 0);
  kill(child, SIGKILL);
  if (ended == 0) waitpid(child, &status, 0);
}

// Prints CUDA's result in a forked child; `cupti`: the child also calls CUPTI.
void Fork(bool cupti) {
  Gpu gpu;
  Client::Start();
  gpu.Launch(1000);
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    if (cupti) cuptiActivityFlushAll(0);
    _exit(static_cast<int>(cuDeviceGetCount(&count)) * 10 + static_cast<int>(cuInit(0)));
  }
  int status = 0;
  waitpid(child, &status, 0);
  Print("child_exit", WIFEXITED(status) ? static_cast<std::uint64_t>(WEXITSTATUS(status)) : 255);
  Print("child_signal", WIFSIGNALED(status) ? static_cast<std::uint64_t>(WTERMSIG(status)) : 0);
  gpu.Launch(1000);
  Check(cuptiActivityFlushAll(0), "FlushAll");
  Print("records", Records(Client::Take()).size());
}

void Uninitialized() {
  int count = 0;
  Print("device_count", cuDeviceGetCount(&count));
  int version = 0;
  Print("version", cuDriverGetVersion(&version));
}

// Eight threads initialize concurrently.
void Initialize() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { Check(cuInit(0), "cuInit"); });
  for (std::thread& thread : threads) thread.join();
  Check(cuInit(0), "cuInit");
}

void Device() {
  Check(cuInit(0), "cuInit");
  int major = 0, minor = 0;
  Check(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), "major");
  Check(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0), "minor");
  Print("capability", static_cast<std::uint64_t>(major * 10 + minor));
  int count = 0;
  Check(cuDeviceGetCount(&count), "cuDeviceGetCount");
  Print("devices", static_cast<std::uint64_t>(count));
  // Every attribute of cuda.h has a value; the first undefined one is an error.
  int value = 0;
  CUresult first_error = CUDA_SUCCESS;
  int attribute = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
  for (; first_error == CUDA_SUCCESS; ++attribute) {
    first_error = cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), 0);
  }
  Print("defined_attributes", attribute - 1 == CU_DEVICE_ATTRIBUTE_MAX);
  Print("undefined_attribute", static_cast<std::uint64_t>(first_error));
  Check(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 0), "alignment");
  Print("texture_alignment", static_cast<std::uint64_t>(value));
  Print("no_device", cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count));
}

void EntryPoints() {
  Check(cuInit(0), "cuInit");
  void* function = nullptr;
  CUdriverProcAddressQueryResult status;
  Check(cuGetProcAddress("cuStreamDestroy", &function, 13000, 0, &status), "cuGetProcAddress");
  Print("newest_variant", function == reinterpret_cast<void*>(&cuStreamDestroy));
  Check(cuGetProcAddress("cuLaunchKernel", &function, 13000, 0, &status), "cuGetProcAddress");
  Print("plain", function == reinterpret_cast<void*>(&cuLaunchKernel));
  void* per_thread = nullptr;
  Check(cuGetProcAddress("cuLaunchKernel", &per_thread, 13000,
                         CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status),
        "cuGetProcAddress");
  Print("per_thread_is_another", per_thread != nullptr && per_thread != function);
  Check(cuGetProcAddress("cuNoSuchThing", &function, 13000, 0, &status), "cuGetProcAddress");
  Print("unknown", status);
  Check(cuGetProcAddress("cuLaunchKernelEx", &function, 11050, 0, &status), "cuGetProcAddress");
  Print("newer", status);
  Print("null", function == nullptr);
}

}  // namespace

int RunMisuse(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"null_buffer", Null},
      {"unaligned_buffer", Unaligned},
      {"flush_in_callback", FlushInCallback},
      {"fork", [] { Fork(false); }},
      {"fork_cupti", [] { Fork(true); }},
      {"fork_hangs", ForkHangs},
      {"uninitialized", Uninitialized},
      {"initialize", Initialize},
      {"device", Device},
      {"entry_points", EntryPoints},
  };
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
