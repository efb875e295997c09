// SPDX-License-Identifier: Apache-2.0
//
// ReadProgress shows on a terminal how far a file has been read, or an evaluation has come, "43 %  reading
// llm.json.gz", and nothing elsewhere: nothing for what takes less than half a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/byte_source.h"

namespace stemtap::cli {

class ReadProgress {
 public:
  explicit ReadProgress(bool quiet = false);
  ~ReadProgress() { Clear(); }
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;

  // To be told of the reads of the file at `path`; must not be called once this is gone.
  ReadWatch Of(const std::string& path);

  // That `done` of `all` is done, and what is being done; `all` 0: not known, and `done` are bytes.
  void Show(const std::string& what, std::uint64_t done, std::uint64_t all);

  // Takes the line off the terminal, before other output. Later reads may show it again.
  void Clear();
  // The same, and for good.
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

}  // namespace stemtap::cli
