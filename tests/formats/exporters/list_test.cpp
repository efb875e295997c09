// SPDX-License-Identifier: Apache-2.0
// Tests partial lists of existing traces: Accel-Sim's kernelslist.g and MacSim's kernel_config.txt.
#include "stand_ins.h"

namespace stemtap::formats {
namespace {

using namespace stemtap::test;

model::Profile Launches(std::uint32_t count) {
  model::Profile profile;
  for (std::uint32_t i = 0; i < count; ++i) {
    shm::KernelRecord r;
    r.name_id = profile.names.Intern("axpy");
    r.duration_ns = 10;
    profile.records.push_back(r);
  }
  return profile;
}

// Returns what the simulator reads: lines that begin with MemcpyHtoD or kernel.
std::vector<std::uint64_t> Simulated(const std::string& list) {
  std::vector<std::uint64_t> ids;
  std::istringstream in(list);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("kernel", 0) == 0) ids.push_back(std::stoull(line.substr(7)));
  }
  return ids;
}

Result<formats::Exported> Part(const std::string& to, const std::string& list,
                               const Indices& planned, bool keep_copies = true) {
  formats::ExportOptions options;
  options.list = list;
  options.list_name = "the.list";
  options.keep_copies = keep_copies;
  const model::Profile profile = Launches(12);
  return Export(to, profile, PlanOf(profile, planned), options);
}

const std::string kNew =
    "MemcpyHtoD,0x00007f0000000000,4096\n"
    "kernel-1-ctx_0x1f13110.traceg.xz\n"
    "kernel-2-ctx_0x1f13110.traceg.xz\n"
    "# a comment\n"
    "kernel-11-ctx_0x1f13110.traceg.xz\n"
    "MemcpyHtoD,0x00007f0000001000,4\n"
    "kernel-12-ctx_0x1f13110.traceg.xz\n";

TEST_CASE("kernelslist.g contains the planned kernels in the order of the list") {
  const auto part = Part("accelsim-kernelslist", kNew, {0, 10});
  REQUIRE(part.ok());
  const std::string& text = part.value().files[0].content;
  CHECK(Simulated(text) == std::vector<std::uint64_t>{1, 11});
  CHECK(text ==
        "MemcpyHtoD,0x00007f0000000000,4096\nkernel-1-ctx_0x1f13110.traceg.xz\n"
        "kernel-11-ctx_0x1f13110.traceg.xz\nMemcpyHtoD,0x00007f0000001000,4\n");
  CHECK(part.value().runs == 0);

  const auto bare = Part("accelsim-kernelslist", kNew, {0, 10}, false);
  REQUIRE(bare.ok());
  CHECK(bare.value().files[0].content.find("Memcpy") == std::string::npos);

  const auto old = Part("accelsim-kernelslist", "kernel-3.traceg\r\nkernel-2.traceg", {1, 2});
  REQUIRE(old.ok());
  CHECK(Simulated(old.value().files[0].content) == std::vector<std::uint64_t>{3, 2});
}

TEST_CASE("kernelslist.g of a different program or plan is rejected") {
  const auto refused = [](const std::string& list, const Indices& planned,
                          const std::string& words) {
    const auto part = Part("accelsim-kernelslist", list, planned);
    REQUIRE_FALSE(part.ok());
    CAPTURE(part.error().message);
    CHECK(part.error().message.find(words) != std::string::npos);
  };
  refused(kNew, {0, 4, 5}, "does not contain kernel 5 and 1 more");
  refused("", {0}, "does not contain kernel 1");
  refused("kernel-1.traceg\nkernel-1.traceg\n", {0}, "the.list:2: kernel 1 is also in row 1");
  refused("kernel-1-ctx_0xa.traceg\nkernel-1-ctx_0xb.traceg\n", {0},
          "the.list:2: a kernel of another");
  refused("kernel-x.traceg\n", {0}, "the.list:1: 'kernel-x.traceg'");
  refused("kernel-1.txt\n", {0}, "the.list:1:");
  refused("kernel-99999999999999999999.traceg\n", {0}, "the.list:1:");
}

TEST_CASE("kernelslist.g covers one context") {
  model::Profile profile = Launches(4);
  profile.records[1].device = 1;
  formats::ExportOptions options;
  options.list = "kernel-1-ctx_0xa.traceg\nkernel-2-ctx_0xa.traceg\n";
  const model::Plan plan = PlanOf(profile, {0, 1});
  CHECK(RefusalOf("accelsim-kernelslist", profile, plan, options).find("--device N") !=
        std::string::npos);
  options.counting.device = 1;
  CHECK(Simulated(Exports("accelsim-kernelslist", profile, plan, options).files[0].content) ==
        std::vector<std::uint64_t>{1});
}

TEST_CASE("kernel_config.txt contains the header and the planned kernels") {
  const std::string list =
      "nvbit\n14\n-1\n./Kernel0/trace.txt\n./Kernel1/trace.txt\n./Kernel10/trace.txt\n"
      "./Kernel11/trace.txt\n";
  const auto part = Part("macsim-config", list, {1, 11});
  REQUIRE(part.ok());
  CHECK(part.value().files[0].content ==
        "nvbit\n14\n-1\n./Kernel1/trace.txt\n./Kernel11/trace.txt\n");
  const auto refused = [](const std::string& text, const Indices& planned,
                          const std::string& words) {
    const auto failed = Part("macsim-config", text, planned);
    REQUIRE_FALSE(failed.ok());
    CAPTURE(failed.error().message);
    CHECK(failed.error().message.find(words) != std::string::npos);
  };
  refused(list, {1, 2}, "does not contain kernel 2");
  refused(list + list, {1}, "the.list:8: 'nvbit'");
  refused("nvbit\n13\n-1\n", {1}, "the.list:2: '13'; expected 14");
  refused("nvbit\n14\n", {1}, "ends after 2 rows");
  refused("nvbit\n14\n-1\n./Kernel1/trace.txt\n./Kernel1/trace.txt\n", {1}, "the.list:5:");
  refused("nvbit\n14\n-1\n./Kernel1x/trace.txt\n", {1}, "the.list:4:");
}

}  // namespace
}  // namespace stemtap::formats
