// SPDX-License-Identifier: Apache-2.0
//
// The objects behind the driver's opaque handles. cuda.h declares the tags (CUstream is a
// CUstream_st*) and the simulated driver defines them, so a handle points to its object without a
// cast.
//
// Ownership: a context owns its streams and modules, a library its module, a module its functions
// and their names. Graphs are in graph_objects.h.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/durations.h"
#include "cuda/extent.h"
#include "cuda/name_arena.h"

namespace fake_gpu {

// Maximum number of launches queued on one stream, as in a real driver.
inline constexpr std::size_t kLaunchQueue = 1024;

// CUPTI's ids of the default stream and of the first stream that a program creates.
inline constexpr std::uint32_t kDefaultStreamId = 7;
inline constexpr std::uint32_t kFirstStreamId = 13;

struct Capture;  // graph_objects.h

}  // namespace fake_gpu

struct CUfunc_st {
  CUmod_st* module = nullptr;
  const char* name = nullptr;  // in the module's arena
  std::uint32_t registers = 0;
  std::optional<fake_gpu::DurationModel> model;  // unset: the first parameter is the duration
  // By CUfunction_attribute. Relaxed: a value that the program sets.
  std::array<std::atomic<int>, CU_FUNC_ATTRIBUTE_MAX> attributes = {};
  // Ground truth. Relaxed counters, read when the process is quiet.
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint64_t> duration_ns{0};
};

struct CUmod_st {
  CUctx_st* context = nullptr;
  std::uint32_t id = 0;
  bool uses_duration_model = false;
  CUlibrary library = nullptr;  // set if a library owns the module
  std::mutex mutex;             // guards the members below
  std::map<std::string, CUdeviceptr> globals;
  fake_gpu::NameArena names;
  std::map<std::string_view, std::unique_ptr<CUfunc_st>> functions;  // keys point into `names`
};

// CUstream_st is a queue of kernels that run in order.
struct CUstream_st {
  CUctx_st* context = nullptr;
  std::uint32_t id = fake_gpu::kDefaultStreamId;
  unsigned flags = 0;
  int priority = 0;

  std::mutex mutex;            // guards the members below
  std::uint64_t ready_ns = 0;  // end of the last kernel
  std::uint64_t launched = 0;  // index into queue_ends
  std::map<CUlaunchAttributeID, CUlaunchAttributeValue> attributes;
  std::vector<std::uint64_t> queue_ends;  // real clock only: ends of the last kLaunchQueue kernels

  // If set, launches are added to a graph, after the nodes in capture_tail. The program serializes
  // calls on a capturing stream.
  std::shared_ptr<fake_gpu::Capture> capture;
  std::vector<CUgraphNode> capture_tail;

  // Number of the stream's last piece of host work; see host_work.h. Relaxed: the program orders
  // its calls.
  std::atomic<std::uint64_t> host_ticket{0};
};

// CUarray_st is an array: rows of elements in host memory.
struct CUarray_st {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  std::size_t pitch = 0;   // bytes of a row
  std::size_t height = 1;  // rows of a slice
  std::unique_ptr<char[]> data;
};

struct CUctx_st {
  int device = 0;
  std::uint32_t uid = 0;
  unsigned flags = 0;
  int references = 0;  // primary contexts only

  std::mutex mutex;  // guards the members below
  CUstream_st default_stream;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUmod_st>> modules;
  std::uint32_t next_stream_id = fake_gpu::kFirstStreamId;
  std::map<CUlimit, std::size_t> limits;  // that the program has set
  std::set<CUcontext> peers;              // whose memory the program may access
};

struct CUevent_st {
  std::atomic<std::uint64_t> time_ns{0};  // 0: never recorded
  // Host work that the event waits for. Relaxed: the program orders its calls.
  std::atomic<std::uint64_t> host_ticket{0};
  // If set, the event was last recorded in a capturing stream, after these nodes.
  std::shared_ptr<fake_gpu::Capture> capture;
  std::vector<CUgraphNode> capture_nodes;
};
