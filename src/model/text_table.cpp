// SPDX-License-Identifier: Apache-2.0
#include "model/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/wrap.h"
#include "model/brief_name.h"

namespace stemtap::model {
namespace {

constexpr std::string_view kBetween = "  ";

// Columns are left out before names become narrower than this: fewer columns seldom show the
// difference.
constexpr std::size_t kReadableName = 18;
constexpr std::size_t kShortestName = 16;  // CutNames

std::size_t WidthOf(const TextColumn& column) {
  std::size_t width = column.title.size();
  for (const std::string& cell : column.cells) width = std::max(width, cell.size());
  return width;
}

std::size_t WidthOf(const std::vector<TextColumn>& columns) {
  std::size_t width = 0;
  for (const TextColumn& column : columns) width += WidthOf(column) + kBetween.size();
  return width;
}

std::size_t Widest(const std::vector<std::string>& texts) {
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  return width;
}

// Removes columns until the others leave `for_name` columns of the line. Returns the titles of the
// removed ones, in the order of the table.
std::vector<std::string> LeaveOut(std::vector<TextColumn>& columns, std::size_t for_name,
                                  std::size_t width) {
  std::vector<std::string> order;
  for (const TextColumn& column : columns) order.push_back(column.title);
  while (width < for_name || WidthOf(columns) > width - for_name) {
    int rank = 0;
    for (const TextColumn& column : columns) rank = std::max(rank, column.rank);
    if (rank == 0) break;
    std::erase_if(columns, [&](const TextColumn& column) { return column.rank == rank; });
  }
  std::erase_if(order, [&](const std::string& title) {
    return std::any_of(columns.begin(), columns.end(),
                       [&](const TextColumn& column) { return column.title == title; });
  });
  return order;
}

}  // namespace

std::string TableText(std::vector<TextColumn> columns, TextNames names, std::size_t width) {
  std::erase_if(columns, [](const TextColumn& column) {
    return !column.cells.empty() && std::all_of(column.cells.begin(), column.cells.end(),
                                                [](const std::string& c) { return c.empty(); });
  });
  const std::size_t rows = names.names.size();
  names.before.resize(rows);
  names.behind.resize(rows);
  const std::size_t affixes = Widest(names.before) + Widest(names.behind);
  const std::size_t readable = std::min(kReadableName, Widest(names.names));
  const std::vector<std::string> left_out =
      LeaveOut(columns, std::max(names.title.size(), affixes + readable), width);
  const std::size_t taken = WidthOf(columns) + affixes;
  const std::vector<std::string> shown = NamesForTerminal(
      std::move(names.names), std::max(kShortestName, width - std::min(width, taken)));
  std::vector<std::string> lines(rows + 1);
  for (const TextColumn& column : columns) {
    const std::size_t column_width = WidthOf(column);
    for (std::size_t i = 0; i <= rows; ++i) {
      const std::string& cell = i == 0 ? column.title : column.cells[i - 1];
      lines[i] += column.is_left ? fmt::format("{:<{}}", cell, column_width)
                                 : fmt::format("{:>{}}", cell, column_width);
      lines[i] += kBetween;
    }
  }
  std::string text = lines[0] + names.title + '\n';
  for (std::size_t i = 0; i < rows; ++i) {
    text += lines[i + 1] + names.before[i] + shown[i] + names.behind[i] + '\n';
  }
  if (!left_out.empty()) {
    AppendWrapped(text,
                  fmt::format("{} columns are too few for: {}", width, fmt::join(left_out, ", ")),
                  0, width);
  }
  return text;
}

}  // namespace stemtap::model
