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
  // The columns of a table, all of which are stored.
  Result<std::vector<std::string>> Columns(const char* table);

 private:
  static int CountSteps(void* self);
  Error Failed() const;

  std::string name_;
  sqlite3* handle_ = nullptr;
  std::int64_t steps_left_;
};

// Reads what it wants of a database of `bytes` bytes.
using DatabaseUse = std::function<Status(Database& database, std::int64_t bytes)>;

// Opens the database that `source` holds for as long as `use` takes; the error of `use`, or its own.
Status UseDatabase(std::unique_ptr<ByteSource> source, const DatabaseUse& use);

}  // namespace stemtap
