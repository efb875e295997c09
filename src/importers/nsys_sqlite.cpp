// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "importers/recorded_launches.h"

namespace stemtap {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kHeaderBytes = 100;

constexpr const char* kKernelTable = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kGraphTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kNameTable = "StringIds";

// No cell that is read is longer; SQLite refuses longer ones before it takes memory for them.
constexpr int kMaxCellBytes = 16 * 1024 * 1024;

// What a row needs at least in a page: its place, its sizes and the types of three columns.
constexpr std::int64_t kLeastRowBytes = 8;

// How much of the free disk an unpacked database may take: the rest is for whoever else writes there
// meanwhile.
constexpr double kMostOfFree = 0.9;

// Steps of SQLite's machine that any reading may take: seconds. The kernels of a real export need
// less than one step for each byte of the file.
constexpr std::int64_t kStepsOfAnyFile = 500'000'000;
constexpr std::int64_t kStepsPerByte = 8;
constexpr int kStepsBetweenChecks = 100'000;

// Starts may lie before the origin of the clock (nsys export --ts-shift); this keeps their order in
// unsigned numbers. RecordedLaunches counts from the first.
constexpr std::int64_t kStartOffset = std::int64_t{1} << 62;

struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// A file as it was at some moment.
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

// How long the database says it is; 0 where it does not say.
std::int64_t BytesByHeader(std::string_view header) {
  if (header.size() < kHeaderBytes) return 0;
  if (BigEndian(header.substr(24)) != BigEndian(header.substr(92))) return 0;
  const std::uint32_t stored = BigEndian(header.substr(16)) >> 16;
  const std::int64_t page = stored == 1 ? 65536 : stored;
  return page * BigEndian(header.substr(28));
}

// SQLite's own checks of a header, before anything is written for its sake.
Status CheckHeader(const std::string& name, std::string_view header) {
  const std::uint32_t page = BigEndian(header.substr(16)) >> 16;
  const bool size_ok = page == 1 || (page >= 512 && std::has_single_bit(page));
  if (size_ok && header.substr(21, 3) == std::string_view("\x40\x20\x20", 3)) return Success{};
  return Error{fmt::format(
      "{}: damaged in the header of the database (its first {} bytes), expected a complete "
      "Nsight Systems export",
      name, kHeaderBytes)};
}

// A file that nobody writes: SQLite takes no locks and makes no files beside it, whatever its journal
// mode, and looks at its length at once.
constexpr std::string_view kFinished = "immutable=1";
// A file of this process alone, whose content comes after it was opened.
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

class Database {
 public:
  explicit Database(std::string name) : name_(std::move(name)) {}
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Opens the file at `path` and reads nothing of it yet.
  Status Open(const std::string& path, std::string_view parameters);
  // Once the whole content, `bytes` of it, is there.
  void Allow(std::int64_t bytes) { steps_left_ = kStepsOfAnyFile + kStepsPerByte * bytes; }

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
  std::int64_t steps_left_ = kStepsOfAnyFile;
};

int Database::CountSteps(void* self) {
  auto* database = static_cast<Database*>(self);
  database->steps_left_ -= kStepsBetweenChecks;
  return database->steps_left_ < 0 ? 1 : 0;
}

Error Database::Failed() const {
  const int code = sqlite3_errcode(handle_) & 0xFF;
  if (code == SQLITE_INTERRUPT) {
    return Error{
        fmt::format("{}: needs more steps to read than a file of its size, expected a database as "
                    "'nsys export' "
                    "writes it",
                    name_)};
  }
  return Error{
      fmt::format("{}: SQLite cannot read it ({}), expected a complete Nsight Systems export",
                  name_, EscapeForTerminal(sqlite3_errmsg(handle_)))};
}

Status Database::Open(const std::string& path, std::string_view parameters) {
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(UriOf(path, parameters).c_str(), &handle_, kFlags, nullptr) != SQLITE_OK) {
    return Failed();
  }
  // Schemas and pages come from strangers: nothing that is stored may run, and no cell may be huge.
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
  Result<Statement> query =
      Prepare(fmt::format("SELECT type, rootpage FROM sqlite_master WHERE name = '{}' COLLATE "
                          "NOCASE AND type IN ('table', 'view')",
                          table));
  if (!query.ok()) return query.error();
  const Result<bool> found = Step(query.value());
  if (!found.ok()) return found.error();
  if (!found.value()) return std::string();
  const auto* type =
      reinterpret_cast<const char*>(sqlite3_column_text(query.value().get(), 0));  // UTF-8
  // A virtual table has no page of its own.
  const bool stored = sqlite3_column_int64(query.value().get(), 1) > 0;
  return std::string(type != nullptr && std::strcmp(type, "table") == 0 && stored ? "table"
                                                                                  : "view");
}

