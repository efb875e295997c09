// SPDX-License-Identifier: Apache-2.0
#include "sampling/top_up.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/plan_reader.h"
#include "sampling/sizes.h"

namespace stemtap::sampling {
namespace {

void Add(model::Profile& profile, const std::string& name, std::uint64_t duration_ns) {
  shm::KernelRecord record;
  record.name_id = profile.names.Intern(name);
  record.duration_ns = duration_ns;
  profile.records.push_back(record);
}

// Returns a run of 30 kernels of 20 launches, of which every third is wide.
model::Profile Run(std::uint64_t seed = 3) {
  model::Profile profile;
  Rng rng(seed);
  for (int i = 0; i < 600; ++i) {
    const std::uint64_t k = static_cast<std::uint64_t>(i) % 30;
    const std::uint64_t width = k % 3 == 0 ? 1600 : 20;
    Add(profile, "k" + std::to_string(k), 1000 + 10 * k + rng.Below(width));
  }
  return profile;
}

OpenReader Open(const model::Profile& profile) {
  return [&profile]() -> Result<std::unique_ptr<model::ProfileReader>> {
    return model::ReadProfile(profile);
  };
}

// Returns a plan of one sample per cluster: ROOT's plans have no pairs.
model::Plan PlanOf(const model::Profile& profile, SamplingOptions options = {}) {
  options.method = Method::kRoot;
  options.error_bound = 0.5;
  model::Plan plan = PlanTwoPass(Open(profile), "run", options).value().plan;
  plan.options = {{"confidence", options.confidence},   {"method", std::string("root")},
                  {"selection", std::string("random")}, {"group_by", std::string("name")},
                  {"exclude", options.exclude},         {"weights", std::string("calibrated")}};
  return plan;
}

Result<model::Plan> TopUpOfRun(const model::Plan& plan, const model::Profile& profile,
                               std::uint64_t seed = 1) {
  Result<TwoPassPlan> more = TopUpPlan(plan, "plan.json", Open(profile), "run.csv", seed);
  if (!more.ok()) return more.error();
  // Every check of a plan applies.
  return model::ParsePlan(model::PlanToJson(more.value().plan), "plan.json");
}

std::map<std::uint64_t, std::string> SamplesOf(const model::Plan& plan) {
  std::map<std::uint64_t, std::string> samples;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (std::size_t c = 0; c < kernel.clusters.size(); ++c) {
      for (const model::PlanSample& sample : kernel.clusters[c].samples) {
        samples[sample.index] = model::KernelNameOf(kernel, sample) + "/" + std::to_string(c);
      }
    }
  }
  return samples;
}

TEST_CASE("a top-up keeps all samples and adds second ones to narrow clusters") {
  const model::Profile profile = Run();
  const model::Plan plan = PlanOf(profile);
  REQUIRE(plan.totals.samples == 30);
  const TopUp top_up = TopUpOf(plan);
  CHECK(top_up.count == kSpreadPairs);
  CHECK(top_up.second == kSpreadPairs);
  CHECK(top_up.several == kSpreadPairs);
  const Result<model::Plan> more = TopUpOfRun(plan, profile);
  REQUIRE(more.ok());
  const std::map<std::uint64_t, std::string> before = SamplesOf(plan);
  const std::map<std::uint64_t, std::string> after = SamplesOf(more.value());
  CHECK(after.size() == before.size() + kSpreadPairs);
  for (const auto& [index, cluster] : before) {
    REQUIRE(after.contains(index));
    CHECK(after.at(index) == cluster);
  }
  for (const auto& [index, cluster] : after) {
    const std::string& name = profile.names.name(profile.records[index].name_id);
    CHECK(cluster == name + "/0");
    // Every third kernel is wide.
    if (!before.contains(index)) CHECK(std::stoi(name.substr(1)) % 3 != 0);
  }
  CHECK(more.value().totals.spread_samples == kSpreadPairs);
  CHECK(more.value().totals.certified_bound <= plan.totals.certified_bound * (1 + 1e-9));
  CHECK(model::OptionText(more.value().options, "method") == "root");
}

TEST_CASE("every launch of a cluster without a sample is equally likely to be added") {
  const model::Profile profile = Run();
  const model::Plan plan = PlanOf(profile);
  std::map<std::uint64_t, int> added;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    for (const auto& [index, cluster] : SamplesOf(TopUpOfRun(plan, profile, seed).value())) {
      if (cluster == "k1/0") ++added[index];
    }
  }
  CHECK(added.size() == 20);
  // The sample of the plan is in every top-up. Others are added 500 / 19 = 26 times on average,
  // with a standard deviation of 5.
  int always = 0;
  for (const auto& [index, times] : added) {
    if (times == 500) {
      ++always;
      continue;
    }
    CHECK(times > 6);
    CHECK(times < 50);
  }
  CHECK(always == 1);
}

