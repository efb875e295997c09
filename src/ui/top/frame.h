// SPDX-License-Identifier: Apache-2.0
//
// Frame is the content of a view as lines of styled text. A terminal paints it; a snapshot prints
// its text. The text contains no terminal control sequences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stemtap::ui {

enum class Style : std::uint8_t {
  kPlain,
  kStrong,
  kDim,
  kGood,
  kNotice,
  kBad,      // must be noticed: dropped records, a killed session
  kHeading,  // table heading
  kCursor,   // the row that keys act on
};
inline constexpr int kStyles = 8;

struct Span {
  std::string text;
  Style style = Style::kPlain;
};

struct Line {
  std::vector<Span> spans;
  Style rest = Style::kPlain;  // style of the columns after the text

  std::string Text() const {
    std::string text;
    for (const Span& span : spans) text += span.text;
    return text;
  }
};

struct Frame {
  std::vector<Line> lines;
  int input_column = -1;  // cursor column in the last line while text is being typed; -1 otherwise
};

}  // namespace stemtap::ui
