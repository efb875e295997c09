// SPDX-License-Identifier: Apache-2.0
//
// Shows a text on a terminal until the user quits, and renews it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ui/top/canvas.h"
#include "ui/top/model.h"

namespace stemtap::ui {

// TextView is the part of a text that is visible. It does not depend on a terminal.
class TextView {
 public:
  // Shows `text`. Its kernel names and hosts are data, so it must be escaped.
  void Show(std::string_view text);
  // Shows `problem` above the last text; nothing if it is empty.
  void SetProblem(std::string problem) { problem_ = std::move(problem); }
  // Draws in `height` lines. The text moves if fewer lines are left below its first one.
  Frame Draw(int width, int height, bool unicode);
  void Press(KeyPress press);
  bool quit() const { return quit_; }

 private:
  std::vector<std::string> lines_;
  std::string problem_;
  std::size_t first_ = 0;  // visible line
  std::size_t seen_ = 1;   // lines, as last drawn
  bool quit_ = false;
};

// Returns a text whose lines have at most `width` columns.
using TextSource = std::function<Result<std::string>(std::size_t width)>;

// Shows the text of `source` on the terminal, and calls it again each `interval_s`, until the user
// quits. Errors are shown above the last text. Returns the exit code, which is 128 + the signal
// that ended it; nothing if there is no terminal.
std::optional<int> WatchText(const TextSource& source, double interval_s);

}  // namespace stemtap::ui
