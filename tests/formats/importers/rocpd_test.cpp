// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "formats/importers/database.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

void Make(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  char* message = nullptr;
  CAPTURE(sql);
  const int code =
      sqlite3_exec(database, ("PRAGMA synchronous = OFF; BEGIN; " + sql + "; COMMIT").c_str(),
                   nullptr, nullptr, &message);
  if (code != SQLITE_OK) FAIL(message);
  sqlite3_close(database);
}

Result<model::Profile> LoadMade(const std::string& sql) {
  const test::TempDir directory;
  Make(directory / "t.db", sql);
  Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile((directory / "t.db").string());
  if (!reader.ok()) return reader.error();
  return model::LoadProfile(*reader.value());
}

model::Profile MustLoad(const std::string& sql) {
  Result<model::Profile> profile = LoadMade(sql);
  if (!profile.ok()) FAIL(profile.error().message);
  return std::move(profile).value();
}

void CheckError(const std::string& sql, std::string_view part) {
  const Result<model::Profile> profile = LoadMade(sql);
  REQUIRE_FALSE(profile.ok());
  CAPTURE(profile.error().message);
  CHECK(profile.error().message.find(part) != std::string::npos);
  CHECK(profile.error().message.find("expected") != std::string::npos);
  CHECK(profile.error().message.find('\n') == std::string::npos);
  CHECK(profile.error().exit_code == 1);
}

const std::string& NameOf(const model::Profile& profile, std::size_t row) {
  return profile.names.name(profile.records[row].name_id);
}

// Returns the relevant ROCm 7 tables of the recording `id`.
std::string Tables(const std::string& id) {
  return "CREATE TABLE rocpd_info_agent" + id +
         " (id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, type TEXT,"
         " absolute_index INTEGER, type_index INTEGER);"
         "CREATE TABLE rocpd_info_kernel_symbol" +
         id +
         " (id INTEGER PRIMARY KEY, guid TEXT, kernel_name TEXT, display_name TEXT);"
         "CREATE TABLE rocpd_kernel_dispatch" +
         id +
         " (id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER,"
         " agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER,"
         " stream_id INTEGER, start BIGINT, end BIGINT, group_segment_size INTEGER,"
         " workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER,"
         " grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER,"
         " graph_exec_id INTEGER);"
         "INSERT INTO rocpd_info_agent" +
         id +
         " VALUES (0, 'g', 1, 2, 'CPU', 0, 0), (4, 'g', 1, 2, 'GPU', 4, 0),"
         " (5, 'g', 1, 2, 'GPU', 5, 1);"
         "INSERT INTO rocpd_info_kernel_symbol" +
         id +
         " VALUES (7, 'g', '_Z3addPf.kd', 'add(float*)'), (8, 'g', '_Z3mulPf.kd', ''),"
         " (9, 'g', NULL, NULL);";
}

// Returns dispatch number `dispatch` of `kernel` on `agent` and `stream` by process `pid` on
// `node`.
std::string Dispatch(const std::string& id, int dispatch, int kernel, int agent, int stream,
                     std::int64_t start, std::int64_t end, int pid = 2, int node = 1) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  return "INSERT INTO rocpd_kernel_dispatch" + id +
         " (guid, nid, pid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end,"
         " group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z,"
         " grid_size_x, grid_size_y, grid_size_z) VALUES ('g', " +
         text(node) + "," + text(pid) + "," + text(agent) + "," + text(kernel) + "," +
         text(dispatch) + ",1," + text(stream) + "," + text(start) + "," + text(end) +
         ",512,64,2,1,640,5,1);";
}

const std::string kId = "_0192f0a1_7c3e_7000_8000_000000000001";

