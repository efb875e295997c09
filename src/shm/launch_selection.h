// SPDX-License-Identifier: Apache-2.0
//
// LaunchSelection is which launches a run samples, by the ranges and steps of the program, and
// which range a launch counts to:
//
//   --ranges             its whole path ("decode/attention")
//   --only-range A,B     the innermost of the listed ranges that encloses it; outside of them, the
//                        launch is not sampled
//   --skip-steps, --steps  launches outside of these steps are not sampled either
//
// Used by the injected library: needs libc only.
#pragma once

#include <cstdint>
#include <cstring>

#include "shm/record.h"

namespace stemtap::shm {

// Maximum number of names in --only-range. All together have less than kMaxRangeBytes.
inline constexpr std::uint32_t kMaxOnlyRanges = 64;

// Maximum of --skip-steps and --steps.
inline constexpr std::uint32_t kMaxSteps = 4'000'000'000;

// Text is characters without an end.
struct Text {
  const char* at = nullptr;
  std::uint32_t bytes = 0;
};

// Returns the innermost of the ranges in `names`, which are separated by commas, that is a part of
// `path`: "decode" and "serve/decode" are parts of "serve/decode/attention". If several are equally
// innermost, the longest. The result is a part of `names`, empty if there is none.
inline Text InnermostOf(Text path, Text names) noexcept {
  Text innermost;
  std::uint32_t innermost_end = 0;
  for (std::uint32_t begin = 0; begin < names.bytes;) {
    std::uint32_t end = begin;
    while (end < names.bytes && names.at[end] != ',') ++end;
    const Text name = {names.at + begin, end - begin};
    begin = end + 1;
    if (name.bytes == 0) continue;
    // The last place at which the path contains the name.
    for (std::uint32_t last = path.bytes; last >= name.bytes; --last) {
      const std::uint32_t first = last - name.bytes;
      if ((last != path.bytes && path.at[last] != '/') || (first != 0 && path.at[first - 1] != '/'))
        continue;
      if (std::memcmp(path.at + first, name.at, name.bytes) != 0) continue;
      if (last > innermost_end || (last == innermost_end && name.bytes > innermost.bytes)) {
        innermost = name;
        innermost_end = last;
      }
      break;
    }
  }
  return innermost;
}

// StepWindow is the steps whose launches are sampled: [first, first + count).
struct StepWindow {
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // 0: all from `first` on

  bool all() const noexcept { return first == 0 && count == 0; }
  // `step`: kNoStep is outside of every window but all().
  bool Contains(std::uint64_t step) const noexcept {
    if (all()) return true;
    return step != kNoStep && step >= first && (count == 0 || step - first < count);
  }
};

}  // namespace stemtap::shm
