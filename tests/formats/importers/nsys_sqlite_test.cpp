// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_source.h"
#include "formats/importers/importers.h"
#include "model/profile.h"
#include "support/file_size_limit.h"
#include "support/shared_data.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

// Creates databases with the SQL statements of a test.
void Run(sqlite3* database, const std::string& sql) {
  char* message = nullptr;
  const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
  CAPTURE(sql);
  if (code != SQLITE_OK) FAIL(message);
}

void Make(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  Run(database, "PRAGMA synchronous = OFF; BEGIN; " + sql + "; COMMIT");
  sqlite3_close(database);
}

// The columns of 2019, without graphs and mangled names
const std::string kOld =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,"
    " correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,"
    " shortName INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,"
    " blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER);"
    "INSERT INTO StringIds VALUES (3, 'matmul(float *, int)'), (4, 'matmul'), (5, 'axpy(int)'),"
    " (6, 'axpy');";

std::string OldRow(std::int64_t start, std::int64_t end, int name = 3) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start) + "," +
         std::to_string(end) + ",0,1,7,11,281474976710656," + std::to_string(name) +
         ",4,10,20,30,16,8,4,1024,2048);";
}

// A few columns in a different order and case. All except three are optional.
const std::string kNew =
    "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "INSERT INTO StringIds VALUES (1, 'k<1>()'), (2, 'k'), (3, '_Zk');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (graphId INTEGER, graphNodeId INTEGER,"
    " mangledName INTEGER, shortName INTEGER, demangledName INTEGER, globalPid INTEGER,"
    " deviceId INTEGER, streamID INTEGER, \"end\" INTEGER, start INTEGER,"
    " tensorSizeMinusOneElements TEXT DEFAULT '[]', gridX INTEGER);";

std::string NewRow(const std::string& columns, const std::string& values) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (" + columns + ") VALUES (" + values + ");";
}

Result<model::Profile> Load(Result<std::unique_ptr<model::ProfileReader>> reader) {
  if (!reader.ok()) return reader.error();
  return model::LoadProfile(*reader.value());
}

Result<model::Profile> LoadFile(const std::filesystem::path& file) {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(file.string());
  REQUIRE(source.ok());
  const Result<std::string_view> leading = source.value()->Peek(4096);
  REQUIRE(leading.ok());
  CHECK(LooksLikeNsysSqlite(leading.value()));
  return Load(OpenDatabaseProfile(std::move(source).value(), Marks::kRead));
}

model::Profile MustLoad(const std::filesystem::path& file) {
  Result<model::Profile> profile = LoadFile(file);
  if (!profile.ok()) FAIL(profile.error().message);
  return std::move(profile).value();
}

// Returns the error without the directory, which differs between runs.
std::string ErrorOf(const std::filesystem::path& file) {
  const Result<model::Profile> profile = LoadFile(file);
  REQUIRE_FALSE(profile.ok());
  std::string message = profile.error().message;
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.find("expected") != std::string::npos);
  CHECK(profile.error().exit_code == 1);
  REQUIRE(message.starts_with(file.string() + ": "));
  return message.substr(file.string().size() + 2);
}

std::string ErrorOfMade(const std::string& sql) {
  const test::TempDir directory;
  const auto file = directory / "t.sqlite";
  Make(file, sql);
  return ErrorOf(file);
}

model::Profile MustLoadMade(const std::string& sql) {
  const test::TempDir directory;
  const auto file = directory / "t.sqlite";
  Make(file, sql);
  return MustLoad(file);
}

