// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/byte_source.h"
#include "base/file_descriptor.h"
#include "base/text.h"
#include "formats/importers/importers.h"

namespace stemtap::formats {
namespace {

constexpr std::size_t kHeaderBytes = 100;

// Maximum size of a cell. SQLite rejects longer cells before it allocates memory for them.
constexpr int kMaxCellBytes = 16 * 1024 * 1024;

// Minimum size of a row in a page: its offset, its sizes and the types of three columns.
constexpr std::int64_t kMinRowBytes = 8;

// Maximum share of the free disk space that an unpacked database may use; the rest is left to other
// writers.
constexpr double kMaxShareOfFree = 0.9;

// SQLite steps allowed for any file; they take seconds. The kernels of a real export need less than
// one step per byte of the file.
constexpr std::int64_t kStepsOfAnyFile = 500'000'000;
constexpr std::int64_t kStepsPerByte = 8;
constexpr int kStepsBetweenChecks = 100'000;

// The state of a file at some moment.
struct FileState {
  std::int64_t bytes = 0;
  timespec changed = {};

  bool operator==(const FileState& other) const {
    return bytes == other.bytes && changed.tv_sec == other.changed.tv_sec &&
           changed.tv_nsec == other.changed.tv_nsec;
  }
};

FileState StateOf(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_size, status.st_mtim};
}

std::uint32_t BigEndian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// Returns the size of the database according to its header, or 0 if the header does not contain it.
std::int64_t BytesByHeader(std::string_view header) {
  if (header.size() < kHeaderBytes) return 0;
  if (BigEndian(header.substr(24)) != BigEndian(header.substr(92))) return 0;
  const std::uint32_t stored = BigEndian(header.substr(16)) >> 16;
  const std::int64_t page = stored == 1 ? 65536 : stored;
  return page * BigEndian(header.substr(28));
}

// Applies SQLite's own header checks before anything is written.
Status CheckHeader(const std::string& name, std::string_view header) {
  const std::uint32_t page = BigEndian(header.substr(16)) >> 16;
  const bool size_ok = page == 1 || (page >= 512 && std::has_single_bit(page));
  if (size_ok && header.substr(21, 3) == std::string_view("\x40\x20\x20", 3)) return Success{};
  return Error{
      fmt::format("{}: damaged in the header of the database (its first {} bytes); expected a "
                  "complete database",
                  name, kHeaderBytes)};
}

// For a file that no process writes: regardless of the journal mode, SQLite takes no locks, creates
// no files beside it, and reads its length at once.
constexpr std::string_view kFinished = "immutable=1";
// For a file that only this process uses and whose content is written after it is opened.
constexpr std::string_view kOwn = "mode=ro&nolock=1";

std::string UriOf(const std::string& path, std::string_view parameters) {
  std::error_code ignored;
  const std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
  std::string uri = "file://";
  for (const char c : absolute.string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return fmt::format("{}?{}", uri, parameters);
}

}  // namespace

Database::Database(std::string name) : name_(std::move(name)), steps_left_(kStepsOfAnyFile) {}

void Database::Allow(std::int64_t bytes) {
  steps_left_ = kStepsOfAnyFile + kStepsPerByte * bytes;
}

int Database::CountSteps(void* self) {
  auto* database = static_cast<Database*>(self);
  database->steps_left_ -= kStepsBetweenChecks;
  return database->steps_left_ < 0 ? 1 : 0;
}

Error Database::Failed() const {
  const int code = sqlite3_errcode(handle_) & 0xFF;
  if (code == SQLITE_INTERRUPT) {
    return Error{
        fmt::format("{}: needs more steps to read than its size allows; expected a database that a "
                    "profiler wrote",
                    name_)};
  }
  return Error{fmt::format("{}: SQLite cannot read it ({}); expected a complete database", name_,
                           EscapeForTerminal(sqlite3_errmsg(handle_)))};
}

Status Database::Open(const std::string& path, std::string_view parameters) {
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(UriOf(path, parameters).c_str(), &handle_, kFlags, nullptr) != SQLITE_OK) {
    return Failed();
  }
  // Schemas and pages are untrusted: stored code must not run, and cells must not be huge.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kMaxCellBytes);
  sqlite3_limit(handle_, SQLITE_LIMIT_SQL_LENGTH, 1'000'000);
  sqlite3_limit(handle_, SQLITE_LIMIT_EXPR_DEPTH, 100);
  sqlite3_limit(handle_, SQLITE_LIMIT_COMPOUND_SELECT, 10);
  sqlite3_limit(handle_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_progress_handler(handle_, kStepsBetweenChecks, CountSteps, this);
  return Success{};
}

Result<Statement> Database::Prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return Failed();
  }
  return Statement(statement);
}

