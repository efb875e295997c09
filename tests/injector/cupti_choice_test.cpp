// SPDX-License-Identifier: Apache-2.0
//
// Tests which of several libcupti is loaded, and how a newer, unknown version is handled.
#include <doctest/doctest.h>
#include <signal.h>

#include <set>
#include <sstream>

#include "injector/injected.h"
#include "support/paths.h"

namespace stemtap::test {
namespace {

// Machine has the simulated CUPTI 13 on the loader's path, and CUPTI 12 and a CUDA 12 runtime in
// Python packages.
struct Machine {
  Injected injected;
  std::filesystem::path packages = injected.scratch("lib/python3/site-packages");
  std::filesystem::path runtime = packages / "nvidia/cuda_runtime/lib/libcudart.so.12";
  std::filesystem::path wheel = packages / "nvidia/cuda_cupti/lib/libcupti.so.12";

  Machine() {
    std::filesystem::create_directories(runtime.parent_path());
    std::filesystem::create_directories(wheel.parent_path());
    std::filesystem::copy_file(STEMTAP_TEST_EMPTY_LIBRARY, runtime);
    // This is a copy, because /proc/self/maps shows the targets of links.
    std::filesystem::copy_file(FakeGpuDir() / "libcupti.so.13", wheel);
  }

  // Returns the files named libcupti* that the program has mapped after a launch.
  std::set<std::string> Mapped(const Variables& variables) const {
    const std::string go = injected.scratch("go").string();
    Process child(Command("exit_sigkill", {"100", go}), injected.Options(variables));
    REQUIRE(child.WaitForOutput("launched\n"));
    std::set<std::string> files;
    std::istringstream maps(ReadFile("/proc/" + std::to_string(child.pid()) + "/maps"));
    for (std::string line; std::getline(maps, line);) {
      const std::size_t at = line.find('/');
      if (at != std::string::npos && line.find("/libcupti") != std::string::npos) {
        files.insert(line.substr(at));
      }
    }
    child.Signal(SIGKILL);
    child.Wait();
    return files;
  }
};

TEST_CASE("without a CUDA runtime, CUPTI of the driver's version is loaded through the loader") {
  const Machine machine;
  CHECK(machine.Mapped({}) ==
        std::set<std::string>{std::filesystem::canonical(FakeGpuDir() / "libcupti.so.13")});
}

TEST_CASE("CUPTI of the CUDA runtime's version is loaded from the runtime's package") {
  const Machine machine;
  // This is the library that torch would load later. Two libraries would interfere.
  CHECK(machine.Mapped({{"LD_PRELOAD", machine.runtime.string()}}) ==
        std::set<std::string>{machine.wheel.string()});
}

TEST_CASE("a CUPTI that is already loaded is preferred to all others") {
  const Machine machine;
  CHECK(machine.Mapped({{"LD_PRELOAD", machine.wheel.string()}}) ==
        std::set<std::string>{machine.wheel.string()});
  CHECK(machine.Mapped({{"LD_PRELOAD", machine.wheel.string()}, {"STEMTAP_CUPTI", "/no/such"}}) ==
        std::set<std::string>{machine.wheel.string()});
}

TEST_CASE("STEMTAP_CUPTI is preferred to libraries that are not loaded") {
  const Machine machine;
  CHECK(machine.Mapped({{"STEMTAP_CUPTI", machine.wheel.string()}}) ==
        std::set<std::string>{machine.wheel.string()});
}

TEST_CASE("a missing STEMTAP_CUPTI is reported, and no other library is used") {
  const Injected injected;
  REQUIRE(injected.Run("exit_return", {"10"}, {{"STEMTAP_CUPTI", "/no/such/lib"}}).exit_code == 0);
  const Ring ring(injected.RingFile());
  CHECK(ring.state() == shm::RingState::kDisabled);
  CHECK(std::string(ring.header().reason) ==
        "CUPTI not found: STEMTAP_CUPTI is /no/such/lib, which cannot be loaded");
}

TEST_CASE("CUPTI of a later CUDA version records plausible kernels and adds a note") {
  for (const char* version : {"140000", "990102"}) {
    const Injected injected;
    REQUIRE(injected.Run("exit_return", {"5000"}, {{"FAKE_CUPTI_VERSION", version}}).exit_code ==
            0);
    Ring ring(injected.RingFile());
    ring.Drain();
    CHECK(ring.state() == shm::RingState::kClosed);
    CHECK(ring.kept() == 5000);
    CHECK(SumByName(ring) == injected.ReadTruth().by_name);
    CHECK(std::string(ring.header().reason)
              .starts_with("CUPTI version " + std::string(version) + " is newer than CUDA"));
  }
}

}  // namespace
}  // namespace stemtap::test
