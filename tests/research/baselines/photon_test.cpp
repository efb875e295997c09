// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/photon.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/memory_source.h"
#include "made_profile.h"
#include "research/baselines/basic_block_vectors.h"

namespace stemtap::research {
namespace {

using test::ClustersOf;
using test::Indices;
using test::MadeProfile;
using test::WeightsOf;

struct MadeLaunches : MadeProfile {
  BasicBlockVectors vectors;

  MadeLaunches(std::size_t launches, const std::string& rows) {
    for (std::size_t i = 0; i < launches; ++i) Add("kernel", 100);
    auto read = ReadBasicBlockVectors(
        std::make_unique<MemorySource>("bbv.csv", "index,warps,instructions,blocks\n" + rows));
    REQUIRE(read.ok());
    vectors = std::move(read).value();
  }

  MethodInput input() const { return {profile, groups, options, &vectors}; }
  std::unique_ptr<PreparedMethod> Prepared() const {
    auto method = PreparePhoton(input());
    REQUIRE(method.ok());
    return std::move(method).value();
  }
};

TEST_CASE("a launch on a known path is skipped, and a launch on a different path is sampled") {
  // (3, 4) and (6, 8) have the same direction; (4, 3) is at distance 0.283: |(0.6, 0.8) - (0.8,
  // 0.6)|.
  const MadeLaunches made(4,
                          "0,64,100,0:3 1:4\n"
                          "1,64,250,0:6 1:8\n"
                          "2,64,100,0:4 1:3\n"
                          "3,64,100,0:3 1:4\n");
  const auto photon = made.Prepared();
  CHECK(ClustersOf(*photon) == std::vector<std::uint32_t>{0, 0, 1, 0});
  CHECK(Indices(photon->Draw(1)) == std::vector<std::uint64_t>{0, 2});
  // Launch 0 represents its own instructions, 2.5 times as many, and the same number once more.
  CHECK(WeightsOf(photon->Draw(1)) == std::vector<double>{4.5, 1});
  CHECK(photon->deterministic());
  CHECK(std::isnan(photon->bound()));
}

TEST_CASE("the threshold is a distance of 0.05 between vectors of length 1") {
  // Distances from (1000, 0): (1000, 49) is at 2 sin(atan(0.049) / 2) = 0.04895 and (1000, 51) is
  // at 0.05093.
  const MadeLaunches made(3,
                          "0,64,,0:1000\n"
                          "1,64,,0:1000 1:49\n"
                          "2,64,,0:1000 1:51\n");
  CHECK(ClustersOf(*made.Prepared()) == std::vector<std::uint32_t>{0, 0, 1});
}

TEST_CASE("kinds of warps count by their share, in any order") {
  // The shares are 0.75 and 0.25; the same in reverse order; 0.70 and 0.30, at distance sqrt(0.05^2
  // + 0.05^2) = 0.0707; 0.74 and 0.26, at distance 0.014; only one kind, at distance 0.354; and
  // 0.75 and 0.25 again, with one kind in two rows.
  const MadeLaunches made(6,
                          "0,75,,0:1\n0,25,,1:1\n"
                          "1,25,,1:1\n1,75,,0:1\n"
                          "2,70,,0:1\n2,30,,1:1\n"
                          "3,74,,0:1\n3,26,,1:1\n"
                          "4,100,,0:1\n"
                          "5,25,,0:1\n5,25,,1:1\n5,50,,0:1\n");
  CHECK(ClustersOf(*made.Prepared()) == std::vector<std::uint32_t>{0, 0, 1, 0, 2, 0});
}

TEST_CASE("below a full GPU, the number of warps must be equal; above, the most similar is used") {
  const MadeLaunches made(7,
                          "0,64,,0:1\n"
                          "1,65,,0:1\n"      // path of the same length, but one warp more: sampled
                          "2,3000,,0:1\n"    // launches 0 and 1 do not fill the GPU: sampled
                          "3,9000,,0:1\n"    // fills the GPU like launch 2: skipped
                          "4,9000,,1:1\n"    // different path: sampled
                          "5,64,,0:1\n"      // like launch 0
                          "6,2559,,0:1\n");  // not quite full: sampled
  CHECK(ClustersOf(*made.Prepared()) == std::vector<std::uint32_t>{0, 1, 2, 2, 3, 0, 4});

  // Two samples with 4000 and 8000 warps are too far from each other. Other launches are near both.
  const MadeLaunches both(4,
                          "0,4000,,0:1000\n"
                          "1,8000,,0:1000 1:60\n"
                          "2,7000,,0:1000 1:30\n"
                          "3,5000,,0:1000 1:30\n");
  CHECK(ClustersOf(*both.Prepared()) == std::vector<std::uint32_t>{0, 1, 1, 0});
  // The result is the same if the path of the other sample is nearer: 0.02 instead of 0.04.
  const MadeLaunches warps(3,
                           "0,4000,,0:1000\n"
                           "1,8000,,0:1000 1:60\n"
                           "2,7000,,0:1000 1:20\n");
  CHECK(ClustersOf(*warps.Prepared()) == std::vector<std::uint32_t>{0, 1, 1});
  // If the numbers of warps are equal, the nearer path is used.
  const MadeLaunches paths(3,
                           "0,4000,,0:1000\n"
                           "1,4000,,0:1000 1:60\n"
                           "2,4000,,0:1000 1:40\n");
  CHECK(ClustersOf(*paths.Prepared()) == std::vector<std::uint32_t>{0, 1, 1});
}

TEST_CASE("a later sample may fit a known path better") {
  // Launch 1 has a path near launch 0. Launch 2 is sampled because it is too far from launch 0.
  // Launch 3 repeats the path of launch 1, and launch 2 is nearer to it in warps.
  const MadeLaunches made(4,
                          "0,4000,,0:1000\n"
                          "1,7000,,0:1000 1:30\n"
                          "2,7000,,0:1000 1:60\n"
                          "3,7000,,0:1000 1:30\n");
  CHECK(ClustersOf(*made.Prepared()) == std::vector<std::uint32_t>{0, 0, 1, 1});
}

TEST_CASE("without instruction counts, every launch has weight one") {
  const MadeLaunches made(3, "0,64,,0:3\n1,64,70,0:3\n2,64,0,0:3\n");
  CHECK(WeightsOf(made.Prepared()->Draw(1)) == std::vector<double>{3});
  const MadeLaunches none(2, "0,64,0,0:3\n1,64,0,0:3\n");
  CHECK(WeightsOf(none.Prepared()->Draw(1)) == std::vector<double>{2});
}

TEST_CASE("missing vectors and vectors of unknown launches are errors") {
  MadeProfile made;
  made.Add("kernel", 100);
  auto method = PreparePhoton(made.input());
  REQUIRE(!method.ok());
  CHECK(method.error().message ==
        "photon needs basic-block vectors; expected --bbv with a file of them");

  MadeLaunches gap(3, "0,1,,0:1\n2,1,,0:1\n");
  method = PreparePhoton(gap.input());
  REQUIRE(!method.ok());
  CHECK(method.error().message ==
        "photon needs a basic-block vector of every launch; launch 1 has none");
  gap.groups[1] = model::kExcludedKernel;
  CHECK(ClustersOf(*gap.Prepared()) == std::vector<std::uint32_t>{0, model::kExcludedKernel, 0});

  const MadeLaunches more(1, "0,1,,0:1\n1,1,,0:1\n");
  method = PreparePhoton(more.input());
  REQUIRE(!method.ok());
  CHECK(method.error().message ==
        "photon: the basic-block vectors describe launch 1; expected at most 0, the last of the "
        "profile");
  CHECK(MadeLaunches(0, "").Prepared()->cluster_count() == 0);
}

}  // namespace
}  // namespace stemtap::research