Result<bool> Database::Step(const Statement& statement) {
  const int code = sqlite3_step(statement.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return Failed();
}

Result<std::string> Database::KindOf(const char* table) {
  Statement query =
      STEMTAP_TRY(Prepare(fmt::format("SELECT type, rootpage FROM sqlite_master WHERE name = '{}' "
                                      "COLLATE NOCASE AND type IN ('table', 'view')",
                                      table)));
  if (!STEMTAP_TRY(Step(query))) return std::string();
  const auto* type = reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 0));  // UTF-8
  // A virtual table has no root page.
  const bool stored = sqlite3_column_int64(query.get(), 1) > 0;
  return std::string(type != nullptr && std::strcmp(type, "table") == 0 && stored ? "table"
                                                                                  : "view");
}

Result<bool> Database::HasTableWithPrefix(std::string_view prefix) {
  const Statement query =
      STEMTAP_TRY(Prepare(fmt::format("SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') "
                                      "AND substr(name, 1, {}) = '{}' COLLATE NOCASE LIMIT 1",
                                      prefix.size(), prefix)));
  return Step(query);
}

Result<std::vector<std::string>> Database::Columns(const std::string& table) {
  Statement query = STEMTAP_TRY(Prepare(fmt::format("PRAGMA table_xinfo({})", table)));
  std::vector<std::string> columns;
  while (STEMTAP_TRY(Step(query))) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 1));
    columns.emplace_back(name == nullptr ? "" : name);
    // The author of the schema controls the cost of a computed column.
    if (sqlite3_column_int(query.get(), 6) == 0) continue;
    return Error{
        fmt::format("{}: the column {} of {} is computed; expected a table as a profiler writes it",
                    name_, EscapeForTerminal(columns.back()), table)};
  }
  return columns;
}

Result<std::vector<std::string>> Database::TablesWithPrefix(std::string_view prefix) {
  Statement query =
      STEMTAP_TRY(Prepare(fmt::format("SELECT name FROM sqlite_master WHERE type = 'table' AND "
                                      "rootpage > 0 AND substr(name, 1, {}) = '{}' ORDER BY rowid",
                                      prefix.size(), prefix)));
  std::vector<std::string> names;
  while (STEMTAP_TRY(Step(query))) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 0));
    names.emplace_back(name == nullptr ? "" : name);
    const bool plain = std::all_of(names.back().begin(), names.back().end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    });
    if (plain) continue;
    return Error{fmt::format("{}: a table is named '{}'; expected letters, digits and '_'", name_,
                             ShownCell(names.back()))};
  }
  return names;
}

Result<std::optional<std::string_view>> Database::FindText(const Statement& query,
                                                           std::int64_t id) {
  sqlite3_reset(query.get());
  sqlite3_bind_int64(query.get(), 1, id);
  if (!STEMTAP_TRY(Step(query))) return std::optional<std::string_view>();
  const int type = sqlite3_column_type(query.get(), 0);
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 0));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(query.get(), 0));
  if (type != SQLITE_TEXT || text == nullptr) return std::optional<std::string_view>("");
  return std::optional<std::string_view>(std::in_place, text, size);
}

