// SPDX-License-Identifier: Apache-2.0
#include "ui/top/screen.h"

#include <curses.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace stemtap::ui {
namespace {

// Set by signal handlers, read by the main loop.
volatile sig_atomic_t g_end_signal = 0;
volatile sig_atomic_t g_stop = 0;      // SIGTSTP: stop after restoring the terminal
volatile sig_atomic_t g_continue = 0;  // SIGCONT: another program may have drawn in the meantime

void NoteEnd(int signal) {
  g_end_signal = signal;
}
void NoteStop(int) {
  g_stop = 1;
}
void NoteContinue(int) {
  g_continue = 1;
}
// The signal interrupts the wait for a key.
void NoteSize(int) {}

struct Handled {
  int signal;
  void (*handler)(int);
};
constexpr Handled kHandled[] = {{SIGINT, NoteEnd},   {SIGTERM, NoteEnd},  {SIGHUP, NoteEnd},
                                {SIGQUIT, NoteEnd},  {SIGTSTP, NoteStop}, {SIGCONT, NoteContinue},
                                {SIGWINCH, NoteSize}};

// An escape sequence arrives at once; a key that follows Escape after this time is separate.
constexpr int kEscapeDelayMs = 25;

constexpr wint_t kControlL = 12;

KeyPress KeyOf(int status, wint_t code) {
  if (status == KEY_CODE_YES) {
    switch (code) {
      case KEY_UP:
        return {Key::kUp};
      case KEY_DOWN:
        return {Key::kDown};
      case KEY_PPAGE:
        return {Key::kPageUp};
      case KEY_NPAGE:
        return {Key::kPageDown};
      case KEY_HOME:
        return {Key::kHome};
      case KEY_END:
        return {Key::kEnd};
      case KEY_LEFT:
        return {Key::kLeft};
      case KEY_RIGHT:
        return {Key::kRight};
      case KEY_ENTER:
        return {Key::kEnter};
      case KEY_BACKSPACE:
        return {Key::kBackspace};
      default:
        break;
    }
    if (code == static_cast<wint_t>(KEY_F(1))) return {Key::kHelp};
    if (code == static_cast<wint_t>(KEY_F(10))) return {Key::kQuit};
    return {};
  }
  switch (code) {
    case '\r':
    case '\n':
      return {Key::kEnter};
    case '\t':
      return {Key::kTab};
    case 27:
      return {Key::kEscape};
    case 8:
    case 127:
      return {Key::kBackspace};
    default:
      return {Key::kCharacter, static_cast<char32_t>(code)};
  }
}

}  // namespace

struct Screen::Terminal {
  std::FILE* keys = nullptr;
  bool own_keys = false;
  SCREEN* screen = nullptr;
  bool gone = false;
  std::array<attr_t, kStyles> attributes{};
  std::array<short, kStyles> pairs{};
  std::array<struct sigaction, std::size(kHandled)> before{};
  bool handling = false;

  ~Terminal() {
    if (screen != nullptr) {
      ::endwin();
      ::delscreen(screen);
    }
    if (handling) {
      for (std::size_t i = 0; i < std::size(kHandled); ++i) {
        ::sigaction(kHandled[i].signal, &before[i], nullptr);
      }
    }
    if (own_keys) std::fclose(keys);
  }

  void Handle() {
    g_end_signal = 0;
    g_stop = 0;
    g_continue = 0;
    for (std::size_t i = 0; i < std::size(kHandled); ++i) {
      struct sigaction action = {};
      action.sa_handler = kHandled[i].handler;  // without SA_RESTART, so that poll returns
      ::sigaction(kHandled[i].signal, nullptr, &before[i]);
      // A signal that the parent set to be ignored (nohup, a shell without job control) stays
      // ignored.
      if (before[i].sa_handler == SIG_IGN) continue;
      ::sigaction(kHandled[i].signal, &action, nullptr);
    }
    handling = true;
  }

  void MakeStyles() {
    const char* without = std::getenv("NO_COLOR");
    const bool colors =
        (without == nullptr || *without == 0) && ::has_colors() && ::start_color() == OK;
    const auto set = [&](Style style, attr_t plain, attr_t colored, short front, short back) {
      const auto i = static_cast<std::size_t>(style);
      attributes[i] = colors ? colored : plain;
      if (!colors || (front < 0 && back < 0)) return;
      pairs[i] = static_cast<short>(i);
      ::init_pair(pairs[i], front, back);
    };
    if (colors) ::use_default_colors();
    set(Style::kStrong, A_BOLD, A_BOLD, -1, -1);
    set(Style::kDim, A_NORMAL, A_DIM, -1, -1);
    set(Style::kGood, A_BOLD, A_BOLD, COLOR_GREEN, -1);
    set(Style::kNotice, A_UNDERLINE, A_BOLD, COLOR_YELLOW, -1);
    set(Style::kBad, A_BOLD | A_UNDERLINE, A_BOLD, COLOR_RED, -1);
    set(Style::kHeading, A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_GREEN);
    set(Style::kCursor, A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_CYAN);
  }

