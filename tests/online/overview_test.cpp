// SPDX-License-Identifier: Apache-2.0
// Compares the kernels of an overview with the launches and with the plan.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "online/overview_parts.h"
#include "online/sampler_bench.h"

namespace stemtap::online {
namespace {

std::set<std::uint64_t> EdgesOf(const stats::LogSketch& sketch) {
  std::set<std::uint64_t> edges;
  for (std::uint32_t bin = 0; bin <= sketch.bins().size(); ++bin) {
    edges.insert(stats::LogSketch::LowerEdge(sketch.first_bin() + bin));
  }
  return edges;
}

TEST_CASE("joined bins contain every launch, have the edges of the sketch, and meet the limit") {
  std::mt19937_64 random(5);
  for (const int widest : {1, 8, 14, 20, 40, 63}) {
    for (const std::size_t most : {std::size_t{64}, std::size_t{59}}) {
      stats::LogSketch sketch;
      std::vector<std::uint64_t> durations;
      for (int i = 0; i < 20000; ++i) {
        const int shift = 64 - widest + static_cast<int>(random() % 3) / 2;
        durations.push_back(random() >> std::min(shift, 63));
        sketch.Add(durations.back());
      }
      const std::set<std::uint64_t> edges = EdgesOf(sketch);
      const std::vector<model::HistogramBin> bins = JoinedBins(sketch, most);
      REQUIRE_FALSE(bins.empty());
      CHECK(bins.size() <= most);
      std::uint64_t last = 0;
      for (const model::HistogramBin& bin : bins) {
        CHECK(bin.lower_ns < bin.upper_ns);
        CHECK(bin.lower_ns >= last);
        last = bin.upper_ns;
        CHECK((edges.contains(bin.lower_ns) || bin.lower_ns < *edges.begin()));
        const auto inside = std::count_if(durations.begin(), durations.end(), [&](std::uint64_t d) {
          return d >= bin.lower_ns && d < bin.upper_ns;
        });
        CHECK(bin.count == static_cast<std::uint64_t>(inside));
        CHECK(bin.count != 0);
      }
      std::uint64_t sum = 0;
      for (const model::HistogramBin& bin : bins) sum += bin.count;
      CHECK(sum == durations.size());
    }
  }
}

TEST_CASE("bins are joined only as far as necessary") {
  stats::LogSketch sketch;
  for (std::uint64_t d = 0; d < 64; ++d) sketch.Add(d);
  CHECK(JoinedBins(sketch).size() == 64);
  sketch.Add(64);  // with one more bin, pairs are joined
  const std::vector<model::HistogramBin> bins = JoinedBins(sketch);
  CHECK(bins.size() == 33);
  CHECK(bins[0].upper_ns == 2);
  CHECK(bins[0].count == 2);
  CHECK(JoinedBins(stats::LogSketch()).empty());
}

TEST_CASE("the longest possible duration is in a bin") {
  stats::LogSketch sketch;
  sketch.Add(~std::uint64_t{0});
  const std::vector<model::HistogramBin> bins = JoinedBins(sketch);
  REQUIRE(bins.size() == 1);
  CHECK(bins[0].lower_ns < bins[0].upper_ns);
}

TEST_CASE("kernels with slices of different widths get slices of one width") {
  std::mt19937_64 random(9);
  for (int round = 0; round < 20; ++round) {
    std::vector<stats::TimeSlices> slices(5);
    std::vector<std::vector<std::uint64_t>> starts(slices.size());
    for (std::size_t k = 0; k < slices.size(); ++k) {
      const std::uint64_t from = 1'000'000'000'000 + (random() >> 30);
      for (int i = 0; i < 500; ++i) {
        starts[k].push_back(from + (random() >> (20 + 4 * k)));
        slices[k].Add(starts[k].back(), 7);
      }
    }
    model::Overview overview;
    overview.kernels.resize(slices.size() + 1);
    std::vector<const stats::TimeSlices*> of;
    for (const stats::TimeSlices& s : slices) of.push_back(&s);
    of.push_back(nullptr);
    SetSlices(of, overview);
    CHECK(overview.slices <= model::Overview::kMaxSlices);
    CHECK(overview.slices > 0);
    CHECK(overview.slices_start_ns % overview.slices_width_ns == 0);
    CHECK(overview.kernels.back().slices.empty());
    for (std::size_t k = 0; k < slices.size(); ++k) {
      std::map<std::uint32_t, std::uint64_t> by_hand;
      for (const std::uint64_t start : starts[k]) {
        ++by_hand[static_cast<std::uint32_t>((start - overview.slices_start_ns) /
                                             overview.slices_width_ns)];
      }
      CHECK(overview.kernels[k].slices.size() == by_hand.size());
      for (const model::KernelSlice& slice : overview.kernels[k].slices) {
        CHECK(slice.slice < overview.slices);
        CHECK(slice.invocations == by_hand[slice.slice]);
        CHECK(slice.duration_ns == 7 * slice.invocations);
      }
    }
  }
}

TEST_CASE("a kernel whose clock differs by years has no slices, and other kernels have slices") {
  stats::TimeSlices busy;
  for (std::uint64_t i = 0; i < 100; ++i) busy.Add((std::uint64_t{1} << 60) + i * 1000, 1);
  stats::TimeSlices wild;
  wild.Add(0, 1);
  model::Overview overview;
  overview.kernels.resize(2);
  const stats::TimeSlices* const of[] = {&wild, &busy};
  SetSlices(of, overview);
  CHECK(overview.kernels[0].slices.empty());
  CHECK(overview.kernels[1].slices.size() > 32);
}

// Course sends launches of three kernels through a sampler without lag.
struct Course : SamplerBench {
  explicit Course(std::uint64_t slow_down = 1) : SamplerBench({}, 0, slow_down) {}

