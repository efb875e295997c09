// SPDX-License-Identifier: Apache-2.0
//
// fake_gpu_probe is a minimal CUPTI client. It runs one scenario and prints its observations as
// `key value` lines for fake_gpu_test. It is a separate program, because the simulated libraries
// read their environment once per process and some scenarios end the process.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fake_gpu.h"

namespace probe {

// Exits with a message unless the call succeeded.
void Check(CUresult result, const char* what);
void Check(CUptiResult result, const char* what);

void Print(const char* key, std::uint64_t value);
void Print(const char* key, const std::string& value);

// Gpu is device 0 with some streams and a module.
class Gpu {
 public:
  explicit Gpu(int streams = 1);

  void Launch(std::uint64_t duration_ns, int stream = 0, const char* name = "spin");
  CUfunction Function(const char* name);
  CUcontext context() const { return context_; }
  CUmodule module() const { return module_; }
  CUstream stream(int i) const { return streams_[static_cast<std::size_t>(i)]; }

 private:
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  std::vector<CUstream> streams_;
};

// Delivered is a copy of one buffer from the complete callback, with resolved names.
struct Delivered {
  std::vector<std::uint8_t> bytes;
  std::vector<CUpti_ActivityKernel9> records;  // common prefix of the usual record sizes
  std::vector<std::string> names;
  std::vector<CUpti_ActivityGraphTrace> graphs;  // common prefix of both sizes
  std::vector<CUpti_ActivityOverhead> overheads;
  std::thread::id thread;
};

// Client registers buffer callbacks and stores delivered buffers. One per process.
class Client {
 public:
  // Size of its buffers, and its intentional errors.
  static std::size_t buffer_bytes;
  static std::size_t max_records;
  static bool lends_null;
  static bool lends_unaligned;
  static bool flushes_in_callback;
  static std::uint8_t fill;  // fill byte of provided buffers
  // Called first in the callbacks; on_request may replace the buffer that is returned to CUPTI.
  static std::function<void(std::uint8_t*& buffer)> on_request;
  static std::function<void()> on_complete;

  static void Start(CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);

  static std::vector<Delivered> Take();
  static std::vector<std::thread::id> RequestThreads();
  static std::uint64_t requests();
};

// Returns all records of the deliveries, in order.
std::vector<CUpti_ActivityKernel9> Records(const std::vector<Delivered>& delivered);

// Captures five kernels of 1 us each from stream 0 and instantiates the graph.
CUgraphExec FiveKernelGraph(Gpu& gpu);

// Returns CLOCK_MONOTONIC in nanoseconds.
std::uint64_t WallTime();

// The scenarios of each file. Each function returns -1 if the scenario is not in its file.
int RunActivity(const std::string& scenario);
int RunCallbacks(const std::string& scenario);
int RunContexts(const std::string& scenario);
int RunDurations(const std::string& scenario);
int RunGraphs(const std::string& scenario);
int RunKinds(const std::string& scenario);
int RunMemory(const std::string& scenario);
int RunMisuse(const std::string& scenario);
int RunModules(const std::string& scenario);
int RunOwnership(const std::string& scenario);
int RunTimes(const std::string& scenario);

}  // namespace probe
