// SPDX-License-Identifier: Apache-2.0
#include "session/session_log.h"

#include <doctest/doctest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "support/file_size_limit.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

using std::filesystem::perms;
using test::ReadFile;
using test::TempDir;

TEST_CASE("a log contains messages at or above its level until it is destroyed") {
  TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  const auto before = spdlog::default_logger();
  {
    const SessionLog log(directory, spdlog::level::info);
    spdlog::debug("hidden");
    CHECK_FALSE(std::filesystem::exists(scratch / kLogFileName));
    spdlog::info("first");
    spdlog::warn("second");
  }
  CHECK(spdlog::default_logger() == before);
  const std::string text = ReadFile(scratch / kLogFileName);
  CHECK(text.find(" info: first\n") != std::string::npos);
  CHECK(text.ends_with(" warning: second\n"));
  CHECK(text.find("hidden") == std::string::npos);
  CHECK(std::filesystem::status(scratch / kLogFileName).permissions() ==
        (perms::owner_read | perms::owner_write));
}

TEST_CASE("a disabled log and a removed log do not create a file") {
  TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  {
    const SessionLog off(directory, spdlog::level::off);
    spdlog::critical("anything");
    CHECK(std::filesystem::is_empty(scratch.path()));
  }
  const SessionLog log(directory, spdlog::level::info);
  spdlog::info("anything");
  CHECK(std::filesystem::remove(scratch / kLogFileName));
  spdlog::info("anything");
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("a log uses at most two files of 5 MiB, which end in complete lines") {
  TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  const SessionLog log(directory, spdlog::level::debug);
  const std::string message(100'000, 'x');
  for (int i = 0; i < 150; ++i) spdlog::debug("{} {}", message, i);
  for (const char* name : {kLogFileName, kOldLogFileName}) {
    CHECK(std::filesystem::file_size(scratch / name) <= SessionLog::kMaxFileBytes);
    CHECK(std::filesystem::file_size(scratch / name) > SessionLog::kMaxFileBytes / 2);
    CHECK(ReadFile(scratch / name).ends_with("\n"));
  }
  CHECK(ReadFile(scratch / kLogFileName).ends_with(" 149\n"));
}

TEST_CASE("a log that cannot grow for a while continues with whole lines and the number lost") {
  TempDir scratch;
  const Directory directory = Directory::Open(scratch.path().string()).value();
  const SessionLog log(directory, spdlog::level::info);
  spdlog::info("before");
  const std::string before = ReadFile(scratch / kLogFileName);
  {
    const test::FileSizeLimit limit(before.size() + 10);
    spdlog::info("lost");
    spdlog::info("lost as well");
    CHECK(ReadFile(scratch / kLogFileName) == before);
  }
  spdlog::info("after");
  const std::string text = ReadFile(scratch / kLogFileName);
  CHECK(text.starts_with(before));
  CHECK(text.find(" warning: 2 messages are missing, the log could not be written\n") !=
        std::string::npos);
  CHECK(text.ends_with(" info: after\n"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
}

}  // namespace
}  // namespace stemtap::session
