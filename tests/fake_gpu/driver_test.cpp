// SPDX-License-Identifier: Apache-2.0
//
// Tests the simulated driver's results without a device, and compares them with the real driver.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "probed.h"
#include "support/real_driver.h"

namespace stemtap::test {
namespace {

// Returns the output of `driver_answers` for the driver in `directory`.
std::string Answers(const std::filesystem::path& directory, std::vector<std::string> arguments,
                    const Environment& env = {}) {
  ProcessOptions options;
  options.env = env;
  arguments.insert(arguments.begin(),
                   {STEMTAP_TEST_DRIVER_ANSWERS, (directory / "libcuda.so.1").string()});
  const ProcessResult result = RunProcess(arguments, options);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  return result.out;
}

// Returns the order in which three calls of cuInit load, call and unload the injected library.
std::string Injections(const std::filesystem::path& directory, const char* library_returns) {
  return Answers(
      directory, {"cuInit", "3"},
      {{"CUDA_INJECTION64_PATH", STEMTAP_TEST_INJECTED}, {"INJECTED_RETURNS", library_returns}});
}

TEST_CASE("an injected library that returns 0 is unloaded and is loaded again by the next cuInit") {
  const std::string round = "loaded\ninjected\nunloaded\ncuInit has returned\n";
  CHECK(Injections(FakeGpuDir(), "0") == round + round + round);
  const std::string once =
      "loaded\ninjected\ncuInit has returned\ncuInit has returned\ncuInit has returned\nunloaded\n";
  CHECK(Injections(FakeGpuDir(), "1") == once);
  CHECK(Injections(FakeGpuDir(), "-1") == once);
}

// Returns the functions that exist in no version.
std::set<std::string> MissingFunctions(const std::string& entry_points) {
  std::map<std::string, bool> exists;
  std::istringstream lines(entry_points);
  for (std::string line; std::getline(lines, line);) {
    exists[line.substr(0, line.find(' '))] |= line.find(" found, ") != std::string::npos;
  }
  std::set<std::string> missing;
  for (const auto& [name, does] : exists) {
    if (!does && name.find("_v") == std::string::npos) missing.insert(name);
  }
  return missing;
}

TEST_CASE("the simulated driver has every function that the real driver has on Linux") {
  const auto missing = MissingFunctions(Answers(FakeGpuDir(), {"entry_points"}));
  CHECK(missing == std::set<std::string>{"cuEventCreateFromEGLSync", "cuLaunchKernel_ptsz",
                                         "cuNoSuchThing", "cuWGLGetDevice"});
}

TEST_CASE("the real driver and the simulated driver treat an injected library alike") {
  const RealDrivers drivers;
  STEMTAP_SKIP_WITHOUT_DRIVERS(drivers);
  for (const auto& directory : drivers.directories()) {
    CAPTURE(directory.string());
    for (const char* library_returns : {"0", "1", "-1"}) {
      CAPTURE(std::string(library_returns));
      CHECK(Injections(directory, library_returns) == Injections(FakeGpuDir(), library_returns));
    }
  }
}

TEST_CASE("the real driver introduces each function in the same version as the simulated driver") {
  const RealDrivers drivers;
  STEMTAP_SKIP_WITHOUT_DRIVERS(drivers);
  for (const auto& directory : drivers.directories()) {
    CAPTURE(directory.string());
    const std::string version = Answers(directory, {"version"});
    const std::string fake =
        Answers(FakeGpuDir(), {"entry_points"},
                {{"FAKE_GPU_DRIVER_VERSION", version.substr(0, version.find('\n'))}});
    CHECK(fake.find("cuLaunchKernel 4000 0: 0 found, status 0, without status 0, old 0\n") !=
          std::string::npos);
    const std::string real = Answers(directory, {"entry_points"});
    // Prints only the first difference, because there are thousands of lines.
    const auto [ours, theirs] = std::mismatch(fake.begin(), fake.end(), real.begin(), real.end());
    const std::size_t at = fake.rfind('\n', static_cast<std::size_t>(ours - fake.begin()));
    INFO("simulated: " << fake.substr(at + 1, 200) << "real: " << real.substr(at + 1, 200));
    CHECK((ours == fake.end() && theirs == real.end()));
  }
}

}  // namespace
}  // namespace stemtap::test
