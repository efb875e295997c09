// SPDX-License-Identifier: Apache-2.0
//
// MarkSender stages the marks of captured launches for the ring, and defines each range before its
// first use. Ids of ranges in the ring file are dense and begin at 1.
//
// THREADS: none; used under the decoder's lock.
#pragma once

#include <cstdint>

#include "control/launch_ranges.h"
#include "recording/definition_writer.h"
#include "recording/ring_writer.h"
#include "shm/record.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class MarkSender {
 public:
  void Init(SessionFiles& files, DefinitionWriter& definitions, const RangePaths& paths,
            const LaunchRanges& ranges) noexcept {
    files_ = &files;
    definitions_ = &definitions;
    paths_ = &paths;
    ranges_ = &ranges;
  }

  // Stages the mark of a launch. The caller stages the record of its kernel next. Returns false if
  // the ring has no room for both. A range that cannot be defined is left out and counted.
  bool Stage(const shm::LaunchMark& mark, std::uint32_t correlation_id,
             RingWriter& writer) noexcept;

  // Returns the id in the ring file of a range, which is an id of LaunchRanges. Returns
  // shm::kNoRange if it cannot be defined.
  std::uint32_t RingIdOf(std::uint32_t range) noexcept {
    if (ring_ids_[range] == 0) Define(range);
    return ring_ids_[range];
  }

 private:
  void Define(std::uint32_t range) noexcept;

  SessionFiles* files_ = nullptr;
  DefinitionWriter* definitions_ = nullptr;
  const RangePaths* paths_ = nullptr;
  const LaunchRanges* ranges_ = nullptr;

  std::uint16_t ring_ids_[LaunchRanges::kIds] = {};  // by id of LaunchRanges; 0: not defined yet
  std::uint16_t defined_ = 0;
};

}  // namespace stemtap::inject
