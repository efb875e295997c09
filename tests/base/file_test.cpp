// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "base/file_descriptor.h"
#include "base/memory_source.h"
#include "support/file_size_limit.h"
#include "support/temp_dir.h"

namespace stemtap {
namespace {

TEST_CASE("a file is read completely, up to the limit") {
  const std::string text = "0123456789";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, kReadBytes}) {
    MemorySource fits("t", text, piece);
    const Result<std::string> read = ReadWhole(fits, 10, "digits");
    REQUIRE(read.ok());
    CHECK(read.value() == text);
    MemorySource longer("t", text, piece);
    const Result<std::string> refused = ReadWhole(longer, 9, "digits");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message == "t: is longer than 9 bytes; expected digits");
  }
  MemorySource empty("t", "");
  CHECK(ReadWhole(empty, 0, "nothing").value().empty());
}

TEST_CASE("a path that cannot be looked up counts as missing") {
  const test::TempDir scratch;
  CHECK_FALSE(Exists(scratch / "file"));
  const std::filesystem::path file = scratch.Write("file", "");
  CHECK(Exists(file));
  CHECK(Exists(file.parent_path()));
  CHECK_FALSE(Exists(""));
  CHECK_FALSE(Exists(file / "below"));
  CHECK_FALSE(Exists(std::string(10'000, 'x')));
  std::filesystem::create_symlink(scratch / "missing", scratch / "broken");
  CHECK_FALSE(Exists(scratch / "broken"));
}

TEST_CASE("a file that reaches its maximum size ends in a whole line and can grow later") {
  const test::TempDir scratch;
  const std::filesystem::path path = scratch / "lines";
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(file.is_open());
  CHECK(WriteLines(file.get(), 0, "abcd\n") == 5);
  {
    const test::FileSizeLimit limit(12);
    errno = 0;
    CHECK(WriteLines(file.get(), 5, "efgh\nijkl\nmnop\n") == 5);
    CHECK(errno == EFBIG);
    CHECK(test::ReadFile(path) == "abcd\nefgh\n");
    CHECK(WriteLines(file.get(), 10, "ijkl\n") == 0);
    CHECK(test::ReadFile(path) == "abcd\nefgh\n");
  }
  CHECK(WriteLines(file.get(), 10, "mnop\n") == 5);
  CHECK(WriteLines(file.get(), 15, "") == 0);
  CHECK(test::ReadFile(path) == "abcd\nefgh\nmnop\n");
}

}  // namespace
}  // namespace stemtap
