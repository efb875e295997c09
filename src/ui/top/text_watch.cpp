// SPDX-License-Identifier: Apache-2.0
#include "ui/top/text_watch.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "ui/top/screen.h"

namespace stemtap::ui {

void TextView::Show(std::string_view text) {
  lines_.clear();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines_.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Frame TextView::Draw(int width, int height, bool unicode) {
  Frame frame;
  if (width <= 0 || height <= 0) return frame;
  const Canvas canvas = {width, unicode, false};
  const std::size_t inner = static_cast<std::size_t>(height) - 1;
  if (!problem_.empty() && inner > 0) {
    frame.lines.push_back(canvas.NewLine().AddData(problem_, Style::kBad).Take());
  }
  seen_ = inner - frame.lines.size();
  first_ = std::min(first_, lines_.size() - std::min(lines_.size(), seen_));
  for (std::size_t i = first_; i < std::min(lines_.size(), first_ + seen_); ++i) {
    frame.lines.push_back(
        canvas.NewLine().AddData(lines_[i], i == 0 ? Style::kStrong : Style::kPlain).Take());
  }
  frame.lines.resize(inner);
  LineMaker keys = canvas.NewLine();
  keys.Add("q", Style::kStrong).Add(" quit  ", Style::kDim);
  if (lines_.size() > seen_) keys.Add("Up Down", Style::kStrong).Add(" move", Style::kDim);
  frame.lines.push_back(keys.Take());
  return frame;
}

void TextView::Press(KeyPress press) {
  const auto up = [this](std::size_t lines) { first_ -= std::min(first_, lines); };
  switch (press.key) {
    case Key::kUp:
      return up(1);
    case Key::kDown:
      ++first_;  // Draw limits it
      return;
    case Key::kPageUp:
      return up(seen_);
    case Key::kPageDown:
      first_ += seen_;
      return;
    case Key::kHome:
      first_ = 0;
      return;
    case Key::kEnd:
      first_ = lines_.size();
      return;
    case Key::kQuit:
      quit_ = true;
      return;
    case Key::kCharacter:
      quit_ = quit_ || press.character == 'q';
      return;
    default:
      return;
  }
}

std::optional<int> WatchText(const TextSource& source, double interval_s) {
  using Clock = std::chrono::steady_clock;
  const bool unicode = TakeLocale();
  const std::unique_ptr<Screen> screen = Screen::Open();
  if (screen == nullptr) return std::nullopt;
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval_s));
  TextView view;
  Clock::time_point next = Clock::now();
  int width = 0;
  while (screen->ended() == 0 && !view.quit()) {
    if (Clock::now() >= next || screen->width() != width) {
      width = screen->width();
      Result<std::string> text = source(static_cast<std::size_t>(std::max(width, 1)));
      if (text.ok()) view.Show(text.value());
      view.SetProblem(text.ok() ? std::string() : text.error().message);
      next = Clock::now() + interval;
    }
    screen->Draw(view.Draw(width, screen->height(), unicode));
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    KeyPress press = screen->Read(std::clamp(wait, std::chrono::milliseconds(0), Screen::kMaxWait));
    // All pending keys before drawing again.
    for (int more = 0; press.key != Key::kNone && more < 256; ++more) {
      view.Press(press);
      press = view.quit() ? KeyPress() : screen->Read(std::chrono::milliseconds(0));
    }
  }
  return screen->ended() > 0 ? 128 + screen->ended() : 0;
}

}  // namespace stemtap::ui
