// SPDX-License-Identifier: Apache-2.0
// The common form of all stemtap failures.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/process.h"

namespace stemtap::test {

// Checks for exit code `code`, one line on stderr that contains all of `words`, and no stdout.
inline void CheckFailure(const ProcessResult& result, int code,
                         const std::vector<std::string>& words) {
  CAPTURE(result.err);
  CHECK(result.exit_code == code);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(result.err.rfind("stemtap: ", 0) == 0);
  for (const std::string& word : words) {
    CAPTURE(word);
    CHECK(result.err.find(word) != std::string::npos);
  }
}

}  // namespace stemtap::test