TEST_CASE("a cluster without a sample gets one unless it is uncovered by choice") {
  const model::Profile profile = Run();
  model::Plan plan = PlanOf(profile);
  for (const std::size_t k : {4u, 6u}) {
    model::PlanCluster& cluster = plan.kernels[k].clusters.front();
    cluster.samples.clear();
    cluster.captured = 0;
  }
  plan.kernels[6].uncovered_by_choice = true;
  const TopUp top_up = TopUpOf(plan);
  CHECK(top_up.samples[4][0] == 1);
  CHECK(top_up.samples[6][0] == 0);
  CHECK(top_up.count == top_up.second + 1);
}

TEST_CASE("the pool of a plan gets samples of its kernels") {
  model::Profile profile;
  Rng rng(5);
  for (int i = 0; i < 2000; ++i) {
    Add(profile, "common", 10'000 + rng.Below(300));
    Add(profile, "small" + std::to_string(i % 40), 400 + rng.Below(30));
  }
  SamplingOptions options;
  options.pool_small = 0.1;
  model::Plan plan = PlanTwoPass(Open(profile), "run", options).value().plan;
  plan.options = PlanOf(profile).options;
  REQUIRE(model::HasPool(plan));
  // Without the second sample of the pool's cluster.
  model::PlanCluster& cluster = plan.kernels.back().clusters.front();
  cluster.samples.resize(1);
  cluster.captured = 1;
  const Result<model::Plan> more = TopUpOfRun(plan, profile);
  REQUIRE(more.ok());
  const model::PlanKernel& pool = more.value().kernels.back();
  REQUIRE(pool.pooled.size() == 40);
  REQUIRE(pool.clusters.front().samples.size() == 2);
  for (const model::PlanSample& sample : pool.clusters.front().samples) {
    CHECK(model::KernelNameOf(pool, sample) ==
          profile.names.name(profile.records[sample.index].name_id));
  }
}

TEST_CASE("a plan that cannot be topped up is an error with the reason") {
  const model::Profile profile = Run();
  const auto message = [&](const model::Plan& plan, const model::Profile& of) {
    const Result<model::Plan> more = TopUpOfRun(plan, of);
    return more.ok() ? std::string("accepted") : more.error().message;
  };
  const model::Plan plan = PlanOf(profile);
  CHECK(message(plan, Run(4)) == "run.csv: is not the run that plan.json was made from");
  model::Profile longer = Run();
  Add(longer, "k1", 1015);
  CHECK(message(plan, longer) == "run.csv: is not the run that plan.json was made from");
  longer.records.back().name_id = longer.names.Intern("other");
  CHECK(message(plan, longer) == "run.csv: is not the run that plan.json was made from");
  CHECK(message(TopUpOfRun(plan, profile).value(), profile).find("needs no more samples") !=
        std::string::npos);
  model::Plan online = plan;
  online.kernels[2].clusters[0].joined = 3;
  CHECK(message(online, profile).find("sampled online") != std::string::npos);
  model::Plan first = plan;
  for (auto& [name, value] : first.options) {
    if (name == "selection") value = std::string("first");
  }
  CHECK(message(first, profile).find("not drawn at random") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::sampling
