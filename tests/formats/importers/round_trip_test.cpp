// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "model/profile_writer.h"
#include "support/paths.h"
#include "support/shared_data.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

using test::ReadFile;
using test::TempDir;

void Convert(const std::filesystem::path& from, const std::filesystem::path& to,
             std::size_t batch_rows) {
  CAPTURE(from);
  Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile(from.string());
  if (!reader.ok()) FAIL(reader.error().message);
  Result<std::unique_ptr<model::ProfileWriter>> writer =
      model::CreateProfileWriter(to.string(), reader.value()->marks());
  if (!writer.ok()) FAIL(writer.error().message);
  for (model::ProfileBatch batch;;) {
    const Result<std::size_t> read = reader.value()->Read(batch, batch_rows);
    if (!read.ok()) FAIL(read.error().message);
    const Status written =
        writer.value()->Write(batch, reader.value()->names(), reader.value()->metric_names());
    if (!written.ok()) FAIL(written.error().message);
    if (read.value() == 0) break;
  }
  REQUIRE(writer.value()->Finish().ok());
  CHECK(reader.value()->warnings().empty());
}

std::string Uncompressed(const std::filesystem::path& path) {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path.string());
  REQUIRE(source.ok());
  std::string content;
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    const Result<std::size_t> count = source.value()->Read(buffer.data(), buffer.size());
    REQUIRE(count.ok());
    if (count.value() == 0) return content;
    content.append(buffer.data(), count.value());
  }
}

void CheckRoundTrip(const std::filesystem::path& csv) {
  CAPTURE(csv);
  TempDir directory;
  const std::string text = Uncompressed(csv);
  std::size_t batch_rows = 1;
  for (const char* name : {"a.stemtap", "a.stemtap.gz", "a.stemtap.zst", "a.csv.gz", "a.csv.zst"}) {
    CAPTURE(name);
    Convert(csv, directory / name, batch_rows);
    Convert(directory / name, directory / "back.csv", 1000);
    CHECK((ReadFile(directory / "back.csv") == text));
    batch_rows *= 13;
  }
}

TEST_CASE("converting CSV to binary and back gives the same bytes") {
  CheckRoundTrip(test::SourceDir() / "tests/data/tiny.csv");
}

TEST_CASE("ranges and steps are unchanged by the round trip") {
  TempDir directory;
  const std::string header =
      "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
      "shared_bytes,graph_id,name";
  CheckRoundTrip(directory.Write("both.csv", header +
                                                 ",range,step\n"
                                                 "0,,1,,,,,,,,,,,k,decode,0\n"
                                                 "1,,1,,,,,,,,,,,k,decode/attention,0\n"
                                                 "2,,1,,,,,,,,,,,k,,0\n"
                                                 "3,,1,,,,,,,,,,,k,\"a,b\",\n"
                                                 "4,,1,,,,,,,,,,,l,decode,7\n"
                                                 "5,,1,,,,,,,,,,,k,decode,7\n" +
                                                 std::string("6,,1,,,,,,,,,,,k,") +
                                                 std::string(1024, 'r') + ",7\n"));
  CheckRoundTrip(directory.Write("range.csv", header + ",range\n0,,1,,,,,,,,,,,k,decode\n"));
  CheckRoundTrip(directory.Write("step.csv", header + ",step\n0,,1,,,,,,,,,,,k,3\n"));
}

// Counts rows without the reader. The canonical form has the duration in the third column, and
// these names contain no newlines.
TEST_CASE("every recorded profile has the known rows, durations and zeros") {
  const auto profiles = SharedPath("data/profiles");
  STEMTAP_SKIP_WITHOUT(profiles);
  for (const auto& entry : std::filesystem::directory_iterator(profiles)) {
    if (!entry.path().string().ends_with(".csv.gz")) continue;
    CAPTURE(entry.path());
    std::istringstream text(Uncompressed(entry.path()));
    std::string line;
    std::getline(text, line);
    std::size_t rows = 0;
    std::size_t zeros = 0;
    std::uint64_t total_ns = 0;
    for (; std::getline(text, line); ++rows) {
      const std::size_t second = line.find(',', line.find(',') + 1);
      const std::uint64_t duration_ns = std::stoull(line.substr(second + 1));
      zeros += duration_ns == 0 ? 1 : 0;
      total_ns += duration_ns;
    }
    Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile(entry.path().string());
    REQUIRE(reader.ok());
    const Result<model::Profile> profile = model::LoadProfile(*reader.value());
    REQUIRE(profile.ok());
    for (const shm::KernelRecord& record : profile.value().records) {
      zeros -= record.duration_ns == 0 ? 1 : 0;
      total_ns -= record.duration_ns;
    }
    CHECK(profile.value().records.size() == rows);
    CHECK(zeros == 0);
    CHECK(total_ns == 0);
  }
}

