// SPDX-License-Identifier: Apache-2.0
//
// Helpers for files: whether a path exists or may be read, the content of a small file, programs in
// PATH, and files that grow by whole lines.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap {

// Mode of files that only their owner may access. It is set after creation, because the umask may
// remove permissions; failures are ignored, because some file systems have none.
inline constexpr mode_t kOwnFileMode = 0600;

// Returns whether `path` leads to a file or a directory. Returns false for a broken link and for a
// path that cannot be looked up.
bool Exists(const std::filesystem::path& path);

// Fails if this process may not look into `directory`, so that every file in it seems to be
// missing.
Status CheckReadable(const std::filesystem::path& directory);

// Returns the file that the system runs for `name`, which is looked up in PATH if it contains no
// slash; empty if there is none.
std::filesystem::path FindProgram(const std::string& name);

// Reads `source` from its current position to the end. Fails if there are more than `max_bytes`
// bytes; the error message then describes the expected file with `expected`.
Result<std::string> ReadWhole(ByteSource& source, std::size_t max_bytes, std::string_view expected);

// Writes `lines`, which end in a line end, to the regular file `fd` at `offset`. If the disk has no
// room for all of them, the file ends after the last line that fits. Returns the number of bytes
// written; if it is less than all, errno contains the reason.
std::size_t WriteLines(int fd, off_t offset, std::string_view lines);

}  // namespace stemtap
