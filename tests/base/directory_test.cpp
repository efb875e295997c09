// SPDX-License-Identifier: Apache-2.0
#include "base/directory.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace stemtap {
namespace {

using test::ReadFile;
using test::TempDir;
namespace fs = std::filesystem;

TEST_CASE("if several processes claim one directory, exactly one succeeds") {
  for (int round = 0; round < 50; ++round) {
    TempDir scratch;
    const std::string path = (scratch / "s").string();
    int gate[2];
    REQUIRE(::pipe(gate) == 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        char byte = 0;
        ::close(gate[1]);
        // All processes start to claim when the last one is ready.
        if (::read(gate[0], &byte, 1) != 0) ::_exit(2);
        ::_exit(Directory::Claim(path, "claim").ok() ? 0 : 1);
      }
      children.push_back(child);
    }
    ::close(gate[0]);
    ::close(gate[1]);
    int got = 0;
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      REQUIRE(WIFEXITED(status));
      REQUIRE(WEXITSTATUS(status) <= 1);
      got += WEXITSTATUS(status) == 0;
    }
    CHECK(got == 1);
  }
}

TEST_CASE("a claimed directory is rejected whether or not its owner is running") {
  TempDir scratch;
  const std::string path = (scratch / "s").string();
  {
    const auto first = Directory::Claim(path, "claim");
    REQUIRE(first.ok());
    CHECK_FALSE(Directory::Claim(path, "claim").ok());
    const auto adopted = Directory::ClaimExisting(path, "claim");
    REQUIRE_FALSE(adopted.ok());
    CHECK(adopted.error().message == path +
                                         ": is not empty: another run started a session there; "
                                         "expected a new or empty directory");
  }
  CHECK_FALSE(Directory::Claim(path, "claim").ok());
  CHECK((fs::status(path).permissions() & fs::perms::mask) == fs::perms::owner_all);
  CHECK((fs::status(path + "/claim").permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a default name gets a suffix if it is taken") {
  TempDir scratch;
  const std::string path = (scratch / "s").string();
  CHECK(Directory::ClaimNew(path, "claim").value().path() == path);
  CHECK(Directory::ClaimNew(path, "claim").value().path() == path + "-2");
  fs::create_directory(path + "-3");  // empty, but already in use
  CHECK(Directory::ClaimNew(path, "claim").value().path() == path + "-4");
}

TEST_CASE("a directory that other users can write is rejected and not changed") {
  for (const mode_t mode : {0770, 0707, 0777, 01777}) {
    CAPTURE(mode);
    TempDir scratch;
    const std::string path = (scratch / "s").string();
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    for (const bool existing : {false, true}) {
      const auto refused =
          existing ? Directory::ClaimExisting(path, "claim") : Directory::Claim(path, "claim");
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().message.find("can be written by other users") != std::string::npos);
      CHECK(fs::is_empty(path));
    }
  }
  TempDir scratch;
  REQUIRE(::mkdir((scratch / "s").c_str(), 0755) == 0);
  CHECK(Directory::Claim((scratch / "s").string(), "claim").ok());  // others only have read access
}

TEST_CASE("a directory of another user is rejected even if root can write there") {
  if (::geteuid() != 0) {
    MESSAGE("SKIPPED: only root can give a directory to another user");
    return;
  }
  TempDir scratch;
  const std::string path = (scratch / "s").string();
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  const auto refused = Directory::Claim(path, "claim");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message ==
        path + ": belongs to another user (65534); expected a directory of your own");
  CHECK(fs::is_empty(path));
}

TEST_CASE("symbolic links are not followed") {
  TempDir scratch;
  const fs::path target = scratch.Write("target", "precious");
  fs::create_directory(scratch / "elsewhere");
  fs::create_directory_symlink(scratch / "elsewhere", scratch / "link");
  CHECK_FALSE(Directory::Claim((scratch / "link").string(), "claim").ok());
  CHECK(fs::is_empty(scratch / "elsewhere"));

  const auto directory = Directory::Claim((scratch / "s").string(), "claim");
  REQUIRE(directory.ok());
  const std::string temporary = "plan.json.tmp." + std::to_string(::getpid()) + ".0";
  fs::create_symlink(target, scratch / "s" / temporary);
  fs::create_symlink(target, scratch / "s/plan.json");
  fs::create_symlink(target, scratch / "s/gate.table");
  CHECK(directory.value().Create("gate.table") < 0);
  CHECK(directory.value().Replace("plan.json", "plan").ok());
  CHECK(ReadFile(target) == "precious");
  CHECK_FALSE(fs::is_symlink(scratch / "s/plan.json"));
  CHECK(ReadFile(scratch / "s/plan.json") == "plan");
  CHECK(fs::is_symlink(scratch / "s" / temporary));
}

TEST_CASE("files are written into the opened directory even if its name changes") {
  TempDir scratch;
  const auto directory = Directory::Claim((scratch / "s").string(), "claim");
  REQUIRE(directory.ok());
  fs::rename(scratch / "s", scratch / "moved");
  fs::create_directory(scratch / "s");
  CHECK(directory.value().Replace("plan.json", "plan").ok());
  CHECK(ReadFile(scratch / "moved/plan.json") == "plan");
  CHECK(fs::is_empty(scratch / "s"));
}

}  // namespace
}  // namespace stemtap
