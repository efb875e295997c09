// SPDX-License-Identifier: Apache-2.0
#include "model/profile_writer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "model/binary_profile.h"
#include "model/canonical_columns.h"
#include "support/temp_dir.h"

namespace stemtap::model {
namespace {

using test::ReadFile;
using test::TempDir;

const std::string kHeader =
    "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
    "shared_bytes,graph_id,name";

std::unique_ptr<ProfileWriter> MustCreate(const std::string& path) {
  Result<std::unique_ptr<ProfileWriter>> writer = CreateProfileWriter(path);
  if (!writer.ok()) FAIL(writer.error().message);
  return std::move(writer).value();
}

TEST_CASE("every column sets and returns its own field") {
  shm::KernelRecord record;
  for (std::size_t i = 1; i + 1 < kCanonicalColumns.size(); ++i) {
    SetCell(record, static_cast<CanonicalColumn>(i), 100 + i);
  }
  for (std::size_t i = 1; i + 1 < kCanonicalColumns.size(); ++i) {
    CHECK(CellOf(record, static_cast<CanonicalColumn>(i)) == 100 + i);
    SetCell(record, static_cast<CanonicalColumn>(i), kCanonicalColumns[i].unknown);
    CHECK(CellOf(record, static_cast<CanonicalColumn>(i)) == kCanonicalColumns[i].unknown);
  }
}

TEST_CASE("a CSV contains the known values and quotes names if necessary") {
  TempDir folder;
  NameTable names;
  ProfileBatch batch;
  batch.records.resize(4);
  batch.records[0].name_id = names.Intern("plain name<int>");
  batch.records[0].start_ns = shm::kUnknownTime;
  batch.records[0].device = shm::kUnknown16;
  batch.records[0].stream = shm::kUnknown32;
  batch.records[0].shared_bytes = shm::kUnknown32;
  batch.records[1].name_id = names.Intern("f(int, int)");
  batch.records[1].duration_ns = kMaxTime;
  batch.records[1].device = 3;
  batch.records[1].graph_id = 9;
  for (int i : {0, 1, 2}) {
    batch.records[1].grid[i] = 0xFFFFFFFF;
    batch.records[1].block[i] = 1024;
  }
  batch.records[2].name_id = names.Intern("say \"x\"");
  batch.records[3].name_id = names.Intern("two\nlines");
  batch.metrics = {{1.5, std::numeric_limits<double>::quiet_NaN(), 0.1, -3.0}};
  const std::string path = (folder / "a.csv").string();
  auto writer = MustCreate(path);
  REQUIRE(writer->Write(batch, names, {"a \"metric\""}).ok());
  CHECK_FALSE(std::filesystem::exists(path));
  REQUIRE(writer->Finish().ok());
  CHECK(ReadFile(path) == kHeader + ",\"a \"\"metric\"\"\"\n" +
                              "0,,0,,,,,,,,,,,plain name<int>,1.5\n"
                              "1,0,9223372036854775807,3,0,4294967295,4294967295,4294967295,1024,"
                              "1024,1024,0,9,\"f(int, int)\",\n"
                              "2,0,0,0,0,,,,,,,0,,\"say \"\"x\"\"\",0.1\n"
                              "3,0,0,0,0,,,,,,,0,,\"two\nlines\",-3\n");
}

TEST_CASE("a writer without rows writes an empty profile") {
  TempDir folder;
  REQUIRE(MustCreate((folder / "a.csv").string())->Finish().ok());
  CHECK(ReadFile(folder / "a.csv") == kHeader + "\n");
  REQUIRE(MustCreate((folder / "a.stemtap").string())->Finish().ok());
  CHECK(ReadFile(folder / "a.stemtap").size() ==
        sizeof(BinaryProfileHeader) + sizeof(BinaryProfileEnd));
}

TEST_CASE("a binary profile defines each name once and before its use") {
  TempDir folder;
  NameTable names;
  ProfileBatch batch;
  const std::string path = (folder / "a.stemtap").string();
  auto writer = MustCreate(path);
  std::string kinds;
  for (int round = 0; round < 3; ++round) {
    batch.records.assign(2, {});
    batch.records[0].name_id = names.Intern("first");
    batch.records[1].name_id = names.Intern(std::string(41, static_cast<char>('a' + round)));
    REQUIRE(writer->Write(batch, names, {}).ok());
  }
  REQUIRE(writer->Finish().ok());
  const std::string bytes = ReadFile(path);
  for (std::size_t at = 64; at < bytes.size(); at += 64) {
    kinds += std::to_string(static_cast<unsigned char>(bytes[at])) + " ";
  }
  CHECK(kinds == "2 1 2 3 1 1 2 3 1 1 2 3 1 255 ");
}

TEST_CASE("ranges and steps are written only if the run has marks") {
  TempDir folder;
  NameTable names;
  ProfileBatch batch;
  batch.records.resize(2);
  batch.records[0].name_id = names.Intern("k");
  batch.records[1].name_id = names.Intern("k", 0, "decode");
  batch.steps = {shm::kNoStep, 4};
  const auto write = [&](const std::string& path, ProfileMarks marks) {
    auto writer = CreateProfileWriter(path, marks);
    REQUIRE(writer.ok());
    REQUIRE(writer.value()->Write(batch, names, {}).ok());
    REQUIRE(writer.value()->Finish().ok());
    return ReadFile(path);
  };
  const std::string path = (folder / "a.csv").string();
  CHECK(write(path, {}) == kHeader + "\n0,0,0,0,0,,,,,,,0,,k\n1,0,0,0,0,,,,,,,0,,k\n");
  CHECK(write(path, {true, true}) ==
        kHeader + ",range,step\n0,0,0,0,0,,,,,,,0,,k,,\n1,0,0,0,0,,,,,,,0,,k,decode,4\n");
  CHECK(write(path, {false, true}) ==
        kHeader + ",step\n0,0,0,0,0,,,,,,,0,,k,\n1,0,0,0,0,,,,,,,0,,k,4\n");
}

TEST_CASE("a range that could not be read back is rejected") {
  TempDir folder;
  NameTable names;
  ProfileBatch batch;
  batch.records.resize(1);
  batch.records[0].name_id = names.Intern("k", 0, std::string(1025, 'r'));
  for (const char* name : {"a.csv", "a.stemtap"}) {
    const std::string path = (folder / name).string();
    auto writer = CreateProfileWriter(path, {true, false});
    REQUIRE(writer.ok());
    const Status written = writer.value()->Write(batch, names, {});
    REQUIRE_FALSE(written.ok());
    CHECK(written.error().message ==
          path + ": a range of 1025 bytes cannot be stored; expected at most 1024");
  }
}

TEST_CASE("without Finish(), no file appears") {
  TempDir folder;
  for (const char* name : {"a.csv", "a.csv.gz", "a.stemtap", "a.stemtap.zst"}) {
    NameTable names;
    names.Intern("k");
    ProfileBatch batch;
    batch.records.resize(100000);
    auto writer = MustCreate((folder / name).string());
    REQUIRE(writer->Write(batch, names, {}).ok());
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a full disk is reported") {
  TempDir folder;
  for (const char* name :
       {"a.csv", "a.csv.gz", "a.csv.zst", "a.stemtap", "a.stemtap.gz", "a.stemtap.zst"}) {
    CAPTURE(name);
    std::filesystem::create_symlink("/dev/full", folder / name);
    NameTable names;
    names.Intern("k");
    ProfileBatch batch;
    batch.records.resize(100000);
    auto writer = MustCreate((folder / name).string());
    const Status written = writer->Write(batch, names, {});
    const Status finished = written.ok() ? writer->Finish() : written;
    REQUIRE_FALSE(finished.ok());
    CHECK(finished.error().message.find("No space left") != std::string::npos);
  }
}

TEST_CASE("names that could not be read back are rejected") {
  TempDir folder;
  for (const char* file : {"a.csv", "a.stemtap"}) {
    for (const std::string& name : {std::string(), std::string(shm::kMaxNameBytes + 1, 'x')}) {
      NameTable names;
      names.Intern(name);
      ProfileBatch batch;
      batch.records.resize(1);
      const Status written = MustCreate((folder / file).string())->Write(batch, names, {});
      REQUIRE_FALSE(written.ok());
      CHECK(written.error().message.find("expected 1 to 16384") != std::string::npos);
    }
  }
}

TEST_CASE("the file extension determines the format") {
  TempDir folder;
  for (const char* name : {"a.txt", "a", "a.gz", "a.csv.bz2", ".zst"}) {
    const auto writer = CreateProfileWriter((folder / name).string());
    REQUIRE_FALSE(writer.ok());
    CHECK(writer.error().exit_code == 2);
    CHECK(writer.error().message.find(".csv.zst, .stemtap, .stemtap.gz") != std::string::npos);
  }
  CHECK(CreateProfileWriter("-").ok());
}

}  // namespace
}  // namespace stemtap::model
