// SPDX-License-Identifier: Apache-2.0
#include "sampling/plan_merge.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "sampling/certificate.h"
#include "sampling/plan_builder.h"

namespace stemtap::sampling {
namespace {

// MadeCluster is a stratum of a generated session: all its durations and the number of draws.
struct MadeCluster {
  std::vector<std::uint64_t> durations;
  std::size_t samples = 0;
};

struct MadeKernel {
  std::string name;
  std::vector<MadeCluster> clusters;
  std::int32_t process = 0;
};

using MadeSession = std::vector<MadeKernel>;

stats::Moments MomentsOfDurations(const std::vector<std::uint64_t>& durations) {
  stats::Moments moments;
  for (const std::uint64_t d : durations) moments.Add(static_cast<double>(d));
  return moments;
}

std::vector<stats::Moments> CellsOf(std::vector<std::uint64_t> durations) {
  std::sort(durations.begin(), durations.end());
  std::vector<stats::Moments> cells;
  std::uint64_t last = 0;
  for (const std::uint64_t d : durations) {
    const std::uint64_t cell = d / 16;
    if (cells.empty() || cell != last) cells.emplace_back();
    cells.back().Add(static_cast<double>(d));
    last = cell;
  }
  return cells;
}

// Returns the plan of a session, with randomly drawn samples.
model::Plan PlanOf(const MadeSession& session, const std::string& id, std::mt19937_64& random,
                   SamplingOptions options = {}) {
  PlanBuilder builder(options);
  std::uint64_t index = 0;
  for (const MadeKernel& kernel : session) {
    std::vector<SampledCluster> clusters;
    std::uint64_t invocations = 0;
    std::uint64_t duration_ns = 0;
    for (const MadeCluster& made : kernel.clusters) {
      SampledCluster cluster;
      cluster.moments = MomentsOfDurations(made.durations);
      cluster.cells = CellsOf(made.durations);
      cluster.lower_ns = *std::min_element(made.durations.begin(), made.durations.end());
      cluster.upper_ns = *std::max_element(made.durations.begin(), made.durations.end());
      cluster.target = made.samples;
      std::vector<std::size_t> order(made.durations.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      for (std::size_t i = 0; i < made.samples; ++i) {
        std::swap(order[i], order[i + random() % (order.size() - i)]);
        model::PlanSample sample;
        sample.index = index + order[i];
        sample.occurrence = invocations + order[i];
        sample.record.device = 0;
        sample.record.duration_ns = made.durations[order[i]];
        cluster.samples.push_back(sample);
      }
      index += made.durations.size();
      invocations += made.durations.size();
      for (const std::uint64_t d : made.durations) duration_ns += d;
      clusters.push_back(std::move(cluster));
    }
    builder.AddKernel({kernel.name, kernel.process}, invocations, duration_ns, 0,
                      std::move(clusters));
  }
  model::Plan plan = builder.Finish();
  model::PlanSession self;
  self.id = id;
  self.launches = plan.totals.invocations;
  self.duration_ns = plan.totals.duration_ns;
  self.bound = plan.totals.bound;
  self.certified_bound = plan.totals.certified_bound;
  self.devices = {0};
  plan.sessions = {self};
  return plan;
}

// Returns `clusters` strata of skewed, log-normal durations with a few samples each.
MadeSession Skewed(std::uint64_t seed, std::size_t clusters) {
  std::mt19937_64 random(seed);
  MadeSession session;
  for (std::size_t k = 0; k < clusters; ++k) {
    std::lognormal_distribution<double> draw(6.0 + 0.3 * static_cast<double>(k), 0.5);
    MadeCluster cluster;
    for (int i = 0; i < 400; ++i) {
      cluster.durations.push_back(static_cast<std::uint64_t>(draw(random)) + 1);
    }
    cluster.samples = 1 + k % 3;
    session.push_back({"kernel " + std::to_string(k), {cluster}});
  }
  return session;
}

model::Plan Merge(std::vector<model::Plan> plans) {
  Result<model::Plan> merged = MergePlans(std::move(plans), 0.95);
  REQUIRE(merged.ok());
  return std::move(merged).value();
}

void CheckSameNumbers(const model::Plan& a, const model::Plan& b) {
  CHECK(a.totals.invocations == b.totals.invocations);
  CHECK(a.totals.duration_ns == b.totals.duration_ns);
  CHECK(a.totals.kernels == b.totals.kernels);
  CHECK(a.totals.clusters == b.totals.clusters);
  CHECK(a.totals.samples == b.totals.samples);
  CHECK(a.totals.sampled_duration_ns == b.totals.sampled_duration_ns);
  CHECK(a.totals.bound == b.totals.bound);
  CHECK(a.totals.plain_estimate_ns == b.totals.plain_estimate_ns);
  CHECK(a.totals.calibrated_estimate_ns == b.totals.calibrated_estimate_ns);
  CHECK(a.totals.observed_error == b.totals.observed_error);
  CHECK(a.totals.uncovered_fraction == b.totals.uncovered_fraction);
  CHECK(a.totals.speedup == b.totals.speedup);
}

TEST_CASE("merging adds estimates and counts, and every sample keeps its weight") {
  std::mt19937_64 random(1);
  const std::vector<model::Plan> plans = {PlanOf(Skewed(1, 6), "a", random),
                                          PlanOf(Skewed(2, 4), "b", random),
                                          PlanOf(Skewed(3, 5), "c", random)};
  const model::Plan merged = Merge(plans);
  model::PlanTotals sum;
  double weighted = 0.0;
  double weighted_apart = 0.0;
  for (const model::Plan& plan : plans) {
    sum.invocations += plan.totals.invocations;
    sum.duration_ns += plan.totals.duration_ns;
    sum.clusters += plan.totals.clusters;
    sum.samples += plan.totals.samples;
    sum.plain_estimate_ns += plan.totals.plain_estimate_ns;
    sum.calibrated_estimate_ns += plan.totals.calibrated_estimate_ns;
    for (const model::PlanKernel& k : plan.kernels) {
      for (const model::PlanCluster& c : k.clusters) {
        for (const model::PlanSample& s : c.samples) {
          weighted_apart += s.weight * static_cast<double>(s.record.duration_ns);
        }
      }
    }
  }
  for (const model::PlanKernel& k : merged.kernels) {
    std::uint64_t count = 0;
    for (const model::PlanCluster& c : k.clusters) {
      count += c.count;
      for (const model::PlanSample& s : c.samples) {
        weighted += s.weight * static_cast<double>(s.record.duration_ns);
      }
    }
    CHECK(count == k.invocations);
  }
  CHECK(merged.totals.invocations == sum.invocations);
  CHECK(merged.totals.duration_ns == sum.duration_ns);
  CHECK(merged.totals.kernels == 6);  // kernels with the same name are merged
  CHECK(merged.kernels.size() == 6);
  CHECK(merged.totals.clusters == sum.clusters);
  CHECK(merged.totals.samples == sum.samples);
  CHECK(merged.totals.plain_estimate_ns == doctest::Approx(sum.plain_estimate_ns).epsilon(1e-12));
  CHECK(merged.totals.calibrated_estimate_ns ==
        doctest::Approx(sum.calibrated_estimate_ns).epsilon(1e-12));
  CHECK(weighted == doctest::Approx(weighted_apart).epsilon(1e-12));
  CHECK(weighted == doctest::Approx(static_cast<double>(sum.duration_ns)).epsilon(1e-12));
}

TEST_CASE("merging a single plan keeps its numbers") {
  std::mt19937_64 random(2);
  const model::Plan plan = PlanOf(Skewed(4, 7), "a", random);
  const model::Plan merged = Merge({plan});
  CHECK(merged.totals.bound == plan.totals.bound);
  CHECK(merged.totals.plain_estimate_ns ==
        doctest::Approx(plan.totals.plain_estimate_ns).epsilon(1e-12));
  CHECK(merged.totals.calibrated_estimate_ns ==
        doctest::Approx(plan.totals.calibrated_estimate_ns).epsilon(1e-12));
  CHECK(merged.totals.observed_error == doctest::Approx(plan.totals.observed_error).epsilon(1e-9));
  CHECK(merged.totals.speedup == plan.totals.speedup);
  CHECK(merged.kernels.size() == plan.kernels.size());
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    CHECK(merged.kernels[k].name == plan.kernels[k].name);
    CHECK(merged.kernels[k].clusters[0].samples[0].index ==
          plan.kernels[k].clusters[0].samples[0].index);
  }
}

TEST_CASE("merge order and grouping do not change the numbers") {
  std::mt19937_64 random(3);
  // Two plans differ only in their samples. Input order must not break the tie.
  const model::Plan a = PlanOf(Skewed(5, 6), "a", random);
  const model::Plan b = PlanOf(Skewed(5, 6), "b", random);
  const model::Plan c = PlanOf(Skewed(6, 9), "c", random);
  const model::Plan d = PlanOf({{"idle", {{{7, 7, 9}, 0}}}}, "d", random);
  const model::Plan flat = Merge({a, b, c, d});
  CHECK(flat.totals.uncovered_fraction > 0.0);
  CheckSameNumbers(flat, Merge({d, c, b, a}));
  CheckSameNumbers(flat, Merge({Merge({a, b}), c, d}));
  CheckSameNumbers(flat, Merge({a, Merge({b, Merge({c, d})})}));
  CheckSameNumbers(flat, Merge({Merge({d, b}), Merge({c, a})}));
  // The same order gives the same plan, regardless of earlier merges.
  CHECK(PlanToJson(flat) == PlanToJson(Merge({Merge({a, b}), Merge({c, d})})));
}

TEST_CASE("launch indices continue across sessions, and devices are renumbered") {
  std::mt19937_64 random(4);
  std::vector<model::Plan> plans = {PlanOf(Skewed(1, 2), "a", random),
                                    PlanOf(Skewed(1, 2), "b", random),
                                    PlanOf(Skewed(1, 2), "c", random)};
  plans[0].sessions[0].devices = {0, 3};
  plans[0].kernels[0].clusters[0].samples[0].record.device = 1;
  plans[0].sessions[0].launches = 805;  // five launches were excluded
  plans[2].kernels[0].clusters[0].samples[0].record.device = shm::kUnknown16;
  const model::Plan merged = Merge(plans);
  CHECK(merged.sessions[0].first_index == 0);
  CHECK(merged.sessions[1].first_index == 805);
  CHECK(merged.sessions[2].first_index == 1605);
  CHECK(merged.sessions[1].first_device == 2);
  CHECK(merged.sessions[2].first_device == 3);
  for (const model::PlanKernel& kernel : merged.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& s : cluster.samples) {
        const std::size_t of = s.index < 805 ? 0 : s.index < 1605 ? 1 : 2;
        // In each session, the kernel has 400 earlier launches.
        CHECK(s.occurrence >= 400 * of);
        CHECK(s.occurrence < 400 * (of + 1));
        const bool odd = s.record.device == shm::kUnknown16 || (of == 0 && s.record.device == 1);
        CHECK((odd || s.record.device == (of == 0 ? 0 : of + 1)));
      }
    }
  }
}

