// SPDX-License-Identifier: Apache-2.0
//
// What an option takes beside numbers: one of a few words, or the name of a file or folder. --help, the
// manual page and the completions tell them apart by the type name.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace stemtap {

// To be given to check().
inline CLI::Validator OneOf(std::vector<std::string> words) {
  const std::string all = fmt::format("{}", fmt::join(words, ", "));
  const std::string kind = fmt::format("{{{}}}", fmt::join(words, ","));
  return CLI::Validator(
      [words = std::move(words), all](std::string& word) {
        if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
        const std::string_view nearest = NearestName(word, words);
        return fmt::format("expected one of {}, found '{}'{}", all, ShownCell(word),
                           nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest));
      },
      kind);
}

inline CLI::Option* AsPath(CLI::Option* option, const char* type) {
  // As an unset variable of a script makes it: to take it for "none" would do something else.
  return option->type_name(type)->check([](const std::string& path) {
    return path.empty() ? std::string("is empty, expected a path") : std::string();
  });
}
inline CLI::Option* AsFile(CLI::Option* option) {
  return AsPath(option, "FILE");
}
inline CLI::Option* AsFolder(CLI::Option* option) {
  return AsPath(option, "FOLDER");
}

}  // namespace stemtap
