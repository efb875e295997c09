// SPDX-License-Identifier: Apache-2.0
//
// A frame is the content of a view as lines of styled text. A terminal paints it; a snapshot prints
// its text. The text contains no terminal control sequences.
//
// Text is fitted into terminal columns. It is untrusted, because kernel names are data of the
// traced program. Column widths follow the locale (LC_CTYPE), so the caller must set it first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

// Returns `text` with everything escaped as \xHH or \u{H...} that a terminal would interpret or
// show without a width (control characters, invalid UTF-8, bidirectional marks). Without `unicode`,
// also escapes every non-ASCII byte. Returns at most `max` columns and omits the rest.
std::string ShownText(std::string_view text, bool unicode, int max);

// Returns the number of columns of a text made by ShownText.
int ColumnsOf(std::string_view shown);

// Returns the first `columns` columns, with an ellipsis if text is cut. REQUIRES: columns >= 0.
std::string Cut(std::string_view shown, int columns, bool unicode);

// Returns the last `columns` columns. REQUIRES: columns >= 0.
std::string_view LastColumns(std::string_view shown, int columns);

// Wraps the text into lines of at most `columns` columns. The last of `max` lines has an ellipsis
// if text is cut. REQUIRES: columns > 0, max > 0.
std::vector<std::string> Wrapped(std::string_view shown, int columns, std::size_t max,
                                 bool unicode);

// Like Cut, padded with spaces: FitLeft pads after the text, FitRight before it.
std::string FitLeft(std::string_view shown, int columns, bool unicode);
std::string FitRight(std::string_view shown, int columns, bool unicode);

// Returns `character` as UTF-8; "" if it is not a character.
std::string Utf8(char32_t character);

// LineMaker builds one line and truncates it at a width.
class LineMaker {
 public:
  LineMaker(int width, bool unicode) : left_(width), unicode_(unicode) {}

  LineMaker& Add(std::string_view shown, Style style = Style::kPlain) {
    if (left_ <= 0 || shown.empty()) return *this;
    std::string text = Cut(shown, left_, unicode_);
    left_ -= ColumnsOf(text);
    line_.spans.push_back({std::move(text), style});
    return *this;
  }
  // Adds untrusted text: a path or text of the traced program.
  LineMaker& AddData(std::string_view text, Style style = Style::kPlain) {
    return Add(ShownText(text, unicode_, left_), style);
  }
  // Adds `part` if all of it fits. Otherwise ends the line, so that no part is cut or skipped.
  LineMaker& AddWhole(const Line& part) {
    int columns = 0;
    for (const Span& span : part.spans) columns += ColumnsOf(span.text);
    if (columns > left_) left_ = 0;
    for (const Span& span : part.spans) Add(span.text, span.style);
    return *this;
  }
  int left() const { return left_; }
  Line Take(Style rest = Style::kPlain) {
    line_.rest = rest;
    return std::move(line_);
  }

 private:
  Line line_;
  int left_;
  bool unicode_;
};

// Wider than any line: names are cut at 16,384 bytes of at most 4 columns each when escaped.
inline constexpr int kUnlimitedColumns = 1 << 20;

// Canvas is the output area of lines: a terminal of a given width, or text of unlimited width.
struct Canvas {
  int width = 0;
  bool unicode = false;
  bool snapshot = false;

  LineMaker NewLine() const { return {width, unicode}; }
  // Returns a part of a line, for AddWhole.
  LineMaker NewPart() const { return {kUnlimitedColumns, unicode}; }
};

}  // namespace stemtap::ui
