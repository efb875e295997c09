// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/byte_sink.h"
#include "base/byte_source.h"
#include "base/memory_source.h"
#include "base/rng.h"
#include "support/temp_dir.h"

namespace stemtap {
namespace {

using test::ReadFile;
using test::TempDir;

// Reads all of `source` in pieces of `piece` bytes.
Result<std::string> Drain(ByteSource& source, std::size_t piece) {
  std::string content;
  std::vector<char> buffer(piece);
  for (;;) {
    const Result<std::size_t> count = source.Read(buffer.data(), buffer.size());
    if (!count.ok()) return count.error();
    if (count.value() == 0) return content;
    content.append(buffer.data(), count.value());
  }
}

Result<std::string> DrainFile(const std::string& path, std::size_t piece = 4096) {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path);
  if (!source.ok()) return source.error();
  return Drain(*source.value(), piece);
}

Result<std::string> DrainMemory(std::string_view bytes, std::size_t piece) {
  Result<std::unique_ptr<ByteSource>> source =
      Decompress(std::make_unique<MemorySource>("memory", bytes, piece));
  if (!source.ok()) return source.error();
  return Drain(*source.value(), piece);
}

// Returns `size` bytes of text with a moderate compression ratio.
std::string SomeText(std::size_t size) {
  Rng rng(7);
  std::string text;
  while (text.size() < size) {
    text += "row ";
    text += std::to_string(rng.Below(100000));
    text += '\n';
  }
  text.resize(size);
  return text;
}

std::string Compressed(const TempDir& directory, const std::string& name,
                       std::string_view content) {
  const std::string path = (directory / name).string();
  Result<std::unique_ptr<ByteSink>> sink = CreateByteSink(path);
  REQUIRE(sink.ok());
  REQUIRE(sink.value()->Write(content).ok());
  REQUIRE(sink.value()->Finish().ok());
  return ReadFile(path);
}

void CheckFails(const Result<std::string>& result, std::string_view path, std::string_view what) {
  REQUIRE_FALSE(result.ok());
  const std::string& message = result.error().message;
  CAPTURE(message);
  CHECK(message.starts_with(std::string(path) + ": "));
  CHECK(message.find(what) != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("a source reads what a sink wrote, plain and compressed") {
  TempDir directory;
  for (const std::size_t size : {0, 1, 100, 262143, 262144, 262145, 2000000}) {
    const std::string content = SomeText(size);
    for (const char* name : {"a", "a.gz", "a.zst"}) {
      CAPTURE(size);
      CAPTURE(name);
      const std::string stored = Compressed(directory, name, content);
      CHECK((stored == content) == (std::string_view(name) == "a"));
      const Result<std::string> read = DrainFile((directory / name).string());
      REQUIRE(read.ok());
      CHECK(read.value() == content);
    }
  }
}

TEST_CASE("tiny reads return the same content") {
  TempDir directory;
  const std::string content = SomeText(20000);
  for (const char* name : {"a", "a.gz", "a.zst"}) {
    const std::string stored = Compressed(directory, name, content);
    for (const std::size_t piece : {1, 2, 3, 7, 64}) {
      const Result<std::string> read = DrainMemory(stored, piece);
      REQUIRE(read.ok());
      CHECK(read.value() == content);
    }
  }
}

TEST_CASE("peeking consumes nothing") {
  const std::string content = "0123456789";
  MemorySource source("memory", content, 3);
  CHECK(source.Peek(4).value() == "0123");
  CHECK(source.Peek(2).value() == "01");
  char two[2];
  CHECK(source.Read(two, 2).value() == 2);
  CHECK(source.Peek(100).value() == "23456789");
  CHECK(Drain(source, 4).value() == "23456789");
  CHECK(source.Peek(1).value().empty());
}

TEST_CASE("consecutive members and frames are read as one stream") {
  TempDir directory;
  const std::string first = SomeText(300000);
  const std::string second = "the second";
  for (const char* name : {"a.gz", "a.zst"}) {
    const std::string both = Compressed(directory, name, first) +
                             Compressed(directory, name, second) + Compressed(directory, name, "");
    for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, kReadBytes}) {
      const Result<std::string> read = DrainMemory(both, piece);
      REQUIRE(read.ok());
      CHECK(read.value() == first + second);
    }
  }
  SUBCASE("gzip padded with zeros") {
    const std::string padded = Compressed(directory, "a.gz", second) + std::string(512, '\0');
    CHECK(DrainMemory(padded, 5).value() == second);
  }
}

TEST_CASE("damaged compressed data is an error with the path") {
  TempDir directory;
  const std::string content = SomeText(100000);
  for (const char* name : {"a.gz", "a.zst"}) {
    CAPTURE(name);
    const std::string stored = Compressed(directory, name, content);
    const std::string path = (directory / "damaged").string();
    for (const std::size_t cut :
         {std::size_t{4}, std::size_t{5}, std::size_t{20}, stored.size() / 2, stored.size() - 1}) {
      CAPTURE(cut);
      directory.Write("damaged", std::string_view(stored).substr(0, cut));
      CheckFails(DrainFile(path), path, "truncated");
    }
    std::string flipped = stored;
    flipped[flipped.size() - 3] =
        static_cast<char>(flipped[flipped.size() - 3] ^ 0x40);  // checksum
    directory.Write("damaged", flipped);
    CheckFails(DrainFile(path), path, "damaged");
    directory.Write("damaged", stored + "garbage");
    CheckFails(DrainFile(path), path, "damaged");
  }
}

TEST_CASE("an error in compressed data contains the byte offset") {
  TempDir directory;
  for (const char* name : {"a.gz", "a.zst"}) {
    CAPTURE(name);
    const std::string stored = Compressed(directory, name, SomeText(100000));
    const std::string path = (directory / "damaged").string();
    directory.Write("damaged", std::string_view(stored).substr(0, 1000));
    CheckFails(DrainFile(path), path, "ends after 1000 bytes");
    directory.Write("damaged", stored + "garbage");
    // Both formats read a few more bytes before they report the error.
    const Result<std::string> read = DrainFile(path);
    REQUIRE_FALSE(read.ok());
    const std::string& message = read.error().message;
    const std::size_t at = message.find("before byte ");
    REQUIRE(at != std::string::npos);
    const std::size_t byte = std::stoul(message.substr(at + 12));
    CHECK(byte >= stored.size());
    CHECK(byte <= stored.size() + 7);
  }
}

TEST_CASE("zstd is recognized after a skippable frame") {
  TempDir directory;
  const std::string content = SomeText(100000);
  const std::string skippable("\x50\x2A\x4D\x18\x04\x00\x00\x00size", 12);
  const std::string frame = Compressed(directory, "a.zst", content);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
    CAPTURE(piece);
    const Result<std::string> read = DrainMemory(skippable + frame + skippable + frame, piece);
    REQUIRE(read.ok());
    CHECK((read.value() == content + content));
  }
}

