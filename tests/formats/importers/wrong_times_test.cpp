// SPDX-License-Identifier: Apache-2.0
//
// Wrong starts and durations in each format whose launches are ordered by ids. The rules are in
// recorded_launches_test.cpp and launch_order_test.cpp; here, each importer must apply them.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/importers/registry.h"
#include "model/profile.h"
#include "parse_text.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

struct Launch {
  std::int64_t start = 0;
  std::int64_t duration = 0;
  int stream = 0;
};

// In launch order; the ids are 1, 2, ... The second stream is 60 us behind. The clock began long
// ago, so a start may be 1e14 ns early in every format.
std::vector<Launch> TwoStreams(int count) {
  constexpr std::int64_t kFirst = 200'000'000'000'000;
  std::vector<Launch> launches;
  for (int i = 0; i < count; ++i) {
    const bool late = i % 2 != 0;
    launches.push_back({kFirst + i * 20'000 + (late ? 60'000 : 0), 5'000, late ? 9 : 7});
  }
  return launches;
}

std::string Kineto(const std::vector<Launch>& launches) {
  std::string text = R"({"traceEvents":[{"ph":"M","cat":"cpu_op"})";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& l = launches[i];
    text += fmt::format(
        R"(,{{"ph":"X","cat":"kernel","name":"k","ts":{}e-3,"dur":{}e-3,"args":{{"device":0,)"
        R"("stream":{},"correlation":{},"grid":[{},1,1]}}}})",
        l.start, l.duration, l.stream, i + 1, i + 1);
  }
  return text + "]}";
}

std::string NsysGpuTrace(const std::vector<Launch>& launches) {
  std::string text = "Start (ns),Duration (ns),CorrId,GrdX,Device,Strm,Name\n";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& l = launches[i];
    text += fmt::format("{},{},{},{},0,{},k\n", l.start, l.duration, i + 1, i + 1, l.stream);
  }
  return text;
}

std::string NsysKernExecTrace(const std::vector<Launch>& launches) {
  std::string text =
      "API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),"
      "Kernel Dur (ns),Total Dur (ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name\n";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    text += fmt::format("{},1,,,{},{},1,5,5,0,cuLaunchKernel,{} 1 1,1 1 1,k\n", i,
                        launches[i].start, launches[i].duration, i + 1);
  }
  return text;
}

std::string Nvprof(const std::vector<Launch>& launches) {
  std::string text =
      "\"Start\",\"Duration\",\"Grid X\",\"Device\",\"Stream\",\"Name\"\nns,ns,,,,\n";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& l = launches[i];
    text += fmt::format("{},{},{},\"GPU (0)\",\"{}\",\"k [{}]\"\n", l.start, l.duration, i + 1,
                        l.stream, i + 1);
  }
  return text;
}

std::string Rocprof(const std::vector<Launch>& launches) {
  std::string text =
      "\"Kind\",\"Agent_Id\",\"Stream_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\","
      "\"End_Timestamp\",\"Workgroup_Size_X\",\"Grid_Size_X\"\n";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& l = launches[i];
    text += fmt::format("\"KERNEL_DISPATCH\",\"Agent 4\",{},\"k\",{},{},{},1,{}\n", l.stream, i + 1,
                        l.start, l.start + l.duration, i + 1);
  }
  return text;
}

std::string NsysSqlite(const std::vector<Launch>& launches) {
  std::string sql =
      "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
      "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
      "INSERT INTO StringIds VALUES (1, 'k');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, demangledName, deviceId, streamId,"
      " correlationId, gridX);";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& l = launches[i];
    sql += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({},{},1,0,{},{},{});",
                       l.start, l.start + l.duration, l.stream, i + 1, i + 1);
  }
  return sql;
}

std::string Rocpd(const std::vector<Launch>& launches) {
  std::string sql =
      "CREATE TABLE rocpd_info_kernel_symbol (id INTEGER PRIMARY KEY, kernel_name, display_name);"
      "INSERT INTO rocpd_info_kernel_symbol VALUES (1, 'k', 'k');"
      "CREATE TABLE rocpd_kernel_dispatch (start, end, kernel_id, agent_id, dispatch_id, stream_id,"
      " workgroup_size_x, grid_size_x);";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& l = launches[i];
    sql += fmt::format("INSERT INTO rocpd_kernel_dispatch VALUES ({},{},1,4,{},{},1,{});", l.start,
                       l.start + l.duration, i + 1, l.stream, i + 1);
  }
  return sql;
}

struct Format {
  const char* name;
  std::string (*write)(const std::vector<Launch>& launches);
  bool is_database = false;
  bool has_streams = true;
  // In files of rocprof, 0 is not a time, and rows without times are left out.
  bool leaves_out = false;
  const char* id_name = "correlation id";
};
constexpr std::array kFormats = {
    Format{"kineto", Kineto},
    Format{"nsys cuda_gpu_trace", NsysGpuTrace},
    Format{"nsys cuda_kern_exec_trace", NsysKernExecTrace, false, false},
    Format{"nvprof", Nvprof},
    Format{"rocprofv3", Rocprof, false, true, true},
    Format{"nsys sqlite", NsysSqlite, true},
    Format{"rocpd", Rocpd, true, true, true, "dispatch id"}};

