// SPDX-License-Identifier: Apache-2.0
//
// Text that takes a given number of a terminal's columns, whatever is in it: kernel names are data of the
// traced program. Columns are those of the locale (LC_CTYPE), so that its owner must have been set.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stemtap::top {

// `text` without anything that a terminal would obey or that has no width of its own (control characters,
// invalid UTF-8, marks that turn the direction of text): those are written as \xHH or \u{H...}. Without
// `unicode` so is every byte beyond ASCII. At most `most` columns of it are made, and what may follow is left out.
std::string ShownText(std::string_view text, bool unicode, int most);

// How many columns a text made by ShownText takes.
int ColumnsOf(std::string_view shown);

// Its first `columns` columns, with an ellipsis where something is cut. REQUIRES: columns >= 0.
std::string Cut(std::string_view shown, int columns, bool unicode);

// Its last `columns` columns. REQUIRES: columns >= 0.
std::string_view LastColumns(std::string_view shown, int columns);

// All of it in lines of at most `columns` columns; the last of `most` lines has an ellipsis where something
// is cut. REQUIRES: columns > 0, most > 0.
std::vector<std::string> Wrapped(std::string_view shown, int columns, std::size_t most,
                                 bool unicode);

// The same as Cut, filled up with spaces behind it, or before it.
std::string FitLeft(std::string_view shown, int columns, bool unicode);
std::string FitRight(std::string_view shown, int columns, bool unicode);

// `character` as UTF-8; "" if it is no character.
std::string Utf8(char32_t character);

}  // namespace stemtap::top