Result<TableRows> TableRows::Select(Database& database, const std::string& table,
                                    std::span<const char* const> columns, std::int64_t file_bytes) {
  const std::vector<std::string> stored = STEMTAP_TRY(database.Columns(table));
  TableRows rows(database);
  rows.table_ = table;
  rows.columns_.assign(columns.begin(), columns.end());
  rows.max_rows_ = static_cast<std::uint64_t>(file_bytes / kMinRowBytes);
  std::string list;
  for (const char* column : columns) {
    const bool found = std::any_of(stored.begin(), stored.end(), [&](const std::string& name) {
      return sqlite3_stricmp(name.c_str(), column) == 0;
    });
    rows.found_.push_back(found);
    list += list.empty() ? "" : ", ";
    list += found ? fmt::format("\"{}\"", column) : "NULL";
  }
  Statement statement =
      STEMTAP_TRY(database.Prepare(fmt::format("SELECT {} FROM {}", list, table)));
  rows.rows_ = std::move(statement);
  return rows;
}

Result<bool> TableRows::Next() {
  if (!STEMTAP_TRY(database_->Step(rows_))) return false;
  if (++row_ > max_rows_) return At("more rows than fit into the file; expected an undamaged file");
  return true;
}

Result<std::int64_t> TableRows::Number(int column, std::int64_t min, std::int64_t max,
                                       std::int64_t missing) const {
  const int type = sqlite3_column_type(rows_.get(), column);
  if (type == SQLITE_NULL) return missing;
  const std::int64_t value = sqlite3_column_int64(rows_.get(), column);
  if (type == SQLITE_INTEGER && value >= min && value <= max) return value;
  constexpr std::array kTypes = {"", "", "a fraction", "text", "bytes"};
  return At(fmt::format("{} is {}; expected a whole number from {} to {}",
                        columns_[static_cast<std::size_t>(column)],
                        type == SQLITE_INTEGER ? std::to_string(value) : kTypes[type], min, max));
}

std::string_view TableRows::Text(int column) const {
  if (sqlite3_column_type(rows_.get(), column) != SQLITE_TEXT) return {};
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(rows_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(rows_.get(), column))};
}

Result<bool> TableRows::Times(int start_column, int end_column, RowTimes& times,
                              shm::KernelRecord& record) const {
  constexpr std::int64_t kMax = kStartOffset - 1;
  const std::int64_t start = STEMTAP_TRY(Number(start_column, -kMax, kMax, RowTimes::kNone));
  const std::int64_t end = STEMTAP_TRY(Number(end_column, -kMax, kMax, RowTimes::kNone));
  return times.Set(start, end, row_, record);
}

Error TableRows::At(const std::string& what) const {
  return Error{fmt::format("{}: row {} of {}: {}", database_->name(), row_, table_, what)};
}

