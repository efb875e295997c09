// SPDX-License-Identifier: Apache-2.0
//
// MaskWriter appends decision events to mask.ndjson as they occur: one JSON object per line,
// flushed at the end of each epoch that has events. See docs/formats/mask.md.
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
#include "session/engine_observer.h"

namespace stemtap::session {

class MaskWriter final : public EngineObserver {
 public:
  // Writes to no file, for callers that need no mask.
  MaskWriter() = default;
  // Takes ownership of `fd` and writes to it. A negative `fd` means that the file could not be
  // opened, with the reason in errno. `path` appears in messages.
  static Result<MaskWriter> Open(int fd, const std::string& path);

  // Writes nothing after a failure (disk full); Close reports the failure.
  void OnDecisions(std::span<const online::MaskEvent> events, const model::NameTable& names,
                   const CaptureMarks& marks) override;

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

}  // namespace stemtap::session
