// SPDX-License-Identifier: Apache-2.0
//
// What every fuzzer holds its reader to.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/result.h"

// Names a broken promise in the fuzzer's report.
#define EXPECT(condition) \
  if (!(condition)) std::abort()

namespace stemtap {

inline void ExpectOneLine(std::string_view text) {
  EXPECT(!text.empty());
  EXPECT(text.find('\n') == std::string_view::npos);
}

// An error is one line that begins with the file's name.
inline void ExpectOneLine(const Error& error, std::string_view name) {
  ExpectOneLine(error.message);
  EXPECT(error.message.starts_with(name));
}

}  // namespace stemtap