  void Launch(const std::string& name, std::uint64_t start, std::uint64_t duration) {
    SamplerBench::Launch(name, duration, 1, start);
  }
  void EndEpoch() { Epoch(pending.size()); }
  model::Overview Describe() const {
    model::Overview overview;
    sampler.Describe(overview);
    return overview;
  }
  void Run(int launches) {
    for (int i = 0; i < launches; ++i) {
      clock += 10'000;
      Launch("long", clock, 50'000 + random() % 500);
      Launch("modes", clock + 1000, (i % 3 == 0 ? 9'000 : 4'000) + random() % 100);
      Launch("untimed", shm::kUnknownTime, 10 + random() % 3);
    }
    EndEpoch();
  }

  std::uint64_t clock = 5'000'000;
  std::mt19937_64 random{1};
};

template <typename Items, typename Of>
std::uint64_t Sum(const Items& items, const Of& of) {
  std::uint64_t sum = 0;
  for (const auto& item : items) sum += of(item);
  return sum;
}

void CheckSums(const model::Overview& o, int launches) {
  REQUIRE(o.kernels.size() == 3);
  CHECK(o.kernels_known == 3);
  CHECK(o.kernels[0].name == "long");
  CHECK(o.kernels[1].name == "modes");
  CHECK(o.kernels[2].name == "untimed");
  CHECK(o.observed == 3 * static_cast<std::uint64_t>(launches));
  CHECK(Sum(o.kernels, [](const auto& k) { return k.duration_ns; }) == o.duration_ns);
  CHECK(Sum(o.kernels, [](const auto& k) { return k.captured; }) == o.captured);
  for (const model::OverviewKernel& k : o.kernels) {
    CAPTURE(k.name);
    CHECK(k.invocations == static_cast<std::uint64_t>(launches));
    const std::uint64_t binned = Sum(k.histogram, [](const auto& b) { return b.count; });
    if (o.slowed == 0) CHECK(binned + 1 == k.invocations);  // without the exploratory capture
    if (o.slowed != 0) CHECK(binned + k.imputed == k.invocations);
    const std::uint64_t sliced = Sum(k.slices, [](const auto& s) { return s.invocations; });
    CHECK(sliced == (k.name == "untimed" ? 0 : k.invocations));
    if (o.slowed != 0 || k.name == "untimed") continue;
    CHECK(Sum(k.slices, [](const auto& s) { return s.duration_ns; }) == k.duration_ns);
  }
}

TEST_CASE("a kernel has a launched configuration if all of its launches have the same one") {
  constexpr std::uint32_t kNone = shm::kUnknownExtent;
  SamplerBench bench({}, 0);
  for (const std::uint32_t grid : {6u, 6u, 9u}) bench.Launch("two", 3000, grid);
  for (const std::uint32_t grid : {9u, 9u, 9u}) bench.Launch("one", 2000, grid);
  for (const std::uint32_t grid : {9u, kNone, 9u}) bench.Launch("not known", 1000, grid);
  bench.Epoch(bench.pending.size());
  model::Overview overview;
  bench.sampler.Describe(overview);
  REQUIRE(overview.kernels.size() == 3);
  CHECK(overview.kernels[0].launched_config.grid[0] == 0);
  CHECK(overview.kernels[1].launched_config.grid[0] == 9);
  CHECK(overview.kernels[2].launched_config.grid[0] == 0);
}

TEST_CASE("the overview of a running sampler adds up at any time") {
  Course course;
  const model::Overview nothing = course.Describe();
  CHECK(nothing.kernels.empty());
  CHECK(std::isnan(nothing.bound));
  CHECK(nothing.slices == 0);
  int launches = 0;
  for (const int more : {40, 500, 3000}) {
    course.Run(more);
    launches += more;
    const model::Overview o = course.Describe();
    CheckSums(o, launches);
    CHECK(o.bound == course.sampler.status().bound);
    CHECK(o.slices_width_ns >= static_cast<std::uint64_t>(launches) * 10'000 / 64);
    for (const model::OverviewKernel& k : o.kernels) {
      REQUIRE_FALSE(k.clusters.empty());
      for (const model::OverviewCluster& c : k.clusters) {
        CHECK(c.lower_ns <= c.upper_ns);
        CHECK((c.mean_ns >= static_cast<double>(c.lower_ns) &&
               c.mean_ns <= static_cast<double>(c.upper_ns)));
        const bool enough = c.captured >= std::max<std::uint64_t>(c.target, 1);
        CHECK((c.state == model::ClusterState::kClosed) == enough);
      }
    }
  }
}

TEST_CASE("a cluster whose captures cost too much is unreachable in the overview") {
  Course course;
  course.Run(500);
  course.Launch("modes", course.clock, 20'000'000);
  course.Run(2000);
  const model::Overview o = course.Describe();
  const model::OverviewKernel& modes = o.kernels.at(1);
  REQUIRE(modes.name == "modes");
  const model::OverviewCluster& giant = modes.clusters.back();
  CHECK(giant.count == 1);
  CHECK(giant.captured == 0);
  CHECK(giant.state == model::ClusterState::kUnreachable);
  for (std::size_t i = 0; i + 1 < modes.clusters.size(); ++i) {
    CHECK(modes.clusters[i].state != model::ClusterState::kUnreachable);
  }
  CHECK(o.bound > 0.12);  // its share of the time
}

TEST_CASE("a kernel has no clusters before its first allocation") {
  Course course;
  course.Run(2000);
  while (true) {  // until an epoch without an allocation starts with a new kernel
    course.Launch("late", course.clock, 77);
    course.EndEpoch();
    if (!course.sampler.allocated()) break;
    course.Run(1);
    course.EndEpoch();
  }
  course.Launch("later", course.clock, 99);
  course.Launch("later", course.clock, 99);
  course.EndEpoch();
  REQUIRE_FALSE(course.sampler.allocated());
  const model::Overview o = course.Describe();
  const auto later = std::find_if(o.kernels.begin(), o.kernels.end(),
                                  [](const model::OverviewKernel& k) { return k.name == "later"; });
  REQUIRE(later != o.kernels.end());
  CHECK(later->invocations == 2);
  CHECK(later->clusters.empty());
}

TEST_CASE("the overview lists the kernels with the most time and counts all kernels") {
  Course course;
  constexpr std::uint64_t kKernels = model::Overview::kMaxKernels + 100;
  for (std::uint64_t k = 0; k < kKernels; ++k) {
    const std::uint64_t rank = (k * 7919) % kKernels;  // pseudo-random order
    course.Launch("k" + std::to_string(rank), 1000 + k, 1'000'000 - rank);
    course.Launch("k" + std::to_string(rank), 1000 + k, 1'000'000 - rank);
  }
  const model::Plan plan = course.Finish();
  model::Overview o = course.Describe();
  for (const bool ended : {false, true}) {
    if (ended) TakeClusters(plan, o);
    CHECK(o.kernels_known == kKernels);
    REQUIRE(o.kernels.size() == model::Overview::kMaxKernels);
    for (std::size_t i = 0; i < o.kernels.size(); ++i) {
      REQUIRE(o.kernels[i].name == "k" + std::to_string(i));
      REQUIRE(o.kernels[i].slices.empty() == (i >= model::Overview::kMaxSlicedKernels));
    }
  }
  CHECK(o.clusters_open + o.clusters_closed == plan.totals.clusters);
}

TEST_CASE("at the end, the overview has the clusters of the plan") {
  for (const std::uint64_t slow_down : {1u, 100u}) {
    CAPTURE(slow_down);
    Course course(slow_down);
    course.Run(4000);
    const model::Plan plan = course.sampler.Finish();
    model::Overview o = course.Describe();
    TakeClusters(plan, o);
    CheckSums(o, 4000);
    CHECK((o.slowed != 0) == (slow_down != 1));
    CHECK(o.bound == plan.totals.bound);
    CHECK(o.duration_ns == plan.totals.duration_ns);
    CHECK(o.captured_duration_ns == course.sampler.status().captured_duration_ns);
    std::uint64_t clusters = 0;
    for (const model::OverviewKernel& k : o.kernels) {
      const auto planned =
          std::find_if(plan.kernels.begin(), plan.kernels.end(),
                       [&](const model::PlanKernel& p) { return p.name == k.name; });
      REQUIRE(planned != plan.kernels.end());
      CHECK(k.duration_ns == planned->duration_ns);
      CHECK(k.invocations == planned->invocations);
      REQUIRE(k.clusters.size() == planned->clusters.size());
      for (std::size_t i = 0; i < k.clusters.size(); ++i) {
        const model::OverviewCluster& c = k.clusters[i];
        const model::PlanCluster& p = planned->clusters[i];
        CHECK(c.lower_ns == p.lower_ns);
        CHECK(c.upper_ns == p.upper_ns);
        CHECK(c.count == p.count);
        CHECK(c.mean_ns == p.mean_ns);
        CHECK(c.captured == p.samples.size());
        CHECK(c.target == p.target);
      }
      clusters += k.clusters.size();
    }
    CHECK(o.clusters_open + o.clusters_closed == clusters);
    CHECK(o.clusters_closed > 0);
  }
}

TEST_CASE("without launches, there is no bound, even at the end") {
  Course course;
  model::Overview o = course.Describe();
  CHECK(std::isnan(o.bound));
  TakeClusters(course.sampler.Finish(), o);
  CHECK(std::isnan(o.bound));
}

TEST_CASE("kernels that differ in process or configuration keep their own clusters") {
  model::Plan plan;
  model::Overview o;
  for (const std::int32_t process : {0, 7, 8}) {
    for (const std::uint32_t grid : {0u, 1u, 2u}) {
      model::PlanKernel kernel;
      kernel.name = "k";
      kernel.process = process;
      kernel.config.grid[0] = grid;
      kernel.clusters.push_back({.count = 10 * static_cast<std::uint64_t>(process) + grid});
      plan.kernels.push_back(kernel);
      model::OverviewKernel& shown = o.kernels.emplace_back();
      shown.name = "k";
      shown.process = process;
      shown.config.grid[0] = grid;
    }
  }
  std::reverse(o.kernels.begin(), o.kernels.end());
  TakeClusters(plan, o);
  for (const model::OverviewKernel& k : o.kernels) {
    REQUIRE(k.clusters.size() == 1);
    CHECK(k.clusters[0].count == 10 * static_cast<std::uint64_t>(k.process) + k.config.grid[0]);
  }
}

TEST_CASE("a cluster without captures is unreachable if the sampler found it unreachable") {
  model::Plan plan;
  model::PlanKernel kernel;
  kernel.name = "k";
  kernel.clusters.push_back({.lower_ns = 10, .target = 1});
  kernel.clusters.push_back({.lower_ns = 20, .target = 1});
  kernel.clusters.push_back({.lower_ns = 30, .target = 1, .captured = 1});
  plan.kernels.push_back(kernel);
  model::Overview o;
  o.kernels.emplace_back().name = "k";
  for (const std::uint64_t lower : {10u, 30u}) {
    o.kernels[0].clusters.push_back(
        {.lower_ns = lower, .state = model::ClusterState::kUnreachable});
  }
  TakeClusters(plan, o);
  CHECK(o.kernels[0].clusters[0].state == model::ClusterState::kUnreachable);
  CHECK(o.kernels[0].clusters[1].state == model::ClusterState::kOpen);
  CHECK(o.kernels[0].clusters[2].state == model::ClusterState::kClosed);
  CHECK(o.clusters_open == 2);
  CHECK(o.clusters_closed == 1);
}

}  // namespace
}  // namespace stemtap::online
