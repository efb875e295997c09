// SPDX-License-Identifier: Apache-2.0
//
// Screen is the terminal while it shows frames and gives keys; the only file that knows curses. Whatever
// ends its life, a signal too, the terminal is left as it was found.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT are taken note of, ended() says so; SIGTSTP stops the program with
// the terminal given back, as a shell expects. There can be one Screen at a time.
#pragma once

#include <chrono>
#include <memory>

#include "ui/top/frame.h"
#include "ui/top/model.h"

namespace stemtap::top {

class Screen {
 public:
  // Null where standard output is no terminal that a cursor can be moved on (a file, TERM=dumb), or no
  // keys can be read.
  static std::unique_ptr<Screen> Open();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  int width() const;
  int height() const;
  void Draw(const Frame& frame);

  // Waits for a key, at most so long; kNone where there is none, or the size has changed.
  KeyPress Read(std::chrono::milliseconds most);

  // The signal that asks for the end; -1: the terminal is gone; 0: nothing does.
  int ended() const;

 private:
  struct Terminal;
  explicit Screen(std::unique_ptr<Terminal> terminal);
  void Stop();
  void TakeSize();

  std::unique_ptr<Terminal> terminal_;
};

}  // namespace stemtap::top
