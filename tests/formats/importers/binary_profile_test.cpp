// SPDX-License-Identifier: Apache-2.0
#include "model/binary_profile.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_source.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "model/profile_writer.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

using test::ReadFile;
using test::TempDir;

Result<model::Profile> Parse(std::string_view bytes, std::size_t piece = kReadBytes) {
  Result<std::unique_ptr<model::ProfileReader>> reader =
      OpenProfile(std::make_unique<MemorySource>("t.stemtap", bytes, piece));
  if (!reader.ok()) return reader.error();
  return model::LoadProfile(*reader.value());
}

std::string ErrorOf(std::string_view bytes) {
  const Result<model::Profile> profile = Parse(bytes);
  REQUIRE_FALSE(profile.ok());
  CHECK(profile.error().message.find('\n') == std::string::npos);
  CHECK(profile.error().message.find("expected") != std::string::npos);
  return profile.error().message;
}

const std::string kLongName(200, 'L');
const std::string kRange(100, 'r');

// Returns three kernels with two names. In units of 64 bytes: 0 header, 1 name "short", 2 kernel,
// 3 kernel, 4 to 7 the long name (40 + 62 + 62 + 36 bytes), 8 kernel, 9 end.
std::string ThreeKernels() {
  TempDir directory;
  const std::string path = (directory / "a.stemtap").string();
  Result<std::unique_ptr<model::ProfileWriter>> writer = model::CreateProfileWriter(path);
  REQUIRE(writer.ok());
  model::NameTable names;
  model::ProfileBatch batch;
  batch.records.resize(3);
  batch.records[0].name_id = batch.records[1].name_id = names.Intern("short");
  batch.records[2].name_id = names.Intern(kLongName);
  batch.records[1].start_ns = shm::kUnknownTime;
  batch.records[2].duration_ns = 77;
  batch.records[2].flags = shm::kFlagCaptured;
  REQUIRE(writer.value()->Write(batch, names, {}).ok());
  REQUIRE(writer.value()->Finish().ok());
  std::string bytes = ReadFile(path);
  REQUIRE(bytes.size() == 10 * shm::kRecordBytes);
  return bytes;
}

// Returns three kernels in ranges and steps. In units of 64 bytes: 0 header, 1 name "k", 2 kernel,
// 3 to 4 the range of 100 bytes, 5 name "k", 6 step 5, 7 kernel, 8 no step, 9 kernel, 10 end.
std::string MarkedKernels() {
  TempDir directory;
  const std::string path = (directory / "a.stemtap").string();
  auto writer = model::CreateProfileWriter(path, {true, true});
  REQUIRE(writer.ok());
  model::NameTable names;
  model::ProfileBatch batch;
  batch.records.resize(3);
  batch.records[0].name_id = names.Intern("k");
  batch.records[1].name_id = batch.records[2].name_id = names.Intern("k", 0, kRange);
  batch.steps = {shm::kNoStep, 5, shm::kNoStep};
  REQUIRE(writer.value()->Write(batch, names, {}).ok());
  REQUIRE(writer.value()->Finish().ok());
  std::string bytes = ReadFile(path);
  REQUIRE(bytes.size() == 11 * shm::kRecordBytes);
  return bytes;
}

// Returns `bytes` with `value` written over record `record` at `offset`.
template <typename T>
std::string With(std::string bytes, std::size_t record, std::size_t offset, T value) {
  std::memcpy(bytes.data() + record * shm::kRecordBytes + offset, &value, sizeof(value));
  return bytes;
}

TEST_CASE("a written profile is read back, in pieces of any size") {
  const std::string bytes = ThreeKernels();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{63}, std::size_t{64},
                                  std::size_t{65}, kReadBytes}) {
    const Result<model::Profile> profile = Parse(bytes, piece);
    REQUIRE(profile.ok());
    const std::vector<shm::KernelRecord>& records = profile.value().records;
    REQUIRE(records.size() == 3);
    CHECK(records[0].name_id == 0);
    CHECK(records[1].start_ns == shm::kUnknownTime);
    CHECK(records[2].duration_ns == 77);
    CHECK(records[2].flags == shm::kFlagCaptured);
    CHECK(profile.value().names.name(0) == "short");
    CHECK(profile.value().names.name(1) == kLongName);
  }
}

TEST_CASE("a read returns at most as many rows as its limit") {
  const std::string bytes = ThreeKernels();
  auto reader = OpenProfile(std::make_unique<MemorySource>("t.stemtap", bytes));
  REQUIRE(reader.ok());
  model::ProfileBatch batch;
  for (const std::size_t expected : {1, 1, 1, 0, 0}) {
    CHECK(reader.value()->Read(batch, 1).value() == expected);
    CHECK(batch.records.size() == expected);
  }
}