namespace {

// Returns the number of bytes that may be written to the directory: at most the size in the
// database header, and at most a share of the free disk space.
Result<std::int64_t> RoomToSpool(const std::string& name, const std::string& directory,
                                 std::int64_t by_header) {
  struct statvfs disk = {};
  if (::statvfs(directory.c_str(), &disk) != 0) {
    return by_header > 0 ? by_header : std::numeric_limits<std::int64_t>::max();
  }
  const auto room = static_cast<std::int64_t>(kMaxShareOfFree * static_cast<double>(disk.f_bavail) *
                                              static_cast<double>(disk.f_frsize));
  if (by_header <= room) return by_header > 0 ? by_header : room;
  return Error{fmt::format(
      "{}: a database of {} bytes cannot be unpacked into {} (room for {} bytes); expected room "
      "there; set TMPDIR to another directory, or unpack it to a plain file",
      name, by_header, EscapeForTerminal(directory), room)};
}

// Writes the content of `source`, at most `room` bytes, to `fd`. Returns the number of bytes.
Result<std::int64_t> Spool(ByteSource& source, int fd, const std::string& directory,
                           std::int64_t room, std::int64_t by_header) {
  std::vector<char> buffer(kReadBytes);
  std::int64_t bytes = 0;
  const auto no_room = [&](const char* why) {
    return Error{
        fmt::format("{}: the database cannot be unpacked into {} (after {} bytes: {}); expected "
                    "room there; set TMPDIR to another directory, or unpack it to a plain file",
                    source.name(), EscapeForTerminal(directory), bytes, why)};
  };
  for (;;) {
    const std::size_t count = STEMTAP_TRY(source.Read(buffer.data(), buffer.size()));
    if (count == 0) return bytes;
    if (static_cast<std::int64_t>(count) > room - bytes) {
      if (by_header == 0) return no_room("the rest of the disk is left free");
      return Error{
          fmt::format("{}: is longer than the {} bytes that its header states; expected a file "
                      "that a profiler wrote",
                      source.name(), by_header)};
    }
    // Without its log file, a database in WAL mode is equivalent to one in any other mode. The
    // header arrives in one piece because it was peeked.
    for (std::size_t mode : {18, 19}) {
      if (bytes == 0 && buffer[mode] == 2) buffer[mode] = 1;
    }
    for (std::size_t written = 0; written < count;) {
      const ssize_t part = ::write(fd, buffer.data() + written, count - written);
      if (part < 0 && errno == EINTR) continue;
      if (part < 0) return no_room(std::strerror(errno));
      written += static_cast<std::size_t>(part);
      bytes += part;
    }
  }
}

Error CutShort(const std::string& name, std::int64_t bytes, std::int64_t expected) {
  return Error{
      fmt::format("{}: truncated, {} bytes of a database of {} bytes; expected a complete file",
                  name, bytes, expected)};
}

using ReadKernels = Status (*)(Database& database, std::int64_t file_bytes, Marks marks,
                               RecordedLaunches& launches);

// Tables that identify the tool that wrote a database. If `read` is null, the database is rejected
// and `advice` describes how to get a profile.
struct KnownTable {
  std::string_view prefix;
  ReadKernels read;
  std::string_view advice;
};

// In order of detection: nvprof's databases also have a table CUPTI_ACTIVITY_KIND_KERNEL.
constexpr std::array kKnownTables = {
    KnownTable{"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", nullptr,
               "is an nvprof database, which stemtap cannot read; convert it with 'nvprof "
               "--import-profile FILE --csv --print-gpu-trace --log-file trace.csv'"},
    KnownTable{"CUPTI_ACTIVITY_KIND_KERNEL", ReadNsysKernels, ""},
    KnownTable{"StringIds", ReadNsysKernels, ""},
    KnownTable{"META_DATA_CAPTURE", ReadNsysKernels, ""},
    KnownTable{"META_DATA_EXPORT", ReadNsysKernels, ""},
    KnownTable{"TARGET_INFO_SESSION_START_TIME", ReadNsysKernels, ""},
    KnownTable{kRocpdDispatchTable, ReadRocpdDispatches, ""},
    KnownTable{"rocpd_op", nullptr,
               "is a database of rocmProfileData (rpd), which stemtap cannot read; record with "
               "'rocprofv3 --kernel-trace -- PROGRAM' instead"},
    KnownTable{"KERN", nullptr,
               "is a database of rocprof, which stemtap cannot read; record a table with 'rocprof "
               "--timestamp on -o results.csv PROGRAM', or use rocprofv3"},
};

Status ReadLaunches(Database& database, std::int64_t file_bytes, Marks marks,
                    RecordedLaunches& launches) {
  for (const KnownTable& known : kKnownTables) {
    if (!STEMTAP_TRY(database.HasTableWithPrefix(known.prefix))) continue;
    if (known.read != nullptr) return known.read(database, file_bytes, marks, launches);
    return Error{fmt::format("{}: {}", database.name(), AdviceFor(database.name(), known.advice))};
  }
  return Error{
      fmt::format("{}: is an SQLite database of an unknown tool; expected one made by 'nsys export "
                  "--type sqlite report.nsys-rep' or by rocprofv3",
                  database.name())};
}

Status ReadDatabase(Database& database, std::int64_t bytes, std::int64_t by_header, Marks marks,
                    RecordedLaunches& launches) {
  if (bytes < by_header) return CutShort(database.name(), bytes, by_header);
  database.Allow(bytes);
  return ReadLaunches(database, bytes, marks, launches);
}

Status ReadPlainFile(const std::string& name, const std::string& path, std::int64_t by_header,
                     Marks marks, RecordedLaunches& launches) {
  // Changes that a writer has not yet moved into the file itself would be missing.
  for (const char* suffix : {"-wal", "-journal"}) {
    if (StateOf(path + suffix).bytes == 0) continue;
    return Error{
        fmt::format("{}: is being written, or its writer was stopped ({}{} exists); expected a "
                    "finished export; export the report again, or end that program",
                    name, name, suffix)};
  }
  const FileState before = StateOf(path);
  Database database(name);
  STEMTAP_TRY(database.Open(path, kFinished));
  const Status read = ReadDatabase(database, before.bytes, by_header, marks, launches);
  if (!(StateOf(path) == before)) {
    return Error{
        fmt::format("{}: was changed while it was read; expected a finished export", name)};
  }
  return read;
}

// SQLite opens files only by name and reads nothing before the first query. The name is therefore
// removed before the content is written, so no file is left behind however this process ends.
Status ReadSpooled(ByteSource& source, std::int64_t by_header, Marks marks,
                   RecordedLaunches& launches) {
  const char* set = std::getenv("TMPDIR");
  const std::string directory = set == nullptr || *set == '\0' ? "/tmp" : set;
  const std::int64_t room = STEMTAP_TRY(RoomToSpool(source.name(), directory, by_header));
  std::string path = directory + "/stemtap-sqlite-XXXXXX";
  const FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file.is_open()) {
    return Error{
        fmt::format("{}: no temporary file can be made in {} ({}); expected a directory to unpack "
                    "the database into; set TMPDIR",
                    source.name(), EscapeForTerminal(directory), std::strerror(errno))};
  }
  Database database(source.name());
  const Status opened = database.Open(path, kOwn);
  ::unlink(path.c_str());
  if (!opened.ok()) return opened.error();
  const std::int64_t bytes = STEMTAP_TRY(Spool(source, file.get(), directory, room, by_header));
  return ReadDatabase(database, bytes, by_header, marks, launches);
}

