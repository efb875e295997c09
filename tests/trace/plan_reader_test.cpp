// SPDX-License-Identifier: Apache-2.0
#include "trace/plan_reader.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace stemtap {
namespace {

Plan Example() {
  Plan plan;
  plan.source = "decode \"x\".csv";
  plan.options = {
      {"error_bound", 0.05}, {"method", std::string("optimal")}, {"seed", std::uint64_t{7}}};
  plan.totals.invocations = 12;
  plan.totals.duration_ns = 1234;
  plan.totals.bound = NAN;
  plan.totals.observed_error = 0.0125;
  plan.totals.plain_estimate_ns = 1250.5;
  plan.totals.imputed = 3;
  plan.totals.imputed_duration_ns = 250;
  plan.totals.native_unknown = 1;
  PlanKernel kernel;
  kernel.name = "k<int, \"2\">";
  kernel.invocations = 12;
  kernel.duration_ns = 1234;
  kernel.process = 4242;
  kernel.config.grid[0] = kernel.config.grid[1] = kernel.config.grid[2] = 3;
  kernel.config.block[0] = kernel.config.block[1] = kernel.config.block[2] = 2;
  PlanCluster cluster;
  cluster.lower_ns = 1;
  cluster.upper_ns = 99;
  cluster.count = 12;
  cluster.mean_ns = 1234.0 / 12;
  cluster.captured = 2;
  PlanSample known;
  known.index = 4711;
  known.occurrence = 391;
  known.weight = 1.0 / 3;
  known.imputed = true;
  known.record.device = 1;
  known.record.stream = 7;
  known.record.grid[0] = 8;
  known.record.grid[1] = known.record.grid[2] = 1;
  known.record.block[0] = 64;
  known.record.block[1] = known.record.block[2] = 1;
  known.record.duration_ns = 100;
  PlanSample unknown;
  unknown.record.device = wire::kUnknown16;
  unknown.record.stream = wire::kUnknown32;
  cluster.samples = {known, unknown};
  kernel.clusters.push_back(cluster);
  plan.kernels.push_back(kernel);
  return plan;
}

TEST_CASE("a plan reads back as it was written") {
  const std::string text = PlanToJson(Example());
  const Result<Plan> read = ParsePlan(text, "plan.json");
  REQUIRE(read.ok());
  CHECK(PlanToJson(read.value()) == text);
  const PlanSample& sample = read.value().kernels[0].clusters[0].samples[0];
  CHECK(sample.weight == 1.0 / 3);
  CHECK(sample.imputed);
  CHECK_FALSE(read.value().kernels[0].clusters[0].samples[1].imputed);
  CHECK(read.value().kernels[0].process == 4242);
  CHECK(read.value().totals.imputed_duration_ns == 250);
  CHECK(std::isnan(read.value().totals.bound));
}

TEST_CASE("the sessions of a merged plan read back, and are refused by their place") {
  Plan plan = Example();
  PlanSession first;
  first.id = "0123456789abcdef";
  first.folder = "run \"a\"";
  first.host = "node7";
  first.source = "python3 a.py";
  first.launches = 13;
  first.devices = {0, 3};
  first.duration_ns = 1234;
  first.bound = NAN;
  PlanSession second = first;
  second.first_index = 13;
  second.first_device = 2;
  second.devices.clear();
  second.bound = 0.1;
  plan.sessions = {first, second};
  const std::string text = PlanToJson(plan);
  const Result<Plan> read = ParsePlan(text, "plan.json");
  REQUIRE(read.ok());
  CHECK(PlanToJson(read.value()) == text);
  REQUIRE(read.value().sessions.size() == 2);
  CHECK(read.value().sessions[0].devices == std::vector<std::uint16_t>{0, 3});
  CHECK(read.value().sessions[1].first_index == 13);
  CHECK(std::isnan(read.value().sessions[0].bound));
  const auto error = [&](const std::string& what, const std::string& by) {
    std::string damaged = text;
    const std::size_t at = damaged.find(what);
    REQUIRE(at != std::string::npos);
    const Result<Plan> refused = ParsePlan(damaged.replace(at, what.size(), by), "plan.json");
    return refused.ok() ? std::string("read") : refused.error().message;
  };
  CHECK(error("[0, 3]", "[0, 65535]") == "plan.json: sessions[0].devices: expected whole numbers");
  CHECK(error("[0, 3]", "[0, \"3\"]").find("sessions[0].devices") != std::string::npos);
  CHECK(error("\"first_device\": 2", "\"first_device\": 65536").find("sessions[1].first_device") !=
        std::string::npos);
  CHECK(error("\"id\": ", "\"ids\": ").find("sessions[0].id: expected a text") !=
        std::string::npos);
  CHECK(error("\"sessions\": [", "\"sessions\": 1, \"x\": [") ==
        "plan.json: sessions: expected an array");
}

TEST_CASE("a plan that is cut anywhere is refused") {
  const std::string text = PlanToJson(Example());
  for (std::size_t size = 0; size <= text.rfind('}'); ++size) {
    CAPTURE(size);
    CHECK_FALSE(ParsePlan(text.substr(0, size), "plan.json").ok());
  }
  const Result<Plan> read = ParsePlan(text + std::string("\0 and more", 10), "plan.json");
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message == "plan.json: holds a NUL byte, expected a plan.json");
}

TEST_CASE("what is no plan is refused with the place") {
  const auto error = [](const std::string& text) {
    const Result<Plan> read = ParsePlan(text, "plan.json");
    return read.ok() ? std::string("read") : read.error().message;
  };
  CHECK(error("[1, 2]") == "plan.json: expected a plan.json");
  CHECK(error("{").find("plan.json: ") == 0);
  CHECK(error("{\"schema\": \"other/2\"}").find("schema: expected \"stemtap.plan/1\"") !=
        std::string::npos);
  const std::string good = PlanToJson(Example());
  const auto without = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
  };
  CHECK(error(without("\"index\": 4711", "\"index\": -1")) ==
        "plan.json: kernels[0].clusters[0].samples[0].index: expected a whole number");
  CHECK(error(without("\"imputed\": true", "\"imputed\": 1")) ==
        "plan.json: kernels[0].clusters[0].samples[0].imputed: expected true or false");
  CHECK(error(without("\"process\": 4242", "\"process\": 4294967296"))
            .find("process: expected a whole number") != std::string::npos);
  CHECK(error(without("[8,1,1]", "[8,1]")).find("grid: expected three whole numbers") !=
        std::string::npos);
  CHECK(error(without("\"device\": 1", "\"device\": 65536")).find("device") != std::string::npos);
  CHECK(error(without("\"kernels\": [\n", "\"kernals\": [\n")).find("kernels: expected an array") !=
        std::string::npos);
}

}  // namespace
}  // namespace stemtap