TEST_CASE("a file truncated at any byte is an error") {
  const std::string bytes = ThreeKernels();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string message = ErrorOf(std::string_view(bytes).substr(0, size));
    CAPTURE(size);
    if (size >= shm::kRecordBytes) {
      CHECK(message == "t.stemtap: truncated after " + std::to_string(size / shm::kRecordBytes) +
                           " records; expected an end record");
    }
  }
  CHECK(ErrorOf(std::string_view(bytes).substr(0, 20)) ==
        "t.stemtap: truncated header of 20 bytes; expected 64");
  CHECK(ErrorOf(bytes + "x") == "t.stemtap: bytes after the end record; expected none");
  CHECK(ErrorOf(bytes + bytes) == "t.stemtap: bytes after the end record; expected none");
}

TEST_CASE("a damaged record is an error with its number") {
  const std::string bytes = ThreeKernels();
  const std::uint32_t bad32 = 9;
  const std::uint64_t bad64 = ~std::uint64_t{0} - 1;
  CHECK(ErrorOf(With(bytes, 0, 8, bad32)) ==
        "t.stemtap: version 9 with records of 64 bytes; expected version 1 or 2 with 64 bytes");
  CHECK(ErrorOf(With(bytes, 0, 12, bad32)) ==
        "t.stemtap: version 1 with records of 9 bytes; expected version 1 or 2 with 64 bytes");
  CHECK(ErrorOf(With(bytes, 2, 0, std::uint8_t{0})) ==
        "t.stemtap: record 2: kind 0; expected a kernel or a name");
  CHECK(ErrorOf(With(bytes, 2, 0, std::uint8_t{77})) ==
        "t.stemtap: record 2: kind 77; expected a kernel or a name");
  CHECK(ErrorOf(With(bytes, 3, 4, std::uint32_t{1})) ==
        "t.stemtap: record 3: a kernel with the undefined name 1; expected less than 1");
  CHECK(ErrorOf(With(bytes, 2, 8, bad64)).starts_with("t.stemtap: record 2: start_ns 184467"));
  CHECK(ErrorOf(With(bytes, 2, 16, bad64)).starts_with("t.stemtap: record 2: start_ns 0 and"));
  CHECK(ErrorOf(With(bytes, 4, 4, bad32)) == "t.stemtap: record 4: defines name 9; expected 1");
  CHECK(ErrorOf(With(bytes, 4, 8, std::uint32_t{0})) ==
        "t.stemtap: record 4: a name of 0 bytes; expected 1 to 16384");
  CHECK(ErrorOf(With(bytes, 4, 8, std::uint32_t{16385})) ==
        "t.stemtap: record 4: a name of 16385 bytes; expected 1 to 16384");
  CHECK(ErrorOf(With(bytes, 5, 1, std::uint8_t{61})) ==
        "t.stemtap: record 5: 61 bytes of a name; expected 62");
  CHECK(ErrorOf(With(bytes, 7, 1, std::uint8_t{62})) ==
        "t.stemtap: record 7: 62 bytes of a name; expected 36");
  CHECK(ErrorOf(With(bytes, 6, 20, 'x')) ==
        "t.stemtap: record 7: name 1 does not match its hash; expected an undamaged file");
  CHECK(ErrorOf(With(bytes, 6, 0, std::uint8_t{1})) ==
        "t.stemtap: record 6: a kernel inside a name; expected its remaining bytes");
  CHECK(ErrorOf(With(bytes, 6, 0, std::uint8_t{2})) ==
        "t.stemtap: record 6: a name begins inside another; expected its remaining bytes");
  CHECK(ErrorOf(With(bytes, 6, 0, std::uint8_t{255})) ==
        "t.stemtap: record 6: the end record is inside a name; expected its remaining bytes");
  CHECK(ErrorOf(With(bytes, 2, 0, std::uint8_t{3})) ==
        "t.stemtap: record 2: bytes outside a name; expected a kernel or a name");
  CHECK(ErrorOf(With(bytes, 9, 8, std::uint64_t{4})) ==
        "t.stemtap: record 9: the end record is after 3 launches of 2 kernels; expected 4 of 2");
  CHECK(ErrorOf(With(bytes, 9, 16, std::uint64_t{1})) ==
        "t.stemtap: record 9: the end record is after 3 launches of 2 kernels; expected 3 of 1");
}

