// SPDX-License-Identifier: Apache-2.0
//
// ReadProgress shows on a terminal how much of a file has been read or how far an evaluation has
// progressed, for example "43 %  reading llm.json.gz". It prints nothing if stderr is not a
// terminal or the operation takes less than half a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/byte_source.h"

namespace stemtap::ui {

class ReadProgress {
 public:
  explicit ReadProgress(bool quiet = false);
  ~ReadProgress() { Clear(); }
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;

  // Returns a watch to pass to the reader of the file at `path`. Do not call it after this object
  // is destroyed.
  ReadWatch Of(const std::string& path);

  // Reports that `done` of `all` units of `what` are complete. If `all` is 0, the total is unknown
  // and `done` is in bytes.
  void Show(const std::string& what, std::uint64_t done, std::uint64_t all);

  // Clears the progress line before other output. Later reads may show it again.
  void Clear();
  // Clears the progress line and disables it permanently.
  void End() {
    Clear();
    terminal_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace stemtap::ui