Status ReadSource(std::unique_ptr<ByteSource> source, Marks marks, RecordedLaunches& launches) {
  const std::string_view header = STEMTAP_TRY(source->Peek(kHeaderBytes));
  if (header.size() < kHeaderBytes) {
    return CutShort(source->name(), static_cast<std::int64_t>(header.size()), 512);
  }
  STEMTAP_TRY(CheckHeader(source->name(), header));
  const std::int64_t by_header = BytesByHeader(header);
  const std::string path = source->PlainPath();
  if (!path.empty()) return ReadPlainFile(source->name(), path, by_header, marks, launches);
  source = LimitUnpacking(std::move(source));
  return ReadSpooled(*source, by_header, marks, launches);
}

}  // namespace

bool LooksLikeRocpd(std::string_view leading) {
  return leading.starts_with(kDatabaseMagic) &&
         leading.find(kRocpdDispatchTable) != std::string_view::npos;
}

bool LooksLikeNsysSqlite(std::string_view leading) {
  return leading.starts_with(kDatabaseMagic) && !LooksLikeRocpd(leading);
}

Result<std::unique_ptr<model::ProfileReader>> OpenDatabaseProfile(
    std::unique_ptr<ByteSource> source, Marks marks) {
  auto launches = std::make_unique<RecordedLaunches>();
  const std::string name = source->name();
  STEMTAP_TRY(ReadSource(std::move(source), marks, *launches));
  launches->Finish(name);
  return std::unique_ptr<model::ProfileReader>(std::move(launches));
}

}  // namespace stemtap::formats
