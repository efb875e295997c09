// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/stratified.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "made_profile.h"
#include "sampling/two_pass.h"

namespace stemtap::research {
namespace {

using test::ClustersOf;
using test::Indices;
using test::MadeProfile;
using test::WeightsOf;

std::unique_ptr<PreparedMethod> Prepared(std::string_view name, const MadeProfile& made) {
  for (const MethodEntry& entry : Methods()) {
    if (entry.name != name) continue;
    auto prepared = entry.prepare(made.input());
    REQUIRE(prepared.ok());
    return std::move(prepared).value();
  }
  FAIL("no method has this name");
  return nullptr;
}

// Returns two kernels. One has two interleaved modes with a few percent of noise.
MadeProfile TwoKernels() {
  MadeProfile made;
  Rng rng(7);
  for (int i = 0; i < 4000; ++i) {
    made.Add("gemm", (i % 4 == 0 ? 90'000 : 10'000) + rng.Below(600));
    made.Add("norm", 2'000 + rng.Below(100), 256);
  }
  return made;
}

TEST_CASE("every method that cuts by duration covers each launch once, and weights add up to N") {
  const MadeProfile made = TwoKernels();
  for (const char* name : {"optimal", "root", "stem", "allegro"}) {
    CAPTURE(name);
    const auto method = Prepared(name, made);
    std::map<std::uint32_t, std::uint64_t> counts;
    for (const std::uint32_t c : method->clusters()) ++counts[c];
    REQUIRE(counts.size() == method->cluster_count());
    CHECK(counts.rbegin()->first == method->cluster_count() - 1);

    const MethodSample sample = method->Draw(3);
    std::map<std::uint32_t, double> weights;
    std::uint64_t last = 0;
    for (const WeightedInvocation& s : sample.invocations) {
      CHECK((&s == sample.invocations.data() || s.index > last));
      last = s.index;
      weights[method->clusters()[s.index]] += s.weight;
    }
    // The sample weights of a cluster represent the whole cluster.
    for (const auto& [cluster, count] : counts) {
      CHECK(weights[cluster] == doctest::Approx(static_cast<double>(count)).epsilon(1e-12));
    }
  }
}

TEST_CASE("optimal and root cut between the modes and never across kernels") {
  const MadeProfile made = TwoKernels();
  for (const char* name : {"optimal", "root"}) {
    CAPTURE(name);
    const auto method = Prepared(name, made);
    std::map<std::uint32_t, std::set<std::uint32_t>> names;
    std::map<std::uint32_t, std::uint64_t> shortest, longest;
    for (std::size_t i = 0; i < made.groups.size(); ++i) {
      const std::uint32_t c = method->clusters()[i];
      const std::uint64_t d = made.profile.records[i].duration_ns;
      names[c].insert(made.groups[i]);
      if (shortest[c] == 0 || d < shortest[c]) shortest[c] = d;
      if (d > longest[c]) longest[c] = d;
    }
    for (const auto& [c, in] : names) {
      CHECK(in.size() == 1);
      CHECK(longest[c] < 2 * shortest[c]);
    }
    CHECK(method->bound() > 0.0);
    CHECK(method->bound() <= 0.05);
    CHECK(!method->deterministic());
    CHECK(Indices(method->Draw(1)) == Indices(method->Draw(1)));
  }
}

TEST_CASE("the estimates of optimal and root have no bias") {
  const MadeProfile made = TwoKernels();
  for (const char* name : {"optimal", "root"}) {
    CAPTURE(name);
    const auto method = Prepared(name, made);
    // The bound is z sigma of one draw, so the mean of 2,000 has a standard error of bound / z /
    // sqrt(2000). With six standard errors, correct code fails with a probability of about 2e-9.
    double sum = 0.0;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
      sum += made.Estimate(method->Draw(seed)) / made.total() - 1.0;
    }
    CHECK(std::abs(sum / 2000) < 6.0 * method->bound() / 1.96 / std::sqrt(2000.0));
  }
}

// MadeReader reads a profile from memory.
class MadeReader : public model::ProfileReader {
 public:
  explicit MadeReader(const model::Profile& profile) : profile_(profile) {
    for (std::uint32_t id = 0; id < profile.names.size(); ++id) {
      names_.Intern(profile.names.name(id));
    }
  }
  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t limit) override {
    const std::size_t count = std::min(limit, profile_.records.size() - next_);
    const auto begin = profile_.records.begin() + static_cast<std::ptrdiff_t>(next_);
    batch.records.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    next_ += count;
    return count;
  }

