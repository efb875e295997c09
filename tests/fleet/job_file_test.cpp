// SPDX-License-Identifier: Apache-2.0
#include "fleet/job_file.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "support/temp_dir.h"

namespace stemtap::fleet {
namespace {

namespace fs = std::filesystem;

const std::string kName = JobFileName("train-7", "");

JobFile FileOf(const std::string& password = "secret") {
  JobFile file;
  file.job = "train-7";
  file.host = "node-1";
  file.pid = 4242;
  file.started_ms = 1'700'000'000'123;
  file.urls = {"redis://:" + password + "@10.0.0.1:7000", "redis://:" + password + "@node-1:7000"};
  return file;
}

mode_t ModeOf(const fs::path& path) {
  struct stat about = {};
  REQUIRE(::lstat(path.c_str(), &about) == 0);
  return about.st_mode & 07777;
}

std::string WhyRefused(const fs::path& directory) {
  const Result<std::optional<JobFile>> file = LoadJobFile(directory, kName, "train-7");
  return file.ok() ? "accepted" : file.error().message;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a file that was written is read again") {
  const test::TempDir directory;
  const Result<bool> stored = StoreJobFile(directory.path(), kName, FileOf(), false);
  REQUIRE(stored.ok());
  CHECK(stored.value());
  const Result<std::optional<JobFile>> loaded = LoadJobFile(directory.path(), kName, "train-7");
  REQUIRE(loaded.ok());
  CHECK(loaded.value() == FileOf());
  CHECK(ParseJobFile(JobFileText(FileOf())) == FileOf());
}

TEST_CASE("only its owner may read the file, whatever the umask is, and enter its directory") {
  const test::TempDir scratch;
  const fs::path directory = scratch / "cache/stemtap/jobs";
  const mode_t before = ::umask(0);
  CHECK(StoreJobFile(directory, kName, FileOf(), false).ok());
  CHECK(ModeOf(directory / kName) == 0600);
  CHECK(ModeOf(directory) == 0700);
  CHECK(ModeOf(scratch / "cache") == 0700);
  ::umask(0777);
  CHECK(StoreJobFile(directory, kName, FileOf(), true).ok());
  ::umask(before);
  CHECK(ModeOf(directory / kName) == 0600);
}

TEST_CASE("no temporary file remains") {
  const test::TempDir directory;
  for (const bool replace : {false, false, true}) {
    REQUIRE(StoreJobFile(directory.path(), kName, FileOf(), replace).ok());
    CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 1);
  }
}

TEST_CASE("of two runs that start the server of a job, one writes the file") {
  const test::TempDir directory;
  CHECK(StoreJobFile(directory.path(), kName, FileOf("first"), false).value());
  CHECK(!StoreJobFile(directory.path(), kName, FileOf("second"), false).value());
  CHECK(LoadJobFile(directory.path(), kName, "train-7").value() == FileOf("first"));
  // A stale file is replaced.
  CHECK(StoreJobFile(directory.path(), kName, FileOf("second"), true).value());
  CHECK(LoadJobFile(directory.path(), kName, "train-7").value() == FileOf("second"));
}

TEST_CASE("a run removes its own file only") {
  const test::TempDir directory;
  REQUIRE(StoreJobFile(directory.path(), kName, FileOf("first"), false).ok());
  RemoveJobFile(directory.path(), kName, FileOf("second"));
  CHECK(fs::exists(directory / kName));
  RemoveJobFile(directory.path(), kName, FileOf("first"));
  CHECK(!fs::exists(directory / kName));
}

TEST_CASE("a missing file or directory is no error") {
  const test::TempDir directory;
  CHECK(LoadJobFile(directory.path(), kName, "train-7").value() == std::nullopt);
  CHECK(LoadJobFile(directory / "none", kName, "train-7").value() == std::nullopt);
}

TEST_CASE("a file that others may have read or written is refused") {
  const test::TempDir directory;
  REQUIRE(StoreJobFile(directory.path(), kName, FileOf(), false).ok());
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610, 0601, 0666}) {
    CAPTURE(mode);
    REQUIRE(::chmod((directory / kName).c_str(), mode) == 0);
    const std::string why = WhyRefused(directory.path());
    CHECK(Contains(why, "is open to other users (mode 6"));
    CHECK(Contains(why, "expected a file that only you can read and write (mode 600)"));
  }
  REQUIRE(::chmod((directory / kName).c_str(), 0600) == 0);
  CHECK(WhyRefused(directory.path()) == "accepted");
}

