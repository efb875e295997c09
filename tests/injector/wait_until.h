// SPDX-License-Identifier: Apache-2.0
//
// Waits for conditions that are visible only in shared memory or /proc.
#pragma once

#include <time.h>

#include <chrono>

namespace stemtap::test {

// Checks `condition` every millisecond. Returns false after a minute.
template <typename Condition>
bool WaitUntil(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    const timespec millisecond = {0, 1'000'000};
    nanosleep(&millisecond, nullptr);
  }
  return true;
}

}  // namespace stemtap::test
