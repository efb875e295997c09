// SPDX-License-Identifier: Apache-2.0
#include "fleet/leader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "support/random_draws.h"

namespace stemtap::fleet {
namespace {

constexpr std::uint64_t kKernel = 7;
constexpr std::uint64_t kShort = 1000;
constexpr std::uint64_t kLong = 50'000;

// Options that need some dozens of captures.
sampling::SamplingOptions Precise() {
  sampling::SamplingOptions options;
  options.error_bound = 0.005;
  return options;
}

// Returns `launches` durations of two modes, 1,000 to 1,300 and 50,000 to 65,000 ns; one in four is
// long.
stats::LogSketch TwoModes(std::uint64_t seed, std::uint64_t launches) {
  Rng rng(seed);
  stats::LogSketch sketch;
  for (std::uint64_t i = 0; i < launches; ++i) {
    sketch.Add(i % 4 == 0 ? kLong + rng.Below(15'000) : kShort + rng.Below(300));
  }
  return sketch;
}

stats::LogSketch Skewed(std::uint64_t seed, int launches) {
  Rng rng(seed);
  stats::LogSketch sketch;
  for (int i = 0; i < launches; ++i) {
    sketch.Add(static_cast<std::uint64_t>(std::exp(8.0 + 1.2 * test::Normal(rng))) + 1);
  }
  return sketch;
}

// FakeJob is runs of one kernel, each with some launches, as a leader learns of them.
struct FakeJob {
  std::map<std::string, stats::LogSketch> sketches;
  struct Capture {
    std::string run;
    std::uint64_t index = 0;
    std::uint64_t duration_ns = 0;
  };
  std::vector<Capture> captures;

  void Tell(Leader& leader) const {
    for (const auto& [run, sketch] : sketches) {
      leader.SetRun(run, true);
      leader.SetSketch(run, kKernel, sketch);
    }
    for (const Capture& c : captures) {
      leader.AddCapture(c.run, kKernel, c.index, c.index, stats::LogSketch::BinOf(c.duration_ns));
    }
  }
  void Add(Leader& leader, const std::string& run, std::uint64_t duration_ns) {
    captures.push_back({run, captures.size(), duration_ns});
    leader.AddCapture(run, kKernel, captures.back().index, captures.back().index,
                      stats::LogSketch::BinOf(duration_ns));
  }
};

FakeJob JobOf(const std::vector<std::pair<std::string, std::uint64_t>>& launches) {
  FakeJob job;
  for (const auto& [run, count] : launches) {
    job.sketches[run] = TwoModes(100 + job.sketches.size(), count);
  }
  return job;
}

using Clusters = std::vector<online::DirectedCluster>;

// Returns the clusters of the only kernel.
Clusters Only(const std::vector<DirectedKernel>& directed) {
  REQUIRE(directed.size() == 1);
  CHECK(directed[0].key == kKernel);
  return directed[0].clusters;
}

std::vector<std::uint64_t> Targets(const Clusters& clusters) {
  std::vector<std::uint64_t> targets;
  for (const online::DirectedCluster& cluster : clusters) targets.push_back(cluster.target);
  return targets;
}

std::vector<std::uint32_t> FirstBins(const Clusters& clusters) {
  std::vector<std::uint32_t> bins;
  for (const online::DirectedCluster& cluster : clusters) bins.push_back(cluster.first_bin);
  return bins;
}

bool AreEqual(const Clusters& a, const Clusters& b) {
  return FirstBins(a) == FirstBins(b) && Targets(a) == Targets(b);
}

std::vector<std::uint64_t> TargetsOf(const Leader& leader, const std::string& run) {
  return Targets(Only(leader.Of(run)));
}

// Returns what all runs of the job are asked for, by cluster.
std::vector<std::uint64_t> TargetsOfAll(const Leader& leader, const FakeJob& job) {
  std::vector<std::uint64_t> sum(Only(leader.Clusters()).size());
  for (const auto& [run, sketch] : job.sketches) {
    const std::vector<std::uint64_t> targets = TargetsOf(leader, run);
    REQUIRE(targets.size() == sum.size());
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += targets[c];
  }
  return sum;
}

std::uint64_t Sum(const std::vector<std::uint64_t>& values) {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : values) sum += value;
  return sum;
}

// Returns the cluster that contains the duration.
std::size_t ClusterOf(const Leader& leader, std::uint64_t duration_ns) {
  const Clusters clusters = Only(leader.Clusters());
  std::size_t c = 0;
  while (c + 1 < clusters.size() &&
         clusters[c + 1].first_bin <= stats::LogSketch::BinOf(duration_ns)) {
    ++c;
  }
  return c;
}

// Returns a duration in the cluster: of its first launch.
std::uint64_t DurationIn(const Leader& leader, const FakeJob& job, std::size_t cluster) {
  const Clusters clusters = Only(leader.Clusters());
  std::uint32_t bin = clusters[cluster].first_bin;
  const auto is_empty = [&] {
    return std::all_of(job.sketches.begin(), job.sketches.end(),
                       [&](const auto& run) { return run.second.CountIn(bin, bin + 1) == 0; });
  };
  while (is_empty()) ++bin;
  const std::uint64_t duration = stats::LogSketch::LowerEdge(bin);
  REQUIRE(ClusterOf(leader, duration) == cluster);
  return duration;
}

// Returns the captures in each cluster.
std::vector<std::uint64_t> Captured(const Leader& leader, const FakeJob& job) {
  std::vector<std::uint64_t> captured(Only(leader.Clusters()).size());
  for (const FakeJob::Capture& c : job.captures) ++captured[ClusterOf(leader, c.duration_ns)];
  return captured;
}

// Returns what all runs are to be asked for if `awaited` was asked for before: the captures so far,
// and of those that lack, half, or a single one.
std::vector<std::uint64_t> Expected(const Leader& leader, const FakeJob& job,
                                    const std::vector<std::uint64_t>& awaited = {}) {
  const std::vector<std::uint64_t> targets = Targets(Only(leader.Clusters()));
  std::vector<std::uint64_t> expected = Captured(leader, job);
  for (std::size_t c = 0; c < targets.size(); ++c) {
    const std::uint64_t lacking = targets[c] - std::min(targets[c], expected[c]);
    const std::uint64_t wanted = lacking == 1 ? 1 : lacking / 2;
    expected[c] += std::clamp(awaited.empty() ? 0 : awaited[c], wanted, lacking);
  }
  return expected;
}

// Returns the cluster of which most is asked of a run.
std::size_t MostAsked(const Leader& leader, const std::string& run) {
  const std::vector<std::uint64_t> targets = TargetsOf(leader, run);
  return static_cast<std::size_t>(std::max_element(targets.begin(), targets.end()) -
                                  targets.begin());
}

// Returns a leader that has decided once about `job`.
Leader Decided(const FakeJob& job) {
  Leader leader(Precise(), {0});
  job.Tell(leader);
  REQUIRE(leader.Decide());
  REQUIRE(Only(leader.Clusters()).size() >= 2);
  REQUIRE(Sum(Targets(Only(leader.Clusters()))) >= 10);
  return leader;
}

TEST_CASE("an eighth of the captures that are lacking, but one at least, is awaited at a time") {
  const FakeJob job = JobOf({{"a", 4000}});
  Leader leader(Precise(), {0, 8});
  job.Tell(leader);
  REQUIRE(leader.Decide());
  const std::vector<std::uint64_t> lacking = Targets(Only(leader.Clusters()));
  const std::vector<std::uint64_t> asked = TargetsOf(leader, "a");
  REQUIRE(Sum(lacking) >= 16);
  REQUIRE(asked.size() == lacking.size());
  for (std::size_t c = 0; c < asked.size(); ++c) {
    CHECK(asked[c] == std::min(lacking[c], std::max<std::uint64_t>(lacking[c] / 8, 1)));
  }
  const AskingPace slowed = AskingPace::OfPerturbing(1000);
  CHECK(slowed.observe_first == 4000);
  CHECK(slowed.at_once == 8);
}

TEST_CASE("the bin of a capture may change") {
  const FakeJob job = JobOf({{"a", 4000}});
  Leader leader(Precise(), {0});
  job.Tell(leader);
  leader.AddCapture("a", kKernel, 7, 7, stats::LogSketch::BinOf(kLong));
  leader.AddCapture("a", kKernel, 7, 7, stats::LogSketch::BinOf(kShort));
  CHECK(leader.captured() == 1);
  REQUIRE(leader.Decide());
  REQUIRE(ClusterOf(leader, kShort) != ClusterOf(leader, kLong));
  // What was captured is part of what the run is asked for in all.
  const std::vector<std::uint64_t> lacking = Targets(Only(leader.Clusters()));
  const std::size_t of = ClusterOf(leader, kShort);
  const std::uint64_t more = std::max<std::uint64_t>(lacking[of], 1) - 1;
  CHECK(TargetsOf(leader, "a")[of] == 1 + (more > 1 ? more / 2 : more));
}

TEST_CASE("merging is exact: the decisions about a job do not depend on how it is divided") {
  stats::LogSketch all;
  Leader divided(Precise(), {0});
  for (std::uint64_t run = 0; run < 8; ++run) {
    const stats::LogSketch sketch = Skewed(run, 2000 + 100 * static_cast<int>(run));
    all.Merge(sketch);
    divided.SetRun("run " + std::to_string(run), true);
    divided.SetSketch("run " + std::to_string(run), kKernel, sketch);
  }
  Leader whole(Precise(), {0});
  whole.SetRun("all", true);
  whole.SetSketch("all", kKernel, all);
  CHECK(whole.Decide());
  CHECK(divided.Decide());
  CHECK(divided.launches() == all.count());
  CHECK(divided.duration_ns() == static_cast<std::uint64_t>(all.total_duration()));
  CHECK(Only(whole.Clusters()).size() > 3);
  CHECK(Sum(Targets(Only(whole.Clusters()))) > 3);
  CHECK(AreEqual(Only(whole.Clusters()), Only(divided.Clusters())));
}

TEST_CASE("decisions do not depend on the order of reports, nor on earlier reports of a run") {
  constexpr int kRuns = 5;
  std::vector<stats::LogSketch> sketches;
  for (std::uint64_t run = 0; run < kRuns; ++run) sketches.push_back(Skewed(run, 3000));
  const auto decide = [&](const std::vector<int>& order) {
    Leader leader(Precise(), {0});
    for (const int run : order) {
      leader.SetRun(std::to_string(run), true);
      leader.SetSketch(std::to_string(run), kKernel, sketches[static_cast<std::size_t>(run)]);
      leader.AddCapture(std::to_string(run), kKernel, 5, 5, stats::LogSketch::BinOf(4000));
    }
    CHECK(leader.Decide());
    CHECK(leader.launches() == 3000 * kRuns);
    CHECK(leader.captured() == kRuns);
    return leader;
  };
  const Leader first = decide({0, 1, 2, 3, 4});
  for (const std::vector<int>& order :
       {std::vector{4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {0, 0, 1, 1, 2, 3, 4, 2, 2}}) {
    const Leader other = decide(order);
    CHECK(AreEqual(Only(other.Clusters()), Only(first.Clusters())));
    for (int run = 0; run < kRuns; ++run) {
      CHECK(AreEqual(Only(other.Of(std::to_string(run))), Only(first.Of(std::to_string(run)))));
    }
  }
}

TEST_CASE("a sketch replaces the one before it, and a capture counts once") {
  Leader leader(Precise(), {0});
  leader.SetRun("a", true);
  leader.SetSketch("a", kKernel, TwoModes(1, 1000));
  leader.Decide();
  CHECK(leader.launches() == 1000);
  const stats::LogSketch later = TwoModes(1, 4000);
  for (int i = 0; i < 3; ++i) {
    leader.SetSketch("a", kKernel, later);
    leader.AddCapture("a", kKernel, 17, 17, stats::LogSketch::BinOf(kLong));
    leader.Decide();
    CHECK(leader.launches() == 4000);
    CHECK(leader.duration_ns() == static_cast<std::uint64_t>(later.total_duration()));
    CHECK(leader.captured() == 1);
  }
  // The same index in another run is another capture.
  leader.SetRun("b", true);
  leader.AddCapture("b", kKernel, 17, 17, stats::LogSketch::BinOf(kLong));
  CHECK(leader.captured() == 2);
}

TEST_CASE("nothing is asked before the runs have observed enough launches") {
  Leader leader(Precise(), {5000});
  for (const char* run : {"a", "b"}) {
    leader.SetRun(run, true);
    leader.SetSketch(run, kKernel, TwoModes(1, 4000));
  }
  CHECK(leader.Decide());
  CHECK(Sum(TargetsOf(leader, "a")) + Sum(TargetsOf(leader, "b")) == 0);
  // The mean counts: the other run is slower.
  leader.SetSketch("a", kKernel, TwoModes(1, 6400));
  CHECK(leader.Decide());
  CHECK(Sum(TargetsOf(leader, "a")) + Sum(TargetsOf(leader, "b")) > 0);
}

TEST_CASE("the leader decides again after an eighth more launches, or if a run is added or ends") {
  Leader leader(Precise(), {0});
  leader.SetRun("a", true);
  leader.SetSketch("a", kKernel, TwoModes(1, 8000));
  CHECK(leader.Decide());
  CHECK(!leader.Decide());
  leader.SetSketch("a", kKernel, TwoModes(1, 8100));
  CHECK(!leader.Decide());
  leader.SetSketch("a", kKernel, TwoModes(1, 9200));
  CHECK(leader.Decide());
  CHECK(!leader.Decide());
  leader.SetRun("a", true);
  CHECK(!leader.Decide());
  leader.SetRun("b", true);
  CHECK(leader.Decide());
  CHECK(!leader.Decide());
  leader.SetRun("b", false);
  CHECK(leader.Decide());
  CHECK(!leader.Decide());
}

TEST_CASE("lacking captures are divided in proportion to the launches of each cluster") {
  FakeJob job = JobOf({{"a", 2000}, {"b", 6000}, {"c", 12'000}, {"d", 20'000}});
  // A run without long launches captures none.
  job.sketches["short"].Add(kShort);
  for (int i = 0; i < 3000; ++i) job.sketches["short"].Add(kShort + 10);
  const Leader leader = Decided(job);
  const Clusters clusters = Only(leader.Clusters());
  const std::vector<std::uint64_t> expected = Expected(leader, job);
  CHECK(TargetsOfAll(leader, job) == expected);
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    const std::uint32_t first = c == 0 ? 0 : clusters[c].first_bin;
    const std::uint32_t end =
        c + 1 < clusters.size() ? clusters[c + 1].first_bin : stats::LogSketch::kEndBin;
    double all = 0.0;
    for (const auto& [run, sketch] : job.sketches) {
      all += static_cast<double>(sketch.CountIn(first, end));
    }
    for (const auto& [run, sketch] : job.sketches) {
      const double fair =
          static_cast<double>(expected[c]) * static_cast<double>(sketch.CountIn(first, end)) / all;
      CAPTURE(run);
      CAPTURE(fair);
      CHECK(std::fabs(static_cast<double>(TargetsOf(leader, run)[c]) - fair) < 1.0);
    }
  }
  CHECK(TargetsOf(leader, "short")[ClusterOf(leader, kLong + 7000)] == 0);
}

TEST_CASE("over many jobs, each run gets its share of a single capture") {
  // One run has three of four launches.
  int of_large = 0;
  constexpr int kJobs = 400;
  for (std::uint64_t seed = 1; seed <= kJobs; ++seed) {
    sampling::SamplingOptions options;
    options.seed = seed;
    Leader leader(options, {0});
    for (const auto& [run, launches] : {std::pair("large", 3000), std::pair("small", 1000)}) {
      stats::LogSketch sketch;
      for (int i = 0; i < launches; ++i) sketch.Add(kShort);
      leader.SetRun(run, true);
      leader.SetSketch(run, kKernel, sketch);
    }
    REQUIRE(leader.Decide());
    const std::uint64_t large = Sum(TargetsOf(leader, "large"));
    REQUIRE(large + Sum(TargetsOf(leader, "small")) == 1);
    of_large += static_cast<int>(large);
  }
  // Four standard deviations: 4 sqrt(400 x 3/4 x 1/4) = 35.
  CHECK(of_large > 265);
  CHECK(of_large < 335);
}

TEST_CASE("what was asked of a run stays asked of it until it is captured") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 4000}, {"c", 4000}});
  Leader leader = Decided(job);
  std::map<std::string, std::vector<std::uint64_t>> before;
  for (const auto& [run, sketch] : job.sketches) before[run] = TargetsOf(leader, run);
  const std::vector<std::uint32_t> bins = FirstBins(Only(leader.Clusters()));
  // Run b captures all that it was asked for, the others nothing.
  for (std::size_t c = 0; c < bins.size(); ++c) {
    for (std::uint64_t i = 0; i < before["b"][c]; ++i) {
      job.Add(leader, "b", DurationIn(leader, job, c));
    }
  }
  CHECK(leader.captured() == Sum(before["b"]));
  for (const auto& [run, sketch] : job.sketches) CHECK(TargetsOf(leader, run) == before[run]);
  // Twice as many launches: each run keeps what it was asked for, and only what the clusters lack
  // beyond that is asked for.
  std::vector<std::uint64_t> awaited = TargetsOfAll(leader, job);
  for (std::size_t c = 0; c < bins.size(); ++c) awaited[c] -= before["b"][c];
  for (auto& [run, sketch] : job.sketches) {
    sketch.Merge(stats::LogSketch(sketch));
    leader.SetSketch(run, kKernel, sketch);
  }
  CHECK(leader.Decide());
  REQUIRE(FirstBins(Only(leader.Clusters())) == bins);
  CHECK(TargetsOfAll(leader, job) == Expected(leader, job, awaited));
  for (const auto& [run, sketch] : job.sketches) {
    const std::vector<std::uint64_t> after = TargetsOf(leader, run);
    for (std::size_t c = 0; c < bins.size(); ++c) CHECK(after[c] >= before[run][c]);
  }
}