TEST_CASE("kernels of processes with the same id on different machines stay separate") {
  std::mt19937_64 random(5);
  MadeSession session = Skewed(1, 1);
  session[0].process = 7;
  const model::Plan merged = Merge({PlanOf(session, "a", random), PlanOf(session, "b", random)});
  REQUIRE(merged.kernels.size() == 2);
  CHECK(merged.kernels[1].process == 7);
  for (const model::PlanSample& s : merged.kernels[1].clusters[0].samples)
    CHECK(s.occurrence < 400);
  const model::Plan more = Merge({merged, PlanOf(session, "c", random)});
  CHECK(more.kernels.size() == 3);
}

// Certificate and Joint each compute a part of the bound of `merged`.
double Certificate(const model::Plan& merged) {
  std::vector<SampledStratum> strata;
  double total = 0.0;
  for (const model::PlanKernel& kernel : merged.kernels) {
    for (const model::PlanCluster& c : kernel.clusters) {
      if (c.samples.empty()) continue;
      strata.push_back(
          {c.cells, Stratum(c.count, c.mean_ns, c.stddev_ns * c.stddev_ns), c.samples.size()});
      total += strata.back().whole.sum();
    }
  }
  return total > 0.0 ? CertifiedError(strata, 0.0, 0.95) / total : 0.0;
}

