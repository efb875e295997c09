// SPDX-License-Identifier: Apache-2.0
//
// Wraps text between words. Columns are bytes, so lines with other characters than ASCII may be
// shorter than necessary.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace stemtap {

// Width of text that is not wrapped or cut.
inline constexpr std::size_t kUnlimitedWidth = std::numeric_limits<std::size_t>::max();

// Appends `text` and a line feed to `out`, wrapped between words to lines of at most `width`
// columns. Lines begin at `column`; the first line continues the last line of `out`.
void AppendWrapped(std::string& out, std::string_view text, std::size_t column, std::size_t width);

// Returns `text` with each of its lines wrapped to at most `width` columns.
std::string WrappedLines(std::string_view text, std::size_t width);

}  // namespace stemtap
