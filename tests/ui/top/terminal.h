// SPDX-License-Identifier: Apache-2.0
//
// Terminal is a pseudo-terminal with a shell, provided by its own tmux server. Tests poll until the
// expected text appears. The deadline is long enough for a busy machine.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "support/paths.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace stemtap::test {

class Terminal {
 public:
  // The shell runs in the given directory. $TOP is the stemtap program.
  Terminal(const TempDir& directory, int columns, int rows, const std::string& name = "")
      : directory_(directory.path().string()) {
    static int count = 0;
    server_ = fmt::format("stemtap-test-{}-{}", ::getpid(), ++count);
    const ProcessResult started = Tmux(
        {"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(columns), "-y",
         std::to_string(rows), "-c", directory_, "env", "LC_ALL=C.UTF-8", "PS1=ready> ",
         "ENV=", "TOP=" + StemtapProgram().string() + " top", name.empty() ? "NONE=" : name, "sh"});
    REQUIRE_MESSAGE(started.exit_code == 0, started.err);
    REQUIRE(WaitFor("ready>"));
  }
  ~Terminal() { Tmux({"kill-server"}); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // If tmux is not installed, exits this test program with a visible message.
  static void SkipWithoutTmux() {
    if (RunProcess({"tmux", "-V"}).exit_code == 0) return;
    std::fputs("SKIPPED: tmux is not installed\n", stdout);
    std::fflush(stdout);
    std::_Exit(77);
  }

  // Sends keys, which have the names of tmux: "j", "Enter", "C-c".
  void Keys(const std::vector<std::string>& keys) {
    std::vector<std::string> argv = {"send-keys"};
    argv.insert(argv.end(), keys.begin(), keys.end());
    CHECK(Tmux(argv).exit_code == 0);
  }
  void Line(const std::string& line) {
    CHECK(Tmux({"send-keys", "-l", line}).exit_code == 0);
    Keys({"Enter"});
  }
  void Resize(int columns, int rows) {
    CHECK(Tmux({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)})
              .exit_code == 0);
  }
  std::string Screen() { return Tmux({"capture-pane", "-p"}).out; }
  // Returns the screen with the escape sequences of colors.
  std::string Colored() { return Tmux({"capture-pane", "-p", "-e"}).out; }
  bool AlternateScreen() { return Tmux({"display-message", "-p", "#{alternate_on}"}).out == "1\n"; }

  template <typename Is>
  bool WaitUntil(Is is) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
    for (;;) {
      if (is(Screen())) return true;
      if (std::chrono::steady_clock::now() > deadline) {
        MESSAGE("the screen at the deadline:\n" << Screen());
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  }
  bool WaitFor(const std::string& text) {
    return WaitUntil(
        [&](const std::string& screen) { return screen.find(text) != std::string::npos; });
  }
  bool WaitUntilGone(const std::string& text) {
    return WaitUntil(
        [&](const std::string& screen) { return screen.find(text) == std::string::npos; });
  }

 private:
  ProcessResult Tmux(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"tmux", "-L", server_});
    ProcessOptions options;
    options.env = {{"LC_ALL", "C.UTF-8"}};
    options.unset_env = {"TMUX", "NO_COLOR"};
    return RunProcess(arguments, options);
  }

  std::string directory_;
  std::string server_;
};

}  // namespace stemtap::test