 private:
  const model::Profile& profile_;
  std::size_t next_ = 0;
};

TEST_CASE("for each seed, a method draws the samples of the two-pass plan") {
  MadeProfile made = TwoKernels();
  const sampling::OpenReader open = [&]() -> Result<std::unique_ptr<model::ProfileReader>> {
    return std::unique_ptr<model::ProfileReader>(std::make_unique<MadeReader>(made.profile));
  };
  made.options.weights = sampling::Weights::kPlain;
  const std::pair<const char*, sampling::Method> methods[] = {
      {"optimal", sampling::Method::kOptimal},
      {"root", sampling::Method::kRoot},
      {"stem", sampling::Method::kStem}};
  for (const sampling::Selection selection :
       {sampling::Selection::kRandom, sampling::Selection::kBalanced,
        sampling::Selection::kFirst}) {
    made.options.selection = selection;
    for (const auto& entry : methods) {
      const char* name = entry.first;
      CAPTURE(name);
      const auto prepared = Prepared(name, made);
      made.options.method = entry.second;
      for (made.options.seed = 1; made.options.seed <= 3; ++made.options.seed) {
        const auto planned = sampling::PlanTwoPass(open, "made", made.options);
        REQUIRE(planned.ok());
        std::map<std::uint64_t, double> weights;
        for (const auto& kernel : planned.value().plan.kernels) {
          for (const auto& cluster : kernel.clusters) {
            for (const model::PlanSample& s : cluster.samples) weights[s.index] = s.weight;
          }
        }
        const MethodSample drawn = prepared->Draw(made.options.seed);
        REQUIRE(drawn.invocations.size() == weights.size());
        for (const WeightedInvocation& s : drawn.invocations) {
          REQUIRE(weights.contains(s.index));
          CHECK(s.weight == weights[s.index]);
        }
        const double bound = planned.value().plan.totals.certified_bound;
        CHECK((prepared->bound() == bound || (std::isnan(prepared->bound()) && std::isnan(bound))));
      }
    }
  }
}

TEST_CASE("method first selects the first launches of each cluster for any seed") {
  MadeProfile made;
  made.options.selection = sampling::Selection::kFirst;
  // Durations decrease, so duration order is not launch order.
  for (std::uint64_t i = 0; i < 1000; ++i) made.Add("decay", 11'000 - i);
  const auto method = Prepared("root", made);
  CHECK(method->deterministic());
  const MethodSample sample = method->Draw(1);
  CHECK(Indices(sample) == Indices(method->Draw(2)));
  std::map<std::uint32_t, std::vector<std::uint64_t>> members;
  for (std::size_t i = 0; i < 1000; ++i) members[method->clusters()[i]].push_back(i);
  std::map<std::uint32_t, std::size_t> taken;
  for (const WeightedInvocation& s : sample.invocations) {
    const std::uint32_t c = method->clusters()[s.index];
    CHECK(s.index == members[c][taken[c]++]);
  }
}

TEST_CASE("balanced draws are spread over the durations of a cluster") {
  MadeProfile made;
  made.options.selection = sampling::Selection::kBalanced;
  Rng rng(5);
  for (int i = 0; i < 3000; ++i) made.Add("wide", 10'000 + rng.Below(20'000));
  const auto balanced = Prepared("stem", made);
  made.options.selection = sampling::Selection::kRandom;
  const auto random = Prepared("stem", made);
  double balanced_square = 0.0;
  double random_square = 0.0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const double b = made.Estimate(balanced->Draw(seed)) / made.total() - 1.0;
    const double r = made.Estimate(random->Draw(seed)) / made.total() - 1.0;
    balanced_square += b * b;
    random_square += r * r;
  }
  // Systematic draws from sorted values have about 1/m^2 of the variance, with m >= 30 per cluster.
  CHECK(balanced_square < 0.1 * random_square);
}

TEST_CASE("allegro distinguishes kernels by grid and block") {
  MadeProfile made;
  for (int i = 0; i < 100; ++i) {
    made.Add("gemm", 5'000, 128, 1);
    made.Add("gemm", 5'000, 128, 2);
    made.Add("gemm", 5'000, 256, 1);
  }
  CHECK(Prepared("stem", made)->cluster_count() == 1);
  const auto method = Prepared("allegro", made);
  CHECK(method->cluster_count() == 3);
  CHECK(ClustersOf(*method)[3] == ClustersOf(*method)[0]);
  CHECK(ClustersOf(*method)[1] != ClustersOf(*method)[2]);
}

TEST_CASE("excluded invocations are in no cluster and no sample") {
  MadeProfile made = TwoKernels();
  made.Exclude("norm");
  for (const char* name : {"optimal", "root", "stem", "allegro", "random"}) {
    CAPTURE(name);
    const auto method = Prepared(name, made);
    for (std::size_t i = 1; i < made.groups.size(); i += 2) {
      REQUIRE(method->clusters()[i] == model::kExcludedKernel);
      REQUIRE(method->clusters()[i - 1] < method->cluster_count());
    }
    for (const WeightedInvocation& s : method->Draw(1).invocations) CHECK(s.index % 2 == 0);
  }
}

TEST_CASE("empty, single-launch, constant, zero-duration and excluded profiles are valid") {
  for (const char* name : {"optimal", "root", "stem", "allegro", "random"}) {
    CAPTURE(name);
    const bool states_bound = std::string_view(name) != "random";
    MadeProfile nothing;
    CHECK(Prepared(name, nothing)->cluster_count() == 0);
    CHECK(Prepared(name, nothing)->Draw(1).invocations.empty());

    MadeProfile one;
    one.Add("only", 5'000);
    const auto single = Prepared(name, one);
    CHECK(single->cluster_count() == 1);
    if (states_bound) {
      CHECK(Indices(single->Draw(1)) == std::vector<std::uint64_t>{0});
      CHECK(WeightsOf(single->Draw(1)) == std::vector<double>{1.0});
      CHECK(single->bound() == 0.0);
      CHECK(single->deterministic());
    } else {
      CHECK(std::isnan(single->bound()));
    }

    MadeProfile zeros;
    for (int i = 0; i < 50; ++i) zeros.Add("rounded", 0);
    const auto zero = Prepared(name, zeros);
    if (states_bound) {
      CHECK(zero->bound() == 0.0);
      CHECK(!zero->Draw(1).invocations.empty());
    }

    one.Exclude("only");
    CHECK(Prepared(name, one)->cluster_count() == 0);
    CHECK(Prepared(name, one)->Draw(1).invocations.empty());
  }
}

}  // namespace
}  // namespace stemtap::research