std::vector<std::string> Files(const test::TempDir& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Sets $TMPDIR for its lifetime.
class TmpDirSetting {
 public:
  explicit TmpDirSetting(const std::filesystem::path& directory) {
    if (const char* set = getenv("TMPDIR"); set != nullptr) before_ = set;
    setenv("TMPDIR", directory.c_str(), 1);
  }
  ~TmpDirSetting() {
    if (before_) {
      setenv("TMPDIR", before_->c_str(), 1);
    } else {
      unsetenv("TMPDIR");
    }
  }
  TmpDirSetting(const TmpDirSetting&) = delete;
  TmpDirSetting& operator=(const TmpDirSetting&) = delete;

 private:
  std::optional<std::string> before_;
};

bool Ends(const std::string& text, std::string_view end) {
  return text.ends_with(end);
}

TEST_CASE("every column of an old schema is read, in start order") {
  const model::Profile profile = MustLoadMade(kOld + OldRow(500, 900, 5) + OldRow(100, 350));
  CHECK(profile.warnings.empty());
  REQUIRE(profile.records.size() == 2);
  const shm::KernelRecord& first = profile.records[0];
  CHECK(first.start_ns == 0);
  CHECK(first.duration_ns == 250);
  CHECK(first.device == 0);
  CHECK(first.stream == 7);
  CHECK(first.correlation_id == 11);
  CHECK(first.grid[0] == 10);
  CHECK(first.grid[1] == 20);
  CHECK(first.grid[2] == 30);
  CHECK(first.block[0] == 16);
  CHECK(first.block[1] == 8);
  CHECK(first.block[2] == 4);
  CHECK(first.shared_bytes == 3072);
  CHECK(first.graph_id == 0);
  CHECK(first.graph_node == 0);
  CHECK(profile.names.name(first.name_id) == "matmul(float *, int)");
  CHECK(profile.records[1].start_ns == 400);
  CHECK(profile.records[1].duration_ns == 400);
  CHECK(profile.names.name(profile.records[1].name_id) == "axpy(int)");
}

TEST_CASE("columns are found by name, and most may be missing or empty") {
  const model::Profile profile = MustLoadMade(
      kNew + NewRow("start,end,demangledName,streamId,gridX", "10,20,1,9,3") +
      NewRow("start,end,shortName", "30,40,2") + NewRow("start,end,mangledName", "50,60,3"));
  CHECK(profile.warnings.empty());
  REQUIRE(profile.records.size() == 3);
  const shm::KernelRecord& first = profile.records[0];
  CHECK(first.stream == 9);
  CHECK(first.grid[0] == 3);
  CHECK(first.grid[1] == shm::kUnknownExtent);
  CHECK(first.block[0] == shm::kUnknownExtent);
  CHECK(first.device == shm::kUnknown16);
  CHECK(first.shared_bytes == shm::kUnknown32);
  CHECK(profile.records[1].stream == shm::kUnknown32);
  CHECK(profile.names.name(first.name_id) == "k<1>()");
  CHECK(profile.names.name(profile.records[1].name_id) == "k");
  CHECK(profile.names.name(profile.records[2].name_id) == "_Zk");
}

TEST_CASE("kernels of a graph have a graph and a node") {
  const std::string base = "start,end,demangledName,";
  const model::Profile profile = MustLoadMade(
      kNew + NewRow(base + "graphId,graphNodeId", "1,2,1,8,34359738371") +
      NewRow(base + "graphNodeId", "3,4,1,34359738372") +  // 8 * 2^32 + 4
      NewRow(base + "graphNodeId", "5,6,1,17") + NewRow(base + "graphId,graphNodeId", "7,8,1,0,0") +
      NewRow(base + "gridX", "9,10,1,1"));
  REQUIRE(profile.records.size() == 5);
  CHECK(profile.records[0].graph_id == 8);
  CHECK(profile.records[0].graph_node == 3);
  CHECK(profile.records[1].graph_id == 8);
  CHECK(profile.records[1].graph_node == 4);
  CHECK(profile.records[2].graph_id == 1);
  CHECK(profile.records[2].graph_node == 17);
  CHECK(profile.records[3].graph_id == 0);
  CHECK(profile.records[4].graph_id == 0);
  CHECK(profile.warnings.empty());
}

TEST_CASE("graphs that were recorded as a whole are reported") {
  const std::string graphs = "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER);";
  const std::string two = "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1), (2);";
  const model::Profile profile = MustLoadMade(kOld + OldRow(1, 2) + graphs + two);
  REQUIRE(profile.warnings.size() == 1);
  CHECK(Ends(profile.warnings[0],
             "2 launches of CUDA graphs were recorded as a whole, without kernels; record "
             "with --cuda-graph-trace=node to include them"));
  CHECK(MustLoadMade(kOld + OldRow(1, 2) + graphs).warnings.empty());
  CHECK(ErrorOfMade("CREATE TABLE StringIds (id, value);" + graphs + two) ==
        "contains launches of CUDA graphs as a whole (CUPTI_ACTIVITY_KIND_GRAPH_TRACE) and no "
        "kernels; expected a capture by 'nsys profile --trace=cuda --cuda-graph-trace=node'");
}

TEST_CASE("two processes with separate correlation ids are read") {
  const std::string base = "start,end,demangledName,deviceId,globalPid";
  const std::string apart = NewRow(base, "30,40,1,1,200") + NewRow(base, "10,20,1,0,100");
  const model::Profile profile = MustLoadMade(kNew + apart);
  REQUIRE(profile.records.size() == 2);
  CHECK(profile.records[0].device == 0);
  CHECK(profile.records[1].device == 1);
  CHECK(profile.warnings.empty());
  const model::Profile mixed = MustLoadMade(kNew + apart + NewRow(base, "50,60,1,1,100"));
  REQUIRE(mixed.records.size() == 3);
  CHECK(mixed.records[0].device == 0);  // of process 100
  CHECK(mixed.records[1].device == 2);  // of process 200, whose GPU 1 may be a different GPU
  CHECK(mixed.records[2].device == 1);
  REQUIRE(mixed.warnings.size() == 1);
  CHECK(Ends(mixed.warnings[0],
             "2 processes use the same device ordinals, which may be different GPUs; devices are "
             "renumbered per process, 0 to 2"));
  const std::string numbered = base + ",correlationId,streamId";
  const model::Profile own = MustLoadMade(
      kNew + "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN correlationId INTEGER;" +
      NewRow(numbered, "10,20,1,0,100,8,1") + NewRow(numbered, "15,25,1,1,200,7,1") +
      NewRow(numbered, "30,40,1,0,100,5,2"));
  REQUIRE(own.records.size() == 3);
  CHECK(own.records[0].correlation_id == 5);
  CHECK(own.records[1].correlation_id == 7);
  CHECK(own.records[2].correlation_id == 8);
}

TEST_CASE("a table without rows is a profile without invocations") {
  CHECK(MustLoadMade(kOld).records.empty());
}

TEST_CASE("starts before the origin of the clock are read") {
  const model::Profile profile = MustLoadMade(kOld + OldRow(5, 6) + OldRow(-10, -7));
  REQUIRE(profile.records.size() == 2);
  CHECK(profile.records[0].duration_ns == 3);
  CHECK(profile.records[1].start_ns == 15);
}

TEST_CASE("rows without usable times are launches of 0 ns and are counted") {
  const std::string base = "start,end,demangledName";
  const model::Profile profile = MustLoadMade(
      kNew + NewRow(base, "10,20,1") + NewRow(base, "NULL,20,1") + NewRow(base, "15,NULL,1") +
      NewRow(base, "0,0,1") + NewRow(base, "30,29,1") + NewRow(base, "30,30,1"));
  REQUIRE(profile.records.size() == 6);
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(profile.records[i].start_ns == shm::kUnknownTime);
    CHECK(profile.records[i].duration_ns == 0);
  }
  CHECK(profile.records[0].duration_ns == 10);
  CHECK(profile.records[5].start_ns == 20);
  REQUIRE(profile.warnings.size() == 2);
  CHECK(Ends(profile.warnings[0],
             "row 2 of CUPTI_ACTIVITY_KIND_KERNEL has no start or no end (3 such rows); counted "
             "with 0 ns"));
  CHECK(Ends(profile.warnings[1],
             "row 5 of CUPTI_ACTIVITY_KIND_KERNEL ends before it starts (1 such row); counted "
             "with 0 ns"));
}