model::Profile Read(const Format& format, const std::vector<Launch>& launches) {
  const std::string text = format.write(launches);
  if (!format.is_database) return MustParse(text);
  const test::TempDir directory;
  const std::string path = (directory / "t.db").string();
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, ("BEGIN;" + text + "COMMIT").c_str(), nullptr, nullptr, nullptr) ==
          SQLITE_OK);
  sqlite3_close(database);
  Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile(path);
  if (!reader.ok()) FAIL(reader.error().message);
  return model::LoadProfile(*reader.value()).value();
}

std::size_t Displaced(const model::Profile& profile) {
  std::size_t displaced = 0;
  for (std::size_t i = 0; i < profile.records.size(); ++i) {
    displaced += profile.records[i].grid[0] == i + 1 ? 0 : 1;
  }
  return displaced;
}

bool Warns(const model::Profile& profile, std::string_view text) {
  for (const std::string& warning : profile.warnings) {
    if (warning.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("every format: wrong starts do not move launches") {
  using Change = void (*)(Launch&);
  constexpr std::array<Change, 5> kChanges = {
      [](Launch& l) { l.start = 0; }, [](Launch& l) { l.start -= 100'000'000'000'000; },
      [](Launch& l) { l.start -= 1'000'000; }, [](Launch& l) { l.start += 1'000'000; },
      [](Launch& l) { l.start += 100'000'000'000'000; }};
  for (const Format& format : kFormats) {
    CAPTURE(format.name);
    CHECK(Displaced(Read(format, TwoStreams(400))) == 0);
    for (std::size_t change = format.leaves_out ? 1 : 0; change < kChanges.size(); ++change) {
      CAPTURE(change);
      for (const std::size_t every : {std::size_t{1000}, std::size_t{12}}) {  // 1 or 200 launches
        std::vector<Launch> launches = TwoStreams(2400);
        for (std::size_t i = 500; i < launches.size(); i += every) kChanges[change](launches[i]);
        const model::Profile profile = Read(format, launches);
        REQUIRE(profile.records.size() == launches.size());
        CHECK(Displaced(profile) == 0);
        // Without streams, a start that is near other starts contradicts nothing.
        const bool is_far = change != 2 && change != 3;
        CHECK(Warns(profile, fmt::format(" a start that contradicts the {}s, the first is 'k' with "
                                         "{} 501; ordered by id",
                                         format.id_name, format.id_name)) ==
              (format.has_streams || is_far));
      }
    }
  }
}

TEST_CASE("every format: a launch without a time is in the place of its id, counted and named") {
  for (const Format& format : kFormats) {
    if (format.leaves_out) continue;
    CAPTURE(format.name);
    std::vector<Launch> launches = TwoStreams(400);
    for (std::size_t i = 5; i < launches.size(); i += 3) {
      launches[i].start = 0;
      launches[i].duration = 0;
    }
    const model::Profile profile = Read(format, launches);
    CHECK(profile.records.size() == 400);
    CHECK(Displaced(profile) == 0);
    CHECK(profile.records[5].start_ns == shm::kUnknownTime);
    CHECK(Warns(profile, "132 such"));
    CHECK(Warns(profile, "counted with 0 ns"));
  }
}

TEST_CASE("rocprof: launches without a time are left out, and the others keep their order") {
  for (const Format& format : kFormats) {
    if (!format.leaves_out) continue;
    CAPTURE(format.name);
    for (const std::int64_t duration : {0, 5'000}) {
      std::vector<Launch> launches = TwoStreams(400);
      for (std::size_t i = 5; i < launches.size(); i += 3) launches[i] = {0, duration, 7};
      const model::Profile profile = Read(format, launches);
      REQUIRE(profile.records.size() == 268);
      for (std::size_t i = 1; i < profile.records.size(); ++i) {
        CHECK(profile.records[i - 1].grid[0] < profile.records[i].grid[0]);
      }
      CHECK(Warns(profile, "(132 such rows); skipped"));
    }
  }
}

TEST_CASE("every format with streams: a duration that covers the next launches is cut") {
  for (const Format& format : kFormats) {
    CAPTURE(format.name);
    std::vector<Launch> launches = TwoStreams(100);
    launches[10].duration = 1'600'000'000;
    launches[51].duration = 3'600'000'000'000'000'000;  // 114 years
    const model::Profile profile = Read(format, launches);
    std::uint64_t total = 0;
    for (const shm::KernelRecord& record : profile.records) total += record.duration_ns;
    CHECK((total == 98 * 5'000 + 2 * 40'000) == format.has_streams);
    CHECK(Warns(profile, fmt::format("2 launches end after the next launch of the same stream "
                                     "ended, the first is 'k' with {} 11; cut to the start of that "
                                     "launch",
                                     format.id_name)) == format.has_streams);
  }
}

}  // namespace
}  // namespace stemtap::formats
