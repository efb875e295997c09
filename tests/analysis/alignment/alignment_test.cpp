// SPDX-License-Identifier: Apache-2.0
#include "analysis/alignment/alignment.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "analysis/alignment/runs.h"
#include "formats/importers/registry.h"
#include "shm/record.h"
#include "support/shared_data.h"
#include "support/temp_dir.h"

namespace stemtap::analysis {
namespace {

using test::Launch;

// Ten iterations of gemm, norm, gemm on one stream.
void Loop(Run& run, int iterations = 10, std::uint32_t stream = 7, std::uint16_t device = 0) {
  for (int i = 0; i < iterations; ++i) {
    Launch(run, {"gemm", 100, 4, stream, device});
    Launch(run, {"norm", 20, 1, stream, device});
    Launch(run, {"gemm", 300, 16, stream, device});
  }
}

TEST_CASE("a run aligns with itself") {
  Run a, b;
  Loop(a);
  Loop(b);
  const Alignment alignment = AlignRuns(a, b);
  CHECK(alignment.order == LaunchOrder::kIdentical);
  CHECK(alignment.paired == 30);
  CHECK(alignment.kernels == 2);
  CHECK(alignment.differs.empty());
  CHECK(alignment.ignored.empty());
  for (std::uint32_t i = 0; i < 30; ++i) CHECK(alignment.partner_of_a[i] == i);
}

TEST_CASE("two runs without launches are identical, and a run with launches is different") {
  Run a, b, full;
  Loop(full, 1);
  CHECK(AlignRuns(a, b).order == LaunchOrder::kIdentical);
  const Alignment alignment = AlignRuns(a, full);
  CHECK(alignment.order == LaunchOrder::kDifferent);
  CHECK(alignment.only_in_b == 3);
  REQUIRE(alignment.devices.size() == 1);
  CHECK_FALSE(alignment.devices[0].in_a);
}

TEST_CASE("a warm-up kernel at the start shifts every launch by one") {
  Run a, b;
  Loop(a);
  Launch(b, {"warm_up", 5});
  Loop(b);
  const Alignment alignment = AlignRuns(a, b);
  CHECK(alignment.order == LaunchOrder::kDifferent);
  CHECK(alignment.paired == 30);
  CHECK(alignment.only_in_a == 0);
  CHECK(alignment.only_in_b == 1);
  for (std::uint32_t i = 0; i < 30; ++i) CHECK(alignment.partner_of_a[i] == i + 1);
  CHECK(alignment.partner_of_b[0] == kNoPartner);
  REQUIRE(alignment.differs.size() == 1);
  CHECK(alignment.differs[0].name == "warm_up");
  CHECK(alignment.differs[0].count_a == 0);
  CHECK(alignment.differs[0].count_b == 1);
  CHECK(alignment.devices[0].first_a == 0);
}

TEST_CASE("differing autotuning kernels do not affect the partners of other kernels") {
  Run a, b;
  for (int i = 0; i < 20; ++i) {
    Loop(a, 1);
    Loop(b, 1);
    for (int t = 0; t < i % 3; ++t) Launch(a, {"tune", 7});
    for (int t = 0; t < i % 4; ++t) Launch(b, {"tune", 7});
  }
  const Alignment alignment = AlignRuns(a, b);
  REQUIRE(alignment.differs.size() == 1);
  CHECK(alignment.differs[0].name == "tune");
  std::uint64_t gemm = 0;
  for (std::uint32_t i = 0; i < a.launches.size(); ++i) {
    if (a.names.name(a.launches[i].name_id) == "tune") continue;
    REQUIRE(alignment.partner_of_a[i] != kNoPartner);
    ++gemm;
  }
  CHECK(gemm == 60);
}

TEST_CASE("kernels with unequal counts are sorted by time, longest first") {
  Run a, b;
  Launch(a, {"short", 10});
  Launch(b, {"long", 1000});
  const Alignment alignment = AlignRuns(a, b);
  REQUIRE(alignment.differs.size() == 2);
  CHECK(alignment.differs[0].name == "long");
}

TEST_CASE("streams that interleave differently are aligned by stream") {
  Run a, b;
  for (int i = 0; i < 10; ++i) {
    Launch(a, {"copy", 1, 1, 1});
    Launch(a, {"math", 1, 1, 2});
  }
  // The same launches in reverse order and in bursts, with different stream numbers.
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 2; ++k) Launch(b, {"math", 1, 1, 31});
    for (int k = 0; k < 2; ++k) Launch(b, {"copy", 1, 1, 30});
  }
  const Alignment alignment = AlignRuns(a, b);
  CHECK(alignment.order == LaunchOrder::kInterleaved);
  CHECK(alignment.paired == 20);
  CHECK(alignment.devices[0].by_stream);
  CHECK(alignment.partner_of_a[0] == 2);  // the first "copy"
  CHECK(alignment.partner_of_a[1] == 0);  // the first "math"
}