double Joint(const model::Plan& merged) {
  double sum = 0.0;
  double total = 0.0;
  for (const model::PlanSession& s : merged.sessions) {
    sum += s.certified_bound * static_cast<double>(s.duration_ns);
    total += static_cast<double>(s.duration_ns);
  }
  return sum / total;
}

struct Coverage {
  double bound = 0.0;
  double joint = 0.0;
  double certificate = 0.0;
};

// Returns the share of `rounds` in which the error of `machines` identical sessions is within each
// bound. The sessions draw their samples independently, or all draw the same samples.
Coverage Cover(const MadeSession& session, std::size_t machines, bool same_draws, int rounds) {
  std::mt19937_64 random(6);
  Coverage share;
  double bound = 0.0;
  double joint = 0.0;
  double certificate = 0.0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t seed = random();
    // Estimates depend on the draws. The bound does not, so it is computed once.
    double estimate = 0.0;
    double total = 0.0;
    std::vector<model::Plan> plans;
    for (std::size_t m = 0; m < machines; ++m) {
      std::mt19937_64 draws(same_draws ? seed : seed + m);
      if (round == 0) {
        plans.push_back(PlanOf(session, std::to_string(m), draws));
        continue;
      }
      for (const MadeKernel& kernel : session) {
        for (const MadeCluster& c : kernel.clusters) {
          std::vector<std::uint64_t> left = c.durations;
          double sum = 0.0;
          for (std::size_t i = 0; i < c.samples; ++i) {
            std::swap(left[i], left[i + draws() % (left.size() - i)]);
            sum += static_cast<double>(left[i]);
          }
          estimate += sum * static_cast<double>(left.size()) / static_cast<double>(c.samples);
          total += MomentsOfDurations(c.durations).sum();
        }
      }
    }
    if (round == 0) {
      const model::Plan merged = Merge(std::move(plans));
      bound = merged.totals.certified_bound;
      joint = Joint(merged);
      certificate = Certificate(merged);
      CHECK(bound == std::max(joint, certificate));
      continue;
    }
    const double error = std::fabs(estimate - total) / total;
    share.bound += error <= bound;
    share.joint += error <= joint;
    share.certificate += error <= certificate;
  }
  const double counted = rounds - 1;
  return {share.bound / counted, share.joint / counted, share.certificate / counted};
}

