// SPDX-License-Identifier: Apache-2.0
//
// Screen draws frames on the terminal and reads keys. It is the only file that uses curses. The
// terminal is restored however Screen ends, including by a signal.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT are recorded and reported by ended(). SIGTSTP restores the
// terminal and stops the program, as a shell expects. Only one Screen may exist at a time.
#pragma once

#include <chrono>
#include <memory>

#include "ui/top/canvas.h"
#include "ui/top/model.h"

namespace stemtap::ui {

// Sets the user's locale and returns whether the terminal supports Unicode.
bool TakeLocale();

class Screen {
 public:
  // Longest wait for a key, so that a signal just before the wait is noticed.
  static constexpr std::chrono::milliseconds kMaxWait{250};

  // Returns null if standard output is not a terminal with cursor addressing (a file, TERM=dumb) or
  // keys cannot be read.
  static std::unique_ptr<Screen> Open();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  int width() const;
  int height() const;
  void Draw(const Frame& frame);

  // Waits for a key for at most `timeout`. Returns kNone if no key arrives or the size changed.
  KeyPress Read(std::chrono::milliseconds timeout);

  // Returns the signal that requested the end, -1 if the terminal is gone, or 0.
  int ended() const;

 private:
  struct Terminal;
  explicit Screen(std::unique_ptr<Terminal> terminal);
  void Stop();
  void TakeSize();

  std::unique_ptr<Terminal> terminal_;
};

}  // namespace stemtap::ui
