// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "session/ring_reader.h"
#include "shm/ring.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

using test::TempDir;

// HostileFile is a ring file whose definitions a test writes at any place.
struct HostileFile {
  HostileFile() { REQUIRE(fd.is_open()); }
  void Write(std::uint32_t number, const shm::Record& record) {
    REQUIRE(::pwrite(fd.get(), &record, sizeof(record),
                     static_cast<off_t>(shm::RingFileBytes(number))) == sizeof(record));
  }
  RingDefinitions Reader() const {
    return RingDefinitions(FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  }

  TempDir scratch;
  std::string path = (scratch / "ring.1").string();
  FileDescriptor fd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
};

shm::NameRecord Name(std::uint32_t id, std::string_view text) {
  shm::NameRecord record;
  record.name_id = id;
  record.length = static_cast<std::uint32_t>(text.size());
  std::memcpy(record.bytes, text.data(), text.size());
  return record;
}

std::string TextOf(RingDefinitions& definitions, std::uint32_t id) {
  std::string text = "undefined";
  definitions.KernelOf(id, [&](std::string_view name, std::string_view) {
    text = name;
    return 0u;
  });
  return text;
}

TEST_CASE("definitions that a process changes after they were read have no effect") {
  HostileFile file;
  RingDefinitions definitions = file.Reader();
  file.Write(0, Name(0, "first"));
  CHECK(definitions.Read(1) == 0);
  file.Write(0, Name(0, "changed"));
  file.Write(1, Name(1, "second"));
  CHECK(definitions.Read(0) == 0);
  CHECK(definitions.Read(2) == 0);
  CHECK(TextOf(definitions, 0) == "first");
  CHECK(TextOf(definitions, 1) == "second");
}

TEST_CASE("a truncated file is an early end, and is read on when it has grown again") {
  HostileFile file;
  RingDefinitions definitions = file.Reader();
  for (std::uint32_t id = 0; id < 3; ++id) file.Write(id, Name(id, "k"));
  // The third definition is torn.
  REQUIRE(::truncate(file.path.c_str(), static_cast<off_t>(shm::RingFileBytes(2)) + 63) == 0);
  CHECK(definitions.Read(3) == 0);
  CHECK(TextOf(definitions, 1) == "k");
  CHECK(TextOf(definitions, 2) == "undefined");
  REQUIRE(::truncate(file.path.c_str(), 0) == 0);
  CHECK(definitions.Read(3) == 0);
  file.Write(2, Name(2, "again"));
  CHECK(definitions.Read(3) == 0);
  CHECK(TextOf(definitions, 2) == "again");
  RingDefinitions none{FileDescriptor()};
  CHECK(none.Read(shm::kMaxDefinitions) == 0);
}

shm::NameRecord Range(std::uint32_t id, std::string_view path) {
  shm::NameRecord record = Name(id, path);
  record.kind = shm::RecordKind::kRange;
  return record;
}

shm::RangedName Ranged(std::uint32_t id, std::uint32_t base, std::uint32_t range) {
  shm::RangedName record;
  record.name_id = id;
  record.base_id = base;
  record.range_id = range;
  return record;
}

TEST_CASE("a name in a range is the name and the range that are defined before it") {
  HostileFile file;
  RingDefinitions definitions = file.Reader();
  const shm::Record records[] = {Name(0, "gemm"),
                                 Range(1, "decode"),
                                 Ranged(1, 0, 1),
                                 Ranged(1, 0, 1),               // the id is defined
                                 Ranged(2, 7, 1),               // no such name
                                 Ranged(2, 0, 9),               // no such range
                                 Ranged(2, 0, shm::kNoRange),   // no range
                                 Ranged(2, 1, 1),               // the base has a range itself
                                 Ranged(shm::kMaxNames, 0, 1),  // above the maximum
                                 Ranged(2, 2, 1),               // itself
                                 Range(2, "prefill"),
                                 Ranged(2, 0, 2)};
  std::uint32_t count = 0;
  for (const shm::Record& record : records) file.Write(count++, record);
  CHECK(definitions.Read(count) == 7);
  const auto found = [&](std::uint32_t id) {
    std::string text = "undefined";
    definitions.KernelOf(id, [&](std::string_view name, std::string_view range) {
      text = std::string(name) + " in " + std::string(range);
      return id;
    });
    return text;
  };
  CHECK(found(2) == "gemm in prefill");
  CHECK(found(1) == "gemm in decode");
  CHECK(found(0) == "gemm in ");
  CHECK(found(7) == "undefined");
}

// A text that fits into one record.
std::string AnyText(std::mt19937_64& random) {
  return std::string(random() % (sizeof(shm::NameRecord::bytes) + 1), 'a' + random() % 26);
}

// Returns a record that can be valid, with damage in every third record.
shm::Record AnyRecord(std::mt19937_64& random) {
  shm::Record record(Name(static_cast<std::uint32_t>(random() % 64), AnyText(random)));
  if (random() % 4 == 0) record.name.kind = shm::RecordKind::kRange;
  if (random() % 4 == 0) record.name.length = static_cast<std::uint32_t>(random() % 120);
  if (random() % 4 == 0) {
    shm::NameBytes more;
    more.count = static_cast<std::uint8_t>(random() % 80);
    std::memset(more.bytes, 'm', sizeof(more.bytes));
    record = more;
  }
  if (random() % 4 == 0) {
    record =
        Ranged(static_cast<std::uint32_t>(random() % 64), static_cast<std::uint32_t>(random() % 64),
               static_cast<std::uint32_t>(random() % 8));
  }
  if (random() % 3 == 0) {
    unsigned char bytes[sizeof(record)];
    std::memcpy(bytes, &record, sizeof(bytes));
    for (int i = 0; i < 4; ++i) bytes[random() % 16] = static_cast<unsigned char>(random());
    std::memcpy(&record, bytes, sizeof(bytes));
  }
  return record;
}

TEST_CASE("random definitions, sizes and truncations never change a name that was defined") {
  std::mt19937_64 random(20261126);
  std::size_t defined = 0;
  std::uint64_t invalid = 0;
  for (int round = 0; round < 300; ++round) {
    HostileFile file;
    RingDefinitions definitions = file.Reader();
    std::map<std::uint32_t, std::string> ranges;
    std::map<std::uint32_t, std::uint32_t> ids;
    std::uint32_t next = 0;
    for (int step = 0; step < 20; ++step) {
      const auto at = static_cast<std::uint32_t>(random() % 200);
      for (std::uint32_t i = 0; i < 20; ++i) file.Write(at + i, AnyRecord(random));
      if (random() % 8 == 0) {
        const auto bytes = shm::RingFileBytes(0) + random() % 20000;
        REQUIRE(::ftruncate(file.fd.get(), static_cast<off_t>(bytes)) == 0);
      }
      invalid += definitions.Read(
          static_cast<std::uint32_t>(random() % 16 == 0 ? random() : random() % 250));
      for (std::uint32_t id = 0; id < 70; ++id) {
        const std::string path(definitions.RangeOf(id));
        REQUIRE(path.size() <= shm::kMaxRangeBytes);
        if (const auto known = ranges.find(id); known != ranges.end()) {
          REQUIRE(path == known->second);
        } else if (!path.empty()) {
          ranges[id] = path;
        }
        const std::uint32_t kernel =
            definitions.KernelOf(id, [&](std::string_view name, std::string_view) {
              REQUIRE(name.size() <= shm::kMaxNameBytes);
              REQUIRE_FALSE(ids.contains(id));
              return next++;
            });
        if (const auto known = ids.find(id); known != ids.end()) {
          REQUIRE(kernel == known->second);
        } else if (kernel != RingDefinitions::kUndefined) {
          ids[id] = kernel;
          ++defined;
        }
      }
    }
  }
  // The test reaches both outcomes often.
  CHECK(defined > 1000);
  CHECK(invalid > 1000);
}

}  // namespace
}  // namespace stemtap::session