Result<std::vector<std::string>> Database::Columns(const char* table) {
  Result<Statement> query = Prepare(fmt::format("PRAGMA table_xinfo({})", table));
  if (!query.ok()) return query.error();
  std::vector<std::string> columns;
  for (;;) {
    const Result<bool> more = Step(query.value());
    if (!more.ok()) return more.error();
    if (!more.value()) return columns;
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(query.value().get(), 1));
    columns.emplace_back(name == nullptr ? "" : name);
    // What a computed column costs is up to who wrote the schema.
    if (sqlite3_column_int(query.value().get(), 6) == 0) continue;
    return Error{fmt::format(
        "{}: the column {} of {} is computed, expected a table as 'nsys export' writes it", name_,
        EscapeForTerminal(columns.back()), table)};
  }
}

// The columns that are read, in the order of the query.
enum Column : int {
  kStart,
  kEnd,
  kDemangledName,
  kShortName,
  kMangledName,
  kDevice,
  kStream,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kStaticShared,
  kDynamicShared,
  kCorrelation,
  kProcess,
  kGraphNode,
  kGraph,
  kColumns
};

constexpr std::array<const char*, kColumns> kColumnNames = {"start",
                                                            "end",
                                                            "demangledName",
                                                            "shortName",
                                                            "mangledName",
                                                            "deviceId",
                                                            "streamId",
                                                            "gridX",
                                                            "gridY",
                                                            "gridZ",
                                                            "blockX",
                                                            "blockY",
                                                            "blockZ",
                                                            "staticSharedMemory",
                                                            "dynamicSharedMemory",
                                                            "correlationId",
                                                            "globalPid",
                                                            "graphNodeId",
                                                            "graphId"};

// Number and place of the rows that are left out for one reason.
struct Tally {
  std::uint64_t count = 0;
  std::uint64_t first_row = 0;

  void Add(std::uint64_t row) {
    if (count++ == 0) first_row = row;
  }
};

class KernelTable {
 public:
  KernelTable(Database& database, std::int64_t file_bytes, RecordedLaunches& launches)
      : database_(database), file_bytes_(file_bytes), launches_(launches) {}

  Status Read();

 private:
  Status Check();
  Status Select();
  Status AddRow();
  // The number in a cell; `missing` where it is empty or the table lacks the column.
  Result<std::int64_t> Number(Column column, std::int64_t least, std::int64_t most,
                              std::int64_t missing) const;
  Result<std::uint32_t> NameId();
  Status WarnOfGraphs();
  void WarnOfRows();
  Error AtRow(const std::string& what) const {
    return Error{fmt::format("{}: row {} of {}: {}", database_.name(), row_, kKernelTable, what)};
  }

  Database& database_;
  std::int64_t file_bytes_;
  RecordedLaunches& launches_;
  Statement rows_;
  Statement find_name_;
  std::array<bool, kColumns> found_ = {};
  std::uint64_t row_ = 0;                                     // 1-based
  std::unordered_map<std::int64_t, std::uint32_t> name_ids_;  // by StringIds.id
  Tally no_times_;
  Tally ends_early_;
};

