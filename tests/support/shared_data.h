// SPDX-License-Identifier: Apache-2.0
//
// Recorded profiles and golden vectors that are too large for the repository are in a directory
// `shared` next to the checkout. Tests that need one are skipped with a message if the directory
// does not exist:
//
//   const auto file = SharedPath("vectors/root.json");
//   STEMTAP_SKIP_WITHOUT(file);
#pragma once

#include <filesystem>
#include <string_view>

#include "support/paths.h"

namespace stemtap {

// Returns the path of a file or directory under ../shared, or "" if it does not exist.
inline std::filesystem::path SharedPath(std::string_view name) {
  const std::filesystem::path path = test::SourceDir() / ".." / "shared" / name;
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? path.lexically_normal() : std::filesystem::path();
}

}  // namespace stemtap

// Ends the test case with a message if `path` is empty. Requires doctest.
#define STEMTAP_SKIP_WITHOUT(path)                                                          \
  do {                                                                                      \
    if ((path).empty()) {                                                                   \
      MESSAGE(                                                                              \
          "SKIPPED: the directory `shared` next to the checkout does not contain the path " \
          "in `" #path "`");                                                                \
      return;                                                                               \
    }                                                                                       \
  } while (false)
