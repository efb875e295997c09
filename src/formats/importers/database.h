// SPDX-License-Identifier: Apache-2.0
//
// Profiles that are SQLite databases: Database and TableRows read a database, and one function per
// tool reads its kernels.
//
// The file is not trusted. It is opened read-only in place; compressed files and pipes are unpacked
// first. No code stored in the file runs, no cell is longer than 16 MiB, the number of steps is
// bounded by the file size, and the unpacked size is limited (docs/formats/nsys-sqlite.md). A file
// that is truncated or changes while it is read is an error.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/importers/importers.h"
#include "formats/importers/launch_fields.h"
#include "formats/importers/recorded_launches.h"
#include "shm/record.h"

namespace stemtap::formats {

// The first bytes of every SQLite database.
inline constexpr std::string_view kDatabaseMagic("SQLite format 3\0", 16);

struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

// Database runs queries on an SQLite database in a file that is not trusted.
class Database {
 public:
  explicit Database(std::string name);
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Opens the file at `path` without reading from it.
  Status Open(const std::string& path, std::string_view parameters);
  // Sets the step limit for `bytes` bytes of content. Call it once the whole content is available.
  void Allow(std::int64_t bytes);

  const std::string& name() const { return name_; }
  sqlite3* handle() const { return handle_; }

  Result<Statement> Prepare(const std::string& sql);
  // Advances to the next row. Returns false after the last one.
  Result<bool> Step(const Statement& statement);
  // Returns "table", "view", or "" if nothing has that name.
  Result<std::string> KindOf(const char* table);
  // Returns whether the name of a table or view starts with `prefix`.
  Result<bool> HasTableWithPrefix(std::string_view prefix);
  // Returns the columns of a table; every column is stored.
  Result<std::vector<std::string>> Columns(const std::string& table);
  // Returns the stored tables whose names start with `prefix`, in order of creation. Names that
  // contain characters other than letters, digits and underscores are errors, because they are used
  // in SQL.
  Result<std::vector<std::string>> TablesWithPrefix(std::string_view prefix);
  // Runs `query`, which selects one text by the number ?1. Returns nullopt if it finds no row and
  // "" if the row does not contain text. The result is valid until the next call.
  Result<std::optional<std::string_view>> FindText(const Statement& query, std::int64_t id);

 private:
  static int CountSteps(void* self);
  Error Failed() const;

  std::string name_;
  sqlite3* handle_ = nullptr;
  std::int64_t steps_left_;
};

// TableRows is one pass over a table. It checks the type of each cell, because SQLite stores any
// type in any column, and the number of rows, because damaged pages can form cycles.
class TableRows {
 public:
  // Starts before the first row. A column that the table lacks reads as NULL.
  static Result<TableRows> Select(Database& database, const std::string& table,
                                  std::span<const char* const> columns, std::int64_t file_bytes);

  bool Has(int column) const { return found_[static_cast<std::size_t>(column)]; }
  // Advances to the next row. Returns false after the last one.
  Result<bool> Next();
  std::uint64_t row() const { return row_; }  // 1-based
  const std::string& table() const { return table_; }

  // Returns the whole number in a cell, or `missing` if the cell is NULL.
  Result<std::int64_t> Number(int column, std::int64_t min, std::int64_t max,
                              std::int64_t missing) const;
  // Returns the text in a cell, or "" if it contains none. Valid until the next call.
  std::string_view Text(int column) const;
  // Sets the times of `record` from two columns; see RowTimes::Set.
  Result<bool> Times(int start_column, int end_column, RowTimes& times,
                     shm::KernelRecord& record) const;
  // Returns an error at the current row.
  Error At(const std::string& what) const;

 private:
  explicit TableRows(Database& database) : database_(&database) {}

  Database* database_;
  std::string table_;
  std::vector<const char*> columns_;
  std::vector<bool> found_;
  Statement rows_;
  std::uint64_t row_ = 0;
  std::uint64_t max_rows_ = 0;
};

// Adds the kernels in an export of Nsight Systems (docs/formats/nsys-sqlite.md) of `file_bytes`
// bytes to `launches`.
Status ReadNsysKernels(Database& database, std::int64_t file_bytes, Marks marks,
                       RecordedLaunches& launches);

// Sets the ranges of the launches, which are the NVTX ranges in the export.
Status ReadNsysRanges(Database& database, std::int64_t file_bytes, RecordedLaunches& launches);

// Prefix of the tables of kernel dispatches; each recording appends its own id.
inline constexpr std::string_view kRocpdDispatchTable = "rocpd_kernel_dispatch";

// Adds the kernel dispatches in a database of `file_bytes` bytes to `launches`. rocprofv3 writes
// such databases, rocpd, since ROCm 7 (docs/formats/rocpd.md).
Status ReadRocpdDispatches(Database& database, std::int64_t file_bytes, Marks marks,
                           RecordedLaunches& launches);

}  // namespace stemtap::formats
