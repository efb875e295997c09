// SPDX-License-Identifier: Apache-2.0
//
// ByteSink streams content into a file and compresses it with gzip or zstd if the path ends in .gz
// or .zst. Bytes go to a temporary file in the same directory, which Finish() renames to the path.
// Devices and pipes are written directly; on a terminal, text is escaped (EscapeLines in text.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stemtap {

class ByteSink {
 public:
  ByteSink() = default;
  // Removes the temporary file unless Finish() succeeded.
  virtual ~ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  // Writes are buffered, so a later call may report the error.
  virtual Status Write(std::string_view bytes) = 0;
  // Completes the file. REQUIRES: called at most once, after the last Write().
  virtual Status Finish() = 0;
};

// Creates a sink for the file at `path`; "-" is standard output.
Result<std::unique_ptr<ByteSink>> CreateByteSink(const std::string& path);

// Creates a sink for the file `name` in the open directory `directory`, with mode 0600 and without
// compression. Error messages call the file `path`.
Result<std::unique_ptr<ByteSink>> CreateSinkIn(int directory, const std::string& name,
                                               const std::string& path);

// Creates a sink that writes to the open file `fd` without compression and closes it. Error
// messages call the file `name`.
std::unique_ptr<ByteSink> SinkTo(int fd, const std::string& name);

}  // namespace stemtap
