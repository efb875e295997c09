// SPDX-License-Identifier: Apache-2.0
//
// Compares the sizes of the simulated CUPTI's records with NVIDIA's libraries:
// cuptiActivityGetNextRecord iterates over a buffer without a driver or a GPU.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "probed.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/real_nvidia.h"

namespace stemtap::test {
namespace {

// Returns every libcupti below a directory.
std::vector<std::filesystem::path> CuptisIn(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const bool is_cupti = entry.path().filename().string().starts_with("libcupti.so.");
    if (is_cupti && !entry.is_symlink()) found.push_back(entry.path());
  }
  return found;
}

// Two versions have kernel records of two sizes: CUDA 11.1 reports the version of CUDA 11.2 to 11.4
// and has shorter records, CUDA 12.0 and 12.1 report the version of CUDA 11.8 and have longer ones.
std::string ExpectedKernelBytes(const std::filesystem::path& library, const std::string& version,
                                const std::string& simulated) {
  if (library.filename() == "libcupti.so.11.1") return "160";
  if (library.filename() == "libcupti.so.12" && version == "18") return "208";
  return simulated;
}

// Compares all record sizes and returns the CUPTI version of the library.
std::string CheckSizes(const std::filesystem::path& library, Environment env = {}) {
  CAPTURE(library.string());
  env.emplace_back("REAL_CUPTI", library.string());
  const std::string version = Values("record_sizes", env).at("version");
  env.emplace_back("FAKE_CUPTI_VERSION", version);
  const auto sizes = Values("record_sizes", env);
  CAPTURE(version);
  CHECK(sizes.at("is_another") == "1");
  for (const std::string kind : {"kernel", "concurrent_kernel"}) {
    CAPTURE(kind);
    CHECK(sizes.at("real_" + kind) ==
          ExpectedKernelBytes(library, version, sizes.at("fake_" + kind)));
  }
  CHECK(sizes.at("real_overhead") == sizes.at("fake_overhead"));
  // Graph records exist since CUDA 11.7.
  const bool has_graphs = std::stoul(version) >= 17;
  CHECK(sizes.at("real_graph") == (has_graphs ? sizes.at("fake_graph") : "0"));
  return version;
}

TEST_CASE("record sizes match NVIDIA's libraries from CUDA 11.2 to 12.5") {
  const auto cupti = RealNvidia("cupti");
  STEMTAP_SKIP_WITHOUT_REAL(cupti);
  std::set<std::string> versions;
  for (const auto& library : CuptisIn(*cupti)) versions.insert(CheckSizes(library));
  CHECK(versions == std::set<std::string>{"14", "18", "22", "23"});
}

TEST_CASE("record sizes match the libraries in Nsight Systems from CUDA 10.0 on") {
  const auto nsys = RealNvidia("nsys");
  STEMTAP_SKIP_WITHOUT_REAL(nsys);
  std::set<std::string> versions;
  for (const auto& library : CuptisIn(*nsys)) versions.insert(CheckSizes(library));
  CHECK(versions == std::set<std::string>{"12", "13", "14", "16", "17", "18", "23"});
}

// The directory of an unpacked wheel is named after its version.
bool NeedsDriver(const std::filesystem::path& library) {
  const std::string path = library.string();
  return path.find("/13.") != std::string::npos && path.find("/13.0.") == std::string::npos &&
         path.find("/13.1.") == std::string::npos;
}

TEST_CASE("record sizes match NVIDIA's wheels from CUDA 11.7 to 13.5") {
  ProcessOptions options;
  options.timeout = std::chrono::minutes{3};  // for the download of 17 wheels
  const ProcessResult brought =
      RunProcess({(SourceDir() / "tools/real_programs").string(), "cupti"}, options);
  if (brought.exit_code == 77) {
    MESSAGE(brought.out);  // SKIPPED, with the reason
    return;
  }
  REQUIRE(brought.exit_code == 0);
  // From CUDA 13.2 on, libcupti answers only if it finds a driver, which needs no GPU.
  const auto driver = RealNvidia("driver");
  Environment with_driver;
  if (driver) {
    with_driver.emplace_back("LD_LIBRARY_PATH",
                             (*driver / "555/usr/lib/x86_64-linux-gnu/nvidia/current").string());
  } else {
    MESSAGE("SKIPPED: CUDA 13.2 to 13.5, because no real driver is available");
  }
  std::set<std::string> versions;
  for (const auto& library : CuptisIn(brought.out.substr(0, brought.out.find('\n')))) {
    if (!NeedsDriver(library)) {
      versions.insert(CheckSizes(library));
    } else if (driver) {
      versions.insert(CheckSizes(library, with_driver));
    }
  }
  CHECK(versions.size() == (driver ? 15 : 11));
}

TEST_CASE("record sizes match the toolkit's library") {
  const std::filesystem::path library = "/usr/local/cuda/lib64/libcupti.so.13";
  if (!std::filesystem::exists(library)) {
    MESSAGE("SKIPPED: " << library.string() << " is not installed");
    return;
  }
  CHECK(std::stoul(CheckSizes(library)) >= 130000);
}

}  // namespace
}  // namespace stemtap::test
