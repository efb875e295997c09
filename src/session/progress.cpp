// SPDX-License-Identifier: Apache-2.0
#include "session/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace stemtap::session {

std::string ProgressText(const online::SamplerStatus& s, double rate, std::uint64_t dropped) {
  const std::string speed = rate >= 1e6   ? fmt::format("{:.2f}M", rate * 1e-6)
                            : rate >= 1e3 ? fmt::format("{:.1f}k", rate * 1e-3)
                                          : fmt::format("{:.0f}", rate);
  const double share = s.duration_ns == 0 ? 0.0
                                          : 100.0 * static_cast<double>(s.captured_duration_ns) /
                                                static_cast<double>(s.duration_ns);
  return fmt::format(
      "{} launches/s  {} launches  {} kernels  clusters {} open {} closed  bound {:.2f} %  "
      "captured "
      "{:.3f} % of time  dropped {}",
      speed, s.observed, s.kernels, s.clusters_open, s.clusters_closed, 100 * s.bound, share,
      dropped);
}

ProgressLine::ProgressLine(bool quiet)
    : out_(stderr), quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::ProgressLine(std::FILE* out, bool terminal)
    : out_(out), quiet_(false), terminal_(terminal) {}

bool ProgressLine::Due(std::int64_t now_ms) const {
  return !quiet_ &&
         (last_ms_ == 0 || now_ms - last_ms_ >= (terminal_ ? kTerminalPeriodMs : kLogPeriodMs));
}

void ProgressLine::Update(const online::SamplerStatus& status, std::uint64_t seen,
                          std::uint64_t dropped, std::int64_t now_ms) {
  if (!Due(now_ms)) return;
  last_ms_ = now_ms;
  rate_.Add(static_cast<double>(now_ms) * 1e-3, seen);
  const double rate = rate_.PerSecond();
  if (std::isnan(rate)) return;
  const std::string text = ProgressText(status, rate, dropped);
  // \r and "erase to end of line", with wrapping disabled: the line never scrolls, whatever it
  // contained before and however narrow the terminal is.
  std::fprintf(out_, terminal_ ? "\r\x1b[?7l%s\x1b[K\x1b[?7h" : "stemtap: %s\n", text.c_str());
  std::fflush(out_);
  shown_ = true;
}

void ProgressLine::Say(const std::string& text) {
  if (quiet_) return;
  Clear();
  std::fprintf(out_, "stemtap: %s\n", EscapeForTerminal(text).c_str());
}

void ProgressLine::Clear() {
  if (!shown_ || !terminal_) return;
  std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
  shown_ = false;
}

}  // namespace stemtap::session
