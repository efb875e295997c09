// SPDX-License-Identifier: Apache-2.0
//
// CaptureMarks is the marks of the captured launches of a run: the range and step that the program
// was in, as it reported with stemtap/control.h. Memory is O(captures).
//
// THREADS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "model/name_table.h"
#include "shm/record.h"

namespace stemtap::session {

// NamedMark is a shm::LaunchMark with the path of its range.
struct NamedMark {
  std::string_view range;  // empty: outside of all ranges
  std::uint64_t step = shm::kNoStep;

  bool empty() const { return range.empty() && step == shm::kNoStep; }
};

class CaptureMarks {
 public:
  // Adds the mark of launch `index`, unless it is empty.
  void Add(std::uint64_t index, const NamedMark& mark);
  // Returns the mark of launch `index`; an empty mark if it has none. Valid as long as this object.
  NamedMark Of(std::uint64_t index) const;

 private:
  // Maximum total length of all paths: 64 MiB, 16 times the maximum of one process. The ranges of
  // launches beyond it are shm::kOtherRangePath.
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  struct Mark {
    std::uint32_t range;  // id in ranges_
    std::uint64_t step;
  };
  std::unordered_map<std::uint64_t, Mark> marks_;  // by launch index
  model::NameTable ranges_;
  std::size_t bytes_ = 0;  // of all paths
};

}  // namespace stemtap::session