TEST_CASE("cells with text or impossible numbers are errors with their row") {
  const std::string base = "start,end,demangledName";
  const std::string fine = kNew + NewRow(base, "10,20,1");
  const std::string at = "row 2 of CUPTI_ACTIVITY_KIND_KERNEL: ";
  CHECK(ErrorOfMade(fine + NewRow(base, "'soon',20,1")) ==
        at + "start is text; expected a whole number from -4611686018427387903 to "
             "4611686018427387903");
  CHECK(ErrorOfMade(fine + NewRow(base, "10,20.5,1")).starts_with(at + "end is a fraction;"));
  CHECK(ErrorOfMade(fine + NewRow(base, "10,x'00',1")).starts_with(at + "end is bytes;"));
  CHECK(ErrorOfMade(fine + NewRow(base, "10,9223372036854775807,1"))
            .starts_with(at + "end is 9223372036854775807;"));
  CHECK(ErrorOfMade(fine + NewRow(base, "10,20,99")) ==
        at + "demangledName is 99; expected an id in StringIds");
  CHECK(ErrorOfMade(fine + NewRow(base, "10,20,'k'")).starts_with(at + "demangledName is text;"));
  CHECK(ErrorOfMade(fine + NewRow(base, "10,20,NULL")).starts_with(at + "no name;"));
  CHECK(ErrorOfMade(fine + "INSERT INTO StringIds VALUES (7, '');" + NewRow(base, "10,20,7")) ==
        at + "demangledName is 7, which has no text in StringIds; expected the name of a kernel");
  CHECK(ErrorOfMade(fine + NewRow(base + ",deviceId", "10,20,1,-1")) ==
        at + "deviceId is -1; expected a whole number from 0 to 65534");
  CHECK(ErrorOfMade(fine + NewRow(base + ",deviceId", "10,20,1,65535"))
            .starts_with(at + "deviceId is 65535;"));
  CHECK(ErrorOfMade(fine + NewRow(base + ",gridX", "10,20,1,4294967296"))
            .starts_with(at + "gridX is 4294967296;"));
  CHECK(ErrorOfMade(fine + NewRow(base + ",streamId", "10,20,1,4294967295"))
            .starts_with(at + "streamId is 4294967295;"));
  CHECK(ErrorOfMade(kOld + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2,0,0,0,0,0,3,4,1,1,1,"
                           "65536,1,1,0,0)")
            .starts_with("row 1 of CUPTI_ACTIVITY_KIND_KERNEL: blockX is 65536;"));
  CHECK(ErrorOfMade(kOld + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2,0,0,0,0,0,3,4,1,1,1,"
                           "1,1,1,2147483647,0)")
            .starts_with("row 1 of CUPTI_ACTIVITY_KIND_KERNEL: staticSharedMemory is 2147483647;"));
}