// Whether there is a table of kernels, and if not, what to do about it.
Status KernelTable::Check() {
  for (const char* table : {kKernelTable, kNameTable}) {
    const Result<std::string> kind = database_.KindOf(table);
    if (!kind.ok()) return kind.error();
    if (kind.value() == "table") continue;
    if (!kind.value().empty()) {
      return Error{fmt::format(
          "{}: {} is a view or a virtual table, expected a table as 'nsys export' writes it",
          database_.name(), table)};
    }
    if (table == kNameTable) {
      return Error{fmt::format("{}: no table {}, expected the names of the kernels in it",
                               database_.name(), table)};
    }
    const Result<std::string> graphs = database_.KindOf(kGraphTable);
    if (!graphs.ok()) return graphs.error();
    if (!graphs.value().empty()) {
      return Error{fmt::format(
          "{}: holds launches of CUDA graphs as a whole ({}) and no kernels, expected a "
          "capture by 'nsys profile --trace=cuda --cuda-graph-trace=node'",
          database_.name(), kGraphTable)};
    }
    for (const char* mark :
         {kNameTable, "META_DATA_CAPTURE", "META_DATA_EXPORT", "TARGET_INFO_SESSION_START_TIME"}) {
      const Result<std::string> marked = database_.KindOf(mark);
      if (!marked.ok()) return marked.error();
      if (marked.value().empty()) continue;
      return Error{
          fmt::format("{}: an Nsight Systems export without kernels (no table {}), expected a "
                      "capture by 'nsys profile --trace=cuda' of a program that runs kernels",
                      database_.name(), table)};
    }
    return Error{
        fmt::format("{}: an SQLite database but no Nsight Systems export (no table {}), "
                    "expected one made by 'nsys export --type sqlite report.nsys-rep'",
                    database_.name(), table)};
  }
  return Success{};
}

Status KernelTable::Select() {
  Result<std::vector<std::string>> names = database_.Columns(kKernelTable);
  if (!names.ok()) return names.error();
  for (const std::string& name : names.value()) {
    for (int column = 0; column < kColumns; ++column) {
      if (sqlite3_stricmp(name.c_str(), kColumnNames[column]) == 0) found_[column] = true;
    }
  }
  names = database_.Columns(kNameTable);
  if (!names.ok()) return names.error();
  for (const Column column : {kStart, kEnd}) {
    if (found_[column]) continue;
    return Error{fmt::format("{}: no column {} in {}, expected a table as 'nsys export' writes it",
                             database_.name(), kColumnNames[column], kKernelTable)};
  }
  if (!found_[kDemangledName] && !found_[kShortName] && !found_[kMangledName]) {
    return Error{fmt::format(
        "{}: no column demangledName in {}, expected a table as 'nsys export' writes it",
        database_.name(), kKernelTable)};
  }
  std::string columns;
  for (int column = 0; column < kColumns; ++column) {
    columns += column == 0 ? "" : ", ";
    columns += found_[column] ? fmt::format("\"{}\"", kColumnNames[column]) : "NULL";
  }
  Result<Statement> rows =
      database_.Prepare(fmt::format("SELECT {} FROM {}", columns, kKernelTable));
  if (!rows.ok()) return rows.error();
  rows_ = std::move(rows).value();
  Result<Statement> find_name =
      database_.Prepare(fmt::format("SELECT value FROM {} WHERE id = ?1 LIMIT 1", kNameTable));
  if (!find_name.ok()) return find_name.error();
  find_name_ = std::move(find_name).value();
  return Success{};
}

Result<std::int64_t> KernelTable::Number(Column column, std::int64_t least, std::int64_t most,
                                         std::int64_t missing) const {
  const int type = sqlite3_column_type(rows_.get(), column);
  if (type == SQLITE_NULL) return missing;
  const std::int64_t value = sqlite3_column_int64(rows_.get(), column);
  if (type == SQLITE_INTEGER && value >= least && value <= most) return value;
  constexpr std::array kTypes = {"", "", "a fraction", "text", "bytes"};
  return AtRow(fmt::format("{} is {}, expected a whole number from {} to {}", kColumnNames[column],
                           type == SQLITE_INTEGER ? std::to_string(value) : kTypes[type], least,
                           most));
}

// The id of the name of the row at hand: with template arguments and parameters where nsys has it.
Result<std::uint32_t> KernelTable::NameId() {
  constexpr std::int64_t kNone = -1;
  for (const Column column : {kDemangledName, kShortName, kMangledName}) {
    const Result<std::int64_t> id =
        Number(column, 0, std::numeric_limits<std::int64_t>::max(), kNone);
    if (!id.ok()) return id.error();
    if (id.value() == kNone) continue;
    const auto [known, is_new] = name_ids_.try_emplace(id.value(), 0);
    if (!is_new) return known->second;
    sqlite3_reset(find_name_.get());
    sqlite3_bind_int64(find_name_.get(), 1, id.value());
    const Result<bool> found = database_.Step(find_name_);
    if (!found.ok()) return found.error();
    if (!found.value()) {
      return AtRow(fmt::format("{} is {}, expected an id in {}", kColumnNames[column], id.value(),
                               kNameTable));
    }
    const int type = sqlite3_column_type(find_name_.get(), 0);
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(find_name_.get(), 0));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(find_name_.get(), 0));
    if (type != SQLITE_TEXT || text == nullptr || size == 0) {
      return AtRow(fmt::format("{} is {}, which has no text in {}, expected the name of a kernel",
                               kColumnNames[column], id.value(), kNameTable));
    }
    return known->second = launches_.Name({text, size});
  }
  return AtRow("no name, expected demangledName to be an id in StringIds");
}

