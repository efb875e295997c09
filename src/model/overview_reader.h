// SPDX-License-Identifier: Apache-2.0
//
// Reads overview.json. See docs/formats/overview.md.
//
// Unknown fields, which later versions may add, are ignored. `schema`, `state`, `kernels` and the
// name of each kernel are required. Other missing fields become 0 or empty; `bound` and
// `certified_bound` become NaN. An inconsistent overview is an error (overview_check.h).
// ERRORS: one line, "<source>: kernels[3].captured: is -1; expected a whole number", or the byte
// position of a JSON syntax error.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/overview.h"

namespace stemtap::model {

// Parses the overview in `json`. `source` is the name of the text in error messages.
Result<Overview> ParseOverview(std::string_view json, std::string_view source);

// Like ParseOverview, but reads a file, which may be compressed with gzip or zstd.
Result<Overview> LoadOverview(const std::string& path);

// OverviewReader reads an overview repeatedly and reuses its memory, for programs that watch a
// session.
class OverviewReader {
 public:
  // If `slices` is false, ignores the slices of the kernels.
  explicit OverviewReader(bool slices);
  ~OverviewReader();
  OverviewReader(const OverviewReader&) = delete;
  OverviewReader& operator=(const OverviewReader&) = delete;

  // Reads the uncompressed file at `path` into `overview` and reuses its memory. After an error,
  // the content of `overview` is unspecified.
  Status Read(const std::string& path, Overview& overview);

  // The text of the last read.
  std::string_view text() const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
  bool slices_;
};

}  // namespace stemtap::model