TEST_CASE("ranges and steps are read back, in pieces of any size") {
  const std::string bytes = MarkedKernels();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{63}, std::size_t{65}, kReadBytes}) {
    const Result<model::Profile> profile = Parse(bytes, piece);
    REQUIRE(profile.ok());
    CHECK(profile.value().marks == model::ProfileMarks{true, true});
    CHECK(profile.value().steps == std::vector<std::uint64_t>{shm::kNoStep, 5, shm::kNoStep});
    CHECK(profile.value().names.range(0).empty());
    CHECK(profile.value().names.range(1) == kRange);
    CHECK(profile.value().names.name(1) == "k");
    CHECK(profile.value().records[1].name_id == 1);
  }
}

TEST_CASE("damaged ranges and steps are errors with their record") {
  const std::string bytes = MarkedKernels();
  CHECK(ErrorOf(With(bytes, 0, 16, std::uint32_t{4})) ==
        "t.stemtap: the marks in the header are 4; expected 1 to 3");
  CHECK(ErrorOf(With(bytes, 0, 16, std::uint32_t{0})) ==
        "t.stemtap: the marks in the header are 0; expected 1 to 3");
  // A file without ranges, without steps, and of the first version.
  CHECK(ErrorOf(With(bytes, 0, 16, std::uint32_t{2})) ==
        "t.stemtap: record 3: kind 4; expected a kernel or a name");
  CHECK(ErrorOf(With(bytes, 0, 16, std::uint32_t{1})) ==
        "t.stemtap: record 6: kind 5; expected a kernel or a name");
  CHECK(ErrorOf(With(bytes, 0, 8, std::uint32_t{1})) ==
        "t.stemtap: record 3: kind 4; expected a kernel or a name");
  CHECK(ErrorOf(With(bytes, 3, 4, std::uint32_t{2})) ==
        "t.stemtap: record 3: defines name 2; expected 1");
  CHECK(ErrorOf(With(bytes, 3, 8, std::uint32_t{1025})) ==
        "t.stemtap: record 3: a range of 1025 bytes; expected 1 to 1024");
  CHECK(ErrorOf(With(bytes, 4, 5, 'x')) ==
        "t.stemtap: record 4: name 1 does not match its hash; expected an undamaged file");
  CHECK(ErrorOf(With(bytes, 5, 0, std::uint8_t{1})) ==
        "t.stemtap: record 5: a kernel inside a name; expected its remaining bytes");
  CHECK(ErrorOf(With(bytes, 5, 0, std::uint8_t{3})) ==
        "t.stemtap: record 5: bytes outside a name; expected a kernel or a name");
  CHECK(ErrorOf(With(bytes, 5, 0, std::uint8_t{4})) ==
        "t.stemtap: record 5: a name begins inside another; expected its remaining bytes");
  CHECK(ErrorOf(With(bytes, 5, 0, std::uint8_t{5})) ==
        "t.stemtap: record 5: a step inside a name; expected its remaining bytes");
  CHECK(ErrorOf(With(bytes, 5, 0, std::uint8_t{255})) ==
        "t.stemtap: record 5: the end record is inside a name; expected its remaining bytes");
  CHECK(ErrorOf(With(bytes, 6, 8, std::uint64_t{1} << 63)) ==
        "t.stemtap: record 6: step 9223372036854775808 of range 0 and launch 0; expected at most "
        "9223372036854775807, of 0 and 0");
  CHECK(ErrorOf(With(bytes, 6, 4, std::uint32_t{1})).find("of range 1") != std::string::npos);
  CHECK(ErrorOf(With(bytes, 6, 16, std::uint32_t{1})).find("launch 1") != std::string::npos);
}

TEST_CASE("a name that is defined twice is an error") {
  const std::string bytes = ThreeKernels();
  std::string twice = bytes.substr(0, 2 * shm::kRecordBytes) +
                      bytes.substr(shm::kRecordBytes, shm::kRecordBytes) +
                      bytes.substr(9 * shm::kRecordBytes);
  CHECK(ErrorOf(With(twice, 2, 4, std::uint32_t{1})) ==
        "t.stemtap: record 2: name 1 is defined twice; expected once");
}

TEST_CASE("one damaged byte is an error or harmless, and never a crash") {
  for (const std::string& bytes : {ThreeKernels(), MarkedKernels()}) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const unsigned flip : {0x01u, 0x80u, 0xFFu}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
        const Result<model::Profile> profile = Parse(damaged);
        if (profile.ok()) CHECK(profile.value().records.size() == 3);
      }
    }
  }
}

}  // namespace
}  // namespace stemtap::formats
