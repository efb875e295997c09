// SPDX-License-Identifier: Apache-2.0
//
// ByteSink streams content into a file: compressed with gzip or zstd where the name ends in .gz or
// .zst. The file appears under its name, whole, when Finish() succeeds; until then the bytes are in
// a temporary file beside it. Devices and pipes are written directly.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stemtap {

class ByteSink {
 public:
  ByteSink() = default;
  // Without Finish(), what was written is removed.
  virtual ~ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  // Buffered: an error may come with a later call.
  virtual Status Write(std::string_view bytes) = 0;
  // The content is complete. To be called once, after which nothing is written.
  virtual Status Finish() = 0;
};

// A sink for the file at `path`; "-" is standard output.
Result<std::unique_ptr<ByteSink>> CreateByteSink(const std::string& path);

// Writes to the open file `fd`, as it is, and closes it; `name` is what it is called in messages.
std::unique_ptr<ByteSink> SinkTo(int fd, const std::string& name);

}  // namespace stemtap
