// SPDX-License-Identifier: Apache-2.0
//
// Scenarios that a client must not play: each ends the process, or shows what CUDA refuses.
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

// What the child of a fork gets from CUDA; `cupti`: it also calls CUPTI.
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

}  // namespace

int RunMisuse(const std::string& scenario) {
  const std::map<std::string, std::function<void()>> scenarios = {
      {"null_buffer", Null},
      {"unaligned_buffer", Unaligned},
      {"flush_in_callback", FlushInCallback},
      {"fork", [] { Fork(false); }},
      {"fork_cupti", [] { Fork(true); }},
      {"uninitialized", Uninitialized},
  };
  const auto found = scenarios.find(scenario);
  if (found == scenarios.end()) return -1;
  found->second();
  return 0;
}

}  // namespace probe
