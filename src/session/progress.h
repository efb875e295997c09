// SPDX-License-Identifier: Apache-2.0
//
// The progress line on stderr: rewritten in place on a terminal, printed periodically elsewhere.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/rate_window.h"
#include "online/online_sampler.h"

namespace stemtap::session {

// "1.23M launches/s  816000 launches  10 kernels  clusters 3 open 15 closed  bound 4.98 %  captured
// 0.026 % of time  dropped 0". `rate` is in launches per second; widths vary.
std::string ProgressText(const online::SamplerStatus& status, double rate, std::uint64_t dropped);

class ProgressLine {
 public:
  // Five updates per second look smooth on a terminal at no measurable cost. One line per ten
  // seconds shows in a log that the run continues.
  static constexpr std::int64_t kTerminalPeriodMs = 200;
  static constexpr std::int64_t kLogPeriodMs = 10000;

  explicit ProgressLine(bool quiet);
  // `out` must outlive this object. `terminal`: the line is rewritten in place.
  ProgressLine(std::FILE* out, bool terminal);
  ~ProgressLine() { Clear(); }

  // Returns whether Update would print anything.
  bool Due(std::int64_t now_ms) const;
  // `seen` is the number of launches recorded so far. The rate is computed from it, because the
  // launches in `status` grow by whole epochs. The first call has no rate and prints nothing.
  void Update(const online::SamplerStatus& status, std::uint64_t seen, std::uint64_t dropped,
              std::int64_t now_ms);
  // Prints a permanent line at once, escaped for a terminal.
  void Say(const std::string& text);
  // Clears the line on a terminal, before other output.
  void Clear();

 private:
  std::FILE* out_;
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  std::int64_t last_ms_ = 0;
  RateWindow rate_;
};

}  // namespace stemtap::session