TEST_CASE("every recorded profile is unchanged by the round trip") {
  const auto profiles = SharedPath("data/profiles");
  STEMTAP_SKIP_WITHOUT(profiles);
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(profiles)) {
    if (!entry.path().string().ends_with(".csv.gz")) continue;
    CheckRoundTrip(entry.path());
    ++count;
  }
  CHECK(count > 0);
}

TEST_CASE("metrics are kept in a CSV and rejected in a binary profile") {
  TempDir directory;
  const std::string text =
      "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
      "shared_bytes,graph_id,name,ipc,\"a,b\"\n"
      "0,,1,,,,,,,,,,,k,1.5,\n"
      "1,,2,,,,,,,,,,,k,,-1e+300\n";
  const auto from = directory.Write("from.csv", text);
  Convert(from, directory / "to.csv.zst", 1);
  CHECK(Uncompressed(directory / "to.csv.zst") == text);

  Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile(from.string());
  REQUIRE(reader.ok());
  auto writer = model::CreateProfileWriter((directory / "to.stemtap").string());
  REQUIRE(writer.ok());
  model::ProfileBatch batch;
  REQUIRE(reader.value()->Read(batch, 9).ok());
  const Status written =
      writer.value()->Write(batch, reader.value()->names(), reader.value()->metric_names());
  REQUIRE_FALSE(written.ok());
  CHECK(written.error().message.find("cannot contain metric columns (first of 2: 'ipc')") !=
        std::string::npos);
}

TEST_CASE("a profile without rows is unchanged by the round trip") {
  TempDir directory;
  const auto from = directory.Write("from.csv", "duration_ns,name,ipc\n");
  Convert(from, directory / "to.csv", 1);
  CHECK(ReadFile(directory / "to.csv").ends_with(",name,ipc\n"));
  const auto plain = directory.Write("plain.csv", "duration_ns,name\n");
  Convert(plain, directory / "to.stemtap", 1);
  CHECK(ReadFile(directory / "to.stemtap").size() == 128);
  Convert(directory / "to.stemtap", directory / "back.csv", 1);
  CHECK(ReadFile(directory / "back.csv").ends_with(",graph_id,name\n"));
}

TEST_CASE("a truncated compressed profile is an error") {
  TempDir directory;
  const auto csv = test::SourceDir() / "tests/data/tiny.csv";
  for (const char* name : {"a.csv.gz", "a.csv.zst", "a.stemtap.gz", "a.stemtap.zst"}) {
    CAPTURE(name);
    Convert(csv, directory / name, 10);
    const std::string whole = ReadFile(directory / name);
    const auto cut = directory.Write("cut", std::string_view(whole).substr(0, whole.size() - 5));
    const Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile(cut.string());
    REQUIRE_FALSE(reader.ok());
    CHECK(reader.error().message.find("truncated") != std::string::npos);
    CHECK(reader.error().message.starts_with(cut.string()));
  }
}

TEST_CASE("files that are not profiles are errors with the path") {
  TempDir directory;
  const auto check = [](const std::filesystem::path& path, const char* what) {
    const Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile(path.string());
    REQUIRE_FALSE(reader.ok());
    CHECK(reader.error().message.starts_with(path.string() + ": "));
    CHECK(reader.error().message.find(what) != std::string::npos);
  };
  check(directory.Write("empty.csv", ""), "empty file");
  check(directory / "missing.csv", "No such file");
  check(directory.path(), "is a directory");
  check(directory.Write("noise.csv", std::string("\0\1\2\3", 4)), "not a known profile format");
}

TEST_CASE("every format has a name, a description and an example") {
  for (const ProfileFormat& format : ProfileFormats()) {
    CHECK_FALSE(format.name.empty());
    CHECK_FALSE(format.description.empty());
    CHECK_FALSE(format.example.empty());
  }
}

}  // namespace
}  // namespace stemtap::formats
