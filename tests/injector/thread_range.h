// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests of Control(), which all threads of the test share.
#pragma once

#include <string>
#include <thread>

#include "control/program_control.h"

namespace stemtap::inject {

// Returns the range of a launch that this thread makes now.
inline std::string Range() {
  const shm::LaunchMark mark = Control().CurrentMark();
  if (mark.range_id == shm::kNoRange) return "";
  char text[shm::kMaxRangeBytes];
  return std::string(text, Control().paths().Write(mark.range_id, text));
}

// Runs `body` on a new thread, so that no range is open.
template <typename Body>
void OnThread(const Body& body) {
  std::thread(body).join();
}

}  // namespace stemtap::inject