TEST_CASE("what was asked for is taken back if others have captured enough") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 4000}});
  Leader leader = Decided(job);
  const std::size_t cluster = MostAsked(leader, "a");
  REQUIRE(TargetsOf(leader, "a")[cluster] > 0);
  const std::uint64_t duration = DurationIn(leader, job, cluster);
  for (int i = 0; i < 200; ++i) job.Add(leader, "b", duration);
  leader.SetRun("c", true);
  CHECK(leader.Decide());
  CHECK(TargetsOf(leader, "a")[ClusterOf(leader, duration)] == 0);
  CHECK(TargetsOf(leader, "b")[ClusterOf(leader, duration)] == 200);
}

TEST_CASE("what a run did not capture until it ended is asked of the others") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 4000}, {"c", 4000}});
  Leader leader = Decided(job);
  REQUIRE(Sum(TargetsOf(leader, "a")) >= 2);
  const std::size_t cluster = MostAsked(leader, "a");
  job.Add(leader, "a", DurationIn(leader, job, cluster));
  leader.SetRun("a", false);
  // Its capture counts, and nothing more is expected of it.
  CHECK(Sum(TargetsOf(leader, "a")) == 1);
  CHECK(TargetsOf(leader, "a")[cluster] == 1);
  CHECK(leader.Decide());
  CHECK(Sum(TargetsOf(leader, "a")) == 1);
  const std::vector<std::uint64_t> asked = TargetsOfAll(leader, job);
  const std::vector<std::uint64_t> least = Expected(leader, job);
  for (std::size_t c = 0; c < asked.size(); ++c) CHECK(asked[c] >= least[c]);
  // Its late captures count as well.
  job.Add(leader, "a", job.captures[0].duration_ns);
  CHECK(Sum(TargetsOf(leader, "a")) == 2);
}

