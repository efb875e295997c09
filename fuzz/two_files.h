// SPDX-License-Identifier: Apache-2.0
//
// Two files in one input, separated by a line "--".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/memory_source.h"

namespace stemtap {

inline std::pair<std::string_view, std::string_view> TwoFiles(std::string_view content) {
  constexpr std::string_view kBetween = "\n--\n";
  const std::size_t at = content.find(kBetween);
  if (at == std::string_view::npos) return {content, {}};
  return {content.substr(0, at + 1), content.substr(at + kBetween.size())};
}

inline std::unique_ptr<ByteSource> SourceOf(const char* name, std::string_view content) {
  return std::make_unique<MemorySource>(name, content, content.size() % 3 == 0 ? 7 : kReadBytes);
}

}  // namespace stemtap
