// SPDX-License-Identifier: Apache-2.0
//
// CSV of result tables: rows of cells separated by commas, cells in double quotes may hold commas,
// line ends and doubled quotes. A row above 4 MiB or a quote that is not closed is an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "results/line_reader.h"

namespace stemtap {

// The cells of the row that begins with the reader's present line; reads on where a quoted cell
// holds a line end.
Result<std::vector<std::string>> SplitRow(LineReader& lines);

// The number in a cell as tools print them: spaces around it and commas every three digits are
// passed over. NaN for an empty cell, "n/a", "nan" and the like; nothing for any other text, numbers
// that are not finite included.
std::optional<double> ParseCell(std::string_view cell);

// A whole number that fills the cell.
std::optional<std::uint64_t> ParseWhole(std::string_view cell);

}  // namespace stemtap