TEST_CASE("names beyond the limit are truncated, and gigantic names are an error") {
  const std::string base = "start,end,demangledName";
  const model::Profile cut =
      MustLoadMade(kNew + "INSERT INTO StringIds VALUES (9, printf('%.*c', 20000, 'x'));" +
                   NewRow(base, "1,2,9"));
  REQUIRE(cut.records.size() == 1);
  CHECK(cut.names.name(cut.records[0].name_id).size() == shm::kMaxNameBytes);
  CHECK(cut.warnings.size() == 1);
  CHECK(ErrorOfMade(kNew + "INSERT INTO StringIds VALUES (9, printf('%.*c', 20000000, 'x'));" +
                    NewRow(base, "1,2,9"))
            .starts_with("SQLite cannot read it (string or blob too big)"));
}

TEST_CASE("other databases are rejected with the missing tables or columns") {
  CHECK(ErrorOfMade("CREATE TABLE people (name TEXT)") ==
        "is an SQLite database of an unknown tool; expected one made by 'nsys export --type sqlite "
        "report.nsys-rep' or by rocprofv3");
  CHECK(ErrorOfMade("CREATE TABLE StringIds (id, value)") ==
        "an Nsight Systems export without kernels (no table CUPTI_ACTIVITY_KIND_KERNEL); expected "
        "a capture by 'nsys profile --trace=cuda' of a program that runs kernels");
  const std::string kernels =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER);";
  CHECK(ErrorOfMade(kernels) == "no table StringIds; expected the names of the kernels in it");
  const std::string names = "CREATE TABLE StringIds (id, value);";
  CHECK(ErrorOfMade(names + "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, shortName)") ==
        "no column end in CUPTI_ACTIVITY_KIND_KERNEL; expected a table as 'nsys export' writes it");
  CHECK(ErrorOfMade(names + "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER)")
            .starts_with("no column demangledName in CUPTI_ACTIVITY_KIND_KERNEL;"));
}

TEST_CASE("names are found in a table without an index") {
  const model::Profile profile = MustLoadMade(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER);"
      "CREATE TABLE StringIds (id INTEGER, value TEXT);"
      "INSERT INTO StringIds VALUES (2, 'b'), (1, 'a');"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 1), (3, 4, 2)");
  REQUIRE(profile.records.size() == 2);
  CHECK(profile.names.name(profile.records[0].name_id) == "a");
  CHECK(profile.names.name(profile.records[1].name_id) == "b");
}

TEST_CASE("SQL code that a hostile database stores is not executed") {
  const std::string names =
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'k');";
  // A view with infinitely many rows
  CHECK(ErrorOfMade(names +
                    "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE r(n) AS (SELECT 1 "
                    "UNION ALL SELECT n + 1 FROM r) SELECT n AS start, n + 1 AS end, 1 AS "
                    "demangledName FROM r") ==
        "CUPTI_ACTIVITY_KIND_KERNEL is a view or a virtual table; expected a table as 'nsys "
        "export' writes it");
  const std::string kernels =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 1);";
  CHECK(ErrorOfMade(kernels + "CREATE VIEW StringIds AS SELECT 1 AS id, 'k' AS value")
            .starts_with("StringIds is a view or a virtual table;"));
  CHECK(ErrorOfMade(kernels + "CREATE VIRTUAL TABLE StringIds USING fts5(id, value)")
            .starts_with("StringIds is a view or a virtual table;"));
  // Computed columns
  CHECK(ErrorOfMade("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT AS "
                    "(printf('%.*c', 1000, 'x')));" +
                    kernels + "INSERT INTO StringIds (id) VALUES (1)") ==
        "the column value of StringIds is computed; expected a table as a profiler writes it");
}

TEST_CASE("a database truncated at any byte is an error") {
  const test::TempDir directory;
  const auto whole = directory / "whole.sqlite";
  std::string sql = kOld;
  for (int i = 0; i < 500; ++i) sql += OldRow(i, i + 1);
  Make(whole, sql);
  const std::string content = test::ReadFile(whole);
  REQUIRE(content.size() > 20000);
  for (std::size_t size :
       {std::size_t{16}, std::size_t{99}, std::size_t{100}, std::size_t{4096}, std::size_t{5000},
        std::size_t{8192}, content.size() - 4096, content.size() - 1}) {
    CAPTURE(size);
    CHECK(ErrorOf(directory.Write("cut.sqlite", content.substr(0, size)))
              .starts_with("truncated, " + std::to_string(size) + " bytes"));
    // The same content is read through a pipe.
    const std::string part = content.substr(0, size);
    const Result<model::Profile> piped = Load(
        OpenDatabaseProfile(std::make_unique<MemorySource>("standard input", part), Marks::kRead));
    REQUIRE_FALSE(piped.ok());
    CHECK(piped.error().message.starts_with("standard input: truncated, " + std::to_string(size)));
  }
  CHECK(MustLoad(whole).records.size() == 500);
}