TEST_CASE("a file of another user is refused") {
  if (::geteuid() != 0) {
    MESSAGE("SKIPPED: only root can make files of other users");
    return;
  }
  const test::TempDir directory;
  REQUIRE(StoreJobFile(directory.path(), kName, FileOf(), false).ok());
  REQUIRE(::chown((directory / kName).c_str(), 12345, 12345) == 0);
  CHECK(Contains(WhyRefused(directory.path()), "belongs to another user (12345)"));
}

TEST_CASE("what is not a file is refused, and does not hold the reader up") {
  const test::TempDir directory;
  REQUIRE(StoreJobFile(directory.path(), "target", FileOf(), false).ok());
  fs::create_symlink(directory / "target", directory / kName);
  CHECK(Contains(WhyRefused(directory.path()), "is a link"));
  fs::remove(directory / kName);
  REQUIRE(::mkfifo((directory / kName).c_str(), 0600) == 0);
  CHECK(Contains(WhyRefused(directory.path()), "is not a file"));
  fs::remove(directory / kName);
  fs::create_directory(directory / kName);
  CHECK(Contains(WhyRefused(directory.path()), "is not a file"));
}

TEST_CASE("a file of another job, or a part of one, is refused") {
  const std::string whole = JobFileText(FileOf());
  const test::TempDir directory;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::optional<JobFile> parsed = ParseJobFile(whole.substr(0, bytes));
    // Without its last lines, it has fewer URLs.
    if (parsed) CHECK(parsed->urls.size() < FileOf().urls.size());
  }
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("x"), "stemtap.job 2\n" + whole.substr(14),
        whole.substr(14), std::string("stemtap.job 1\njob train-7\n"),
        std::string("stemtap.job 1\njob train-7\npid x\nurl redis://h:1\n"),
        std::string("stemtap.job 1\njob other\nurl redis://h:1\n")}) {
    CAPTURE(text);
    const fs::path path = directory.Write(kName, text);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    CHECK(Contains(WhyRefused(directory.path()),
                   "does not describe the server of job 'train-7'; remove it"));
  }
}

TEST_CASE("names of files are plain, and differ by job and host") {
  std::set<std::string> names;
  for (const std::string job : {"a", "b", "../a", "/etc/passwd", ".a", "a:b", "a;b", "\xC3\xA4"}) {
    for (const std::string host : {"", "node-1", "node-2"}) {
      const std::string name = JobFileName(job, host);
      CAPTURE(name);
      CHECK(names.insert(name).second);
      CHECK(name.find('/') == std::string::npos);
      CHECK(name.front() != '.');
    }
  }
  CHECK(JobFileName(std::string(200, 'x'), "").size() < 100);
  CHECK(JobFileName(std::string(200, 'x'), "") != JobFileName(std::string(199, 'x'), ""));
}

TEST_CASE("the directory is the one that a variable names, or in the cache of the user") {
  const auto directory_of = [](const char* own, const char* cache, const char* home) {
    const auto set = [](const char* name, const char* value) {
      if (value == nullptr) {
        ::unsetenv(name);
      } else {
        ::setenv(name, value, 1);
      }
    };
    set("STEMTAP_FLEET_DIR", own);
    set("XDG_CACHE_HOME", cache);
    set("HOME", home);
    const Result<std::string> directory = JobDirectory();
    return directory.ok() ? directory.value() : "";
  };
  const std::string home = ::getenv("HOME") == nullptr ? "" : ::getenv("HOME");
  CHECK(directory_of("/shared", "/cache", "/home/u") == "/shared");
  CHECK(directory_of(nullptr, "/cache", "/home/u") == "/cache/stemtap/jobs");
  CHECK(directory_of("", "relative", "/home/u") == "/home/u/.cache/stemtap/jobs");
  CHECK(directory_of(nullptr, nullptr, nullptr) == "");
  directory_of(nullptr, nullptr, home.c_str());
}

}  // namespace
}  // namespace stemtap::fleet
