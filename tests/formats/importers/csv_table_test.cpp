// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/csv_table.h"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>

#include "base/memory_source.h"

namespace stemtap::formats {
namespace {

enum Column : std::size_t { kName, kQueue, kDevice, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"name", "queue_id|queue-id", "device"};

// Opens a table, and moves to its first row.
CsvTable Open(std::string_view text, CsvTable::ValueOf value_of = nullptr) {
  CsvTable table(std::make_unique<MemorySource>("t", text), value_of);
  REQUIRE(table.NextRow().value());
  table.SetHeader(
      FindColumns(kNames, [&](std::string_view name) { return FindCell(table.cells(), name); }));
  REQUIRE(table.NextRow().value());
  return table;
}

TEST_CASE("a column is found by any of its names, and the first name counts") {
  CHECK(Open("queue-id,name\n7,f\n").Cell(kQueue) == "7");
  CHECK(Open("queue-id,name,queue_id\n7,f,8\n").Cell(kQueue) == "8");
}

TEST_CASE("a cell is empty if the table lacks its column or the row ends before it") {
  const CsvTable table = Open("name,queue_id\nf\n");
  CHECK(table.Cell(kName) == "f");
  CHECK(table.Has(kQueue));
  CHECK(table.Cell(kQueue).empty());
  CHECK_FALSE(table.Has(kDevice));
  CHECK(table.Cell(kDevice).empty());
  CHECK(table.Number(kDevice, 0, 9, 99).value() == 99);
}

TEST_CASE("a number outside of its limits is an error with the name in the header") {
  const CsvTable table = Open("name,queue-id,device\n,10,-1\n");
  CHECK(table.Number(kName, 0, 9, 99).value() == 99);
  CHECK(table.Number(kQueue, 0, 10, 99).value() == 10);
  CHECK(table.Number(kQueue, 0, 9, 99).error().message ==
        "t:2: queue-id is '10'; expected a whole number from 0 to 9");
  CHECK(table.Number(kQueue, 11, 12, 99).error().message ==
        "t:2: queue-id is '10'; expected a whole number from 11 to 12");
  CHECK(table.Number(kDevice, 0, 9, 99).error().message ==
        "t:2: device is '-1'; expected a whole number from 0 to 9");
}

TEST_CASE("the importer decides which part of a cell is its value") {
  const auto without_none = [](std::string_view cell) {
    return cell == "None" ? std::string_view() : cell;
  };
  const CsvTable table = Open("name,device\nNone,7\n", without_none);
  CHECK(table.Cell(kName).empty());
  CHECK(table.Cell(kDevice) == "7");
}

}  // namespace
}  // namespace stemtap::formats