TEST_CASE("a file gets the permissions of the file that it replaces, or follows the umask") {
  TempDir directory;
  const auto mode = [&](const char* name) {
    struct stat status = {};
    REQUIRE(::stat((directory / name).c_str(), &status) == 0);
    return status.st_mode & 0777;
  };
  const mode_t before = ::umask(027);
  Compressed(directory, "new.txt", "new");
  directory.Write("old.txt", "old");
  REQUIRE(::chmod((directory / "old.txt").c_str(), 0604) == 0);
  Compressed(directory, "old.txt", "new");
  ::umask(before);
  CHECK(mode("new.txt") == 0640);
  CHECK(mode("old.txt") == 0604);
}

TEST_CASE("two sinks for one path do not share a temporary file") {
  TempDir directory;
  const std::string path = (directory / "a.txt").string();
  Result<std::unique_ptr<ByteSink>> first = CreateByteSink(path);
  Result<std::unique_ptr<ByteSink>> second = CreateByteSink(path);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  REQUIRE(first.value()->Write("first").ok());
  REQUIRE(second.value()->Write("second").ok());
  REQUIRE(second.value()->Finish().ok());
  REQUIRE(first.value()->Finish().ok());
  CHECK(ReadFile(path) == "first");
}

TEST_CASE("a file without read permission is an error with the path") {
  TempDir directory;
  const std::string path = directory.Write("secret", "text").string();
  REQUIRE(::chmod(path.c_str(), 0) == 0);
  if (::access(path.c_str(), R_OK) == 0) {
    MESSAGE("SKIPPED: root can read every file");
    return;
  }
  CheckFails(DrainFile(path), path, "Permission denied");
}