TEST_CASE("damaged pages give an error or other numbers and do not crash") {
  const test::TempDir directory;
  const auto whole = directory / "whole.sqlite";
  std::string sql = kOld;
  for (int i = 0; i < 300; ++i) sql += OldRow(i, i + 1, 3 + 2 * (i % 2));
  Make(whole, sql);
  const std::string content = test::ReadFile(whole);
  // Every missing page is detected.
  for (std::size_t page = 1; page < content.size() / 4096; ++page) {
    std::string damaged = content;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(page * 4096), 4096, '\xFF');
    CAPTURE(page);
    CHECK_FALSE(LoadFile(directory.Write("page.sqlite", damaged)).ok());
  }
  // Changes single bytes after the magic number.
  std::uint64_t state = 1;
  const auto random = [&] {
    return (state = state * 6364136223846793005U + 1442695040888963407U) >> 33;
  };
  for (int run = 0; run < 300; ++run) {
    std::string damaged = content;
    for (int i = 0; i < 4; ++i) {
      damaged[16 + random() % (damaged.size() - 16)] = static_cast<char>(random());
    }
    const Result<model::Profile> profile = LoadFile(directory.Write("bytes.sqlite", damaged));
    if (!profile.ok()) {
      CHECK(profile.error().message.find('\n') == std::string::npos);
    } else {
      CHECK(profile.value().records.size() <= content.size() / 8);
    }
  }
}

TEST_CASE("pages that refer to the same pages repeatedly are read in limited time") {
  const test::TempDir directory;
  const auto file = directory / "t.sqlite";
  std::string sql = "PRAGMA page_size = 512; PRAGMA synchronous = OFF; BEGIN;" + kOld;
  for (int i = 0; i < 4000; ++i) sql += OldRow(i, i + 1);
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  Run(database, sql + "COMMIT");
  sqlite3_close(database);
  std::string content = test::ReadFile(file);
  std::vector<std::size_t> inner;  // interior pages of the kernel table's tree, root first
  for (std::size_t page = 512; page + 512 <= content.size(); page += 512) {
    if (content[page] == 5) inner.push_back(page);
  }
  REQUIRE(inner.size() > 4);
  // Points every cell of a page at the next page: each level multiplies the rows by 60.
  for (std::size_t i = 0; i + 1 < inner.size(); ++i) {
    const std::size_t page = inner[i];
    const auto short_at = [&](std::size_t at) {
      return static_cast<std::size_t>(static_cast<unsigned char>(content[page + at])) << 8 |
             static_cast<unsigned char>(content[page + at + 1]);
    };
    const std::size_t next = inner[i + 1] / 512 + 1;
    const std::string child = {0, 0, static_cast<char>(next >> 8), static_cast<char>(next & 0xFF)};
    for (std::size_t cell = 0; cell < short_at(3); ++cell) {
      content.replace(page + short_at(12 + 2 * cell), 4, child);
    }
    content.replace(page + 8, 4, child);
  }
  const std::string message = ErrorOf(directory.Write("loop.sqlite", content));
  CAPTURE(message);
  CHECK(message.find("more rows than fit into the file") != std::string::npos);
}

TEST_CASE("compressed content is unpacked, and no file remains") {
  const test::TempDir directory;
  const auto file = directory / "t.sqlite";
  Make(file, kOld + OldRow(1, 5));
  const std::string content = test::ReadFile(file);
  const test::TempDir scratch;
  const TmpDirSetting setting(scratch.path());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{4096}, kReadBytes}) {
    const Result<model::Profile> profile = Load(OpenDatabaseProfile(
        std::make_unique<MemorySource>("standard input", content, piece), Marks::kRead));
    if (!profile.ok()) FAIL(profile.error().message);
    CHECK(profile.value().records.size() == 1);
  }
  CHECK(Files(scratch).empty());

  // A limit on the file size simulates a full disk.
  const Result<model::Profile> full = [&] {
    const test::FileSizeLimit limit(4096);
    return Load(OpenDatabaseProfile(std::make_unique<MemorySource>("standard input", content),
                                    Marks::kRead));
  }();
  REQUIRE_FALSE(full.ok());
  CHECK(full.error().message == "standard input: the database cannot be unpacked into " +
                                    scratch.path().string() +
                                    " (after 4096 bytes: File too large); expected room there; set "
                                    "TMPDIR to another directory, or unpack it to a plain file");
  CHECK(Files(scratch).empty());

  const TmpDirSetting nowhere(scratch / "none");
  const Result<model::Profile> none = Load(
      OpenDatabaseProfile(std::make_unique<MemorySource>("standard input", content), Marks::kRead));
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().message.find("no temporary file can be made in") != std::string::npos);
}

