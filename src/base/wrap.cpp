// SPDX-License-Identifier: Apache-2.0
#include "base/wrap.h"

#include <algorithm>

namespace stemtap {

void AppendWrapped(std::string& out, std::string_view text, std::size_t column, std::size_t width) {
  std::size_t at = column;
  bool line_start = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line_start && at + 1 + word.size() > width) {
      out += '\n' + std::string(column, ' ');
      at = column;
      line_start = true;
    }
    if (!line_start) out += ' ';
    at += word.size() + (line_start ? 0 : 1);
    out += word;
    line_start = false;
  }
  out += '\n';
}

std::string WrappedLines(std::string_view text, std::size_t width) {
  std::string wrapped;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    AppendWrapped(wrapped, text.substr(0, end), 0, width);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped;
}

}  // namespace stemtap
