// SPDX-License-Identifier: Apache-2.0
//
// MaskWriter appends decision events to mask.ndjson as they occur: one JSON object per line,
// written at the end of each epoch that has events. See docs/formats/mask.md.
//
// ERRORS: the file grows by whole lines. Events for which the disk has no room are counted as
// missing, and later events are written again.
//
// THREADS: one caller.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/directory.h"
#include "base/file_descriptor.h"
#include "base/result.h"
#include "model/name_table.h"
#include "online/online_sampler.h"
#include "session/engine.h"

namespace stemtap::session {

class MaskWriter final : public EngineObserver {
 public:
  // Writes to no file, for callers that need no mask.
  MaskWriter() = default;
  // Takes ownership of `fd` and writes to it. A negative `fd` means that the file could not be
  // opened, with the reason in errno. `path` appears in messages.
  static Result<MaskWriter> Open(int fd, const std::string& path);

  void OnDecisions(std::span<const online::MaskEvent> events, const model::NameTable& names,
                   const CaptureMarks& marks) override;

  // Copies the mask so far to the mask of `to`, an existing empty file of another directory.
  // Returns its writer, for the events that follow.
  Result<MaskWriter> CopyTo(const Directory& from, const Directory& to) const;

  // Removes all lines.
  void Clear();

  // Returns the number of events that could not be written.
  std::uint64_t missing() const { return missing_; }

  // Fails if events are missing, or if the file system reports a late failure.
  Status Close();

 private:
  FileDescriptor file_;
  off_t bytes_ = 0;  // whole lines in the file
  std::uint64_t missing_ = 0;
  int why_ = 0;  // errno of the last failure
  std::string lines_;
};

}  // namespace stemtap::session