Status KernelTable::AddRow() {
  constexpr std::int64_t kMost = kStartOffset - 1;
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  const Result<std::int64_t> start = Number(kStart, -kMost, kMost, kNone);
  if (!start.ok()) return start.error();
  const Result<std::int64_t> end = Number(kEnd, -kMost, kMost, kNone);
  if (!end.ok()) return end.error();
  if (start.value() == kNone || end.value() == kNone || (start.value() == 0 && end.value() == 0)) {
    no_times_.Add(row_);
    return Success{};
  }
  if (end.value() < start.value()) {
    ends_early_.Add(row_);
    return Success{};
  }
  wire::KernelRecord record = RecordedLaunches::Unknown();
  record.start_ns = static_cast<std::uint64_t>(start.value() + kStartOffset);
  record.duration_ns = static_cast<std::uint64_t>(end.value() - start.value());

  const Result<std::uint32_t> name = NameId();
  if (!name.ok()) return name.error();
  const Result<std::int64_t> device = Number(kDevice, 0, wire::kUnknown16 - 1, wire::kUnknown16);
  if (!device.ok()) return device.error();
  record.device = static_cast<std::uint16_t>(device.value());
  const Result<std::int64_t> stream = Number(kStream, 0, wire::kUnknown32 - 1, wire::kUnknown32);
  if (!stream.ok()) return stream.error();
  record.stream = static_cast<std::uint32_t>(stream.value());
  for (int axis = 0; axis < 3; ++axis) {
    const Result<std::int64_t> grid =
        Number(static_cast<Column>(kGridX + axis), 0, 0xFFFFFFFF, wire::kUnknownExtent);
    if (!grid.ok()) return grid.error();
    record.grid[axis] = static_cast<std::uint32_t>(grid.value());
    const Result<std::int64_t> block =
        Number(static_cast<Column>(kBlockX + axis), 0, 0xFFFF, wire::kUnknownExtent);
    if (!block.ok()) return block.error();
    record.block[axis] = static_cast<std::uint16_t>(block.value());
  }
  constexpr std::int64_t kMostShared = 0x7FFFFFFE;  // of each kind: the sum is known then
  const Result<std::int64_t> fixed = Number(kStaticShared, 0, kMostShared, kNone);
  if (!fixed.ok()) return fixed.error();
  const Result<std::int64_t> dynamic = Number(kDynamicShared, 0, kMostShared, kNone);
  if (!dynamic.ok()) return dynamic.error();
  if (fixed.value() != kNone && dynamic.value() != kNone) {
    record.shared_bytes = static_cast<std::uint32_t>(fixed.value() + dynamic.value());
  }
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  const Result<std::int64_t> correlation = Number(kCorrelation, 0, kAny, 0);
  if (!correlation.ok()) return correlation.error();
  record.correlation_id = static_cast<std::uint32_t>(correlation.value());

  // 0 and an empty cell both mean: launched alone. The upper half of a node's id is its graph's.
  const Result<std::int64_t> node = Number(kGraphNode, kNone, kAny, 0);
  if (!node.ok()) return node.error();
  const Result<std::int64_t> graph = Number(kGraph, 0, 0xFFFFFFFF, 0);
  if (!graph.ok()) return graph.error();
  record.graph_node = static_cast<std::uint32_t>(node.value());
  record.graph_id = static_cast<std::uint32_t>(graph.value());
  if (record.graph_id == 0 && node.value() != 0) {
    const auto upper = static_cast<std::uint32_t>(static_cast<std::uint64_t>(node.value()) >> 32);
    record.graph_id = std::max<std::uint32_t>(upper, 1);
  }

  const Result<std::int64_t> process = Number(kProcess, kNone + 1, kAny, kNone);
  if (!process.ok()) return process.error();
  launches_.SetProcess(static_cast<std::uint64_t>(process.value()));
  launches_.Add(record, name.value());
  return Success{};
}

