// SPDX-License-Identifier: Apache-2.0
// Tests that an export fails if the tool cannot express the selection. The error says what to do.
// An export never selects other launches.
#include <limits>

#include "stand_ins.h"

namespace stemtap::formats {
namespace {

using namespace stemtap::test;

constexpr const char* kNumbered[] = {"accelsim", "macsim", "sieve", "nvbit"};

model::Profile Four() {
  model::Profile profile;
  for (std::uint32_t i = 0; i < 4; ++i) {
    shm::KernelRecord r;
    r.name_id = profile.names.Intern(i < 3 ? "axpy" : "dot");
    r.duration_ns = 10 + i;
    r.stream = 7;
    profile.records.push_back(r);
  }
  return profile;
}

bool Contains(const std::string& message, const std::string& words) {
  CAPTURE(message);
  return message.find(words) != std::string::npos;
}

TEST_CASE("without --graphs, launch numbers after a graph are unknown") {
  model::Profile profile = Four();
  profile.records[1].graph_id = 5;
  for (const char* to : kNumbered) {
    CHECK(Contains(RefusalOf(to, profile, PlanOf(profile, {0})), "--graphs off"));
    formats::ExportOptions options;
    options.counting.graphs = formats::Graphs::kUncounted;
    const std::string inside = RefusalOf(to, profile, PlanOf(profile, {1}), options);
    CHECK(Contains(inside, "launch 1 of 'axpy'"));
    CHECK(Contains(inside, "choose ncu"));
    CHECK(Exports(to, profile, PlanOf(profile, {0}), options).ids == 1);
  }
  CHECK(Exports("ncu", profile, PlanOf(profile, {1})).ids == 1);
}

TEST_CASE("an export with several devices requires the device of the counter") {
  model::Profile profile = Four();
  profile.records[1].device = 1;
  for (const char* to : {"macsim", "sieve", "nvbit", "ncu"}) {
    const std::string undecided = RefusalOf(to, profile, PlanOf(profile, {0, 1}));
    CHECK(Contains(undecided, "--processes one"));
    CHECK(Contains(undecided, "with --processes per-device and --device 0, --device 1;"));
    formats::ExportOptions options;
    options.counting.processes = formats::Processes::kPerDevice;
    CHECK(Contains(RefusalOf(to, profile, PlanOf(profile, {0}), options), "with --device 0"));
    options.counting.device = 1;
    CHECK(Contains(RefusalOf(to, profile, PlanOf(profile, {0}), options),
                   "no sample on this device"));
    CHECK(Exports(to, profile, PlanOf(profile, {1}), options).ids == 1);
  }
}

TEST_CASE("ranks that had one device each need only the device") {
  model::Profile profile = Four();
  profile.records[2].device = 1;
  profile.records[3].device = 1;
  for (const char* to : {"macsim", "sieve", "nvbit", "ncu"}) {
    CAPTURE(to);
    formats::ExportOptions ranks;
    ranks.counting.ranks = 2;
    CHECK(Contains(RefusalOf(to, profile, PlanOf(profile, {0, 3}), ranks),
                   "needs a selection for each; export one after another with --device 0, "
                   "--device 1"));
    ranks.counting.device = 1;
    formats::ExportOptions stated = ranks;
    stated.counting.ranks = 1;
    stated.counting.processes = formats::Processes::kPerDevice;
    CHECK(Exports(to, profile, PlanOf(profile, {3}), ranks).files.front().content ==
          Exports(to, profile, PlanOf(profile, {3}), stated).files.front().content);
    // A rank had several devices, so it is not known which were of one process.
    ranks.counting.ranks = 3;
    CHECK(Contains(RefusalOf(to, profile, PlanOf(profile, {3}), ranks), "--processes one"));
  }
}

TEST_CASE("a profile without devices needs --plain-launches") {
  model::Profile profile = Four();
  for (shm::KernelRecord& r : profile.records) r.device = shm::kUnknown16;
  for (const char* to : kNumbered) {
    CHECK(Contains(RefusalOf(to, profile, PlanOf(profile, {2})), "--plain-launches"));
    formats::ExportOptions options;
    options.counting.plain_launches = true;
    CHECK(Exports(to, profile, PlanOf(profile, {2}), options).ids == 1);
  }
  profile.records[1].device = 0;
  formats::ExportOptions options;
  options.counting.plain_launches = true;
  CHECK(Contains(RefusalOf("sieve", profile, PlanOf(profile, {2}), options),
                 "the devices of its launches are unknown"));
  // Several ranks are several processes, regardless of the options.
  for (shm::KernelRecord& r : profile.records) r.device = shm::kUnknown16;
  options.counting.ranks = 2;
  CHECK(Contains(RefusalOf("sieve", profile, PlanOf(profile, {2}), options), "of 2 ranks"));
}

TEST_CASE("a plan with separate processes is never treated as one process") {
  const model::Profile profile = Four();
  model::Plan plan = PlanOf(profile, {2});
  formats::CountingOptions options;
  options.plain_launches = true;
  const formats::CountingModel& model = formats::FindConsumer("sieve")->model;
  plan.kernels.front().process = 41;
  CHECK(formats::CountLaunches(plan, nullptr, "", model, "Sieve", options).ok());
  model::PlanKernel other = plan.kernels.front();
  other.process = 42;
  other.clusters.clear();
  plan.kernels.push_back(other);
  const auto counted = formats::CountLaunches(plan, nullptr, "", model, "Sieve", options);
  REQUIRE_FALSE(counted.ok());
  CHECK(Contains(counted.error().message, "kernels of 2 processes"));
}

TEST_CASE("an empty plan is rejected because some tools would select every kernel") {
  const model::Profile profile = Four();
  for (const formats::Consumer& consumer : formats::Consumers()) {
    CHECK_FALSE(consumer.name.empty());
    CHECK(
        Contains(RefusalOf(std::string(consumer.name), profile, PlanOf(profile, {})), "no sample"));
  }
}

TEST_CASE("a profile of a different run is rejected") {
  const model::Profile profile = Four();
  const model::Plan plan = PlanOf(profile, {2});
  model::Profile slower = Four();
  slower.records[2].duration_ns = 99;
  CHECK(Contains(RefusalOf("sieve", slower, plan),
                 "launch 2 is 'axpy' of 99 ns; expected 'axpy' of 12 ns"));
  // Perturbed launches have no recorded duration.
  model::Plan imputed = plan;
  for (model::PlanKernel& kernel : imputed.kernels) {
    for (model::PlanCluster& cluster : kernel.clusters) {
      for (model::PlanSample& sample : cluster.samples) sample.imputed = true;
    }
  }
  CHECK(Exports("sieve", slower, imputed).ids == 1);
  model::Profile renamed = Four();
  renamed.records[2].name_id = 1;
  CHECK(Contains(RefusalOf("sieve", renamed, plan), "'dot'"));
  model::Profile longer = Four();
  longer.records.push_back(longer.records[0]);
  CHECK(Contains(RefusalOf("sieve", longer, plan), "contains 5 launches; expected the 4"));
  model::Profile shorter = Four();
  shorter.records.resize(2);
  CHECK(Contains(RefusalOf("sieve", shorter, plan), "contains 2 launches; expected the 4"));
}

TEST_CASE("a plan of whole graphs is rejected by formats that count kernels") {
  const model::Profile profile = Four();
  model::Plan plan = PlanOf(profile, {2});
  plan.totals.graph_launches = 1;
  for (const char* to : kNumbered) CHECK(Contains(RefusalOf(to, profile, plan), "--level kernels"));
  CHECK(Exports("csv", profile, plan).ids == 1);
}

TEST_CASE("a run with dropped launches is rejected because they shift every later number") {
  const model::Profile profile = Four();
  model::Plan plan = PlanOf(profile, {2});
  plan.totals.gaps = 1;
  for (const char* to : kNumbered) CHECK(Contains(RefusalOf(to, profile, plan), "1 gaps"));
  plan.totals.dropped = 1;
  for (const char* to : kNumbered)
    CHECK(Contains(RefusalOf(to, profile, plan), "1 launches were dropped"));
  CHECK(Exports("csv", profile, plan).ids == 1);
}

TEST_CASE("without a profile, --plain-launches uses indices as numbers") {
  model::Plan plan = PlanOf(Four(), {0, 3});
  const formats::CountingModel model = formats::FindConsumer("accelsim")->model;
  formats::CountingOptions options;
  options.plain_launches = true;
  const auto counted = formats::CountLaunches(plan, nullptr, "", model, "it", options);
  REQUIRE(counted.ok());
  CHECK(formats::Ids(counted.value()) == std::vector<std::uint64_t>{1, 4});
  plan.kernels[1].clusters[0].samples[0].record.device = 1;
  CHECK_FALSE(formats::CountLaunches(plan, nullptr, "", model, "it", options).ok());
  plan.kernels[1].clusters[0].samples[0].record.device = 0;
  plan.kernels[1].clusters[0].samples[0].index = 4;
  CHECK_FALSE(formats::CountLaunches(plan, nullptr, "", model, "it", options).ok());
}

TEST_CASE("numbers and cluster sizes that a tool cannot read are rejected") {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int32_t>::max();
  model::Plan plan = PlanOf(Four(), {0});
  model::PlanSample& sample = plan.kernels[0].clusters[0].samples[0];
  plan.totals.invocations = kMax + 10;
  formats::CountingOptions options;
  options.plain_launches = true;
  const auto fits = [&](const char* to, std::uint64_t index) {
    sample.index = index;
    return formats::CountLaunches(plan, nullptr, "", formats::FindConsumer(to)->model, "it",
                                  options)
        .ok();
  };
  CHECK(fits("macsim", kMax));
  CHECK_FALSE(fits("macsim", kMax + 1));
  CHECK(fits("accelsim", kMax - 1));
  CHECK_FALSE(fits("accelsim", kMax));
  CHECK(fits("sieve", kMax - 1));  // the tracer adds 1
  CHECK_FALSE(fits("sieve", kMax));
  CHECK(fits("nvbit", kMax - 1));  // END_GRID_NUM is larger by 1
  CHECK_FALSE(fits("nvbit", kMax));

  const model::Profile profile = Four();
  model::Plan large = PlanOf(profile, {0});
  large.kernels[0].clusters[0].count = kMax + 1;
  CHECK(Contains(RefusalOf("macsim", profile, large), "2147483648 launches"));
}

}  // namespace
}  // namespace stemtap::formats
