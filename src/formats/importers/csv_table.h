// SPDX-License-Identifier: Apache-2.0
//
// CsvTable reads a table whose columns are found by name. The importer numbers the columns that it
// reads from 0, in an enumeration; a table may lack some of them.
//
// ERRORS: "name:line: COLUMN is 'CELL'; expected what".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/csv.h"
#include "base/result.h"

namespace stemtap::formats {

class CsvTable : public CsvReader {
 public:
  // For each column the index of its cell, or nullopt if the table does not have it.
  using Columns = std::vector<std::optional<std::size_t>>;
  // Returns the value in a cell, for example without spaces; empty if the cell means "no value".
  using ValueOf = std::string_view (*)(std::string_view cell);

  explicit CsvTable(std::unique_ptr<ByteSource> source, ValueOf value_of = nullptr,
                    char separator = ',')
      : CsvReader(std::move(source), separator), value_of_(value_of) {}

  // Makes the current row the header. `names` has the names of its cells in errors. Call it before
  // the functions below.
  void SetHeader(Columns columns) {
    SetHeader(std::move(columns), {cells().begin(), cells().end()});
  }
  void SetHeader(Columns columns, std::vector<std::string> names) {
    columns_ = std::move(columns);
    header_ = std::move(names);
  }
  const std::vector<std::string>& header() const { return header_; }
  bool Has(std::size_t column) const { return columns_[column].has_value(); }

  // Splits the line into cells() and checks that there are as many as in the header and that the
  // line is complete.
  Status SplitCells() { return CsvReader::SplitCells(header_.size()); }

  // Returns the value of a column in the current row; empty if the table does not have the column
  // or the row ends before it.
  std::string_view Cell(std::size_t column) const {
    const std::optional<std::size_t> at = columns_[column];
    if (!at || *at >= cells().size()) return {};
    return value_of_ == nullptr ? cells()[*at] : value_of_(cells()[*at]);
  }
  // Returns the value as a whole number in [min, max], or `missing` if it is empty.
  Result<std::uint64_t> Number(std::size_t column, std::uint64_t min, std::uint64_t max,
                               std::uint64_t missing) const;
  // Returns the error for a value other than `expected`. REQUIRES: the table has the column.
  Error Bad(std::size_t column, std::string_view expected) const;

 private:
  ValueOf value_of_;
  Columns columns_;
  std::vector<std::string> header_;
};

// Returns the columns with these names; `find` returns the index of the cell that has a name. A
// column may have several names, such as "queue_id|queue-id"; the first one that is found counts.
CsvTable::Columns FindColumns(
    std::span<const std::string_view> names,
    const std::function<std::optional<std::size_t>(std::string_view name)>& find);

}  // namespace stemtap::formats