// In 1,000 rounds, the standard error of a share of 0.95 is 0.007, and six standard errors are
// 0.041. The margin of the certificate (97 %) leaves 0.02.
TEST_CASE("the certified bound holds for identical and for independent errors of sessions") {
  const MadeSession skewed = Skewed(7, 5);
  const Coverage apart = Cover(skewed, 4, false, 1000);
  CHECK(apart.bound >= 0.95);
  const Coverage alike = Cover(skewed, 4, true, 1000);
  CHECK(alike.bound >= 0.95);
  // Errors with the same sign do not average out, and the certificate of independent draws does not
  // account for this.
  CHECK(alike.certificate < 0.80);
}

TEST_CASE("launches that are too rare for the bound of one session affect the bound of many") {
  // One launch in 1,000 is a giant. In 2 % of sessions, a sample of 20 contains it. These sessions
  // are outside the 97 % that the bound of a session covers. With five sessions, one merge in ten
  // contains the giant.
  MadeCluster cluster;
  cluster.durations.assign(999, 1000);
  cluster.durations.push_back(1000000);
  cluster.samples = 20;
  const Coverage five = Cover({{"giant", {cluster}}}, 5, false, 1000);
  CHECK(five.joint < 0.93);
  CHECK(five.bound >= 0.95);
}

