// SPDX-License-Identifier: Apache-2.0
#include "fleet/private_server.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fleet/fake_server.h"
#include "fleet/job_file.h"
#include "support/temp_dir.h"

namespace stemtap::fleet {
namespace {

constexpr const char* kJob = "train-7";

// Writes the file of a server. `host`: as for JobFileName.
void Announce(const test::TempDir& directory, const std::string& host,
              const std::vector<std::string>& sockets) {
  JobFile file;
  file.job = kJob;
  file.host = "node-1";
  file.pid = 4242;
  for (const std::string& socket : sockets) file.urls.push_back("unix://" + socket);
  REQUIRE(StoreJobFile(directory.path(), JobFileName(kJob, host), file, true).ok());
}

std::string WhyNotFound(const test::TempDir& directory) {
  const Result<RedisUrl> found = FindServer(directory.path(), kJob);
  return found.ok() ? "found" : found.error().message;
}

bool HasText(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Answers the two PINGs of one connection.
const std::vector<std::string> kAlive = {"+PONG\r\n", "+PONG\r\n"};

TEST_CASE("a server is found by its file, whether the job is on one host or on several") {
  for (const std::string& host : {HostName(), std::string()}) {
    const test::TempDir directory;
    FakeServer server(kAlive);
    Announce(directory, host, {server.url().host});
    const Result<RedisUrl> found = FindServer(directory.path(), kJob);
    REQUIRE(found.ok());
    CHECK(found.value().host == server.url().host);
  }
}

TEST_CASE("without a file, the message names it") {
  const test::TempDir directory;
  const std::string why = WhyNotFound(directory);
  CHECK(HasText(why, "no run with rank 0 has started the server of job 'train-7' ("));
  CHECK(HasText(why, JobFileName(kJob, "")));
}

TEST_CASE("a stale file finds no server, and hides none") {
  const test::TempDir directory;
  Announce(directory, HostName(), {(directory / "gone").string()});
  CHECK(
      HasText(WhyNotFound(directory),
              "the server that process 4242 on node-1 started for job 'train-7' is away: unix://"));
  FakeServer server(kAlive);
  Announce(directory, "", {server.url().host});
  CHECK(WhyNotFound(directory) == "found");
}

TEST_CASE("a server that refuses the password is not the one of the job") {
  const test::TempDir directory;
  FakeServer other({"-NOAUTH Authentication required.\r\n"});
  Announce(directory, "", {other.url().host});
  CHECK(HasText(WhyNotFound(directory), "is away: unix://"));
}

TEST_CASE("the addresses of a server are tried in turn") {
  const test::TempDir directory;
  FakeServer server(kAlive);
  Announce(directory, "", {(directory / "gone").string(), server.url().host});
  const Result<RedisUrl> found = FindServer(directory.path(), kJob);
  REQUIRE(found.ok());
  CHECK(found.value().host == server.url().host);
}

}  // namespace
}  // namespace stemtap::fleet