  void Use(Style style) const {
    const auto i = static_cast<std::size_t>(style);
    ::attr_set(attributes[i], pairs[i], nullptr);
  }
};

bool TakeLocale() {
  std::setlocale(LC_CTYPE, "");
  return std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
}

Screen::Screen(std::unique_ptr<Terminal> terminal) : terminal_(std::move(terminal)) {}

Screen::~Screen() = default;

std::unique_ptr<Screen> Screen::Open() {
  const char* name = std::getenv("TERM");
  if (!::isatty(STDOUT_FILENO) || name == nullptr || *name == 0 ||
      std::string_view(name) == "dumb") {
    return nullptr;
  }
  auto terminal = std::make_unique<Terminal>();
  terminal->keys = stdin;
  if (!::isatty(STDIN_FILENO)) {  // standard input is a pipe; read keys from the terminal
    terminal->keys = std::fopen("/dev/tty", "re");
    if (terminal->keys == nullptr) return nullptr;
    terminal->own_keys = true;
  }
  // Must precede curses, which installs its own handlers if there are none.
  terminal->Handle();
  terminal->screen = ::newterm(nullptr, stdout, terminal->keys);
  if (terminal->screen == nullptr) return nullptr;
  const char* move = ::tigetstr(const_cast<char*>("cup"));
  if (move == nullptr || move == reinterpret_cast<char*>(-1)) return nullptr;
  ::set_term(terminal->screen);
  ::set_escdelay(kEscapeDelayMs);
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::curs_set(0);
  terminal->MakeStyles();
  return std::unique_ptr<Screen>(new Screen(std::move(terminal)));
}

int Screen::width() const {
  return getmaxx(stdscr);
}

int Screen::height() const {
  return getmaxy(stdscr);
}

int Screen::ended() const {
  return g_end_signal != 0 ? g_end_signal : terminal_->gone ? -1 : 0;
}

void Screen::Draw(const Frame& frame) {
  ::erase();
  for (std::size_t row = 0; row < frame.lines.size(); ++row) {
    ::move(static_cast<int>(row), 0);
    for (const Span& span : frame.lines[row].spans) {
      terminal_->Use(span.style);
      ::addstr(span.text.c_str());
    }
    if (frame.lines[row].rest != Style::kPlain && getcury(stdscr) == static_cast<int>(row)) {
      terminal_->Use(frame.lines[row].rest);
      const int left = getmaxx(stdscr) - getcurx(stdscr);
      for (int i = 0; i < left; ++i) ::addch(' ');
    }
    terminal_->Use(Style::kPlain);
  }
  const bool typing = frame.input_column >= 0 && !frame.lines.empty();
  ::curs_set(typing ? 1 : 0);
  if (typing) ::move(static_cast<int>(frame.lines.size()) - 1, frame.input_column);
  ::refresh();
}

// Restores the terminal, stops as SIGTSTP would, and reinitializes the terminal afterwards.
void Screen::Stop() {
  g_stop = 0;
  ::def_prog_mode();
  ::endwin();
  struct sigaction ours = {};
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &usual, &ours);
  ::raise(SIGTSTP);  // returns when the process is continued
  ::sigaction(SIGTSTP, &ours, nullptr);
  g_continue = 1;
}

void Screen::TakeSize() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return;
  if (::is_term_resized(size.ws_row, size.ws_col)) ::resizeterm(size.ws_row, size.ws_col);
}

KeyPress Screen::Read(std::chrono::milliseconds timeout) {
  if (g_stop != 0) Stop();
  if (g_continue != 0) {
    g_continue = 0;
    ::reset_prog_mode();
    TakeSize();
    ::clearok(curscr, TRUE);
    return {};
  }
  wint_t code = 0;
  int status = ::get_wch(&code);
  if (status == ERR) {
    pollfd keys = {::fileno(terminal_->keys), POLLIN, 0};
    const int ready = ::poll(&keys, 1, static_cast<int>(timeout.count()));
    TakeSize();
    if (ready <= 0) return {};
    status = ::get_wch(&code);
    if (status == ERR) {
      // The terminal is readable but has no data: it has ended. An incomplete key sequence is also
      // possible.
      if ((keys.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) terminal_->gone = true;
      int waiting = 0;
      if (::ioctl(keys.fd, FIONREAD, &waiting) != 0) terminal_->gone = true;
      return {};
    }
  }
  if (status != KEY_CODE_YES && code == kControlL) {
    // Ctrl-L: another program wrote to the terminal, so redraw everything.
    ::clearok(curscr, TRUE);
    return {};
  }
  return KeyOf(status, code);
}

}  // namespace stemtap::ui
