// SPDX-License-Identifier: Apache-2.0
#include "model/name_pattern.h"

#include <fmt/format.h>

#include "base/text.h"

namespace stemtap::model {

Result<std::unique_ptr<re2::RE2>> CompilePattern(const std::string& text) {
  auto pattern = std::make_unique<re2::RE2>(text, re2::RE2::Quiet);
  if (pattern->ok()) return pattern;
  return Error{fmt::format("'{}': {}; expected a regular expression", EscapeForTerminal(text),
                           EscapeForTerminal(pattern->error())),
               2};
}

}  // namespace stemtap::model