TEST_CASE(
    "the certified bound is between the bounds of the sessions and equals the larger computed "
    "part") {
  std::mt19937_64 random(8);
  const model::Plan a = PlanOf(Skewed(8, 5), "a", random);
  const model::Plan b = PlanOf(Skewed(9, 3), "b", random);
  const model::Plan merged = Merge({a, b});
  const double certified = merged.totals.certified_bound;
  CHECK(certified == std::max(Certificate(merged), Joint(merged)));
  CHECK(certified <= std::max(a.totals.certified_bound, b.totals.certified_bound));
  CHECK(certified >= std::min(a.totals.certified_bound, b.totals.certified_bound));
  CHECK(merged.totals.bound == std::max(certified, merged.totals.observed_error));
}

// Returns the plan of a kernel with 100 launches of 1,000 ns and 100 of 3,000 ns in which `samples`
// short launches are captured.
model::Plan OnlyShort(const std::string& id, std::size_t samples) {
  PlanBuilder builder(SamplingOptions{});
  SampledCluster cluster;
  std::vector<std::uint64_t> durations(100, 1000);
  durations.insert(durations.end(), 100, 3000);
  cluster.moments = MomentsOfDurations(durations);
  cluster.cells = CellsOf(durations);
  cluster.lower_ns = 1000;
  cluster.upper_ns = 3000;
  for (std::size_t i = 0; i < samples; ++i) {
    model::PlanSample& sample = cluster.samples.emplace_back();
    sample.index = sample.occurrence = i;
    sample.record.device = 0;
    sample.record.duration_ns = 1000;
  }
  builder.AddKernel({"k"}, 200, 400'000, 0, {std::move(cluster)});
  model::Plan plan = builder.Finish();
  model::PlanSession self;
  self.id = id;
  self.launches = plan.totals.invocations;
  self.duration_ns = plan.totals.duration_ns;
  self.bound = plan.totals.bound;
  self.certified_bound = plan.totals.certified_bound;
  self.devices = {0};
  plan.sessions = {self};
  return plan;
}

TEST_CASE("an observed error above the certified bound is the stated bound, even after merging") {
  const model::Plan a = OnlyShort("a", 20);
  CHECK(a.totals.observed_error == doctest::Approx(0.5));
  CHECK(a.totals.certified_bound < 0.3);
  CHECK(a.totals.bound == a.totals.observed_error);
  const model::Plan alone = Merge({a});
  CHECK(alone.totals.certified_bound == a.totals.certified_bound);
  CHECK(alone.totals.bound == a.totals.bound);
  const model::Plan merged = Merge({a, OnlyShort("b", 30)});
  CHECK(merged.totals.certified_bound < 0.3);
  CHECK(merged.totals.bound == doctest::Approx(0.5));
  // The error of the merged plan is unknown, but the stated bound of one session is its error.
  model::Plan imputed = OnlyShort("c", 20);
  imputed.totals.observed_error = NAN;
  imputed.totals.imputed = 3;
  model::StateBound(imputed.totals);
  imputed.sessions[0].bound = imputed.totals.bound;
  const double certified = imputed.totals.certified_bound;
  const model::Plan partly = Merge({a, imputed});
  CHECK(partly.totals.certified_bound == doctest::Approx(certified));
  CHECK(partly.totals.bound == doctest::Approx((0.5 + certified) / 2));
}

TEST_CASE("joined launches add their bias and their share of the time to the merged certificate") {
  // There are 100 launches with four samples, and ten unsampled launches of 7,000 ns.
  const auto plan_of = [](const std::string& id, bool joined) {
    PlanBuilder builder(SamplingOptions{});
    SampledCluster cluster;
    std::vector<std::uint64_t> durations;
    for (std::uint64_t i = 0; i < 100; ++i) durations.push_back(1000 + i);
    cluster.cells = CellsOf(durations);
    if (joined) {
      durations.insert(durations.end(), 10, 7000);
      cluster.joined_launches = 10;
    }
    cluster.moments = MomentsOfDurations(durations);
    cluster.lower_ns = 1000;
    cluster.upper_ns = 7000;
    for (std::size_t i = 0; i < 4; ++i) {
      model::PlanSample& sample = cluster.samples.emplace_back();
      sample.index = sample.occurrence = 20 * i;
      sample.record.device = 0;
      sample.record.duration_ns = 1000 + 20 * i;
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t d : durations) sum += d;
    builder.AddKernel({"k"}, durations.size(), sum, 0, {std::move(cluster)});
    model::Plan plan = builder.Finish();
    model::PlanSession self;
    self.id = id;
    self.launches = plan.totals.invocations;
    self.duration_ns = plan.totals.duration_ns;
    self.bound = plan.totals.bound;
    self.certified_bound = plan.totals.certified_bound;
    self.devices = {0};
    plan.sessions = {self};
    return plan;
  };
  const model::Plan joined = plan_of("a", true);
  const double total = static_cast<double>(joined.totals.duration_ns);
  CHECK(joined.kernels[0].clusters[0].joined == 10);
  CHECK(joined.kernels[0].clusters[0].joined_bias_ns == doctest::Approx(10 * (1049.5 - 7000)));
  CHECK(joined.totals.joined_fraction == doctest::Approx(70'000 / total));
  const double bias = 10 * (7000 - 1049.5) / total;
  CHECK(joined.totals.certified_bound > bias);
  CHECK(joined.totals.certified_bound < bias + 0.05);
  CHECK(plan_of("b", false).totals.certified_bound < 0.05);
  const model::Plan merged = Merge({joined, plan_of("b", false)});
  const double both = static_cast<double>(merged.totals.duration_ns);
  CHECK(merged.totals.joined_fraction == doctest::Approx(70'000 / both));
  CHECK(merged.totals.certified_bound > bias * total / both);
}

TEST_CASE("if a session has no bound or no error, neither does the merged plan") {
  std::mt19937_64 random(9);
  SamplingOptions first;
  first.selection = Selection::kFirst;
  const model::Plan unbounded = PlanOf(Skewed(1, 2), "a", random, first);
  model::Plan imputed = PlanOf(Skewed(1, 2), "b", random);
  imputed.totals.observed_error = NAN;
  imputed.totals.imputed = 3;
  imputed.totals.imputed_duration_ns = 30;
  const model::Plan plain = PlanOf(Skewed(1, 2), "c", random);
  CHECK(std::isnan(Merge({plain, unbounded}).totals.bound));
  const model::Plan merged = Merge({plain, imputed});
  CHECK(merged.totals.bound > 0.0);
  CHECK(std::isnan(merged.totals.observed_error));
  CHECK(merged.totals.imputed == 3);
  CHECK(merged.totals.imputed_duration_ns == 30);
}

TEST_CASE("merging a session without launches changes no number") {
  std::mt19937_64 random(10);
  const model::Plan plan = PlanOf(Skewed(1, 4), "a", random);
  const model::Plan merged = Merge({plan, PlanOf({}, "empty", random)});
  CHECK(merged.totals.bound == doctest::Approx(plan.totals.bound).epsilon(1e-9));
  CHECK(merged.totals.invocations == plan.totals.invocations);
  CHECK(merged.sessions.size() == 2);
  CHECK(Merge({PlanOf({}, "empty", random)}).totals.bound == 0.0);
}

TEST_CASE("sums that overflow and too many devices are errors") {
  std::mt19937_64 random(11);
  model::Plan a = PlanOf(Skewed(1, 1), "a", random);
  model::Plan b = a;
  a.totals.duration_ns = std::numeric_limits<std::uint64_t>::max();
  const Result<model::Plan> sum = MergePlans({a, b}, 0.95);
  REQUIRE_FALSE(sum.ok());
  CHECK(sum.error().message.find("do not fit 64 bits") != std::string::npos);
  b.sessions[0].devices.assign(65535, 0);
  CHECK(MergePlans({b}, 0.95).ok());
  const Result<model::Plan> devices = MergePlans({b, PlanOf(Skewed(1, 1), "c", random)}, 0.95);
  REQUIRE_FALSE(devices.ok());
  CHECK(devices.error().message == "65536 devices in all, expected at most 65535");
}

}  // namespace
}  // namespace stemtap::sampling
