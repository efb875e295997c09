// SPDX-License-Identifier: Apache-2.0
//
// Compares the sizes of the simulated CUPTI's records with NVIDIA's libraries:
// cuptiActivityGetNextRecord iterates over a buffer without a driver or a GPU.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "probed.h"
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

// Compares all record sizes and returns the CUPTI version of the library.
std::string CheckSizes(const std::filesystem::path& library) {
  CAPTURE(library.string());
  const Environment env = {{"REAL_CUPTI", library.string()}};
  const std::string version = Values("record_sizes", env).at("version");
  const auto sizes =
      Values("record_sizes", {{"REAL_CUPTI", library.string()}, {"FAKE_CUPTI_VERSION", version}});
  CAPTURE(version);
  CHECK(sizes.at("is_another") == "1");
  // CUDA 11.1 reports the same version as CUDA 11.2 to 11.4 and has shorter kernel records.
  const bool ambiguous = library.filename() == "libcupti.so.11.1";
  for (const std::string kind : {"kernel", "concurrent_kernel"}) {
    CAPTURE(kind);
    CHECK(sizes.at("real_" + kind) == (ambiguous ? "160" : sizes.at("fake_" + kind)));
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