TEST_CASE("rocpd: names, durations, devices, streams, extents and launch order are read") {
  const model::Profile profile = MustLoad(Tables(kId) + Dispatch(kId, 2, 8, 5, 3, 1000, 1450) +
                                          Dispatch(kId, 1, 7, 4, 2, 1100, 1350));
  REQUIRE(profile.records.size() == 2);
  const shm::KernelRecord& first = profile.records[0];  // dispatched first but starts later
  CHECK(NameOf(profile, 0) == "add(float*)");
  CHECK(first.start_ns == 100);
  CHECK(first.duration_ns == 250);
  CHECK(first.device == 0);
  CHECK(first.stream == 2);
  CHECK(first.shared_bytes == 512);
  CHECK(first.block[0] == 64);
  CHECK(first.block[1] == 2);
  CHECK(first.grid[0] == 10);
  CHECK(first.grid[1] == 3);  // 5 work-items in groups of 2
  CHECK(first.grid[2] == 1);
  CHECK(first.graph_id == 0);
  CHECK(NameOf(profile, 1) == "_Z3mulPf");
  CHECK(profile.records[1].start_ns == 0);
  CHECK(profile.records[1].device == 1);
  CHECK(profile.records[1].stream == 3);
  REQUIRE(profile.warnings.size() == 1);
  CHECK(profile.warnings[0].find("2 launches have a grid that is not a multiple") !=
        std::string::npos);
}

TEST_CASE("rocpd: several processes and recordings in one database are read") {
  const std::string other = "_0192f0a1_7c3e_7000_8000_000000000002";
  const model::Profile profile =
      MustLoad(Tables(kId) + Tables(other) + Dispatch(kId, 1, 7, 4, 0, 10, 20) +
               Dispatch(kId, 1, 7, 4, 0, 30, 40, 3) + Dispatch(other, 1, 8, 4, 0, 20, 30));
  REQUIRE(profile.records.size() == 3);
  CHECK(NameOf(profile, 1) == "_Z3mulPf");
  // Three processes, each with its own GPU 0.
  CHECK(profile.records[0].device == 0);
  CHECK(profile.records[1].device == 1);
  CHECK(profile.records[2].device == 2);
  const model::Profile nodes = MustLoad(Tables(kId) + Dispatch(kId, 1, 7, 4, 0, 10, 20) +
                                        Dispatch(kId, 1, 7, 4, 0, 30, 40, 2, 9));
  CHECK(nodes.warnings.back().find("same device ordinals") != std::string::npos);
  CHECK(std::any_of(nodes.warnings.begin(), nodes.warnings.end(), [](const std::string& warning) {
    return warning.find("launches of 2 machines") != std::string::npos;
  }));
}

TEST_CASE("rocpd: tables without a recording id and with few columns are read") {
  const model::Profile profile = MustLoad(
      "CREATE TABLE rocpd_info_kernel_symbol (id INTEGER PRIMARY KEY, kernel_name TEXT,"
      " display_name TEXT);"
      "CREATE TABLE rocpd_kernel_dispatch (start, end, kernel_id, agent_id, dispatch_id, queue_id);"
      "INSERT INTO rocpd_info_kernel_symbol VALUES (1, 'k', 'k()');"
      "INSERT INTO rocpd_kernel_dispatch VALUES (5, 9, 1, 4, 1, 6)");
  REQUIRE(profile.records.size() == 1);
  CHECK(profile.records[0].stream == 6);
  CHECK(profile.records[0].device == shm::kUnknown16);
  CHECK(profile.records[0].grid[0] == shm::kUnknownExtent);
  REQUIRE(profile.warnings.size() == 1);
  CHECK(profile.warnings[0].find("1 launch has an agent without a type_index") !=
        std::string::npos);
}

TEST_CASE("rocpd: rows without usable times are skipped and counted") {
  const model::Profile profile =
      MustLoad(Tables(kId) + Dispatch(kId, 1, 7, 4, 0, 0, 0) + Dispatch(kId, 2, 7, 4, 0, 9, 5) +
               Dispatch(kId, 3, 7, 4, 0, 9, 9));
  CHECK(profile.records.size() == 1);
  CHECK(profile.warnings.size() == 3);
}

