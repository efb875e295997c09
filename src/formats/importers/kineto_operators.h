// SPDX-License-Identifier: Apache-2.0
//
// KinetoOperators finds the operators of PyTorch that launched the kernels of a trace of
// torch.profiler: a kernel has the "External id" of the innermost operator around its launch
// call. See docs/formats/kineto.md.
//
// MEMORY: 16 bytes for each operator, 8 for each launch, and the names.  THREADS: none.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/importers/recorded_launches.h"

namespace stemtap::formats {

class KinetoOperators {
 public:
  // Reads an event that is not a kernel.
  void Read(const simdjson::dom::object& event, std::string_view category);

  // Reads the operator of the launches that were added since the last call; `event` is their event.
  void ReadLaunches(const simdjson::dom::object& event, const RecordedLaunches& launches);

  // Sets the operators as the ranges of the launches. A launch has none if its id is of no
  // operator, or of operators with different names, as in merged traces. Call it once, before
  // RecordedLaunches::Finish.
  void Finish(RecordedLaunches& launches);

 private:
  struct Operator {
    std::uint64_t id;
    std::uint32_t name;  // its number, from 1
  };

  std::uint32_t NumberOf(std::string_view name);

  std::vector<Operator> operators_;
  std::vector<std::uint64_t> ids_;  // of the operator, by launch; 0: none
  std::vector<std::string> names_;  // by number - 1
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

}  // namespace stemtap::formats
