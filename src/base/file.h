// SPDX-License-Identifier: Apache-2.0
//
// ReadWhole reads small files into memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap {

// Reads `source` from its current position to the end. Fails if there are more than `max_bytes`
// bytes; the error message then describes the expected file with `expected`.
Result<std::string> ReadWhole(ByteSource& source, std::size_t max_bytes, std::string_view expected);

}  // namespace stemtap