TEST_CASE("a plain file is not modified for any journal mode and name") {
  const test::TempDir directory;
  const auto file = directory / "a b%20?#&.sqlite";
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  Run(database, "PRAGMA journal_mode = WAL;" + kOld + OldRow(1, 5));
  SUBCASE("closed: the file is complete") {
    sqlite3_close(database);
    const std::string content = test::ReadFile(file);
    CHECK(MustLoad(file).records.size() == 1);
    CHECK(test::ReadFile(file) == content);
    CHECK(Files(directory) == std::vector<std::string>{file.filename().string()});
    const Result<model::Profile> piped = Load(OpenDatabaseProfile(
        std::make_unique<MemorySource>("standard input", content), Marks::kRead));
    if (!piped.ok()) FAIL(piped.error().message);
    CHECK(piped.value().records.size() == 1);
  }
  SUBCASE("open: part of the content is in the log") {
    CHECK(ErrorOf(file).starts_with("is being written, or its writer was stopped ("));
    sqlite3_close(database);
  }
}

// A program with two processes. Their launch calls begin at 100 times the correlation id; the
// kernels, which start 50 later, are of the first process up to id 20.
const std::string kCalls = [] {
  std::string sql = kOld +
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL,"
                    " end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER);"
                    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER,"
                    " eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER,"
                    " domainId INTEGER);"
                    "INSERT INTO StringIds VALUES (40, 'shared');";
  return sql;
}();

constexpr std::int64_t kProcess = std::int64_t{7} << 24;

std::string Launch(int id, std::int64_t thread = 1, std::int64_t process = kProcess) {
  const std::string at = std::to_string(100 * id);
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + at + " + 50," + at + " + 60,0,1,7," +
         std::to_string(id) + "," + std::to_string(process) +
         ",3,4,1,1,1,1,1,1,0,0);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" +
         at + "," + at + " + 5," + std::to_string(process + thread) + "," + std::to_string(id) +
         ");";
}

// `text`: SQL of the columns text, globalTid, textId and domainId.
std::string Nvtx(const std::string& start, const std::string& end, int type,
                 const std::string& text) {
  return "INSERT INTO NVTX_EVENTS VALUES (" + start + "," + end + "," + std::to_string(type) + "," +
         text + ");";
}

std::string OnThread(const std::string& text, std::int64_t thread = 1, int domain = 0,
                     std::int64_t process = kProcess) {
  return "'" + text + "'," + std::to_string(process + thread) + ",NULL," + std::to_string(domain);
}

std::vector<std::string> RangesOf(const std::string& sql) {
  const model::Profile profile = MustLoadMade(sql);
  std::vector<std::string> ranges;
  for (const shm::KernelRecord& record : profile.records) {
    ranges.emplace_back(profile.names.range(record.name_id));
  }
  const bool any = std::any_of(ranges.begin(), ranges.end(),
                               [](const std::string& range) { return !range.empty(); });
  CHECK(profile.marks.ranges == any);
  CHECK(profile.steps.empty());
  return ranges;
}

using Ranges = std::vector<std::string>;

TEST_CASE("a launch is in the push/pop ranges of its thread that are open at its call") {
  // Rows in any order; a range that ends as a call begins does not enclose it.
  const std::string sql = kCalls + Nvtx("150", "250", 59, OnThread("inner")) +
                          Nvtx("100", "300", 59, OnThread("outer")) +
                          Nvtx("0", "900", 59, OnThread("other thread", 2)) +
                          Nvtx("0", "900", 59, OnThread("other process", 1, 0, kProcess * 2)) +
                          Nvtx("0", "900", 34, OnThread("mark")) +
                          Nvtx("400", "NULL", 59, OnThread("endless"));
  CHECK(RangesOf(sql + Launch(1) + Launch(2) + Launch(3) + Launch(4) + Launch(5)) ==
        Ranges{"outer", "outer/inner", "", "endless", "endless"});
}

TEST_CASE("outside of push/pop ranges, the last start/end range of the process counts") {
  const std::string sql = kCalls + Nvtx("0", "350", 60, OnThread("first")) +
                          Nvtx("150", "450", 60, OnThread("second", 9)) +
                          Nvtx("500", "600", 60, OnThread("elsewhere", 1, 0, kProcess * 2)) +
                          Nvtx("250", "350", 59, OnThread("pushed"));
  CHECK(RangesOf(sql + Launch(1) + Launch(2, 2) + Launch(3) + Launch(4) + Launch(5)) ==
        Ranges{"first", "second", "pushed", "second", ""});
}

