// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "analysis/comparison/change_test.h"
#include "analysis/comparison/compared_run.h"
#include "analysis/comparison/run_diff.h"
#include "model/profile.h"

namespace stemtap::analysis {
namespace {

struct TimedLaunch {
  std::string name;
  std::uint64_t duration_ns;
  std::uint32_t grid = 1;
};

ComparedRun RunOf(const std::vector<TimedLaunch>& launches) {
  model::Profile profile;
  for (const TimedLaunch& launch : launches) {
    shm::KernelRecord record;
    record.name_id = profile.names.Intern(launch.name);
    record.duration_ns = launch.duration_ns;
    std::fill(std::begin(record.grid), std::end(record.grid), launch.grid);
    std::fill(std::begin(record.block), std::end(record.block), std::uint16_t{1});
    profile.records.push_back(record);
  }
  const auto reader = model::ReadProfile(profile);
  return ComparedProfile(*reader, "run").value();
}

// Returns a run of one kernel with these durations, and of another that shows a clock step of 1 ns.
ComparedRun RunOf(std::initializer_list<std::uint64_t> durations) {
  std::vector<TimedLaunch> launches = {{"clock", 1}};
  for (const std::uint64_t duration : durations) launches.push_back({"k", duration});
  return RunOf(launches);
}

// Returns a run in which "steady" takes 100 us in each of `count` launches, and "changed" the given
// time. Durations vary by up to 0.3 %.
ComparedRun SteadyRun(std::uint64_t changed_ns, int count = 400, const char* name = "changed") {
  std::vector<TimedLaunch> launches;
  for (int i = 0; i < count; ++i) {
    const auto vary = static_cast<std::uint64_t>(i * 7 % 31);
    launches.push_back({"steady", 100'000 + 10 * vary});
    launches.push_back({name, changed_ns + changed_ns / 10'000 * vary});
  }
  return RunOf(launches);
}

const KernelDiff& Find(const RunDiff& diff, const std::string& name) {
  return *std::find_if(diff.kernels.begin(), diff.kernels.end(),
                       [&](const KernelDiff& kernel) { return kernel.name == name; });
}

DiffJudgment Judge(const RunDiff& diff, const char* policy) {
  const Result<DiffPolicy> parsed = ParseDiffPolicy(policy, diff.options.threshold);
  REQUIRE(parsed.ok());
  return JudgeDiff(diff, parsed.value());
}

// Returns RankSumP of one stratum by counting all assignments.
double CountedP(const RankStratum& of) {
  std::vector<double> values = of.low;
  values.insert(values.end(), of.high.begin(), of.high.end());
  const auto doubled_rank = [&](double value) {
    return 1 +
           2 * std::count_if(values.begin(), values.end(), [&](double x) { return x < value; }) +
           std::count(values.begin(), values.end(), value);
  };
  const auto sum = [&](std::uint32_t chosen) {
    std::ptrdiff_t ranks = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((chosen >> i & 1u) != 0) ranks += doubled_rank(values[i]);
    }
    return ranks;
  };
  const std::uint32_t observed = ((1u << of.high.size()) - 1) << of.low.size();
  int all = 0;
  int extreme = 0;
  for (std::uint32_t chosen = 0; chosen < 1u << values.size(); ++chosen) {
    if (static_cast<std::size_t>(__builtin_popcount(chosen)) != of.high.size()) continue;
    ++all;
    extreme += sum(chosen) >= sum(observed) ? 1 : 0;
  }
  return static_cast<double>(extreme) / all;
}

TEST_CASE("the rank test is exact, also with equal values") {
  for (const RankStratum& of :
       {RankStratum{{1, 2, 3, 4}, {5, 6, 7, 8}}, RankStratum{{1, 5, 3, 4}, {2, 6, 7, 8}},
        RankStratum{{1, 1, 1, 1}, {1, 1, 1, 1}}, RankStratum{{1, 2, 2, 3}, {2, 3, 3}},
        RankStratum{{1, 1, 2}, {1, 2, 2, 2, 2, 5, 5}}}) {
    CHECK(RankSumP({&of, 1}) == doctest::Approx(CountedP(of)).epsilon(1e-12));
  }
  const RankStratum four = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  CHECK(RankSumP({&four, 1}) == doctest::Approx(1.0 / 70.0).epsilon(1e-12));
  CHECK(MinRankSumP({&four, 1}) == doctest::Approx(1.0 / 70.0).epsilon(1e-12));
}

TEST_CASE("the rank test compares values within strata only") {
  // Each of the four strata has one of two assignments, and only one of the 16 is as extreme.
  const std::vector<RankStratum> strata = {{{1}, {2}}, {{11}, {12}}, {{21}, {22}}, {{31}, {32}}};
  CHECK(RankSumP(strata) == doctest::Approx(1.0 / 16.0));
  CHECK(MinRankSumP(strata) == doctest::Approx(1.0 / 16.0));
  CHECK(RankSumP({}) == 1.0);
  // Values of one run only have one assignment.
  const std::vector<RankStratum> with_rest = {{{1}, {2}}, {{}, {5, 6}}};
  CHECK(RankSumP(with_rest) == doctest::Approx(0.5));
}

TEST_CASE("equal durations in four launches are no proof") {
  // 1,000 us and 1,100 us are two modes. By chance, all launches of a run are in one.
  const RunDiff alone = DiffRuns(RunOf({1'000'000, 1'000'000, 1'000'000, 1'000'000}),
                                 RunOf({1'100'000, 1'100'000, 1'100'000, 1'100'000}), {});
  CHECK(Find(alone, "k").p == doctest::Approx(2.0 / 70.0));
  std::vector<TimedLaunch> a = {{"clock", 1}};
  std::vector<TimedLaunch> b = {{"clock", 1}};
  for (int i = 0; i < 4; ++i) {
    for (int kernel = 0; kernel < 10; ++kernel) {
      a.push_back({fmt::format("k{}", kernel), 1'000'000});
      b.push_back({fmt::format("k{}", kernel), kernel == 0 ? 1'100'000u : 1'000'000u});
    }
  }
  const RunDiff table = DiffRuns(RunOf(a), RunOf(b), {});
  CHECK(Find(table, "k0").p == doctest::Approx(2.0 / 70.0));
  CHECK(Find(table, "k0").verdict == DiffVerdict::kUnclear);
  CHECK(Find(table, "k0").undecided == Undecided::kManyKernels);
}

TEST_CASE("the interval of a few launches contains what the exact test does not reject") {
  const auto interval = [](const RankStratum& of, double confidence) {
    ChangeTest test;
    test.change = 0.145;
    test.spreads.push_back({0.0, 3.0});
    test.few = {of};
    return test.Interval(confidence);
  };
  // Each of the 16 pairs has another difference; at 95 %, all of them are possible.
  const RankStratum four = {{0.0, 0.01, 0.02, 0.03}, {0.1, 0.14, 0.18, 0.22}};
  CHECK(interval(four, 0.95).first == doctest::Approx(0.07));
  CHECK(interval(four, 0.95).second == doctest::Approx(0.22));
  // At 90 %, one of 70 assignments more is rejected on each side.
  CHECK(interval(four, 0.90).first == doctest::Approx(0.08));
  CHECK(interval(four, 0.90).second == doctest::Approx(0.21));
  CHECK(std::isinf(interval(four, 0.99).second));
  CHECK(std::isinf(interval({{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}}, 0.95).first));
}

TEST_CASE("kernels with too few launches for a verdict do not reduce the power for others") {
  std::vector<TimedLaunch> a;
  std::vector<TimedLaunch> b;
  for (int i = 0; i < 400; ++i) {
    const auto vary = static_cast<std::uint64_t>(i * 7 % 31);
    a.push_back({"often", 100'000 + 10 * vary});
    b.push_back({"often", 150'000 + 15 * vary});
    if (i % 100 != 0) continue;
    for (int kernel = 0; kernel < 300; ++kernel) {
      a.push_back({fmt::format("rare{}", kernel), 10'000 + 11 * vary});
      b.push_back({fmt::format("rare{}", kernel), 10'000 + 13 * vary});
    }
  }
  const RunDiff diff = DiffRuns(RunOf(a), RunOf(b), {});
  const KernelDiff& often = Find(diff, "often");
  CHECK(often.verdict == DiffVerdict::kSlower);
  CHECK(often.adjusted_p <= 2.0 * often.p);
}

TEST_CASE("a cold first launch does not make a kernel slowly changing") {
  const auto run = [](std::uint64_t duration, std::uint64_t cold) {
    std::vector<TimedLaunch> launches;
    for (int i = 0; i < 1'000; ++i) {
      launches.push_back(
          {"k", i == 0 ? cold : duration + static_cast<std::uint64_t>(i * 37 % 101)});
    }
    return RunOf(launches);
  };
  const RunDiff diff = DiffRuns(run(10'000, 500'000), run(20'000, 900'000), {});
  CHECK(diff.kernels[0].verdict == DiffVerdict::kSlower);
  CHECK(diff.kernels[0].change.upper - diff.kernels[0].change.lower < 0.2);
}

TEST_CASE("kernels that change slowly have an allowance") {
  const auto run = [](int step) {
    std::vector<TimedLaunch> launches;
    for (int i = 0; i < 1'024; ++i) {
      launches.push_back({"k", (i < step ? 10'000u : 12'000u) + static_cast<std::uint64_t>(i % 7)});
    }
    return RunOf(launches);
  };
  const RunDiff diff = DiffRuns(run(400), run(700), {});
  CHECK(diff.kernels[0].verdict == DiffVerdict::kUnclear);
  CHECK(diff.kernels[0].undecided == Undecided::kWideInterval);
  CHECK(diff.kernels[0].change.test.systematic > 0.1);
}

TEST_CASE("same means that the whole interval is within the threshold") {
  DiffOptions options;
  const RunDiff wide = DiffRuns(SteadyRun(50'000), SteadyRun(50'100), options);
  const MeanChange& change = Find(wide, "changed").change;
  CHECK(Find(wide, "changed").verdict == DiffVerdict::kSame);
  REQUIRE(change.upper > change.relative);
  // Just below the end of the interval, and just above it.
  options.threshold = 0.5 * (change.relative + change.upper);
  const RunDiff open = DiffRuns(SteadyRun(50'000), SteadyRun(50'100), options);
  CHECK(Find(open, "changed").verdict == DiffVerdict::kUnclear);
  CHECK(std::string(ReasonOf(Find(open, "changed"))) == "wide interval");
  options.threshold = 1.001 * change.upper;
  CHECK(Find(DiffRuns(SteadyRun(50'000), SteadyRun(50'100), options), "changed").verdict ==
        DiffVerdict::kSame);
  const MeanChange& total = wide.total.change;
  CHECK(wide.total.verdict == DiffVerdict::kSame);
  options.threshold = 0.5 * (total.relative + total.upper);
  const RunDiff open_total = DiffRuns(SteadyRun(50'000), SteadyRun(50'100), options);
  CHECK(open_total.total.verdict == DiffVerdict::kUnclear);
  CHECK(std::string(ReasonOf(open_total.total)) == "wide interval");
}

TEST_CASE("most launches that are slower are no verdict if the mean is shorter") {
  // Three launches of 5 ms in A make its mean uncertain. All other launches of B take 5 % longer.
  const auto run = [](std::uint64_t duration, int long_launches, std::uint64_t long_ns) {
    std::vector<TimedLaunch> launches;
    for (int i = 0; i < 2'000; ++i) {
      const bool is_long = i % 601 == 100 && i / 601 < long_launches;
      launches.push_back(
          {"k", is_long ? long_ns : duration + static_cast<std::uint64_t>(i * 37 % 101)});
      launches.push_back({"clock", 1});
    }
    return RunOf(launches);
  };
  const RunDiff mixed = DiffRuns(run(10'000, 3, 5'000'000), run(10'600, 1, 5'000'000), {});
  const KernelDiff& kernel = Find(mixed, "k");
  CHECK(kernel.change.relative < 0.0);
  CHECK(kernel.shift.relative > 0.05);
  CHECK(kernel.adjusted_shift_p <= 0.05);
  CHECK(kernel.verdict == DiffVerdict::kUnclear);
  CHECK(std::string(ReasonOf(kernel)) == "mixed");
  CHECK(Judge(mixed, "slower").outcome == DiffOutcome::kUnclear);
  const RunDiff slower = DiffRuns(run(10'000, 3, 5'000'000), run(10'600, 3, 5'000'000), {});
  CHECK(Find(slower, "k").verdict == DiffVerdict::kSlower);
  CHECK(Find(slower, "k").basis == DiffBasis::kLaunches);
  CHECK(Judge(slower, "slower").outcome == DiffOutcome::kFail);
}

TEST_CASE("the total has an interval and a verdict") {
  const RunDiff same = DiffRuns(SteadyRun(50'000), SteadyRun(50'000), {});
  CHECK(same.total.verdict == DiffVerdict::kSame);
  const RunDiff slower = DiffRuns(SteadyRun(50'000), SteadyRun(60'000), {});
  CHECK(slower.total.verdict == DiffVerdict::kSlower);
  CHECK(slower.total.change.relative == doctest::Approx(1.0 / 15.0).epsilon(0.001));
  CHECK(slower.total.change.lower > 0.06);
  CHECK(slower.total.change.upper < 0.07);
  // Other kernels and numbers of launches change the total exactly.
  const RunDiff other = DiffRuns(SteadyRun(50'000), SteadyRun(50'000, 400, "replacement"), {});
  CHECK(other.total.verdict == DiffVerdict::kSame);
  const RunDiff more = DiffRuns(SteadyRun(50'000), SteadyRun(50'000, 800), {});
  CHECK(more.total.verdict == DiffVerdict::kSlower);
  CHECK(more.total.change.relative == doctest::Approx(1.0).epsilon(0.001));
  CHECK(Find(more, "steady").verdict == DiffVerdict::kSame);
}

TEST_CASE("the total of runs without order is unclear") {
  ComparedRun a = SteadyRun(50'000);
  ComparedRun b = SteadyRun(60'000);
  for (ComparedKernel& kernel : b.kernels) kernel.batches.clear();
  for (ComparedKernel& kernel : b.kernels) kernel.stddev_ns = 100.0;
  const RunDiff diff = DiffRuns(std::move(a), std::move(b), {});
  CHECK(diff.total.verdict == DiffVerdict::kUnclear);
  CHECK(diff.total.change.untested == Untested::kNoOrder);
}

TEST_CASE("a policy fails on changes that are shown to be larger than it accepts") {
  const RunDiff slower = DiffRuns(SteadyRun(50'000), SteadyRun(60'000), {});
  CHECK(Judge(slower, "slower").outcome == DiffOutcome::kFail);
  CHECK(Judge(slower, "slower:10%").outcome == DiffOutcome::kFail);
  CHECK(Judge(slower, "slower:25%").outcome == DiffOutcome::kOk);
  CHECK(Judge(slower, "faster,new,gone").outcome == DiffOutcome::kOk);
  CHECK(Judge(slower, "total:5%").outcome == DiffOutcome::kFail);
  CHECK(Judge(slower, "total:8%").outcome == DiffOutcome::kOk);
  CHECK(Judge(slower, "slower:25%,total").outcome == DiffOutcome::kFail);
  const std::string reason = Judge(slower, "slower:10%,total").reason;
  CHECK(reason.starts_with("slower:10%: 1 kernel is slower: changed +20.00 % (+"));
  CHECK(Judge(slower, "total:5%").reason.starts_with("total:5%: the run is slower: +6.6"));
  const RunDiff faster = DiffRuns(SteadyRun(60'000), SteadyRun(50'000), {});
  CHECK(Judge(faster, "slower,total").outcome == DiffOutcome::kOk);
  CHECK(Judge(faster, "faster:10%").outcome == DiffOutcome::kFail);
  CHECK(Judge(faster, "faster:25%").outcome == DiffOutcome::kOk);
  const RunDiff other = DiffRuns(SteadyRun(50'000), SteadyRun(50'000, 400, "replacement"), {});
  CHECK(Judge(other, "new").reason == "new: 1 kernel is new: replacement");
  CHECK(Judge(other, "gone").reason == "gone: 1 kernel is gone: changed");
}

TEST_CASE("a policy is unclear if the runs show neither") {
  const RunDiff few = DiffRuns(RunOf({1'000, 2'000, 1'500}), RunOf({1'000, 2'000, 1'500}), {});
  const DiffJudgment judgment = Judge(few, "slower:5%");
  CHECK(judgment.outcome == DiffOutcome::kUnclear);
  CHECK(judgment.reason == "slower:5%: 1 kernel may be slower: k +0.00 % [few launches]");
  CHECK(Judge(few, "total").outcome == DiffOutcome::kUnclear);
  CHECK(Judge(few, "new,gone").outcome == DiffOutcome::kOk);
  // 20 % is shown, and whether it is more than 20 % is not.
  const RunDiff slower = DiffRuns(SteadyRun(50'000), SteadyRun(60'000), {});
  CHECK(Judge(slower, "slower:20%").outcome == DiffOutcome::kUnclear);
  // A failed rule counts before an unclear one.
  CHECK(Judge(slower, "slower:20%,total:1%").outcome == DiffOutcome::kFail);
}

TEST_CASE("a small kernel does not make a policy unclear") {
  std::vector<TimedLaunch> launches;
  for (int i = 0; i < 400; ++i) {
    launches.push_back({"large", 100'000 + static_cast<std::uint64_t>(i * 7 % 31)});
    if (i < 2) launches.push_back({"small", 1'000});
  }
  const RunDiff diff = DiffRuns(RunOf(launches), RunOf(launches), {});
  CHECK(Find(diff, "small").verdict == DiffVerdict::kUnclear);
  CHECK(Judge(diff, "slower:2%,total").outcome == DiffOutcome::kOk);
}

TEST_CASE("policies that are not known are usage errors") {
  for (const char* text : {"", "slow", "slower:", "slower:2", "slower:-1%", "slower:nan%", "new:2%",
                           "slower,,total", "unclear", "slower:2000%"}) {
    CAPTURE(text);
    const Result<DiffPolicy> policy = ParseDiffPolicy(text, 0.01);
    REQUIRE(!policy.ok());
    CHECK(policy.error().exit_code == 2);
    CHECK(policy.error().message.starts_with("--fail-on: "));
  }
  const Result<DiffPolicy> policy = ParseDiffPolicy("slower:0.5%, total,unclear,total:0.02", 0.03);
  REQUIRE(policy.ok());
  CHECK(policy.value().rules[2].threshold == 0.02);
  CHECK(!policy.value().accepts_unclear);
  CHECK(policy.value().rules[0].threshold == doctest::Approx(0.005));
  CHECK(policy.value().rules[1].threshold == 0.03);
}

TEST_CASE("the probability of few runs is the share of the orders that have them") {
  constexpr unsigned kValues = 10;
  for (unsigned level = 0; level <= kValues; ++level) {
    std::vector<double> orders(kValues + 1, 0.0);  // by number of runs
    for (unsigned order = 0; order < 1u << kValues; ++order) {
      unsigned above = 0;
      unsigned runs = 1;
      for (unsigned i = 0; i < kValues; ++i) {
        above += order >> i & 1u;
        runs += i != 0 && (order >> i & 1u) != (order >> (i - 1) & 1u) ? 1 : 0;
      }
      if (above == level) ++orders[runs];
    }
    double all = 0.0;
    for (const double count : orders) all += count;
    double few = 0.0;
    for (unsigned runs = 1; runs <= kValues; ++runs) {
      few += orders[runs];
      CAPTURE(level);
      CAPTURE(runs);
      CHECK(FewRunsP(level, kValues - level, runs) == doctest::Approx(few / all));
    }
  }
}

TEST_CASE("the distribution of runs of 1000 values is symmetrical") {
  // With equally many values on each side, R and 1002 - R are equally likely.
  for (const std::size_t runs : {400, 480, 500}) {
    CHECK(FewRunsP(500, 500, runs) + FewRunsP(500, 500, 1001 - runs) == doctest::Approx(1.0));
  }
}

TEST_CASE("values that are equal to the level are below it, and one side alone has no test") {
  CHECK(FewRunsP(std::vector<double>{1, 1, 2, 2}, 1.0) == doctest::Approx(2.0 / 6.0));
  CHECK(FewRunsP(std::vector<double>{1, 2, 1, 2}, 1.0) == doctest::Approx(1.0));
  CHECK(FewRunsP(std::vector<double>{1, 1, 1}, 1.0) == 1.0);
  CHECK(FewRunsP(std::vector<double>{}, 1.0) == 1.0);
}

}  // namespace
}  // namespace stemtap::analysis
