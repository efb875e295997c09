// SPDX-License-Identifier: Apache-2.0
//
// fake_gpu_probe is a CUPTI client of the plainest kind: it does what one scenario says and prints
// what it saw as `key value` lines, for fake_gpu_test to judge. A program of its own, because the
// fakes read their environment once per process, and some scenarios end it.
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

// Dies with a message unless the call succeeded.
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

// Delivered is one buffer as the complete callback got it, copied, with the names spelled out.
struct Delivered {
  std::vector<std::uint8_t> bytes;
  std::vector<CUpti_ActivityKernel9> records;  // what the usual sizes of record have in common
  std::vector<std::string> names;
  std::vector<CUpti_ActivityGraphTrace> graphs;  // what both sizes have in common
  std::vector<CUpti_ActivityOverhead> overheads;
  std::thread::id thread;
};

// Client registers buffer callbacks and keeps what is delivered. One per process.
class Client {
 public:
  // Size of the buffers it lends, and what it does wrong on purpose.
  static std::size_t buffer_bytes;
  static std::size_t max_records;
  static bool lends_null;
  static bool lends_unaligned;
  static bool flushes_in_callback;
  static std::uint8_t fill;  // what lent buffers are filled with
  // Called first in the callbacks; the first may replace the buffer that will be lent.
  static std::function<void(std::uint8_t*& buffer)> on_request;
  static std::function<void()> on_complete;

  static void Start(CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);

  static std::vector<Delivered> Take();
  static std::vector<std::thread::id> RequestThreads();
  static std::uint64_t requests();
};

// All records of some deliveries, in order.
std::vector<CUpti_ActivityKernel9> Records(const std::vector<Delivered>& delivered);

// Captures five kernels of 1 us each from stream 0 and instantiates the graph.
CUgraphExec FiveKernelGraph(Gpu& gpu);

// Nanoseconds of CLOCK_MONOTONIC.
std::uint64_t WallTime();

// The scenarios, by file.
int RunActivity(const std::string& scenario);   // -1: not one of these
int RunCallbacks(const std::string& scenario);  // -1: not one of these
int RunKinds(const std::string& scenario);      // -1: not one of these
int RunMisuse(const std::string& scenario);     // -1: not one of these
int RunOwnership(const std::string& scenario);  // -1: not one of these
int RunTimes(const std::string& scenario);      // -1: not one of these

}  // namespace probe
