// SPDX-License-Identifier: Apache-2.0
//
// ReadProgress shows on a terminal how far a file has been read, "reading llm.json.gz  43 %", and
// nothing elsewhere: nothing for what takes less than half a second.
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

  // Takes the line off the terminal, before other output. Later reads may show it again.
  void Clear();
  // The same, and for good.
  void End() {
    Clear();
    terminal_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Show(const std::string& path, std::uint64_t read, std::uint64_t size);

  bool terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace stemtap::cli
