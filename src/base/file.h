// SPDX-License-Identifier: Apache-2.0
//
// Whole small files, read into memory.
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

}  // namespace stemtap
