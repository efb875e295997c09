// SPDX-License-Identifier: Apache-2.0
//
// An SQLite database whose file nobody vouches for: opened for reading where it lies or, where it is
// compressed or a pipe, unpacked first. Nothing stored in it runs, no cell is longer than 16 MiB, reading
// takes a number of steps that grows with the file alone, and what is written to unpack it has limits
// (docs/formats/nsys-sqlite.md). A file that is cut short, or changes meanwhile, is an error.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap {

// What every database begins with.
inline constexpr std::string_view kDatabaseMagic("SQLite format 3\0", 16);

struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

class Database {
 public:
  explicit Database(std::string name);
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Opens the file at `path` and reads nothing of it yet.
  Status Open(const std::string& path, std::string_view parameters);
  // Once the whole content, `bytes` of it, is there: as many steps as it may take to read.
  void Allow(std::int64_t bytes);

  const std::string& name() const { return name_; }
  sqlite3* handle() const { return handle_; }

  Result<Statement> Prepare(const std::string& sql);
  // Goes to the next row; false behind the last.
  Result<bool> Step(const Statement& statement);
  // "table", "view" or "" where there is nothing of that name.
  Result<std::string> KindOf(const char* table);
  // Whether a table or view has a name that begins with `prefix`.
  Result<bool> HasNameLike(std::string_view prefix);
  // The columns of a table, all of which are stored.
  Result<std::vector<std::string>> Columns(const std::string& table);
  // The stored tables whose names begin with `prefix`, in the order in which they were created.
  // Names with other characters than letters, digits and underscores are errors: they go into SQL.
  Result<std::vector<std::string>> TablesLike(std::string_view prefix);
  // Runs `query`, which selects one text by the number ?1. Nothing if it finds no row, "" if the row
  // holds no text. Valid until the next call.
  Result<std::optional<std::string_view>> FindText(const Statement& query, std::int64_t id);

 private:
  static int CountSteps(void* self);
  Error Failed() const;

  std::string name_;
  sqlite3* handle_ = nullptr;
  std::int64_t steps_left_;
};

// TableRows is one pass over a table. It checks the type of each cell, because SQLite stores any type
// in any column, and the number of rows, because damaged pages can refer to one another endlessly.
class TableRows {
 public:
  // Starts before the first row. A column that the table lacks reads as NULL.
  static Result<TableRows> Select(Database& database, const std::string& table,
                                  std::span<const char* const> columns, std::int64_t file_bytes);

  bool Has(int column) const { return found_[static_cast<std::size_t>(column)]; }
  // Goes to the next row; false behind the last.
  Result<bool> Next();
  std::uint64_t row() const { return row_; }  // 1-based
  const std::string& table() const { return table_; }

  // The whole number in a cell; `missing` if the cell is NULL.
  Result<std::int64_t> Number(int column, std::int64_t least, std::int64_t most,
                              std::int64_t missing) const;
  // The error of the row at hand.
  Error At(const std::string& what) const;

 private:
  explicit TableRows(Database& database) : database_(&database) {}

  Database* database_;
  std::string table_;
  std::vector<const char*> columns_;
  std::vector<bool> found_;
  Statement rows_;
  std::uint64_t row_ = 0;
  std::uint64_t most_rows_ = 0;
};

// Reads what it wants of a database of `bytes` bytes.
using DatabaseUse = std::function<Status(Database& database, std::int64_t bytes)>;

// Opens the database that `source` holds for as long as `use` takes; the error of `use`, or its own.
Status UseDatabase(std::unique_ptr<ByteSource> source, const DatabaseUse& use);

}  // namespace stemtap
