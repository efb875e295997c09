// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace stemtap {

// Returns `text` as a cell of a CSV file, quoted according to RFC 4180 if necessary.
std::string CsvCell(std::string_view text);

}  // namespace stemtap
