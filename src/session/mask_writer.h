// SPDX-License-Identifier: Apache-2.0
//
// MaskWriter appends decision events to mask.ndjson as they fall: one JSON object a line, flushed at
// the end of each epoch that has any. See docs/formats/mask.md.
//
// THREADS: one caller.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "model/name_table.h"
#include "online/online_sampler.h"

namespace stemtap {

class MaskWriter {
 public:
  // Writes to no file: for callers that want no mask.
  MaskWriter() = default;
  // Writes to the descriptor `fd`, and closes it; negative: it could not be opened, and errno says
  // why. `path` is what the file is called in messages.
  static Result<MaskWriter> Open(int fd, const std::string& path);

  // A failure (disk full) is remembered and told by Close; decisions go on without the file.
  void Write(std::span<const MaskEvent> events, const NameTable& names);

  Status Close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string error_;
  std::string line_;
};

}  // namespace stemtap