TEST_CASE("kernels that change streams are not identical") {
  Run a, b;
  for (int i = 0; i < 4; ++i) Launch(a, {"k", 1, 1, static_cast<std::uint32_t>(i % 2)});
  for (int i = 0; i < 4; ++i) Launch(b, {"k", 1, 1, static_cast<std::uint32_t>(i / 2)});
  CHECK(AlignRuns(a, a).order == LaunchOrder::kIdentical);
  CHECK(AlignRuns(a, b).order != LaunchOrder::kIdentical);
}

TEST_CASE("launches that changed streams are reported from the first changed launch") {
  // Two alternating streams; in B, all launches from 41 on are on one stream.
  Run a, b;
  for (std::uint32_t i = 0; i < 100; ++i) {
    Launch(a, {"k", 1, 1, i % 2});
    Launch(b, {"k", 1, 1, 5 + (i < 41 ? i % 2 : 0)});
  }
  const Alignment alignment = AlignRuns(a, b);
  CHECK(alignment.order == LaunchOrder::kDifferent);
  REQUIRE(alignment.devices.size() == 1);
  const DeviceAlignment& device = alignment.devices[0];
  REQUIRE(device.paired == 100);
  REQUIRE_FALSE(device.by_stream);
  CHECK(device.first_a == 41);
  CHECK(device.first_b == 41);
}

TEST_CASE("devices are compared separately in any order") {
  Run a, b;
  Loop(a, 5, 7, 0);
  Loop(a, 5, 7, 1);
  Loop(b, 5, 7, 1);
  Launch(b, {"extra", 1, 1, 7, 1});
  Loop(b, 5, 7, 0);
  const Alignment alignment = AlignRuns(a, b);
  REQUIRE(alignment.devices.size() == 2);
  CHECK(alignment.devices[0].order == LaunchOrder::kIdentical);
  CHECK(alignment.devices[1].order == LaunchOrder::kDifferent);
  CHECK(alignment.paired == 30);
  CHECK(alignment.partner_of_a[0] == 16);
  REQUIRE(alignment.differs.size() == 1);
  CHECK(alignment.differs[0].device == 1);
}

TEST_CASE("a count that differs per device is unequal even if the total is equal") {
  Run a, b;
  Launch(a, {"k", 1, 1, 7, 0});
  Launch(a, {"k", 1, 1, 7, 0});
  Launch(a, {"k", 1, 1, 7, 1});
  Launch(b, {"k", 1, 1, 7, 0});
  Launch(b, {"k", 1, 1, 7, 1});
  Launch(b, {"k", 1, 1, 7, 1});
  CHECK(AlignRuns(a, b).differs.size() == 2);
}

TEST_CASE("a run on a different device is identical, and a run with an additional device is not") {
  Run a, b;
  Loop(a, 2, 7, 0);
  Loop(b, 2, 7, 3);
  CHECK(AlignRuns(a, b).order == LaunchOrder::kIdentical);
  Loop(b, 2, 7, 0);
  const Alignment alignment = AlignRuns(a, b);
  CHECK(alignment.order == LaunchOrder::kDifferent);
  CHECK(alignment.only_in_b == 6);
}

TEST_CASE("grid and shared memory distinguish launches if both runs recorded them") {
  Run a, b;
  Launch(a, {"k", 1, 1, 7, 0, 1024});
  Launch(b, {"k", 1, 2, 7, 0, 1024});
  CHECK(AlignRuns(a, b).paired == 0);
  b.launches[0].grid[0] = 1;
  CHECK(AlignRuns(a, b).paired == 1);
  b.launches[0].shared_bytes = 2048;
  CHECK(AlignRuns(a, b).paired == 0);
  b.launches[0].shared_bytes = shm::kUnknown32;
  const Alignment unknown = AlignRuns(a, b);
  CHECK(unknown.paired == 1);
  REQUIRE(unknown.ignored.size() == 1);
  CHECK(unknown.ignored[0] == "shared memory");
  b.launches[0].stream = shm::kUnknown32;
  b.launches[0].device = shm::kUnknown16;
  b.launches[0].grid[0] = shm::kUnknownExtent;
  const Alignment bare = AlignRuns(a, b);
  CHECK(bare.paired == 1);
  CHECK(bare.ignored.size() == 4);
}

TEST_CASE("completely different runs have no launches in common") {
  Run a, b;
  for (int i = 0; i < 1000; ++i) {
    Launch(a, {"a" + std::to_string(i % 17), 1});
    Launch(b, {"b" + std::to_string(i % 13), 1});
  }
  const Alignment alignment = AlignRuns(a, b);
  CHECK(alignment.paired == 0);
  CHECK(alignment.only_in_a == 1000);
  CHECK(alignment.only_in_b == 1000);
  CHECK(alignment.differs.size() == 30);
  CHECK_FALSE(alignment.names_cut);
}