TEST_CASE("names of ranges have domains, registered texts and limits as in a live run") {
  const std::string thread = std::to_string(kProcess + 1);
  const std::string sql = kCalls + Nvtx("0", "NULL", 75, OnThread("lib", 1, 3)) +
                          Nvtx("0", "NULL", 75, OnThread(std::string(100, 'd'), 1, 4)) +
                          Nvtx("50", "150", 59, OnThread("gemm", 1, 3)) +
                          Nvtx("150", "250", 59, "NULL," + thread + ",40,NULL") +
                          Nvtx("250", "350", 59, "NULL," + thread + ",NULL,0") +
                          Nvtx("350", "450", 59, "NULL," + thread + ",41,0") +
                          Nvtx("450", "550", 59, OnThread("no creation", 1, 9)) +
                          Nvtx("550", "650", 59, OnThread(std::string(300, 'x'), 1, 4)) +
                          Nvtx("650", "750", 59, OnThread(std::string(249, 'y') + "\xC3\xA4"));
  CHECK(RangesOf(sql + Launch(1) + Launch(2) + Launch(3) + Launch(4) + Launch(5) + Launch(6) +
                 Launch(7)) == Ranges{"lib:gemm", "shared", "(unnamed)", "(unnamed)", "no creation",
                                      std::string(64, 'd') + ":" + std::string(185, 'x'),
                                      std::string(249, 'y')});
}

TEST_CASE("names of ranges do not contain the numbers that emit_nvtx appends") {
  const std::string thread = std::to_string(kProcess + 1);
  const std::string sql = kCalls + "INSERT INTO StringIds VALUES (41, 'aten::mm, op_id = 7');" +
                          Nvtx("0", "NULL", 75, OnThread("lib", 1, 3)) +
                          Nvtx("50", "150", 59, OnThread("aten::mm, seq = 1, op_id = 2")) +
                          Nvtx("150", "250", 59, OnThread("aten::mm, seq = 3, sizes = [[2]]")) +
                          Nvtx("250", "350", 59, "NULL," + thread + ",41,0") +
                          Nvtx("350", "450", 59, OnThread("aten::mm, op_id = 4", 1, 3)) +
                          Nvtx("450", "550", 59, OnThread("f(a, b)"));
  CHECK(RangesOf(sql + Launch(1) + Launch(2) + Launch(3) + Launch(4) + Launch(5)) ==
        Ranges{"aten::mm", "aten::mm", "aten::mm", "lib:aten::mm", "f(a, b)"});
}

TEST_CASE("equal ranges nest in the order of their rows") {
  const std::string sql =
      kCalls + Nvtx("50", "150", 59, OnThread("b")) + Nvtx("50", "150", 59, OnThread("a")) +
      Nvtx("150", "250", 59, OnThread("a")) + Nvtx("150", "250", 59, OnThread("b"));
  CHECK(RangesOf(sql + Launch(1) + Launch(2)) == Ranges{"b/a", "a/b"});
}

TEST_CASE("kernels of one call share its ranges, whatever the order of the calls is") {
  const std::string again = Launch(2).substr(0, Launch(2).find(';') + 1);
  const std::string sql =
      kCalls + Nvtx("150", "250", 59, OnThread("two")) + Nvtx("250", "350", 59, OnThread("three"));
  CHECK(RangesOf(sql + Launch(3) + Launch(2) + again + again + Launch(1)) ==
        Ranges{"", "two", "two", "two", "three"});
}

TEST_CASE("an export is read without its calls and ranges if they are not wanted") {
  const test::TempDir directory;
  const std::filesystem::path file = directory / "t.sqlite";
  Make(file, kCalls + Nvtx("0", "900", 59, OnThread("r")) + Launch(1) +
                 Nvtx("'damaged'", "900", 59, OnThread("r")));
  const auto source = [&] { return OpenByteSource(file.string()).value(); };
  CHECK_FALSE(OpenDatabaseProfile(source(), Marks::kRead).ok());
  const Result<model::Profile> profile = Load(OpenDatabaseProfile(source(), Marks::kSkip));
  REQUIRE(profile.ok());
  CHECK(profile.value().records.size() == 1);
  CHECK(profile.value().marks == model::ProfileMarks());
}

TEST_CASE("paths that are too long, and ranges beyond the limits, are (other)") {
  std::string sql = kCalls;
  for (int i = 0; i < 5; ++i) {
    sql += Nvtx(std::to_string(10 + i), "150", 59, OnThread(std::string(250, 'a')));
  }
  for (int i = 0; i < 513; ++i) sql += Nvtx("160", "250", 59, OnThread("b"));
  for (int i = 0; i < 65; ++i) {
    sql += Nvtx(std::to_string(300 + i), i == 64 ? "450" : "550", 60,
                OnThread("started " + std::to_string(i)));
  }
  CHECK(RangesOf(sql + Launch(1) + Launch(2) + Launch(3) + Launch(4) + Launch(5)) ==
        Ranges{"(other)", "(other)", "started 0", "(other)", "started 63"});
}

