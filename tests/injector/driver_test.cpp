// SPDX-License-Identifier: Apache-2.0
//
// Tests that the library forwards cuInit correctly on the simulated driver and on the real driver
// without a device.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "injector/injected.h"
#include "support/paths.h"
#include "support/real_driver.h"

namespace stemtap::test {
namespace {

// Returns a command that calls cuInit of the driver in `directory` three times.
std::vector<std::string> ThreeInits(const std::filesystem::path& directory) {
  return {STEMTAP_TEST_DRIVER_ANSWERS, (directory / "libcuda.so.1").string(), "cuInit", "3"};
}

// Returns the output of an injection library that returns `value` if cuInit is called three times:
// loaded alone, or chained by this library.
std::string OnItsOwn(const std::filesystem::path& driver, const std::string& value) {
  return RunProcess(ThreeInits(driver),
                    BareOptions({{"CUDA_INJECTION64_PATH", STEMTAP_TEST_INJECTED},
                                 {"INJECTED_RETURNS", value}}))
      .out;
}
std::string BehindOurs(const std::filesystem::path& driver, const std::string& value) {
  const Injected injected;
  const ProcessResult result = RunProcess(
      ThreeInits(driver),
      injected.Options({{"STEMTAP_CHAIN", STEMTAP_TEST_INJECTED}, {"INJECTED_RETURNS", value}}));
  CHECK(result.exit_code == 0);
  CHECK(injected.RingFiles().size() == 1);  // this process was set up once
  return result.out;
}

TEST_CASE(
    "a chained library that returns 0 is loaded again at the next cuInit, as without stemtap") {
  for (const char* value : {"0", "1", "-1"}) {
    CAPTURE(std::string(value));
    const std::string expected = OnItsOwn(FakeGpuDir(), value);
    CHECK(expected.starts_with("loaded\ninjected\n"));
    CHECK(BehindOurs(FakeGpuDir(), value) == expected);
  }
}

TEST_CASE("the real driver handles a chained library as without stemtap") {
  const RealDrivers drivers;
  STEMTAP_SKIP_WITHOUT_DRIVERS(drivers);
  for (const auto& driver : drivers.directories()) {
    CAPTURE(driver.string());
    for (const char* value : {"0", "1"}) {
      CAPTURE(std::string(value));
      CHECK(BehindOurs(driver, value) == OnItsOwn(driver, value));
    }
  }
}

// Without a device, cuInit of the real driver returns 100, CUDA_ERROR_NO_DEVICE.
void CheckDisabled(const std::filesystem::path& driver, const Variables& variables) {
  const ProcessResult bare = RunProcess(ThreeInits(driver), BareOptions());
  CHECK(bare.exit_code == 0);
  CHECK(bare.err == "cuInit 100\ncuInit 100\ncuInit 100\n");

  const Injected injected;
  Variables all = variables;
  all.emplace_back("STEMTAP_SESSION", injected.session().string());
  const ProcessResult result = RunProcess(ThreeInits(driver), BareOptions(all));
  CHECK(result.exit_code == 0);
  CHECK(result.out == bare.out);
  CHECK(result.err == bare.err);
  const Ring ring(injected.RingFile());
  CHECK(ring.state() == shm::RingState::kDisabled);
  CHECK(ring.seen() == 0);
  const std::string reason = ring.header().reason;
  CAPTURE(reason);
  CHECK(reason.starts_with("CUPTI "));
}

TEST_CASE("recording is disabled with the real driver and no device") {
  const RealDrivers drivers;
  STEMTAP_SKIP_WITHOUT_DRIVERS(drivers);
  const auto cupti = RealNvidia("cupti");
  STEMTAP_SKIP_WITHOUT_REAL(cupti);
  const std::filesystem::path cuptis = *cupti / "12.5/usr/lib/x86_64-linux-gnu";
  for (const auto& driver : drivers.directories()) {
    CAPTURE(driver.string());
    for (const char* level : {"graph", "kernels", "gate"}) {
      CAPTURE(std::string(level));
      for (const char* way : {"CUDA_INJECTION64_PATH", "LD_PRELOAD"}) {
        CAPTURE(std::string(way));
        // CUPTI is searched for, given by its path, or unavailable.
        CheckDisabled(driver, {{way, InjectorLibrary().string()}, {"STEMTAP_LEVEL", level}});
        CheckDisabled(driver, {{way, InjectorLibrary().string()},
                               {"STEMTAP_LEVEL", level},
                               {"LD_LIBRARY_PATH", cuptis.string()},
                               {"STEMTAP_CUPTI", (cuptis / "libcupti.so.12").string()}});
      }
    }
  }
}

}  // namespace
}  // namespace stemtap::test
