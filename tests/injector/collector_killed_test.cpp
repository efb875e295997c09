// SPDX-License-Identifier: Apache-2.0
//
// Tests what is left of a session whose collector was killed: the program ends as without it, and
// its ring file contains the name of every kernel that it launched, before and after.
#include <doctest/doctest.h>
#include <signal.h>

#include <fstream>

#include "injector/injected.h"
#include "injector/wait_until.h"
#include "shm/session_env.h"
#include "support/paths.h"

namespace stemtap::test {
namespace {

// The ring file must grow for twice as many names.
constexpr std::size_t kNameBytes = 250;
constexpr std::size_t kNames = 2000;
static_assert(2 * kNames * shm::NameRecordCount(kNameBytes) > shm::kFirstDefinitions);

std::vector<std::string> Names(const char* prefix) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNames; ++i) {
    names.push_back(prefix + std::to_string(i));
    names.back().resize(kNameBytes, 'k');
  }
  return names;
}

TEST_CASE("the names of all kernels are readable after the collector was killed") {
  const TempDir scratch;
  const std::filesystem::path go = scratch / "go";
  std::vector<std::string> argv = {StemtapProgram(), "run", "-q",
                                   "-o",             (scratch / "session").string(),
                                   "--",             STEMTAP_TEST_LAUNCH_LIST};
  std::vector<std::string> names = Names("before");
  const std::vector<std::string> later = Names("after");
  for (const std::string& name : names) argv.push_back(name + ":3");
  argv.push_back("wait/" + go.string());
  for (const std::string& name : later) argv.push_back(name + ":3");
  names.insert(names.end(), later.begin(), later.end());
  ProcessOptions options = BareOptions();
  options.until_closed = true;
  Process collector(argv, options);
  REQUIRE(collector.WaitForOutput("waiting\n"));
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "session")) {
    if (entry.path().filename().string().starts_with(shm::kRingPrefix)) file = entry.path();
  }
  REQUIRE(!file.empty());
  Ring ring(file);
  REQUIRE(WaitUntil([&] { return ring.kept() == 3 * kNames; }));
  // The collector has read records and names.
  REQUIRE(WaitUntil([&] { return ring.read_available() == 0; }));
  collector.Signal(SIGKILL);
  std::ofstream(go) << "go";
  const ProcessResult result = collector.Wait();
  CHECK(result.signal == SIGKILL);
  CHECK_FALSE(result.timed_out);
  CHECK(result.out == "waiting\nlaunches 12000 captured 0\n");
  CHECK(result.err.empty());

  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.kept() == 6 * kNames);
  CHECK(ring.lost_records() == 0);
  CHECK(ring.kernels().size() == 3 * kNames);
  CHECK(ring.names() == names);
}

}  // namespace
}  // namespace stemtap::test
