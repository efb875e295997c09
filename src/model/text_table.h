// SPDX-License-Identifier: Apache-2.0
//
// TableText formats a table whose rows have names, such as kernels, so that it fits a terminal:
// columns of little importance are left out, then names are cut to the rest of the line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stemtap::model {

struct TextColumn {
  std::string title;
  std::vector<std::string> cells = {};  // one per row; ASCII
  // A table that is too wide leaves out the columns of the highest rank first. 0: never left out.
  int rank = 0;
  bool is_left = false;  // aligned
};

// TextNames is the last column.
struct TextNames {
  std::string title;
  std::vector<std::string> names = {};  // one per row; escaped for the terminal and cut
  // What else identifies the rows, before and behind their names. Escaped, never cut; may be empty.
  std::vector<std::string> before = {};
  std::vector<std::string> behind = {};
};

// Returns the table in lines of at most `width` columns, if names of 16 columns and the columns
// that are never left out fit. Columns whose cells are all empty are left out silently; a line
// below the table names the ones that did not fit.
std::string TableText(std::vector<TextColumn> columns, TextNames names, std::size_t width);

}  // namespace stemtap::model
