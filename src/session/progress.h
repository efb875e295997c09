// SPDX-License-Identifier: Apache-2.0
//
// The progress line on stderr: rewritten in place on a terminal, a line now and then elsewhere.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/rate_window.h"
#include "online/online_sampler.h"

namespace stemtap {

// "1.23M launches/s  816000 launches  10 kernels  clusters 3 open 15 closed  bound 4.98 %  captured
// 0.026 % of time  dropped 0". `rate` is launches per second; widths are left to the numbers.
std::string ProgressText(const SamplerStatus& status, double rate, std::uint64_t dropped);

class ProgressLine {
 public:
  // On a terminal five times a second is smooth and costs nothing; in a log every ten seconds shows
  // life.
  static constexpr std::int64_t kTerminalPeriodMs = 200;
  static constexpr std::int64_t kLogPeriodMs = 10000;

  explicit ProgressLine(bool quiet);
  // `out` must outlive this object; `terminal` says whether the line is rewritten in place.
  ProgressLine(std::FILE* out, bool terminal);
  ~ProgressLine() { Clear(); }

  // Whether Update would show anything.
  bool Due(std::int64_t now_ms) const;
  // `seen` is the number of launches recorded so far, from which the rate is computed: the launches of
  // `status` grow by whole epochs. The first call has no rate and shows nothing.
  void Update(const SamplerStatus& status, std::uint64_t seen, std::uint64_t dropped,
              std::int64_t now_ms);
  // A line that stays, printed at once and escaped for a terminal.
  void Say(const std::string& text);
  // Takes the line off the terminal, before other output.
  void Clear();

 private:
  std::FILE* out_;
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  std::int64_t last_ms_ = 0;
  RateWindow rate_;
};

}  // namespace stemtap