TEST_CASE("if no run goes on, nothing is asked") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 4000}});
  Leader leader = Decided(job);
  leader.SetRun("a", false);
  leader.SetRun("b", false);
  CHECK(leader.Decide());
  CHECK(Sum(TargetsOfAll(leader, job)) == 0);
}

TEST_CASE("a new leader continues what the one before it asked") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 5000}, {"c", 6000}});
  Leader old = Decided(job);
  const auto continued = [&] {
    Leader leader(Precise(), {0});
    job.Tell(leader);
    for (const auto& [run, sketch] : job.sketches) leader.SetAsked(run, old.Of(run));
    CHECK(leader.Decide());
    REQUIRE(FirstBins(Only(leader.Clusters())) == FirstBins(Only(old.Clusters())));
    return leader;
  };
  const Leader at_once = continued();
  for (const auto& [run, sketch] : job.sketches) {
    CHECK(TargetsOf(at_once, run) == TargetsOf(old, run));
  }
  // Run b has captured some of it.
  std::vector<std::uint64_t> awaited = TargetsOfAll(old, job);
  const std::size_t cluster = MostAsked(old, "b");
  const std::uint64_t captured = TargetsOf(old, "b")[cluster];
  REQUIRE(captured > 0);
  for (std::uint64_t i = 0; i < captured; ++i) job.Add(old, "b", DurationIn(old, job, cluster));
  awaited[cluster] -= captured;
  const Leader later = continued();
  CHECK(later.captured() == captured);
  CHECK(TargetsOfAll(later, job) == Expected(later, job, awaited));
  for (const auto& [run, sketch] : job.sketches) {
    const std::vector<std::uint64_t> asked = TargetsOf(later, run);
    for (std::size_t c = 0; c < asked.size(); ++c) CHECK(asked[c] >= TargetsOf(old, run)[c]);
  }
}

