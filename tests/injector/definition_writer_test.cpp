// SPDX-License-Identifier: Apache-2.0
#include "recording/definition_writer.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/file_descriptor.h"
#include "session/ring_reader.h"
#include "startup/session_files.h"
#include "support/temp_dir.h"

namespace stemtap::inject {
namespace {

using Result = DefinitionWriter::Result;

// Written has a ring file in which only names are written.
struct Written {
  Written() {
    char problem[256] = {};
    REQUIRE(files->Open(directory.path().c_str(), problem, sizeof(problem)));
    path = std::filesystem::directory_iterator(directory.path())->path();
    writer->Init(*files);
  }
  Result Write(std::uint32_t id, const std::string& name) {
    return writer->Write(shm::RecordKind::kName, id, name.data(),
                         static_cast<std::uint32_t>(name.size()), 1);
  }
  // Writes names until one is refused. Returns the result and the number of names.
  std::pair<Result, std::uint32_t> Fill(std::size_t length) {
    const std::string name(length, 'k');
    for (std::uint32_t id = 0;; ++id) {
      if (const Result result = Write(id, name); result != Result::kWritten) return {result, id};
    }
  }
  std::uint32_t written() const { return files->ring().header.definitions; }
  std::uintmax_t bytes() const { return std::filesystem::file_size(path); }

  test::TempDir directory;
  std::filesystem::path path;  // of the ring file
  std::unique_ptr<SessionFiles> files = std::make_unique<SessionFiles>();
  std::unique_ptr<DefinitionWriter> writer = std::make_unique<DefinitionWriter>();
};

// Returns a name of up to the maximum length, different for each id.
std::string NameOf(std::uint32_t id) {
  const std::string number = std::to_string(id);
  const std::size_t length = std::size_t{id} * 7919 % (shm::kMaxNameBytes + 1);
  return number + std::string(length < number.size() ? 0 : length - number.size(), 'k');
}

TEST_CASE("names survive the growth of the file, and a reader finds all of them at any time") {
  constexpr std::uint32_t kNames = 1000;  // 8 MB
  Written ring;
  session::RingDefinitions reader(FileDescriptor(::open(ring.path.c_str(), O_RDONLY)));
  for (std::uint32_t id = 0; id < kNames; ++id) {
    REQUIRE(ring.Write(id, NameOf(id)) == Result::kWritten);
    if (id % 10 == 0) REQUIRE(reader.Read(ring.written()) == 0);
  }
  REQUIRE(reader.Read(ring.written()) == 0);
  CHECK(ring.bytes() > std::size_t{24} << 20);
  CHECK(ring.bytes() < shm::RingFileBytes(ring.written()) + (std::size_t{1} << 20));
  for (std::uint32_t id = 0; id < kNames; ++id) {
    reader.KernelOf(id, [&](std::string_view name, std::string_view) {
      REQUIRE(name == NameOf(id));
      return id;
    });
    REQUIRE(reader.KernelOf(id, [](std::string_view, std::string_view) { return 0u; }) == id);
  }
}

TEST_CASE("the file has a maximum size") {
  Written ring;
  const auto [result, names] = ring.Fill(shm::kMaxNameBytes);
  CHECK(result == Result::kFull);
  CHECK(names == shm::kMaxDefinitions / shm::NameRecordCount(shm::kMaxNameBytes));
  CHECK(ring.written() == names * shm::NameRecordCount(shm::kMaxNameBytes));
  CHECK(ring.bytes() < shm::RingFileBytes(shm::kMaxDefinitions) + (std::size_t{1} << 20));
}

TEST_CASE("a name that the file has no room for is written when the file can grow again") {
  Written ring;
  const auto elsewhere = ring.directory / "elsewhere";
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto limit = [&](rlim_t bytes) {
    const rlimit now = {bytes, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &now) == 0);
  };
  bool replaced = false;
  SUBCASE("no file can grow") {
    limit(static_cast<rlim_t>(ring.bytes()));
  }
  SUBCASE("the path leads nowhere") {
    std::filesystem::rename(ring.path, elsewhere);
  }
  SUBCASE("the path leads to the ring of another process") {
    replaced = true;
    std::filesystem::rename(ring.path, elsewhere);
    std::filesystem::copy(elsewhere, ring.path);
  }
  const auto [result, names] = ring.Fill(1000);
  CHECK(result == Result::kNoSpace);
  CHECK(names == shm::kFirstDefinitions / shm::NameRecordCount(1000));
  if (replaced) CHECK(ring.bytes() == shm::RingFileBytes(shm::kFirstDefinitions));
  const std::uint32_t written = ring.written();
  ring.writer->NextBuffer();
  CHECK(ring.Write(names, std::string(1000, 'k')) == Result::kNoSpace);
  CHECK(ring.written() == written);

  limit(before.rlim_cur);
  if (std::filesystem::exists(elsewhere)) std::filesystem::rename(elsewhere, ring.path);
  CHECK(ring.Write(names, std::string(1000, 'k')) == Result::kNoSpace);  // tried once per buffer
  ring.writer->NextBuffer();
  CHECK(ring.Write(names, std::string(1000, 'n')) == Result::kWritten);
  session::RingDefinitions reader(FileDescriptor(::open(ring.path.c_str(), O_RDONLY)));
  REQUIRE(reader.Read(ring.written()) == 0);
  std::string last;
  reader.KernelOf(names, [&](std::string_view name, std::string_view) {
    last = name;
    return 0u;
  });
  CHECK(last == std::string(1000, 'n'));
}

}  // namespace
}  // namespace stemtap::inject
