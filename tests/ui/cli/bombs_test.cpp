// SPDX-License-Identifier: Apache-2.0
// Tests small compressed files that unpack to gigabytes. Each must fail quickly with one error
// line, with little memory, and with few bytes written if a database is unpacked. Files that may be
// read to the end unpack to 128 MiB.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_sink.h"
#include "support/file_size_limit.h"
#include "support/stemtap.h"

namespace stemtap::test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Maximum resident memory of a child. A stream needs 33 MB. For inputs held in memory, 4 MiB of
// input may become launches, rows or values of a few bytes each.
constexpr std::uint64_t kMaxResident = 400 * kMiB;
constexpr std::uint64_t kMaxStreamed = 64 * kMiB;
constexpr std::uint64_t kMaxHeld = 95 * kMiB;

// Writes a file of `head` followed by repeated `unit`: 2 GiB, or `pieces` of 128 MiB. Concatenated
// compressed files are one compressed file, so a piece of 128 MiB is compressed only once.
std::string MakeBomb(const TempDir& directory, const std::string& name, std::string_view head,
                     std::string_view unit, int pieces = 16) {
  const auto write = [&](const std::string& file, auto content) {
    auto sink = CreateByteSink((directory / file).string());
    REQUIRE(sink.ok());
    content(*sink.value());
    REQUIRE(sink.value()->Finish().ok());
    return ReadFile(directory / file);
  };
  std::string block;
  while (block.size() < kMiB) block += unit;
  const std::string first =
      write("head-" + name, [&](ByteSink& sink) { REQUIRE(sink.Write(head).ok()); });
  const std::string piece = write("piece-" + name, [&](ByteSink& sink) {
    for (int i = 0; i < 128; ++i) REQUIRE(sink.Write(block).ok());
  });
  std::string all = first;
  for (int i = 0; i < pieces; ++i) all += piece;
  CHECK(all.size() < 8 * kMiB);
  return directory.Write(name, all).string();
}