TEST_CASE("a file that cannot be opened is an error with the path") {
  TempDir directory;
  const std::string missing = (directory / "missing").string();
  CheckFails(DrainFile(missing), missing, "No such file");
  CheckFails(DrainFile(directory.path().string()), directory.path().string(), "is a directory");
}

TEST_CASE("a named pipe or device is rejected without waiting if a file is expected") {
  const TempDir scratch;
  const std::string fifo = (scratch / "fifo").string();
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  for (const std::string& path : {fifo, std::string("/dev/zero")}) {
    const Result<std::string> read = DrainFile(path);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().message == path + ": is a named pipe or a device; expected a regular file");
  }
}

TEST_CASE("a pipe from a shell is read like a file") {
  int ends[2] = {};
  REQUIRE(pipe(ends) == 0);
  REQUIRE(write(ends[1], "content", 7) == 7);
  close(ends[1]);
  const Result<std::string> read = DrainFile("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  REQUIRE(read.ok());
  CHECK(read.value() == "content");
}

TEST_CASE("a stream may be a named pipe and waits for the writer") {
  const TempDir scratch;
  const std::string fifo = (scratch / "fifo").string();
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  std::thread writer([&] {
    const int fd = open(fifo.c_str(), O_WRONLY);
    CHECK(write(fd, "content", 7) == 7);
    close(fd);
  });
  Result<std::unique_ptr<ByteSource>> source = OpenStream(fifo);
  writer.join();
  REQUIRE(source.ok());
  const Result<std::string> read = Drain(*source.value(), 3);
  REQUIRE(read.ok());
  CHECK(read.value() == "content");
}

TEST_CASE("a file appears completely or not at all") {
  TempDir directory;
  const std::string path = directory.Write("a.txt", "old").string();
  {
    Result<std::unique_ptr<ByteSink>> sink = CreateByteSink(path);
    REQUIRE(sink.ok());
    REQUIRE(sink.value()->Write(SomeText(600000)).ok());
    CHECK(ReadFile(path) == "old");
  }
  CHECK(ReadFile(path) == "old");
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
  Compressed(directory, "a.txt", "new");
  CHECK(ReadFile(path) == "new");
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("a symbolic link is kept, and its target is replaced") {
  TempDir directory;
  directory.Write("target", "old");
  std::filesystem::create_symlink("target", directory / "link");
  Compressed(directory, "link", "new");
  CHECK(std::filesystem::is_symlink(directory / "link"));
  CHECK(ReadFile(directory / "target") == "new");
}

TEST_CASE("a full disk is reported") {
  TempDir directory;
  for (const char* name : {"full", "full.gz", "full.zst"}) {
    for (const std::size_t size : {10, 5000000}) {
      CAPTURE(name);
      CAPTURE(size);
      std::filesystem::remove(directory / name);
      std::filesystem::create_symlink("/dev/full", directory / name);
      Result<std::unique_ptr<ByteSink>> sink = CreateByteSink((directory / name).string());
      REQUIRE(sink.ok());
      const Status written = sink.value()->Write(SomeText(size));
      const Status finished = written.ok() ? sink.value()->Finish() : written;
      REQUIRE_FALSE(finished.ok());
      CHECK(finished.error().message.find("No space left") != std::string::npos);
      CHECK(finished.error().message.find(name) != std::string::npos);
    }
  }
}

TEST_CASE("a sink that cannot be created is an error") {
  TempDir directory;
  const Result<std::unique_ptr<ByteSink>> inside = CreateByteSink((directory / "no/such").string());
  REQUIRE_FALSE(inside.ok());
  CHECK(inside.error().message.find("No such file") != std::string::npos);
  const Result<std::unique_ptr<ByteSink>> self = CreateByteSink(directory.path().string());
  REQUIRE_FALSE(self.ok());
  CHECK(self.error().message.find("is a directory") != std::string::npos);
}

TEST_CASE("a watch receives the number of bytes read, compressed or not") {
  TempDir directory;
  const std::string text = SomeText(1 << 20);
  for (const char* name : {"a.txt", "a.txt.gz", "a.txt.zst"}) {
    CAPTURE(name);
    const std::string path = (directory / name).string();
    Result<std::unique_ptr<ByteSink>> sink = CreateByteSink(path);
    REQUIRE(sink.ok());
    REQUIRE(sink.value()->Write(text).ok());
    REQUIRE(sink.value()->Finish().ok());
    const std::uint64_t bytes = std::filesystem::file_size(path);
    std::uint64_t last = 0;
    std::uint64_t told = 0;
    Result<std::unique_ptr<ByteSource>> source =
        OpenByteSource(path, [&](std::uint64_t read, std::uint64_t size) {
          CHECK(read >= last);
          CHECK(size == bytes);
          last = read;
          ++told;
        });
    REQUIRE(source.ok());
    REQUIRE(Drain(*source.value(), 4096).value() == text);
    CHECK(last == bytes);
    CHECK(told >= 2);
    CHECK(source.value()->PlainPath() == (std::string_view(name) == "a.txt" ? path : ""));
  }
}

TEST_CASE("a very high compression ratio is rejected for content that is kept in memory") {
  const TempDir directory;
  const std::string block(std::size_t{1} << 20, 'a');
  const auto drained = [&](const std::string& name, int blocks) {
    const std::string path = (directory / name).string();
    auto sink = CreateByteSink(path);
    REQUIRE(sink.ok());
    for (int i = 0; i < blocks; ++i) REQUIRE(sink.value()->Write(block).ok());
    REQUIRE(sink.value()->Finish().ok());
    auto source = OpenByteSource(path);
    REQUIRE(source.ok());
    return Drain(*LimitUnpacking(std::move(source).value()), 4096);
  };
  for (const char* name : {"a.gz", "a.zst"}) {
    CAPTURE(name);
    const Result<std::string> most = drained(name, 4);
    REQUIRE(most.ok());
    CHECK(most.value().size() == kMaxUncheckedBytes);
    const Result<std::string> more = drained(name, 5);
    REQUIRE_FALSE(more.ok());
    CHECK(more.error().message.starts_with((directory / name).string() + ": "));
    CHECK(more.error().message.find("bytes unpack to more than") != std::string::npos);
  }
  CHECK(drained("a", 5).ok());  // an uncompressed file has no limit

  // Content with a lower compression ratio is exempt from the length limit.
  const std::string text = SomeText(8 * block.size());
  auto sink = CreateByteSink((directory / "text.zst").string());
  REQUIRE(sink.ok());
  REQUIRE(sink.value()->Write(text).ok());
  REQUIRE(sink.value()->Finish().ok());
  auto source = OpenByteSource((directory / "text.zst").string());
  REQUIRE(source.ok());
  const Result<std::string> whole = Drain(*LimitUnpacking(std::move(source).value()), 4096);
  REQUIRE(whole.ok());
  CHECK(whole.value() == text);
}

}  // namespace
}  // namespace stemtap
