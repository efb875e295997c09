// SPDX-License-Identifier: Apache-2.0
//
// Frame is what a view shows, as lines of styled text: a terminal paints it, a snapshot prints its text.
// Text in it is fit for a terminal: nothing that it could obey.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stemtap::top {

enum class Style : std::uint8_t {
  kPlain,
  kStrong,
  kDim,
  kGood,
  kNotice,
  kBad,      // what must be seen: losses, a killed session
  kHeading,  // of a table
  kCursor,   // the row that keys act on
};
inline constexpr int kStyles = 8;

struct Span {
  std::string text;
  Style style = Style::kPlain;
};

struct Line {
  std::vector<Span> spans;
  Style rest = Style::kPlain;  // of the columns behind the text

  std::string Text() const {
    std::string text;
    for (const Span& span : spans) text += span.text;
    return text;
  }
};

struct Frame {
  std::vector<Line> lines;
  int input_column = -1;  // of the last line, where text is being typed; -1: nowhere
};

}  // namespace stemtap::top
