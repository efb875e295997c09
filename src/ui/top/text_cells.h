// SPDX-License-Identifier: Apache-2.0
//
// Fits text into terminal columns. The text is untrusted, because kernel names are data of the
// traced program. Column widths follow the locale (LC_CTYPE), so the caller must set it first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stemtap::ui {

// Returns `text` with everything escaped as \xHH or \u{H...} that a terminal would interpret or
// that has no width of its own (control characters, invalid UTF-8, bidirectional marks). Without
// `unicode`, also escapes every non-ASCII byte. Returns at most `max` columns and omits the rest.
std::string ShownText(std::string_view text, bool unicode, int max);

// Returns the number of columns of a text made by ShownText.
int ColumnsOf(std::string_view shown);

// Returns the first `columns` columns, with an ellipsis if text is cut. REQUIRES: columns >= 0.
std::string Cut(std::string_view shown, int columns, bool unicode);

// Returns the last `columns` columns. REQUIRES: columns >= 0.
std::string_view LastColumns(std::string_view shown, int columns);

// Wraps the text into lines of at most `columns` columns. The last of `max` lines has an ellipsis
// if text is cut. REQUIRES: columns > 0, max > 0.
std::vector<std::string> Wrapped(std::string_view shown, int columns, std::size_t max,
                                 bool unicode);

// Like Cut, padded with spaces: FitLeft pads after the text, FitRight before it.
std::string FitLeft(std::string_view shown, int columns, bool unicode);
std::string FitRight(std::string_view shown, int columns, bool unicode);

// Returns `character` as UTF-8; "" if it is not a character.
std::string Utf8(char32_t character);

}  // namespace stemtap::ui