std::uint64_t PeakOfChildren() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// Checks that stemtap fails within seconds with one line that contains `word`.
void Refused(const std::vector<std::string>& arguments, const std::string& word,
             const ProcessOptions& options = {}) {
  std::vector<std::string> argv = {StemtapProgram().string()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult run = RunProcess(argv, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CAPTURE(arguments.back());
  CAPTURE(run.err);
  CHECK(run.exit_code == 1);
  CHECK(run.err.find(word) != std::string::npos);
  CHECK(run.err.find('\n') == run.err.size() - 1);
  CHECK(run.err.size() < 1000);
  CHECK(took.count() < 5.0);
}

// Returns a database of one table. Its header claims `pages` pages and marks this count as valid.
std::string DatabaseHead(const TempDir& directory, std::uint32_t pages) {
  const std::string path = (directory / "made.sqlite").string();
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, "PRAGMA page_size = 4096; CREATE TABLE StringIds (id INTEGER)",
                       nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  std::string content = ReadFile(path);
  std::filesystem::remove(path);
  REQUIRE(content.size() >= 4096);
  for (std::size_t i = 0; i < 4; ++i) {
    content[28 + i] = static_cast<char>(pages >> (24 - 8 * i));
    content[92 + i] = content[24 + i];  // marks the page count as valid
  }
  return content;
}

TEST_CASE("text that unpacks to gigabytes is rejected at its limits") {
  const std::string zeros(4096, '\0');
  struct Bomb {
    const char* name;
    std::string head;
    std::string unit;
    const char* word;
    int pieces = 16;
  };
  const Bomb bombs[] = {
      {"line.csv.zst", kProfileHeader, "a", "expected"},
      {"line.csv.gz", kProfileHeader, "a", "expected"},
      {"quote.csv.zst", std::string(kProfileHeader) + "\"", "a", "expected"},
      {"nul.csv.zst", kProfileHeader, zeros, "expected"},
      {"nul.zst", "", zeros, "expected"},
      {"deep.json.zst", "{\"traceEvents\": [{\"a\": ", "[", "expected"},
      {"deep.json.gz", "{\"traceEvents\": [{\"a\": ", "{\"a\":", "expected"},
      {"blanks.json.zst", "{\"traceEvents\": [", " ", "expected", 1},
      {"preamble.csv.zst", "==PROF== Connected\n", "==PROF== 1%\n", "expected", 1},
      {"preamble.gz", "==1== NVPROF is profiling process 1, command: a\n", "a line\n", "expected",
       1},
  };
  const TempDir directory;
  for (const Bomb& bomb : bombs) {
    const std::string path = MakeBomb(directory, bomb.name, bomb.head, bomb.unit, bomb.pieces);
    Refused({"convert", "-o", (directory / "out.csv").string(), path}, bomb.word);
    CHECK_FALSE(std::filesystem::exists(directory / "out.csv"));
  }
  CHECK(PeakOfChildren() < kMaxStreamed);
}

TEST_CASE("a database that unpacks to gigabytes is rejected before it is on disk") {
  const TempDir directory;
  const TempDir scratch;
  const std::string zeros(4096, '\0');
  const ProcessOptions options{.env = {{"TMPDIR", scratch.path().string()}}};
  struct Bomb {
    const char* name;
    std::string head;
    const char* word;
  };
  const Bomb bombs[] = {
      {"magic.zst", std::string("SQLite format 3\0", 16), "damaged in the header"},
      // The header claims an end beyond the file, an end within it, or a size larger than any disk.
      {"short.zst", DatabaseHead(directory, 2), "is longer than the 8192 bytes"},
      {"honest.zst", DatabaseHead(directory, 524'290), "unpack to more than"},
      {"honest.gz", DatabaseHead(directory, 524'290), "unpack to more than"},
      {"unknown.zst", DatabaseHead(directory, 0), "unpack to more than"},
      {"endless.zst", DatabaseHead(directory, 0xFFFFFFFF), "a database of 17592186040320 bytes"},
  };
  for (const Bomb& bomb : bombs) {
    const std::string path = MakeBomb(directory, bomb.name, bomb.head, zeros);
    // A database is unpacked into an unnamed file, whose size cannot be checked in any other way.
    // Any input may unpack to 4 MiB.
    const FileSizeLimit at_most(5 * kMiB);
    Refused({"convert", "-o", (directory / "out.csv").string(), path}, bomb.word, options);
    CHECK(std::filesystem::is_empty(scratch.path()));
  }
  CHECK(PeakOfChildren() < kMaxStreamed);
}

// Data held in memory costs at least 64 bytes per launch, so endless tiny rows would fill the
// memory.
TEST_CASE(
    "profiles held in memory and their companion files are rejected if they unpack to too much") {
  struct Bomb {
    const char* name;
    std::string head;
    std::string row;
  };
  const Bomb held[] = {
      {"nsys.csv.zst",
       "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem "
       "(MB),Bytes (MB),Throughput (MBps),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n",
       "1,2,3,1,1,1,1,1,1,8,0,0,,,,,A (0),1,7,k\n"},
      {"ncu.csv.zst", "\"ID\",\"Kernel Name\",\"Duration\"\n\"\",\"\",\"ns\"\n",
       "\"0\",\"k\",\"1\"\n"},
      {"nvprof.csv.zst",
       "==1== Profiling result:\n\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block "
       "X\","
       "\"Block Y\",\"Block Z\",\"Registers Per Thread\",\"Static SMem\",\"Dynamic SMem\",\"Size\","
       "\"Throughput\",\"SrcMemType\",\"DstMemType\",\"Device\",\"Context\",\"Stream\",\"Name\"\n"
       "s,us,,,,,,,,KB,B,MB,GB/s,,,,,,\n",
       "0.1,2,1,1,1,1,1,1,8,0,0,,,,,\"A (0)\",1,7,\"k [1]\"\n"},
      {"rocprof.csv.zst", "\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n",
       "\"k\",10,11\n"},
      {"kineto.json.zst", "{\"traceEvents\": [{\"ph\":\"M\"}\n",
       ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":2,\"args\":{}}\n"},
  };
  const TempDir directory;
  const std::string out = (directory / "out.csv").string();
  for (const Bomb& bomb : held) {
    // A short file is read successfully, so the unpacked size is the reason for the failure.
    const std::string end = bomb.row[0] == ',' ? "]}" : "";
    const std::string good =
        directory.Write("good", bomb.head + bomb.row + bomb.row + end).string();
    const ProcessResult read = RunStemtap({"convert", "-o", out, good});
    CAPTURE(read.err);
    CHECK(read.exit_code == 0);
    std::filesystem::remove(out);
    Refused({"convert", "-o", out, MakeBomb(directory, bomb.name, bomb.head, bomb.row)},
            "unpack to more than");
    CHECK_FALSE(std::filesystem::exists(out));
  }

  const std::string profile = directory.Write("p.csv", "duration_ns,name\n1,k\n2,k\n").string();
  const std::string plan = (directory / "plan.json").string();
  REQUIRE(RunStemtap({"plan", profile, "-o", plan}).exit_code == 0);
  const std::string metrics = MakeBomb(directory, "metrics.zst", "duration_ns,name,m\n", "1,k,3\n");
  Refused({"convert", profile, "--metrics", metrics, "-o", out}, "unpack to more than");
  const std::string vectors =
      MakeBomb(directory, "bbv.zst", "index,warps,instructions,blocks\n", "0,1,,0:1\n");
  Refused({"plan", profile, "--method", "photon", "--bbv", vectors, "-o", out},
          "unpack to more than");
  const std::string list = MakeBomb(directory, "list.zst", "", "kernel-1.traceg\n");
  Refused({"export", "--to", "accelsim-kernelslist", "--plan", plan, "--list", list, "-o", out},
          "unpack to more than");
  MESSAGE("peak resident: " << static_cast<double>(PeakOfChildren()) / 1e6 << " MB");
  CHECK(PeakOfChildren() < kMaxHeld);
}

TEST_CASE("sparse session files of a gigabyte are rejected before they are read") {
  const TempDir directory;
  const auto stemtap = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), StemtapProgram().string());
    REQUIRE(RunProcess(arguments, {.cwd = directory.path()}).exit_code == 0);
  };
  stemtap({"generate", "llm-decode", "--launches", "2000", "-o", "p.csv"});
  stemtap({"replay", "-q", "p.csv", "-o", "a"});
  const std::vector<std::string> merge = {"merge", "-o", "m", "a", "b"};
  for (const char* name : {"plan.json", "cells.json", "session.json", "overview.json"}) {
    CAPTURE(name);
    // The files have only zeros, zeros after valid content, or a size above the limit.
    for (const bool emptied : {true, false}) {
      std::filesystem::remove_all(directory / "b");
      std::filesystem::copy(directory / "a", directory / "b");
      const std::filesystem::path file = directory / "b" / name;
      if (emptied) std::filesystem::resize_file(file, 0);
      std::filesystem::resize_file(file, 1000 * kMiB);
      Refused(merge, std::string("b/") + name + ": ", {.cwd = directory.path()});
      std::filesystem::resize_file(file, 3000 * kMiB);
      Refused(merge, std::string("b/") + name + ": has more than", {.cwd = directory.path()});
    }
  }
  CHECK_FALSE(std::filesystem::exists(directory / "m"));
  CHECK(PeakOfChildren() < kMaxHeld);
}

TEST_CASE("plans and results that unpack to gigabytes are rejected") {
  const TempDir directory;
  const std::string plan = (directory / "plan.json").string();
  const std::string profile = (directory / "p.csv").string();
  REQUIRE(RunStemtap({"generate", "llm-decode", "--launches", "20000", "-o", profile}).exit_code ==
          0);
  REQUIRE(RunStemtap({"plan", profile, "-o", plan}).exit_code == 0);
  const std::pair<const char*, const char*> plans[] = {
      {"{\"a\": \"", "a"}, {"{\"a\": ", "["}, {"{\"a\": [0", ",{}"}, {"", " "}};
  int number = 0;
  for (const auto& [head, unit] : plans) {
    const std::string bomb =
        MakeBomb(directory, "plan" + std::to_string(number++) + ".json.zst", head, unit);
    Refused({"export", "--to", "csv", "--plan", bomb}, "unpack to more than");
  }
  // The uncompressed file is short enough but nested too deeply.
  const std::string deep = "{\"a\": " + std::string(kMiB, '[') + std::string(kMiB, ']') + "}";
  Refused({"export", "--to", "csv", "--plan", directory.Write("deep.json", deep).string()},
          "nests deeper than 64");
  const std::pair<const char*, const char*> results[] = {
      {"id,cycles\n", "1,2\n"},
      {"id,cycles\n", "a"},
      {"id,cycles\n\"", "a"},
      {"\"ID\",\"Kernel Name\",\"inst\"\n", "\"0\",\"a\",\"1\"\n"},
      {"Processing kernel /t/kernel-1.traceg\n", "GPGPU-Sim: a line\n"},
      {"setup_process:0 t/Kernel7/trace.txt current_index:0 (1)\n", "a line\n"},
      {"", "==PROF== 1%\n"}};
  for (const auto& [head, unit] : results) {
    const std::string bomb =
        MakeBomb(directory, "results" + std::to_string(number++) + ".zst", head, unit);
    Refused({"extrapolate", "--plan", plan, "--results", bomb}, "expected");
  }
  const std::string ids = MakeBomb(directory, "ids.zst", "id,index\n", "1,2\n");
  const std::string whole = directory.Write("r.csv", "id,cycles\n1,2\n").string();
  Refused({"extrapolate", "--plan", plan, "--results", whole, "--ids", ids}, "unpack to more than");
  MESSAGE("peak resident: " << PeakOfChildren() / 1e6 << " MB");
  CHECK(PeakOfChildren() < kMaxResident);
}

}  // namespace
}  // namespace stemtap::test
