// SPDX-License-Identifier: Apache-2.0
//
// Checks shared by all fuzzers.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/result.h"

// Reports the failed condition in the fuzzer's output.
#define EXPECT(condition) \
  if (!(condition)) std::abort()

namespace stemtap {

inline void ExpectOneLine(std::string_view text) {
  EXPECT(!text.empty());
  EXPECT(text.find('\n') == std::string_view::npos);
}

// Checks that an error is one line that begins with the file's name.
inline void ExpectOneLine(const Error& error, std::string_view name) {
  ExpectOneLine(error.message);
  EXPECT(error.message.starts_with(name));
}

}  // namespace stemtap
