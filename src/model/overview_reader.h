// SPDX-License-Identifier: Apache-2.0
//
// Reads overview.json back. See docs/formats/overview.md.
//
// Fields of later versions are passed over. A session's `state`, its `kernels` and their names cannot be
// done without; what else is missing is 0, empty, or, for a bound, NaN. An overview that contradicts itself
// is an error (overview_check.h).
// ERRORS: one line, "<source>: kernels[3].captured: expected a whole number", or the byte at which the
// text is no JSON.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/overview.h"

namespace stemtap {

// The overview in `json`. `source` names the text in errors.
Result<Overview> ParseOverview(std::string_view json, std::string_view source);

// The same from a file, plain, .gz or .zst.
Result<Overview> LoadOverview(const std::string& path);

// OverviewReader reads again and again, into memory that it keeps: for whoever watches a session.
class OverviewReader {
 public:
  // Without `slices` those of the kernels are passed over, as if there were none.
  explicit OverviewReader(bool slices);
  ~OverviewReader();
  OverviewReader(const OverviewReader&) = delete;
  OverviewReader& operator=(const OverviewReader&) = delete;

  // Reads the plain file at `path` into `overview`, whose memory is used again. After an error its
  // content is anything.
  Status Read(const std::string& path, Overview& overview);

  // The bytes that were read last.
  std::string_view text() const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
  bool slices_;
};

}  // namespace stemtap