TEST_CASE("a new leader continues also if it cuts clusters elsewhere") {
  // The one before it knew only launches of about 1,000 and 20,000 ns, and cut in the middle.
  FakeJob job;
  for (int i = 0; i < 4000; ++i) {
    job.sketches["a"].Add(i % 2 == 0 ? kShort : 20'000);
    job.sketches["b"].Add(i % 2 == 0 ? 14'000 : 20'000);
  }
  Leader leader(Precise(), {0});
  job.Tell(leader);
  const std::uint32_t cut = stats::LogSketch::BinOf(10'500);
  leader.SetAsked("a", {{kKernel, {{stats::LogSketch::BinOf(kShort), 0}, {cut, 3}}}});
  CHECK(leader.Decide());
  REQUIRE(ClusterOf(leader, 20'000) > ClusterOf(leader, 14'000));
  REQUIRE(ClusterOf(leader, 14'000) == ClusterOf(leader, 10'500));
  CHECK(TargetsOf(leader, "a")[ClusterOf(leader, 14'000)] == 0);
  CHECK(TargetsOf(leader, "a")[ClusterOf(leader, 20'000)] == 1);
  CHECK(TargetsOf(leader, "b")[ClusterOf(leader, 20'000)] == 0);
}

TEST_CASE("a new leader asks nothing of a run that has ended before it") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 5000}});
  const Leader old = Decided(job);
  Leader leader(Precise(), {0});
  job.Tell(leader);
  leader.SetRun("a", false);
  for (const auto& [run, sketch] : job.sketches) leader.SetAsked(run, old.Of(run));
  CHECK(leader.Decide());
  CHECK(Sum(TargetsOf(leader, "a")) == 0);
  CHECK(TargetsOfAll(leader, job) == Expected(leader, job));
}

TEST_CASE("a run that predicts a cluster much worse than others is not asked") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 4000}, {"c", 4000}});
  Leader leader(Precise(), {0});
  job.Tell(leader);
  leader.SetTraits("a", kKernel, {{{0, 1.0, 60'000.0}}, {}});
  // A run with longer launches is asked as often: the price does not matter.
  leader.SetTraits("b", kKernel, {{{0, 1.0, 150'000.0}}, {}});
  leader.SetTraits("c", kKernel, {{{0, 0.1, 600'000.0}}, {}});
  CHECK(leader.Decide());
  CHECK(TargetsOfAll(leader, job) == Expected(leader, job));
  CHECK(Sum(TargetsOf(leader, "a")) > 0);
  CHECK(Sum(TargetsOf(leader, "b")) > 0);
  CHECK(Sum(TargetsOf(leader, "c")) == 0);
}

TEST_CASE("what was asked of a run that cannot predict it any more is asked of others") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 4000}});
  Leader leader = Decided(job);
  REQUIRE(Sum(TargetsOf(leader, "b")) > 0);
  leader.SetTraits("b", kKernel, {{{0, 0.1, 1e7}}, {}});
  for (auto& [run, sketch] : job.sketches) {
    sketch.Merge(stats::LogSketch(sketch));
    leader.SetSketch(run, kKernel, sketch);
  }
  CHECK(leader.Decide());
  CHECK(Sum(TargetsOf(leader, "b")) == 0);
  const std::vector<std::uint64_t> least = Expected(leader, job);
  const std::vector<std::uint64_t> asked = TargetsOf(leader, "a");
  for (std::size_t c = 0; c < asked.size(); ++c) CHECK(asked[c] >= least[c]);
}

TEST_CASE("a run that predicts badly is asked if no other has launches of the cluster") {
  FakeJob job = JobOf({{"a", 4000}});
  job.sketches["b"] = {};
  for (int i = 0; i < 4000; ++i) job.sketches["b"].Add(kShort + 100);
  Leader leader(Precise(), {0});
  job.Tell(leader);
  leader.SetTraits("a", kKernel, {{{0, 0.6, 200'000.0}}, {}});
  CHECK(leader.Decide());
  const Clusters clusters = Only(leader.Clusters());
  const std::vector<std::uint64_t> expected = Expected(leader, job);
  std::uint64_t of_long = 0;
  for (std::size_t c = ClusterOf(leader, kLong); c < clusters.size(); ++c) {
    CHECK(TargetsOf(leader, "a")[c] == expected[c]);
    of_long += expected[c];
  }
  CHECK(of_long > 0);
  CHECK(TargetsOf(leader, "a")[ClusterOf(leader, kShort + 100)] == 0);
}

// Doubles the launches of all runs, and decides.
void Grow(Leader& leader, FakeJob& job) {
  for (auto& [run, sketch] : job.sketches) {
    sketch.Merge(stats::LogSketch(sketch));
    leader.SetSketch(run, kKernel, sketch);
  }
  CHECK(leader.Decide());
}

TEST_CASE("what is not reported by the second decision is asked of another run too") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 4000}});
  Leader leader = Decided(job);
  Grow(leader, job);
  CHECK(Sum(TargetsOfAll(leader, job)) == Sum(Expected(leader, job)));
  Grow(leader, job);
  const std::vector<std::uint64_t> overdue = TargetsOfAll(leader, job);
  CHECK(Sum(overdue) > Sum(Expected(leader, job)));
  // At most what lacks, in time and overdue.
  const std::vector<std::uint64_t> targets = Targets(Only(leader.Clusters()));
  for (std::size_t c = 0; c < targets.size(); ++c) CHECK(overdue[c] <= 2 * targets[c]);
  // Captures that are made are not awaited any more, of any run.
  for (std::size_t c = 0; c < targets.size(); ++c) {
    const std::uint64_t duration = DurationIn(leader, job, c);
    for (std::uint64_t i = 0; i < 2 * targets[c]; ++i) job.Add(leader, "a", duration);
  }
  Grow(leader, job);
  const std::vector<std::uint64_t> now = Targets(Only(leader.Clusters()));
  const std::vector<std::uint64_t> captured = Captured(leader, job);
  for (std::size_t c = 0; c < now.size(); ++c) {
    if (captured[c] >= now[c]) CHECK(TargetsOfAll(leader, job)[c] == captured[c]);
  }
}

TEST_CASE("a run that has captured much more time than others is spared") {
  std::vector<std::pair<std::string, std::uint64_t>> launches;
  for (int run = 0; run < 16; ++run) launches.emplace_back("run " + std::to_string(run), 1000);
  FakeJob job = JobOf(launches);
  Leader leader(Precise(), {0});
  job.Tell(leader);
  for (int i = 0; i < 8; ++i) job.Add(leader, "run 3", kLong + 100);
  CHECK(leader.Decide());
  CHECK(Sum(TargetsOf(leader, "run 3")) == 8);
  CHECK(Sum(TargetsOfAll(leader, job)) == Sum(Expected(leader, job)));
  // Unless it has most of the launches.
  FakeJob uneven = JobOf({{"run 1", 1000}, {"run 3", 9000}});
  Leader other(Precise(), {0});
  uneven.Tell(other);
  for (int i = 0; i < 8; ++i) uneven.Add(other, "run 3", kLong + 100);
  CHECK(other.Decide());
  CHECK(Sum(TargetsOf(other, "run 3")) > 8);
}

TEST_CASE("a single launch can exceed the limit: then the less loaded half is asked") {
  // Each of 16 kernels needs one capture, so at first each is more than an eighth of the time.
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    sampling::SamplingOptions options;
    options.seed = seed;
    Leader leader(options, {0});
    for (int run = 0; run < 16; ++run) {
      leader.SetRun("run " + std::to_string(run), true);
      for (std::uint64_t kernel = 0; kernel < 16; ++kernel) {
        stats::LogSketch sketch;
        for (int i = 0; i < 100; ++i) sketch.Add(kLong);
        leader.SetSketch("run " + std::to_string(run), kernel, sketch);
      }
    }
    REQUIRE(leader.Decide());
    std::uint64_t all = 0;
    for (int run = 0; run < 16; ++run) {
      std::uint64_t asked = 0;
      for (const DirectedKernel& directed : leader.Of("run " + std::to_string(run))) {
        asked += Sum(Targets(directed.clusters));
      }
      CHECK(asked <= 2);
      all += asked;
    }
    CHECK(all == 16);
  }
}

TEST_CASE("more captures are wanted if those so far are of one burst") {
  const auto wanted = [](double rho, std::uint64_t distance) {
    FakeJob job = JobOf({{"a", 40'000}, {"b", 40'000}});
    Leader leader(Precise(), {0});
    job.Tell(leader);
    Traits traits;
    traits.correlations.rho.fill(rho);
    for (const auto& [run, sketch] : job.sketches) leader.SetTraits(run, kKernel, traits);
    // Half of them in each run, at the same time.
    for (std::uint64_t i = 0; i < 20; ++i) {
      const std::uint64_t duration = i % 4 < 2 ? kLong + 250 * i : kShort + 5 * i;
      leader.AddCapture(i % 2 == 0 ? "a" : "b", kKernel, i, 20'000 + distance * (i / 2),
                        stats::LogSketch::BinOf(duration));
    }
    CHECK(leader.Decide());
    return Sum(Targets(Only(leader.Clusters())));
  };
  const std::uint64_t independent = wanted(0.0, 1);
  CHECK(wanted(0.9, 1) > independent);
  CHECK(wanted(0.9, 200) < wanted(0.9, 1));
}

TEST_CASE("a kernel is sampled from the first capture on that is asked for") {
  FakeJob job = JobOf({{"a", 4000}, {"b", 4000}});
  Leader waiting(Precise(), {1'000'000});
  job.Tell(waiting);
  CHECK(waiting.Decide());
  CHECK(!waiting.Of("a")[0].is_sampled);
  const Leader leader = Decided(job);
  CHECK(leader.Of("a")[0].is_sampled);
}

TEST_CASE("after four captures of other clusters, a run is not waited for any more") {
  FakeJob job = JobOf({{"a", 4000}});
  Leader leader(Precise(), {0});
  job.Tell(leader);
  const std::uint32_t cut = stats::LogSketch::BinOf(10'000);
  leader.SetAsked("a", {{kKernel, {{0, 0}, {cut, 20}}}});
  // The clusters of this leader are set by its first decision.
  REQUIRE(leader.Decide());
  const auto of_long = [&] {
    std::uint64_t sum = 0;
    for (const online::DirectedCluster& cluster : Only(leader.Of("a"))) {
      if (cluster.first_bin >= cut) sum += cluster.target;
    }
    return sum;
  };
  const std::uint64_t asked = of_long();
  REQUIRE(asked >= 4);
  std::size_t last = Only(leader.Clusters()).size() - 1;
  while (TargetsOf(leader, "a")[last] == 0) --last;
  // Captures what is awaited of short launches.
  while (TargetsOf(leader, "a")[0] > job.captures.size()) job.Add(leader, "a", kShort);
  for (int i = 0; i < 3; ++i) job.Add(leader, "a", kShort);
  CHECK(of_long() == asked);
  job.Add(leader, "a", kShort);
  CHECK(of_long() == asked - 1);
  // One that was awaited begins anew, and stays in the target as a capture.
  for (int i = 0; i < 3; ++i) job.Add(leader, "a", kShort);
  job.Add(leader, "a", DurationIn(leader, job, last));
  CHECK(of_long() == asked - 1);
  for (int i = 0; i < 3; ++i) job.Add(leader, "a", kShort);
  CHECK(of_long() == asked - 1);
  job.Add(leader, "a", kShort);
  CHECK(of_long() == asked - 2);
}

TEST_CASE("a run that keeps missing a cluster is replaced by another") {
  FakeJob job = JobOf({{"a", 20'000}, {"b", 20'000}});
  Leader leader = Decided(job);
  std::size_t cluster = ClusterOf(leader, kLong);
  while (TargetsOf(leader, "a")[cluster] == 0) ++cluster;
  const std::uint64_t duration = DurationIn(leader, job, cluster);
  // Run a captures only short launches, until nothing is awaited of it.
  while (Sum(TargetsOf(leader, "a")) > leader.captured()) {
    REQUIRE(leader.captured() < 10'000);
    job.Add(leader, "a", kShort + 100);
  }
  CHECK(TargetsOf(leader, "a")[cluster] == 0);
  const std::uint64_t of_other = TargetsOf(leader, "b")[cluster];
  for (auto& [run, sketch] : job.sketches) {
    sketch.Merge(stats::LogSketch(sketch));
    leader.SetSketch(run, kKernel, sketch);
  }
  CHECK(leader.Decide());
  const std::size_t now = ClusterOf(leader, duration);
  CHECK(TargetsOf(leader, "a")[now] + TargetsOf(leader, "b")[now] > of_other);
  CHECK(TargetsOfAll(leader, job)[now] >= Expected(leader, job)[now]);
}

TEST_CASE("a run that the leader was not told of is counted but not asked") {
  FakeJob job = JobOf({{"a", 4000}});
  Leader leader(Precise(), {0});
  job.Tell(leader);
  leader.SetSketch("stranger", kKernel, TwoModes(9, 4000));
  leader.SetTraits("stranger", kKernel, {{{0, 1.0, 1.0}}, {}});
  leader.AddCapture("stranger", kKernel, 3, 3, stats::LogSketch::BinOf(kShort));
  leader.SetAsked("stranger", {{kKernel, {{0, 100}}}});
  CHECK(leader.Decide());
  CHECK(leader.launches() == 8000);
  CHECK(leader.captured() == 1);
  CHECK(Sum(TargetsOf(leader, "stranger")) == 1);
  job.captures.push_back({"stranger", 3, kShort});
  CHECK(Sum(TargetsOf(leader, "a")) + 1 == Sum(Expected(leader, job)));
}

TEST_CASE("each kernel has its own clusters, and one without launches has none") {
  Leader leader(Precise(), {0});
  leader.SetRun("a", true);
  leader.SetSketch("a", 1, TwoModes(1, 4000));
  leader.SetSketch("a", 2, Skewed(1, 4000));
  leader.AddCapture("a", 3, 0, 0, 500);
  leader.SetTraits("a", 4, {{{0, 1.0, 5.0}}, {}});
  leader.SetSketch("a", 5, {});
  leader.SetAsked("a", {{6, {{0, 9}, {100, 9}}}});
  CHECK(leader.Decide());
  for (const std::vector<DirectedKernel>& directed : {leader.Clusters(), leader.Of("a")}) {
    REQUIRE(directed.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(directed[i].key == i + 1);
      CHECK(directed[i].clusters.empty() == (i >= 2));
    }
  }
  CHECK(leader.launches() == 8000);
}

TEST_CASE("huge counts, targets and durations are harmless") {
  Leader leader(Precise(), {0});
  stats::LogSketch huge;
  for (const std::uint64_t duration : {std::uint64_t{1}, kShort, ~std::uint64_t{0}}) {
    const std::uint32_t bin = stats::LogSketch::BinOf(duration);
    huge.AddBin(bin, {std::uint64_t{1} << 40, 0, 0});
  }
  for (const char* run : {"a", "b"}) {
    leader.SetRun(run, true);
    leader.SetSketch(run, kKernel, huge);
    leader.SetSketch(run, 8, TwoModes(1, 1000));
    leader.SetTraits(run, kKernel, {{{0, 1e-6, std::ldexp(1.0, 62)}}, {}});
    leader.AddCapture(run, kKernel, ~std::uint64_t{0}, ~std::uint64_t{0},
                      stats::LogSketch::kEndBin - 1);
    leader.SetAsked(run, {{kKernel, {{0, std::uint64_t{1} << 60}, {2000, ~std::uint64_t{0}}}}});
  }
  CHECK(leader.Decide());
  for (const DirectedKernel& kernel : leader.Of("a")) {
    for (const online::DirectedCluster& cluster : kernel.clusters) {
      CHECK(cluster.target <= 2 * huge.count());
    }
  }
  // Durations whose mean is 2^64.
  stats::LogSketch longest;
  for (int i = 0; i < 1000; ++i) longest.Add(~std::uint64_t{0});
  leader.SetSketch("a", 9, longest);
  leader.SetRun("c", true);
  CHECK(leader.Decide());
  CHECK(leader.Clusters().size() == 3);
}

}  // namespace
}  // namespace stemtap::fleet
