// SPDX-License-Identifier: Apache-2.0
#include "recording/mark_sender.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "recording/definition_writer.h"
#include "startup/session_files.h"
#include "support/temp_dir.h"

namespace stemtap::inject {
namespace {

// Sender is a ring without a reader, and the objects that write to it.
struct Sender {
  Sender() {
    char problem[256] = {};
    REQUIRE(files->Open(directory.path().c_str(), problem, sizeof(problem)));
    path = std::filesystem::directory_iterator(directory.path())->path();
    writer->Init(*files);
    definitions->Init(*files);
    marks->Init(*files, *definitions, *paths, *ranges);
  }

  // Returns whether the mark was staged. Stages its kernel if so.
  bool Send(const shm::LaunchMark& mark, std::uint32_t correlation_id = 1) {
    if (!marks->Stage(mark, correlation_id, *writer)) return false;
    writer->StageKernel(shm::KernelRecord{});
    writer->Push();
    return true;
  }
  std::uint32_t Range(const char* name) { return paths->Intern(shm::kNoRange, name); }

  // Fills the ring except for `left` records.
  void Fill(std::size_t left) {
    writer->Push();
    for (std::size_t room = files->ring().queue.write_available(); room > left; --room) {
      REQUIRE(writer->MakeRoom(1));
      writer->StageKernel(shm::KernelRecord{});
    }
    writer->Push();
    REQUIRE(files->ring().queue.write_available() == left);
  }
  std::vector<shm::Record> Drain() {
    std::vector<shm::Record> records;
    files->ring().queue.consume_all([&](const shm::Record& record) { records.push_back(record); });
    return records;
  }

  std::vector<shm::Record> Definitions() {
    const std::string file = test::ReadFile(path);
    std::vector<shm::Record> records(files->ring().header.definitions);
    std::memcpy(records.data(), file.data() + sizeof(shm::RingFile),
                records.size() * sizeof(shm::Record));
    return records;
  }

  test::TempDir directory;
  std::filesystem::path path;  // of the ring file
  std::unique_ptr<SessionFiles> files = std::make_unique<SessionFiles>();
  std::unique_ptr<RingWriter> writer = std::make_unique<RingWriter>();
  std::unique_ptr<DefinitionWriter> definitions = std::make_unique<DefinitionWriter>();
  std::unique_ptr<MarkSender> marks = std::make_unique<MarkSender>();
  std::unique_ptr<RangePaths> paths = std::make_unique<RangePaths>();
  std::unique_ptr<LaunchRanges> ranges = std::make_unique<LaunchRanges>();
};

std::vector<shm::RecordKind> KindsOf(const std::vector<shm::Record>& records) {
  std::vector<shm::RecordKind> kinds;
  for (const shm::Record& record : records) kinds.push_back(record.kind);
  return kinds;
}

using Kinds = std::vector<shm::RecordKind>;
constexpr shm::RecordKind kRange = shm::RecordKind::kRange;
constexpr shm::RecordKind kBytes = shm::RecordKind::kNameBytes;
constexpr shm::RecordKind kMark = shm::RecordKind::kMark;
constexpr shm::RecordKind kKernel = shm::RecordKind::kKernel;

TEST_CASE("a range is defined once, with dense ids") {
  Sender sender;
  const std::uint32_t decode = sender.Range("decode");
  const std::string long_name(100, 'n');
  REQUIRE(sender.Send({decode, 3}, 71));
  REQUIRE(sender.Send({decode, 4}, 72));
  REQUIRE(sender.Send({sender.Range(long_name.c_str()), shm::kNoStep}, 73));
  REQUIRE(sender.Send({shm::kNoRange, 5}, 74));
  const std::vector<shm::Record> records = sender.Drain();
  REQUIRE(KindsOf(records) ==
          Kinds{kMark, kKernel, kMark, kKernel, kMark, kKernel, kMark, kKernel});
  CHECK(records[0].mark.range_id == 1);
  CHECK(records[0].mark.step == 3);
  CHECK(records[0].mark.correlation_id == 71);
  CHECK(records[2].mark.range_id == 1);
  CHECK(records[2].mark.step == 4);
  CHECK(records[4].mark.range_id == 2);
  CHECK(records[4].mark.step == shm::kNoStep);
  CHECK(records[6].mark.range_id == shm::kNoRange);
  CHECK(records[6].mark.step == 5);
  const std::vector<shm::Record> definitions = sender.Definitions();
  REQUIRE(KindsOf(definitions) == Kinds{kRange, kRange, kBytes});
  CHECK(definitions[0].name.name_id == 1);
  CHECK(std::string(definitions[0].name.bytes, definitions[0].name.length) == "decode");
  CHECK(definitions[1].name.name_id == 2);
}

TEST_CASE("launches in ranges without an id share one path") {
  Sender sender;
  REQUIRE(sender.Send({RangePaths::kOther, shm::kNoStep}));
  REQUIRE(KindsOf(sender.Drain()) == Kinds{kMark, kKernel});
  const std::vector<shm::Record> definitions = sender.Definitions();
  REQUIRE(KindsOf(definitions) == Kinds{kRange});
  CHECK(std::string(definitions[0].name.bytes, definitions[0].name.length) == "(other)");
}

TEST_CASE("a mark is sent only if its kernel also fits") {
  Sender sender;
  const std::uint32_t known = sender.Range("known");
  REQUIRE(sender.Send({known, 0}));
  for (const std::size_t left : {0, 1}) {
    sender.Fill(left);
    CHECK_FALSE(sender.Send({known, 0}));
    CHECK(sender.files->ring().queue.write_available() == left);
    sender.Drain();
  }
  sender.Fill(2);
  CHECK(sender.Send({known, 0}));
  CHECK_FALSE(sender.Send({known, 0}));
}

TEST_CASE("a range that cannot be defined is left out and counted until the file can grow") {
  Sender sender;
  const std::string name(16000, 'k');
  std::uint32_t id = 0;
  std::filesystem::rename(sender.path, sender.directory / "elsewhere");
  using Result = DefinitionWriter::Result;
  while (sender.definitions->Write(shm::RecordKind::kName, id, name.data(), 16000, 1) ==
         Result::kWritten) {
    ++id;
  }
  const auto refused = [&] {
    return sender.files->ring()
        .header.losses[static_cast<std::uint32_t>(shm::Loss::kRangesRefused)]
        .load();
  };
  for (; sender.definitions->Write(shm::RecordKind::kName, id, "", 0, 1) == Result::kWritten;) ++id;
  const std::uint32_t range = sender.Range("late");
  REQUIRE(sender.Send({range, 7}));
  REQUIRE(sender.Send({range, shm::kNoStep}));
  CHECK(refused() == 2);
  const std::vector<shm::Record> records = sender.Drain();
  REQUIRE(KindsOf(records) == Kinds{kMark, kKernel, kKernel});
  CHECK(records[0].mark.range_id == shm::kNoRange);
  CHECK(records[0].mark.step == 7);
  std::filesystem::rename(sender.directory / "elsewhere", sender.path);
  REQUIRE(sender.Send({range, 8}));
  CHECK(refused() == 3);  // tried once per buffer
  sender.definitions->NextBuffer();
  REQUIRE(sender.Send({range, 9}));
  CHECK(refused() == 3);
  CHECK(sender.Drain().back().kind == kKernel);
  const std::vector<shm::Record> definitions = sender.Definitions();
  CHECK(definitions.back().name.kind == kRange);
  CHECK(std::string(definitions.back().name.bytes, 4) == "late");
}

}  // namespace
}  // namespace stemtap::inject
