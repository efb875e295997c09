// SPDX-License-Identifier: Apache-2.0
//
// Reads the names of CUDA graphs that are timed as one (--level graph). The injected library writes
// them (injector/graphs/graph_text.h):
//
//   graph of 213 kernels, 24 x _Z8rms_normPKfPf #1a2b3c4d5e6f7081     by structure
//   graph 12 of process 4711 #5e6f7081                                by number
//
// A kernel cannot have such a name: a C++ name in which a space follows the first word begins with
// a type.
//
// THREADS: none; pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stemtap::model {

// GraphName is the parts of the name of a graph by structure.
struct GraphName {
  std::string_view kernels;  // "213"
  std::string_view count;    // "24"; empty without kernels
  std::string_view kernel;   // "_Z8rms_normPKfPf", may end in "..."; empty without kernels
  std::string_view hash;     // "1a2b3c4d5e6f7081"
};

// Returns the parts of the name, or nothing if it is not the name of a graph by structure.
std::optional<GraphName> ParseGraphName(std::string_view name);

// Returns whether a graph has the name, by structure or by number.
bool IsGraphName(std::string_view name);

// Returns a name for use in table columns: "graph of 213: 24 x rms_norm #1a2b3c4d". Nothing of a
// name by number can be left out. REQUIRES: IsGraphName(name).
std::string BriefGraphName(std::string_view name);

}  // namespace stemtap::model