// Graphs that were recorded as a whole hide the kernels in them.
Status KernelTable::WarnOfGraphs() {
  const Result<std::string> kind = database_.KindOf(kGraphTable);
  if (!kind.ok()) return kind.error();
  if (kind.value() != "table") return Success{};
  const Result<Statement> count =
      database_.Prepare(fmt::format("SELECT count(*) FROM {}", kGraphTable));
  if (!count.ok()) return count.error();
  const Result<bool> row = database_.Step(count.value());
  if (!row.ok()) return row.error();
  const std::int64_t graphs = sqlite3_column_int64(count.value().get(), 0);
  if (graphs > 0) {
    launches_.Warn(fmt::format(
        "{}: {} launches of CUDA graphs were recorded as a whole and the kernels in them "
        "are missing; record with --cuda-graph-trace=node to have them",
        database_.name(), graphs));
  }
  return Success{};
}

void KernelTable::WarnOfRows() {
  if (no_times_.count > 0) {
    launches_.Warn(fmt::format("{}: row {} of {} has no start or no end ({} such rows), left out",
                               database_.name(), no_times_.first_row, kKernelTable,
                               no_times_.count));
  }
  if (ends_early_.count > 0) {
    launches_.Warn(fmt::format("{}: row {} of {} ends before it starts ({} such rows), left out",
                               database_.name(), ends_early_.first_row, kKernelTable,
                               ends_early_.count));
  }
}

Status KernelTable::Read() {
  const Status checked = Check();
  if (!checked.ok()) return checked;
  const Status selected = Select();
  if (!selected.ok()) return selected;
  const auto most_rows = static_cast<std::uint64_t>(file_bytes_ / kLeastRowBytes);
  for (;;) {
    const Result<bool> more = database_.Step(rows_);
    if (!more.ok()) return more.error();
    if (!more.value()) break;
    ++row_;
    // Pages that are damaged, or made so, can name one another any number of times.
    if (row_ > most_rows) return AtRow("more rows than the file has room for, expected no damage");
    const Status added = AddRow();
    if (!added.ok()) return added;
  }
  WarnOfRows();
  return WarnOfGraphs();
}

// What may be written to `folder`: up to the end that the database itself names, and not the last of
// the disk.
Result<std::int64_t> RoomToSpool(const std::string& name, const std::string& folder,
                                 std::int64_t by_header) {
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0) {
    return by_header > 0 ? by_header : std::numeric_limits<std::int64_t>::max();
  }
  const auto room = static_cast<std::int64_t>(kMostOfFree * static_cast<double>(disk.f_bavail) *
                                              static_cast<double>(disk.f_frsize));
  if (by_header <= room) return by_header > 0 ? by_header : room;
  return Error{fmt::format(
      "{}: a database of {} bytes cannot be unpacked into {} (room for {} bytes), expected room "
      "there; set TMPDIR to another folder, or unpack it to a plain file",
      name, by_header, EscapeForTerminal(folder), room)};
}

// Writes the content of `source`, at most `room` bytes, to `fd`; the number of bytes.
Result<std::int64_t> Spool(ByteSource& source, int fd, const std::string& folder, std::int64_t room,
                           std::int64_t by_header) {
  std::vector<char> buffer(kReadBytes);
  std::int64_t bytes = 0;
  const auto no_room = [&](const char* why) {
    return Error{fmt::format(
        "{}: the database cannot be unpacked into {} (after {} bytes: {}), "
        "expected room there; set TMPDIR to another folder, or unpack it to a plain file",
        source.name(), EscapeForTerminal(folder), bytes, why)};
  };
  for (;;) {
    const Result<std::size_t> count = source.Read(buffer.data(), buffer.size());
    if (!count.ok()) return count.error();
    if (count.value() == 0) return bytes;
    if (static_cast<std::int64_t>(count.value()) > room - bytes) {
      if (by_header == 0) return no_room("the rest of the disk is left free");
      return Error{
          fmt::format("{}: goes on behind the {} bytes that the database says it has, expected a "
                      "file as 'nsys export' writes it",
                      source.name(), by_header)};
    }
    // Without the log that would lie beside it, a database in WAL mode is one in any other. The
    // header comes in one piece: it was peeked at.
    for (std::size_t mode : {18, 19}) {
      if (bytes == 0 && buffer[mode] == 2) buffer[mode] = 1;
    }
    for (std::size_t written = 0; written < count.value();) {
      const ssize_t part = ::write(fd, buffer.data() + written, count.value() - written);
      if (part < 0 && errno == EINTR) continue;
      if (part < 0) return no_room(std::strerror(errno));
      written += static_cast<std::size_t>(part);
      bytes += part;
    }
  }
}

