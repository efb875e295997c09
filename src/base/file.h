// SPDX-License-Identifier: Apache-2.0
//
// Whole small files, read into memory, or written so that a reader never sees half of one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap {

// The content of `source`, from where it stands. More than `max_bytes` are an error: `expected` says
// what the file should have been.
Result<std::string> ReadWhole(ByteSource& source, std::size_t max_bytes, std::string_view expected);

// Writes `content` to a temporary file beside `path` and renames it: whoever opens `path`, before or
// after a kill, finds the old content or the new one. Permissions 0600.
Status WriteFileAtomically(const std::string& path, std::string_view content);

// Makes the folder `path` (0700), whose parent must exist. Fine if it exists and is empty; an error if
// it holds anything.
Status MakeFreshFolder(const std::string& path);

}  // namespace stemtap