TEST_CASE("an export of more paths than the limit has the range (other)") {
  std::string sql = kCalls;
  constexpr int kLaunches = 4200;
  for (int id = 1; id <= kLaunches; ++id) {
    sql += Launch(id) + Nvtx(std::to_string(100 * id - 1), std::to_string(100 * id + 1), 59,
                             OnThread("op " + std::to_string(id)));
  }
  const Ranges ranges = RangesOf(sql);
  CHECK(ranges[4095] == "op 4096");
  CHECK(std::count(ranges.begin(), ranges.end(), "(other)") == kLaunches - 4096);
}

TEST_CASE("launches of several processes have their own ranges") {
  const std::string sql = kCalls + Nvtx("0", "900", 59, OnThread("first")) +
                          Nvtx("0", "900", 59, OnThread("second", 1, 0, kProcess * 2));
  CHECK(RangesOf(sql + Launch(1) + Launch(2, 1, kProcess * 2)) == Ranges{"first", "second"});
}

TEST_CASE("an export without calls, ranges or their columns has no ranges") {
  const std::string range = Nvtx("0", "900", 59, OnThread("r"));
  CHECK(RangesOf(kCalls + range + Launch(1)) == Ranges{"r"});
  CHECK(RangesOf(kCalls + Launch(1)) == Ranges{""});
  CHECK(RangesOf(kCalls + range + Launch(1) + "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME;") ==
        Ranges{""});
  CHECK(RangesOf(kCalls + range + Launch(1) + "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;") ==
        Ranges{""});
  CHECK(RangesOf(kCalls + range + Launch(1) +
                 "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME RENAME TO CUPTI_ACTIVITY_KIND_DRIVER;") ==
        Ranges{"r"});
  CHECK(RangesOf(kCalls + range + Launch(1) +
                 "ALTER TABLE NVTX_EVENTS RENAME COLUMN eventType TO other;") == Ranges{""});
  CHECK(RangesOf(kCalls + range + Launch(1) +
                 "ALTER TABLE NVTX_EVENTS RENAME TO hidden;"
                 "CREATE VIEW NVTX_EVENTS AS SELECT * FROM hidden;") == Ranges{""});
  CHECK(RangesOf(kCalls + range + Launch(1) +
                 "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = NULL;") == Ranges{""});
}

TEST_CASE("bad cells of ranges and calls are errors with their row") {
  const std::string good = kCalls + Nvtx("0", "900", 59, OnThread("r")) + Launch(1);
  CHECK(ErrorOfMade(good + Nvtx("'x'", "900", 59, OnThread("r"))).find("row 2 of NVTX_EVENTS") ==
        0);
  CHECK(ErrorOfMade(good + "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = 1.5;")
            .find("row 1 of CUPTI_ACTIVITY_KIND_RUNTIME: start is a fraction") == 0);
}

// Compares each export with the canonical profile of the same name.
TEST_CASE("recorded exports equal their canonical profiles") {
  for (const std::string name : {"assignment_bg_r19", "cloverleaf_nsys", "gtls_transit_search_a",
                                 "nsysai_mfu_2gpu_before"}) {
    CAPTURE(name);
    const auto native = SharedPath("data/native/nsys-sqlite/" + name + ".sqlite.gz");
    const auto canonical = SharedPath("data/profiles/" + name + ".csv.gz");
    STEMTAP_SKIP_WITHOUT(native);
    STEMTAP_SKIP_WITHOUT(canonical);
    const model::Profile profile = MustLoad(native);
    Result<std::unique_ptr<ByteSource>> source = OpenByteSource(canonical.string());
    REQUIRE(source.ok());
    const Result<model::Profile> expected = Load(OpenCanonicalCsv(std::move(source).value()));
    REQUIRE(expected.ok());
    CHECK(profile.warnings.empty());
    REQUIRE(profile.records.size() == expected.value().records.size());
    REQUIRE(profile.names.CountWithoutRanges() == expected.value().names.size());
    // The profiles are older than ranges. One export has ranges of emit_nvtx.
    CHECK(profile.marks.ranges == (name == "nsysai_mfu_2gpu_before"));
    std::size_t different = 0;
    for (std::size_t i = 0; i < profile.records.size(); ++i) {
      const shm::KernelRecord& a = profile.records[i];
      const shm::KernelRecord& b = expected.value().records[i];
      different +=
          !(a.start_ns == b.start_ns && a.duration_ns == b.duration_ns && a.device == b.device &&
            a.stream == b.stream && std::equal(a.grid, a.grid + 3, b.grid) &&
            std::equal(a.block, a.block + 3, b.block) && a.shared_bytes == b.shared_bytes &&
            a.graph_id == b.graph_id &&
            profile.names.name(a.name_id) == expected.value().names.name(b.name_id));
    }
    CHECK(different == 0);
  }
}

}  // namespace
}  // namespace stemtap::formats
