// SPDX-License-Identifier: Apache-2.0
#include "session/replay.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>

#include "model/profile.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

// Returns a run in which four kernels alternate. Their durations vary by a third.
model::Profile MakeProfile(std::uint64_t launches) {
  model::Profile profile;
  const std::uint32_t names[] = {profile.names.Intern("a"), profile.names.Intern("b"),
                                 profile.names.Intern("c"), profile.names.Intern("d")};
  for (std::uint64_t i = 0; i < launches; ++i) {
    shm::KernelRecord& record = profile.records.emplace_back();
    record.name_id = names[i % 4];
    record.start_ns = i * 10'000;
    record.duration_ns = (1 + i % 4) * (1000 + i % 7 * 50);
  }
  return profile;
}

// ForwardReader streams a profile and cannot be rewound, like a pipe. It returns few launches per
// read.
class ForwardReader : public model::ProfileReader {
 public:
  explicit ForwardReader(const model::Profile& profile) : profile_(profile) {}

 private:
  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t limit) override {
    constexpr std::size_t kPart = 1000;
    batch.records.clear();
    for (; next_ < profile_.records.size() && batch.records.size() < std::min(limit, kPart);
         ++next_) {
      shm::KernelRecord& record = batch.records.emplace_back(profile_.records[next_]);
      record.name_id = names_.Intern(profile_.names.name(record.name_id));
    }
    return batch.records.size();
  }

  const model::Profile& profile_;
  std::size_t next_ = 0;
};

SessionResult Replay(const model::Profile& profile, ReplayOptions options) {
  options.quiet = true;
  options.threads = 1;
  options.source = "profile";
  ForwardReader reader(profile);
  Result<SessionResult> outcome = RunReplay(reader, options);
  REQUIRE(outcome.ok());
  return std::move(outcome).value();
}

std::uint64_t ListedLag(const model::OptionList& options) {
  for (const auto& [name, value] : options) {
    if (name == "lag") return std::get<std::uint64_t>(value);
  }
  return ~std::uint64_t{0};
}

TEST_CASE("the default lag is a twentieth of the launches, from 64 to 20,000") {
  CHECK(DefaultLag(0) == 64);
  CHECK(DefaultLag(1299) == 64);
  CHECK(DefaultLag(1465) == 73);
  CHECK(DefaultLag(399'999) == 19'999);
  CHECK(DefaultLag(400'000) == 20'000);
  CHECK(DefaultLag(1'000'000'000) == 20'000);
}

TEST_CASE("a run that can be read only once has the default lag for its length") {
  for (const auto& [launches, lag] :
       {std::pair<std::uint64_t, std::uint64_t>{3000, 150}, {420'500, 20'000}}) {
    CAPTURE(launches);
    const model::Profile profile = MakeProfile(launches);
    const SessionResult by_default = Replay(profile, {});
    const SessionResult given = Replay(profile, {.lag = lag});
    CHECK(ListedLag(by_default.session.options) == lag);
    CHECK(ListedLag(by_default.plan.options) == lag);
    CHECK(by_default.plan.totals.invocations == launches);
    CHECK(by_default.plan.totals.samples > 4);
    CHECK(model::PlanToJson(by_default.plan) == model::PlanToJson(given.plan));
    CHECK(model::PlanToJson(by_default.plan) !=
          model::PlanToJson(Replay(profile, {.lag = 2 * lag}).plan));
    CHECK(by_default.session.warnings.empty());
  }
}

TEST_CASE("a warning for a run that is too short for the sampler names the two-pass plan") {
  test::TempDir scratch;
  ReplayOptions options;
  options.folder = (scratch / "session").string();
  const SessionResult outcome = Replay(MakeProfile(100), options);
  CHECK(outcome.plan.totals.samples == 4);
  REQUIRE(outcome.session.warnings.size() == 1);
  const std::string& warning = outcome.session.warnings[0];
  CHECK(warning.find("100 launches are too few") != std::string::npos);
  CHECK(warning.find("a lag of 64") != std::string::npos);
  CHECK(warning.find("'stemtap plan'") != std::string::npos);
  CHECK(test::ReadFile(scratch / "session/summary.txt").find(warning) != std::string::npos);
  CHECK(test::ReadFile(scratch / "session/session.json").find(warning) != std::string::npos);

  CHECK(Replay(MakeProfile(3000), {.lag = 3000}).session.warnings.size() == 1);
  // Every launch is captured, so there is nothing to decide.
  CHECK(Replay(MakeProfile(4), {}).session.warnings.empty());
}

TEST_CASE("kernels that wait for other GPUs are not captured, and a warning names the first") {
  test::TempDir scratch;
  model::Profile profile;
  const std::uint32_t names[] = {
      profile.names.Intern("gemm"), profile.names.Intern("ncclDevKernel_AllReduce"),
      profile.names.Intern("void my::all_gather<" + std::string(5000, '4') + ">(float*)")};
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    shm::KernelRecord& record = profile.records.emplace_back();
    record.name_id = names[i % 4 < 2 ? 0 : i % 4 - 1];
    record.start_ns = i * 10'000;
    record.duration_ns = 1000 + i % 7 * 50;
  }
  ReplayOptions options;
  options.folder = (scratch / "session").string();
  const SessionResult outcome = Replay(profile, options);
  REQUIRE(outcome.plan.kernels.size() == 3);
  for (const model::PlanKernel& kernel : outcome.plan.kernels) {
    std::size_t samples = 0;
    for (const model::PlanCluster& cluster : kernel.clusters) samples += cluster.samples.size();
    CAPTURE(kernel.name.substr(0, 48));
    CHECK((samples != 0) == (kernel.name == "gemm"));
  }
  CHECK(outcome.plan.totals.uncovered_fraction == doctest::Approx(0.5).epsilon(0.001));
  CHECK(outcome.plan.totals.bound >= outcome.plan.totals.uncovered_fraction);
  REQUIRE(outcome.session.warnings.size() == 1);
  CHECK(outcome.session.warnings[0] ==
        "never captured: ncclDevKernel_AllReduce (NCCL: it waits for other GPUs)");
  CHECK(test::ReadFile(scratch / "session/summary.txt")
            .find("warning: " + outcome.session.warnings[0]) != std::string::npos);

  // Excluded kernels are not reported.
  options.folder.clear();
  options.sampling.exclude = "nccl";
  const SessionResult excluded = Replay(profile, options);
  REQUIRE(excluded.session.warnings.size() == 1);
  CHECK(excluded.session.warnings[0] ==
        "never captured: " + profile.names.name(names[2]).substr(0, 48) +
            " (a collective: it waits for other GPUs)");
}

TEST_CASE("a run without launches leaves no session directory") {
  test::TempDir scratch;
  ReplayOptions options;
  options.quiet = true;
  options.folder = (scratch / "session").string();
  const model::Profile empty;
  ForwardReader reader(empty);
  CHECK_FALSE(RunReplay(reader, options).ok());
  CHECK_FALSE(std::filesystem::exists(scratch / "session"));
}

}  // namespace
}  // namespace stemtap::session