TEST_CASE("names are truncated only if the runs have no complete name in common") {
  CHECK(ComparableName("f(int) [clone .isra.0] (.kd)") == "f(int)");
  CHECK(ComparableName("f.kd") == "f");
  CHECK(ComparableName(".kd") == ".kd");
  CHECK(ComparableName(" [clone x]") == " [clone x]");
  CHECK(ComparableName("f[clone]") == "f[clone]");
  Run a, b;
  Launch(a, {"f"});
  Launch(b, {"f.kd"});
  Alignment alignment = AlignRuns(a, b);
  CHECK(alignment.names_cut);
  CHECK(alignment.order == LaunchOrder::kIdentical);
  Launch(a, {"g"});
  Launch(b, {"g"});
  alignment = AlignRuns(a, b);
  CHECK_FALSE(alignment.names_cut);
  CHECK(alignment.paired == 1);
}

Run LoadProfileOf(const std::filesystem::path& path) {
  auto reader = formats::OpenProfile(path.string());
  REQUIRE(reader.ok());
  Result<Run> run = LoadRun(*reader.value(), path.string());
  REQUIRE(run.ok());
  return std::move(run).value();
}

TEST_CASE("a profile is read into a run completely") {
  const Run run = LoadProfileOf(test::SourceDir() / "tests/data/tiny.csv");
  REQUIRE(run.launches.size() == 5);
  CHECK(run.names.size() == 3);
  CHECK(run.launches[1].duration_ns == 91200);
  CHECK(run.launches[1].shared_bytes == 8192);
  CHECK(run.launches[1].grid[1] == 128);
  CHECK(run.names.name(run.launches[2].name_id) == "say \"hello\", world");
}

TEST_CASE("a profile with ranges is read into a run with the names of its launches") {
  test::TempDir directory;
  const Run run = LoadProfileOf(
      directory.Write("marked.csv", "name,duration_ns,range\na,1,x\na,2,y\nb,3,\nb,4,x\n"));
  REQUIRE(run.launches.size() == 4);
  std::string names;
  for (const RunLaunch& launch : run.launches) names += run.names.name(launch.name_id);
  CHECK(names == "aabb");
}

TEST_CASE("the counts of an alignment of two recorded runs add up") {
  const auto path_a = SharedPath("data/profiles/assignment_bg_r19.csv.gz");
  const auto path_b = SharedPath("data/profiles/assignment_bg_r5.csv.gz");
  STEMTAP_SKIP_WITHOUT(path_a);
  STEMTAP_SKIP_WITHOUT(path_b);
  const Run a = LoadProfileOf(path_a);
  const Run b = LoadProfileOf(path_b);
  const Alignment self = AlignRuns(a, a);
  CHECK(self.order == LaunchOrder::kIdentical);
  const Alignment alignment = AlignRuns(a, b);
  CHECK(alignment.order == LaunchOrder::kDifferent);
  CHECK(alignment.paired + alignment.only_in_a == a.launches.size());
  CHECK(alignment.paired + alignment.only_in_b == b.launches.size());
  MESSAGE("r19 against r5: ", alignment.paired, " paired, ", alignment.differs.size(),
          " kernels of unequal count");
}

TEST_CASE("the counts of an alignment of recorded ResNet-50 runs add up") {
  const char* names[] = {"kineto_resnet50_num_workers_0_olda",
                         "kineto_resnet50_autograd_api_num_workers_0_olda",
                         "kineto_resnet50_num_workers_4_oldb", "kineto_resnet50_v100_w0_a"};
  for (const char* name_a : names) {
    for (const char* name_b : names) {
      const auto path_a = SharedPath(std::string("data/profiles/") + name_a + ".csv.gz");
      const auto path_b = SharedPath(std::string("data/profiles/") + name_b + ".csv.gz");
      STEMTAP_SKIP_WITHOUT(path_a);
      STEMTAP_SKIP_WITHOUT(path_b);
      const Run a = LoadProfileOf(path_a);
      const Run b = LoadProfileOf(path_b);
      const Alignment alignment = AlignRuns(a, b);
      CHECK((alignment.order == LaunchOrder::kIdentical) == (name_a == name_b));
      CHECK(alignment.paired + alignment.only_in_a == a.launches.size());
      CHECK(alignment.paired + alignment.only_in_b == b.launches.size());
      std::size_t unlike = 0;
      for (std::uint32_t i = 0; i < a.launches.size(); ++i) {
        const std::uint32_t partner = alignment.partner_of_a[i];
        if (partner == kNoPartner) continue;
        unlike += alignment.partner_of_b[partner] != i ||
                  a.names.name(a.launches[i].name_id) != b.names.name(b.launches[partner].name_id);
      }
      CHECK(unlike == 0);
    }
  }
}

}  // namespace
}  // namespace stemtap::analysis
