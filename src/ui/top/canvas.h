// SPDX-License-Identifier: Apache-2.0
//
// Canvas describes the output area of a line: a terminal of a given width, or text of unlimited
// width. LineMaker builds one line and truncates it at that width.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "ui/top/frame.h"
#include "ui/top/text_cells.h"

namespace stemtap::ui {

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

struct Canvas {
  int width = 0;
  bool unicode = false;
  bool snapshot = false;

  LineMaker NewLine() const { return {width, unicode}; }
  // Returns a part of a line, for AddWhole.
  LineMaker NewPart() const { return {kUnlimitedColumns, unicode}; }
};

}  // namespace stemtap::ui
