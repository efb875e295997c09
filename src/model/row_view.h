// SPDX-License-Identifier: Apache-2.0
//
// RowView is the rows of a table that a command prints, in their order: what --sort, --top and
// --filter select. The table itself stays whole, so that its totals include all rows.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stemtap::model {

// RowChoice is what a user asked for.
struct RowChoice {
  std::string sort = {};    // name of a sort key; empty: the order of the table
  std::string filter = {};  // regular expression that CompilePattern accepts; empty: all rows
  std::size_t top = std::numeric_limits<std::size_t>::max();
};

struct RowView {
  std::vector<std::size_t> rows;  // indices in the table
  std::size_t below_top = 0;      // rows that --top leaves out
  std::size_t filtered = 0;       // rows that --filter leaves out
};

// Returns the rows to print. A row passes the filter if its name or its brief name matches.
// `value_of` is the value to sort by, largest first, unknown values (NaN) last; without it, rows
// keep the order of the table.
RowView ChooseRows(const RowChoice& choice, std::span<const std::string_view> names,
                   std::span<const std::string> brief_names,
                   const std::function<double(std::size_t)>& value_of);

// Like ChooseRows, but sorts by brief name, A first.
RowView ChooseRowsByName(const RowChoice& choice, std::span<const std::string_view> names,
                         std::span<const std::string> brief_names);

// Returns the line below a table about rows that are left out, or an empty string. `one` is what a
// row is, for example "kernel".
std::string LeftOutLine(const RowView& view, std::string_view one);

}  // namespace stemtap::model