TEST_CASE("rocpd: a row with one time of 0 has no times") {
  const model::Profile profile =
      MustLoad(Tables(kId) + Dispatch(kId, 1, 7, 4, 0, 0, 1551401624529066) +
               Dispatch(kId, 2, 7, 4, 0, 1551401624448706, 0) +
               Dispatch(kId, 3, 7, 4, 0, 1551401624448706, 1551401624529066));
  REQUIRE(profile.records.size() == 1);
  CHECK(profile.records[0].duration_ns == 80360);
  CHECK(profile.warnings[0].find("has no start or no end (2 such rows)") != std::string::npos);
}

TEST_CASE("rocpd: a stream may have any number, and an agent any index") {
  const model::Profile profile =
      MustLoad(Tables(kId) + "UPDATE rocpd_info_agent" + kId +
               " SET type_index = -1 WHERE id = 5;" + Dispatch(kId, 0, 7, 4, -1, 1, 2) +
               Dispatch(kId, 1, 7, 5, 3, 3, 4) + "UPDATE rocpd_kernel_dispatch" + kId +
               " SET stream_id = 94384723984016 WHERE dispatch_id = 1");
  REQUIRE(profile.records.size() == 2);
  CHECK(profile.records[0].stream == 0);
  CHECK(profile.records[1].stream == 1);
  CHECK(profile.records[0].device == 0);
  CHECK(profile.records[1].device == shm::kUnknown16);
  CHECK(std::any_of(profile.warnings.begin(), profile.warnings.end(), [](const auto& warning) {
    return warning.find("stream ids such as '-1'") != std::string::npos;
  }));
  CHECK(std::any_of(profile.warnings.begin(), profile.warnings.end(), [](const auto& warning) {
    return warning.find("1 launch has an agent without a type_index") != std::string::npos;
  }));
}

TEST_CASE("rocpd: dispatches may be counted from 0") {
  const model::Profile profile = MustLoad(Tables(kId) + Dispatch(kId, 1, 8, 4, 0, 1000, 1450) +
                                          Dispatch(kId, 0, 7, 4, 1, 1100, 1350));
  CHECK(NameOf(profile, 0) == "add(float*)");
}

TEST_CASE("rocpd: an error for an unreadable database states what is missing") {
  const std::string names =
      "CREATE TABLE rocpd_info_kernel_symbol (id INTEGER PRIMARY KEY, kernel_name TEXT,"
      " display_name TEXT);";
  CheckError("CREATE TABLE rocpd_kernel_dispatch (start, end, kernel_id, agent_id, dispatch_id)",
             "no table rocpd_info_kernel_symbol; expected the names of the kernels");
  CheckError(names + "CREATE TABLE rocpd_kernel_dispatch (track_id, kernel_id, start, end)",
             "no column agent_id in rocpd_kernel_dispatch");
  CheckError(Tables(kId) + Dispatch(kId, 1, 9, 4, 0, 1, 2), "row 1 of rocpd_kernel_dispatch" + kId);
  CheckError(Tables(kId) + Dispatch(kId, 1, 99, 4, 0, 1, 2), "kernel_id has no name");
  CheckError(names + "CREATE VIEW rocpd_kernel_dispatch AS SELECT 1 AS start",
             "rocpd_kernel_dispatch is not a stored table");
  CheckError(names + "CREATE TABLE \"rocpd_kernel_dispatch; --\" (start)", "expected letters");
}

TEST_CASE("errors for databases of other tools name the tool and a command") {
  CheckError("CREATE TABLE people (name TEXT)", "is an SQLite database of an unknown tool");
  const auto check = [](const std::string& sql, std::string_view part) {
    const Result<model::Profile> profile = LoadMade(sql);
    REQUIRE_FALSE(profile.ok());
    CAPTURE(profile.error().message);
    CHECK(profile.error().message.find(part) != std::string::npos);
  };
  check(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start); CREATE TABLE StringTable (value)",
      "t.db --csv --print-gpu-trace --log-file trace.csv'");
  check("CREATE TABLE KERN (KernelName)", "rocprof --timestamp on -o results.csv PROGRAM");
  check("CREATE TABLE rocpd_op (id); CREATE TABLE rocpd_string (id)",
        "rocprofv3 --kernel-trace -- PROGRAM");
}

}  // namespace
}  // namespace stemtap::formats
