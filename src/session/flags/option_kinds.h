// SPDX-License-Identifier: Apache-2.0
//
// Non-numeric option types: one of a set of words, or the path of a file or directory. --help, the
// manual page and the completions distinguish them by type name.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace stemtap::session {

// For check().
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
  // An unset shell variable yields an empty path. It is an error, because treating it as "none"
  // would silently do something else.
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

}  // namespace stemtap::session