Error CutShort(const std::string& name, std::int64_t bytes, std::int64_t expected) {
  return Error{
      fmt::format("{}: cut short, {} bytes of a database of {} bytes, expected a complete file",
                  name, bytes, expected)};
}

Result<std::unique_ptr<ProfileReader>> ReadDatabase(Database& database, std::int64_t bytes,
                                                    std::int64_t by_header) {
  if (bytes < by_header) return CutShort(database.name(), bytes, by_header);
  database.Allow(bytes);
  auto launches = std::make_unique<RecordedLaunches>();
  const Status read = KernelTable(database, bytes, *launches).Read();
  if (!read.ok()) return read.error();
  launches->Finish(database.name());
  return std::unique_ptr<ProfileReader>(std::move(launches));
}

Result<std::unique_ptr<ProfileReader>> ReadPlainFile(const std::string& name,
                                                     const std::string& path,
                                                     std::int64_t by_header) {
  // What a writer has not yet moved into the file itself would be missing.
  for (const char* suffix : {"-wal", "-journal"}) {
    if (StateOf(path + suffix).bytes == 0) continue;
    return Error{
        fmt::format("{}: a program writes to it or was stopped while it did ({}{} is there), "
                    "expected a finished "
                    "export; export the report again, or end that program",
                    name, name, suffix)};
  }
  const FileState before = StateOf(path);
  Database database(name);
  const Status opened = database.Open(path, kFinished);
  if (!opened.ok()) return opened.error();
  Result<std::unique_ptr<ProfileReader>> reader = ReadDatabase(database, before.bytes, by_header);
  if (!(StateOf(path) == before)) {
    return Error{
        fmt::format("{}: was changed while it was read, expected a finished export", name)};
  }
  return reader;
}

// SQLite opens files by name alone. It reads nothing before the first question, so that the name is
// gone before the content comes: nothing is left behind however this process ends.
Result<std::unique_ptr<ProfileReader>> ReadSpooled(ByteSource& source, std::int64_t by_header) {
  const char* set = std::getenv("TMPDIR");
  const std::string folder = set == nullptr || *set == '\0' ? "/tmp" : set;
  const Result<std::int64_t> room = RoomToSpool(source.name(), folder, by_header);
  if (!room.ok()) return room.error();
  std::string path = folder + "/stemtap-sqlite-XXXXXX";
  const FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (file.get() < 0) {
    return Error{
        fmt::format("{}: no temporary file can be made in {} ({}), expected a folder to "
                    "unpack the database into; set TMPDIR",
                    source.name(), EscapeForTerminal(folder), std::strerror(errno))};
  }
  Database database(source.name());
  const Status opened = database.Open(path, kOwn);
  ::unlink(path.c_str());
  if (!opened.ok()) return opened.error();
  const Result<std::int64_t> bytes = Spool(source, file.get(), folder, room.value(), by_header);
  if (!bytes.ok()) return bytes.error();
  return ReadDatabase(database, bytes.value(), by_header);
}

}  // namespace

bool LooksLikeNsysSqlite(std::string_view leading) {
  return leading.starts_with(kMagic);
}

Result<std::unique_ptr<ProfileReader>> OpenNsysSqlite(std::unique_ptr<ByteSource> source) {
  const Result<std::string_view> header = source->Peek(kHeaderBytes);
  if (!header.ok()) return header.error();
  if (header.value().size() < kHeaderBytes) {
    return CutShort(source->name(), static_cast<std::int64_t>(header.value().size()), 512);
  }
  const Status checked = CheckHeader(source->name(), header.value());
  if (!checked.ok()) return checked.error();
  const std::int64_t by_header = BytesByHeader(header.value());
  const std::string path = source->PlainPath();
  if (!path.empty()) return ReadPlainFile(source->name(), path, by_header);
  source = LimitUnpacking(std::move(source));
  return ReadSpooled(*source, by_header);
}

}  // namespace stemtap
