// SPDX-License-Identifier: Apache-2.0
//
// The objects behind the driver's opaque handles. cuda.h declares the tags (CUstream is a
// CUstream_st*), the fake defines them, so a handle is its object and needs no cast.
//
// Ownership: a context owns its streams and modules, a module its functions and their names, a
// graph its nodes.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/name_arena.h"

namespace fake_gpu {

// As many launches may wait on one stream as the queue of a real driver holds.
inline constexpr std::size_t kLaunchQueue = 1024;

// The id that CUPTI shows for the default stream, and for the first stream of a program's own.
inline constexpr std::uint32_t kDefaultStreamId = 7;
inline constexpr std::uint32_t kFirstStreamId = 13;

struct Extent {
  std::uint32_t x = 1, y = 1, z = 1;
};

}  // namespace fake_gpu

struct CUfunc_st {
  CUmod_st* module = nullptr;
  const char* name = nullptr;  // in the module's arena
  std::uint32_t registers = 0;
  // Ground truth. Relaxed counters, read when the process is quiet.
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint64_t> duration_ns{0};
};

struct CUmod_st {
  CUctx_st* context = nullptr;
  std::uint32_t id = 0;
  std::mutex mutex;
  fake_gpu::NameArena names;
  std::map<std::string_view, std::unique_ptr<CUfunc_st>> functions;  // keys lie in `names`
};

// CUstream_st is a queue of kernels that run one after another.
struct CUstream_st {
  CUctx_st* context = nullptr;
  std::uint32_t id = fake_gpu::kDefaultStreamId;
  unsigned flags = 0;
  int priority = 0;

  std::mutex mutex;                       // guards what follows
  std::uint64_t ready_ns = 0;             // end of the last kernel
  std::uint64_t launched = 0;             // counts into queue_ends
  std::vector<std::uint64_t> queue_ends;  // real clock only: ends of the last kLaunchQueue kernels
  CUgraph_st* capture = nullptr;          // launches go into this graph
};

struct CUctx_st {
  int device = 0;
  std::uint32_t uid = 0;
  unsigned flags = 0;
  int references = 0;  // primary contexts only

  std::mutex mutex;  // guards what follows
  CUstream_st default_stream;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUmod_st>> modules;
  std::uint32_t next_stream_id = fake_gpu::kFirstStreamId;
};

struct CUevent_st {
  std::atomic<std::uint64_t> time_ns{0};  // 0: never recorded
};

struct CUgraphNode_st {
  CUfunc_st* function = nullptr;
  fake_gpu::Extent grid, block;
  std::uint32_t shared_bytes = 0;
  std::uint64_t duration_ns = 0;
  std::uint32_t launch_type = 0;
  std::uint64_t id = 0;
};

struct CUgraph_st {
  std::uint32_t id = 0;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in the order they were added
};

struct CUgraphExec_st {
  std::uint32_t id = 0;
  // What CUPTI recorded when it was instantiated decides what its launches yield: the graph as a
  // whole, or each kernel, or nothing.
  enum class Yields { kNothing, kKernels, kGraph };
  Yields yields = Yields::kNothing;
  std::vector<CUgraphNode_st> nodes;
};
