// SPDX-License-Identifier: Apache-2.0
//
// Tally counts a problem that is reported once, with the place where it first occurred: a line, a
// row or a byte of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stemtap::formats {

struct Tally {
  std::uint64_t count = 0;
  std::uint64_t first = 0;
  std::string what;  // the first problem, if there are several kinds

  void Add(std::uint64_t place, std::string_view problem = {}) {
    if (count++ != 0) return;
    first = place;
    what = problem;
  }
};

}  // namespace stemtap::formats
