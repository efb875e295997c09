// SPDX-License-Identifier: Apache-2.0
//
// GraphProblem is why a graph has no name by its structure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

struct GraphProblem {
  enum Kind : std::uint8_t {
    kNone,
    kUnseen,        // the callback of its instantiation did not run, or its entry was overwritten
    kDriverLacks,   // a function, before CUDA 12.3
    kCuptiLacks,    // cuptiGetGraphExecId
    kRefused,       // CUPTI refused the callbacks
    kCallFailed,    // a call that describes the graph; `call` and `error` are set
    kInconsistent,  // the driver's answers contradict each other
    kConditional,   // a conditional node: no call returns the graphs that it runs
    kTooLarge,      // more nodes or edges than GraphReader reads
    kTooDeep,       // child graphs in child graphs
    kNoMemory,
    kTooManyNames,
  };
  Kind kind = kNone;
  std::uint8_t call = 0;    // index in kGraphCalls
  std::uint16_t error = 0;  // of the call

  explicit operator bool() const noexcept { return kind != kNone; }
};

// Calls that describe a graph, or give its id.
enum class GraphCall : std::uint8_t {
  kGetNodes,
  kGetType,
  kGetKernel,
  kGetFunctionName,
  kGetKernelName,
  kGetCopy,
  kGetFill,
  kGetChild,
  kGetEdges,
  kGetExecId,
  kCount
};

inline constexpr const char* kGraphCalls[static_cast<std::size_t>(GraphCall::kCount)] = {
    "cuGraphGetNodes",
    "cuGraphNodeGetType",
    "cuGraphKernelNodeGetParams_v2",
    "cuFuncGetName",
    "cuKernelGetName",
    "cuGraphMemcpyNodeGetParams",
    "cuGraphMemsetNodeGetParams",
    "cuGraphChildGraphNodeGetGraph",
    "cuGraphGetEdges_v2",
    "cuptiGetGraphExecId"};

constexpr GraphProblem CallFailed(GraphCall call, int error) noexcept {
  return {GraphProblem::kCallFailed, static_cast<std::uint8_t>(call),
          static_cast<std::uint16_t>(error)};
}

// Returns the reason in words. `text` has room for it.
const char* WhyUnnamed(GraphProblem problem, char (&text)[160]) noexcept;

}  // namespace stemtap::inject
