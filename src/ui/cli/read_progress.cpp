// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/read_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"

namespace stemtap::ui {
namespace {

constexpr std::chrono::milliseconds kFirst{500};
constexpr std::chrono::milliseconds kPeriod{100};

}  // namespace

ReadProgress::ReadProgress(bool quiet)
    : terminal_(!quiet && ::isatty(STDERR_FILENO) == 1), next_(Clock::now() + kFirst) {}

ReadWatch ReadProgress::Of(const std::string& path) {
  if (!terminal_) return {};
  return [this, what = "reading " + EscapeForTerminal(path)](
             std::uint64_t read, std::uint64_t size) { Show(what, read, size); };
}

void ReadProgress::Show(const std::string& what, std::uint64_t done, std::uint64_t all) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now < next_) return;
  next_ = now + kPeriod;
  shown_ = true;
  const std::string how_far =
      all == 0
          ? fmt::format("{:.0f} MB", static_cast<double>(done) * 1e-6)
          : fmt::format("{:.0f} %", 100.0 * static_cast<double>(done) / static_cast<double>(all));
  // Rewritten in place and never wrapped, like the progress line of a run.
  std::fputs(fmt::format("\r\x1b[?7l{}  {}\x1b[K\x1b[?7h", how_far, what).c_str(), stderr);
}

void ReadProgress::Clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

}  // namespace stemtap::ui
