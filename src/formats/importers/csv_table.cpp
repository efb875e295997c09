// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/csv_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/decimal.h"
#include "base/text.h"

namespace stemtap::formats {

Result<std::uint64_t> CsvTable::Number(std::size_t column, std::uint64_t min, std::uint64_t max,
                                       std::uint64_t missing) const {
  const std::string_view cell = Cell(column);
  if (cell.empty()) return missing;
  const std::optional<std::uint64_t> value = WholeNumber(cell);
  if (!value || *value < min || *value > max) {
    return Bad(column, fmt::format("a whole number from {} to {}", min, max));
  }
  return *value;
}

Error CsvTable::Bad(std::size_t column, std::string_view expected) const {
  return At(fmt::format("{} is '{}'; expected {}", ShownCell(header_[*columns_[column]]),
                        ShownCell(Cell(column)), expected));
}

CsvTable::Columns FindColumns(
    std::span<const std::string_view> names,
    const std::function<std::optional<std::size_t>(std::string_view name)>& find) {
  CsvTable::Columns columns;
  for (std::string_view rest : names) {
    std::optional<std::size_t>& column = columns.emplace_back();
    while (!column && !rest.empty()) {
      const std::size_t end = std::min(rest.find('|'), rest.size());
      column = find(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return columns;
}

}  // namespace stemtap::formats
