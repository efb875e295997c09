// SPDX-License-Identifier: Apache-2.0
#include "model/plan_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stemtap::model {
namespace {

Plan Example() {
  Plan plan;
  plan.source = "decode \"x\".csv";
  plan.options = {
      {"error_bound", 0.05}, {"method", std::string("optimal")}, {"seed", std::uint64_t{7}}};
  plan.totals.invocations = 12;
  plan.totals.duration_ns = 1234;
  plan.totals.kernels = 1;
  plan.totals.clusters = 1;
  plan.totals.samples = 2;
  plan.totals.sampled_duration_ns = 200;
  plan.totals.speedup = 6.17;
  plan.totals.bound = plan.totals.certified_bound = NAN;
  plan.totals.observed_error = 34.0 / 1234;
  plan.totals.plain_estimate_ns = 1200.0;
  plan.totals.calibrated_estimate_ns = 1234.0;
  plan.totals.excluded_invocations = 5000;
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
  cluster.upper_ns = 199;
  cluster.count = 12;
  cluster.mean_ns = 1234.0 / 12;
  cluster.captured = 2;
  PlanSample known;
  known.index = 4711;
  known.occurrence = 391;
  known.weight = 6.17;
  known.imputed = true;
  known.range = "decode/\"attention\"\n\xFF";
  known.step = 12;
  known.record.device = 1;
  known.record.stream = 7;
  known.record.grid[0] = 8;
  known.record.grid[1] = known.record.grid[2] = 1;
  known.record.block[0] = 64;
  known.record.block[1] = known.record.block[2] = 1;
  known.record.duration_ns = 100;
  PlanSample unknown;
  unknown.weight = 6.17;
  unknown.record.duration_ns = 100;
  unknown.record.device = shm::kUnknown16;
  unknown.record.stream = shm::kUnknown32;
  cluster.samples = {unknown, known};
  kernel.clusters.push_back(cluster);
  plan.kernels.push_back(kernel);
  return plan;
}

TEST_CASE("a plan reads back as it was written") {
  const std::string text = PlanToJson(Example());
  const Result<Plan> read = ParsePlan(text, "plan.json");
  REQUIRE(read.ok());
  CHECK(PlanToJson(read.value()) == text);
  const PlanSample& sample = read.value().kernels[0].clusters[0].samples[1];
  CHECK(sample.weight == 6.17);
  CHECK(sample.imputed);
  CHECK(sample.range == "decode/\"attention\"\n\xEF\xBF\xBD");
  CHECK(sample.step == 12);
  const PlanSample& other = read.value().kernels[0].clusters[0].samples[0];
  CHECK_FALSE(other.imputed);
  CHECK(other.range.empty());
  CHECK(other.step == shm::kNoStep);
  CHECK(text.find("\"range\"") == text.rfind("\"range\""));
  CHECK(text.find("\"step\"") == text.rfind("\"step\""));
  CHECK(read.value().kernels[0].process == 4242);
  CHECK(read.value().totals.imputed_duration_ns == 250);
  CHECK(std::isnan(read.value().totals.bound));
}

TEST_CASE("the sessions of a merged plan read back, and errors in them report the place") {
  Plan plan = Example();
  PlanSession first;
  first.id = "0123456789abcdef";
  first.folder = "run \"a\"";
  first.host = "node7";
  first.source = "python3 a.py";
  first.launches = 13;
  first.devices = {0, 3};
  first.duration_ns = 1234;
  first.bound = first.certified_bound = NAN;
  PlanSession second = first;
  second.id = "fedcba9876543210";
  second.launches = 4999;
  second.duration_ns = 0;
  second.first_index = 13;
  second.first_device = 2;
  second.devices.clear();
  second.bound = 0.1;
  second.certified_bound = 0.09;
  plan.sessions = {first, second};
  const std::string text = PlanToJson(plan);
  const Result<Plan> read = ParsePlan(text, "plan.json");
  REQUIRE(read.ok());
  CHECK(PlanToJson(read.value()) == text);
  REQUIRE(read.value().sessions.size() == 2);
  CHECK(read.value().sessions[0].devices == std::vector<std::uint16_t>{0, 3});
  CHECK(read.value().sessions[1].first_index == 13);
  CHECK(std::isnan(read.value().sessions[0].bound));
  CHECK(read.value().sessions[1].certified_bound == 0.09);
  const auto error = [&](const std::string& what, const std::string& by) {
    std::string damaged = text;
    const std::size_t at = damaged.find(what);
    REQUIRE(at != std::string::npos);
    const Result<Plan> refused = ParsePlan(damaged.replace(at, what.size(), by), "plan.json");
    return refused.ok() ? std::string("read") : refused.error().message;
  };
  CHECK(error("[0, 3]", "[0, 65535]") ==
        "plan.json: sessions[0].devices: is [0, 65535]; expected ascending device numbers");
  CHECK(error("[0, 3]", "[0, \"3\"]").find("sessions[0].devices") != std::string::npos);
  CHECK(error("\"first_device\": 2", "\"first_device\": 65536").find("sessions[1].first_device") !=
        std::string::npos);
  CHECK(error("\"id\": ", "\"ids\": ").find("sessions[0].id: is missing; expected a text") !=
        std::string::npos);
  CHECK(error("\"sessions\": [", "\"sessions\": 1, \"x\": [") ==
        "plan.json: sessions: is 1; expected an array");
}

TEST_CASE("a plan truncated at any byte is rejected") {
  const std::string text = PlanToJson(Example());
  for (std::size_t size = 0; size <= text.rfind('}'); ++size) {
    CAPTURE(size);
    CHECK_FALSE(ParsePlan(text.substr(0, size), "plan.json").ok());
  }
  const Result<Plan> read = ParsePlan(text + std::string("\0 and more", 10), "plan.json");
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message.find("is not JSON") != std::string::npos);
}

TEST_CASE("an invalid plan is rejected with the place of the error") {
  const auto error = [](const std::string& text) {
    const Result<Plan> read = ParsePlan(text, "plan.json");
    return read.ok() ? std::string("read") : read.error().message;
  };
  CHECK(error("[1, 2]") == "plan.json: is not an object; expected a plan.json");
  CHECK(error("{").find("plan.json: ") == 0);
  CHECK(error("{\"schema\": \"other/2\"}")
            .find("schema: is \"other/2\"; expected 'stemtap.plan/1'") != std::string::npos);
  const std::string good = PlanToJson(Example());
  const auto without = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
  };
  CHECK(error(without("\"index\": 4711", "\"index\": -1")) ==
        "plan.json: kernels[0].clusters[0].samples[1].index: is -1; expected a whole number");
  CHECK(error(without("\"imputed\": true", "\"imputed\": 1")) ==
        "plan.json: kernels[0].clusters[0].samples[1].imputed: is 1; expected true or false");
  CHECK(error(without("\"step\": 12", "\"step\": 18446744073709551615"))
            .find("step: is 18446744073709551615; expected a whole number below") !=
        std::string::npos);
  CHECK(error(without("\"step\": 12", "\"range\": 12")).find("range: occurs twice") !=
        std::string::npos);
  CHECK(error(without("\"process\": 4242", "\"process\": 4294967296"))
            .find("process: is 4294967296; expected a whole number") != std::string::npos);
  CHECK(
      error(without("[8,1,1]", "[8,1]")).find("grid: has 2 items; expected three whole numbers") !=
      std::string::npos);
  CHECK(error(without("\"device\": 1", "\"device\": 65536")).find("device") != std::string::npos);
  CHECK(error(without("\"kernels\": [\n", "\"kernals\": [\n"))
            .find("kernels: is missing; expected an array") != std::string::npos);
}

// Returns a plan with calibrated weights and two kernels with two clusters each. One cluster has no
// sample.
Plan Consistent() {
  Plan plan;
  plan.source = "run.csv";
  for (std::uint64_t k = 0; k < 2; ++k) {
    PlanKernel kernel;
    kernel.name = k == 0 ? "gemm" : "softmax";
    PlanCluster sampled;
    sampled.lower_ns = 90;
    sampled.upper_ns = 110;
    sampled.count = 10;
    sampled.mean_ns = 100.0;
    sampled.stddev_ns = 2.0;
    sampled.target = sampled.captured = 2;
    for (std::uint64_t s = 0; s < 2; ++s) {
      PlanSample sample;
      sample.index = 20 * k + 10 * s + 5;
      sample.occurrence = 5 + s;
      sample.weight = 1000.0 / 202;
      sample.record.duration_ns = 100 + 2 * s;
      sampled.samples.push_back(sample);
    }
    PlanCluster bare = sampled;
    bare.lower_ns = bare.upper_ns = 200;
    bare.count = 1;
    bare.mean_ns = 200.0;
    bare.stddev_ns = 0.0;
    bare.captured = 0;
    bare.samples.clear();
    kernel.invocations = 11;
    kernel.duration_ns = 1200;
    kernel.clusters = {sampled, bare};
    plan.kernels.push_back(kernel);
  }
  PlanTotals& t = plan.totals;
  t.invocations = 22;
  t.duration_ns = 2400;
  t.kernels = 2;
  t.clusters = 4;
  t.samples = 4;
  t.sampled_duration_ns = 404;
  t.speedup = 2400.0 / 404;
  t.bound = t.certified_bound = 0.2;
  t.plain_estimate_ns = 2020.0;
  t.observed_error = 380.0 / 2400;
  t.calibrated_estimate_ns = 2000.0;
  t.uncovered_fraction = 400.0 / 2400;
  t.excluded_invocations = 10;
  t.dropped = 8;
  return plan;
}

TEST_CASE("an inconsistent plan is rejected with the place and the expected value") {
  using nlohmann::json;
  const json good = json::parse(PlanToJson(Consistent()));
  const auto error = [&](const char* pointer, const json& value) {
    json edited = good;
    edited.at(json::json_pointer(pointer)) = value;
    const Result<Plan> read = ParsePlan(edited.dump(), "p");
    return read.ok() ? std::string("read") : read.error().message;
  };
  const Result<Plan> read = ParsePlan(good.dump(), "p");
  if (!read.ok()) FAIL(read.error().message);

  const char* weight = "/kernels/0/clusters/0/samples/1/weight";
  const std::string at = "p: kernels[0].clusters[0].samples[1].";
  CHECK(error(weight, -1000) == at + "weight: is -1000; expected a number from 0 to 2^63");
  CHECK(error(weight, nullptr).starts_with(at + "weight: is null"));
  CHECK(error(weight, 1e308).starts_with(at + "weight: is 1e+308"));
  CHECK(error(weight, 7.5).find("the sum of weight x duration_ns") != std::string::npos);
  CHECK(error("/kernels/0/clusters/0/samples/1/index", 5) ==
        at + "index: is 5; expected a different launch for each sample");
  CHECK(error("/kernels/1/clusters/0/samples/0/index", 15) ==
        "p: kernels[1].clusters[0].samples[0].index: is 15; expected a different launch for "
        "each sample");
  CHECK(error("/kernels/0/clusters/0/samples/1/index", 40) ==
        at + "index: is 40; expected an index below 40");
  CHECK(error("/kernels/0/clusters/0/samples/1/index", 4).find("launch order") !=
        std::string::npos);
  CHECK(error("/kernels/0/clusters/0/samples/1/occurrence", 16)
            .starts_with(at + "occurrence: is 16"));
  CHECK(error("/kernels/0/clusters/0/mean_ns", -1) ==
        "p: kernels[0].clusters[0].mean_ns: is -1; expected a number from lower_ns to upper_ns, 90 "
        "to 110");
  CHECK(error("/kernels/0/clusters/0/mean_ns", 109).find("kernels[0].duration_ns: is 1200") !=
        std::string::npos);
  CHECK(error("/kernels/0/clusters/0/stddev_ns", nullptr).find("stddev_ns: is null") !=
        std::string::npos);
  CHECK(error("/kernels/0/clusters/0/upper_ns", 89).find("at least lower_ns, 90") !=
        std::string::npos);
  CHECK(error("/kernels/0/clusters/0/count", ~std::uint64_t{0}) ==
        "p: kernels[0].invocations: is 11; expected a sum of the counts of its clusters that fits "
        "64 bits");
  CHECK(error("/kernels/0/clusters/0/count", 1).find("expected at most count, 1") !=
        std::string::npos);
  CHECK(error("/kernels/0/clusters/0/captured", 1).find("expected 2, the number of samples") !=
        std::string::npos);
  CHECK(error("/kernels/1/name", "gemm") ==
        "p: kernels[1]: is listed twice; expected each kernel once");
  CHECK(error("/kernels/1/duration_ns", 1201).find("kernels[1].duration_ns: is 1201") !=
        std::string::npos);
  // Every total that the kernels determine is checked.
  for (const char* field : {"invocations", "duration_ns", "kernels", "clusters", "samples",
                            "sampled_duration_ns", "speedup", "observed_error"}) {
    CAPTURE(field);
    const std::string pointer = std::string("/totals/") + field;
    const json value = good.at(json::json_pointer(pointer));
    const json more = value.is_number_float() ? json(value.get<double>() * 1.001)
                                              : json(value.get<std::uint64_t>() + 1);
    CHECK(error(pointer.c_str(), more).starts_with(std::string("p: totals.") + field + ": is "));
  }
  CHECK(error("/totals/bound", -1) == "p: totals.bound: is -1; expected a number of at least 0");
  CHECK(error("/totals/bound", 0.21) ==
        "p: totals.bound: is 0.21; expected 0.2, the larger of certified_bound and observed_error");
  CHECK(error("/totals/bound", 0.19) ==
        "p: totals.certified_bound: is 0.2; expected at most bound, 0.19");
  CHECK(error("/totals/certified_bound", 0.15)
            .starts_with("p: totals.bound: is 0.2; expected 0.158"));
  CHECK(error("/totals/certified_bound", -0.1).find("a number of at least 0") != std::string::npos);
  CHECK(
      error("/totals/certified_bound", nullptr).starts_with("p: totals.certified_bound: is null"));
  CHECK(error("/totals/bound", nullptr) ==
        "p: totals.certified_bound: is 0.2; expected null, because bound is null");
  CHECK(error("/totals/joined_fraction", 0.1) ==
        "p: totals.joined_fraction: is 0.1; expected 0, the share of the joined launches");
  CHECK(error("/totals/joined_fraction", -0.1).find("a number from 0 to 1") != std::string::npos);
  CHECK(error("/totals/uncovered_fraction", 1.5).find("totals.uncovered_fraction: is 1.5") !=
        std::string::npos);
  CHECK(error("/totals/plain_estimate_ns", nullptr).find("totals.plain_estimate_ns: is null") !=
        std::string::npos);
  CHECK(error("/totals/calibrated_estimate_ns", 2001.0).find("weight x duration_ns") !=
        std::string::npos);
  CHECK(error("/totals/zero_duration", 23).find("at most invocations, 22") != std::string::npos);
  CHECK(error("/totals/dropped", ~std::uint64_t{0}).find("that fits 64 bits") != std::string::npos);
}

TEST_CASE("the sessions of a merged plan must add up to its totals") {
  using nlohmann::json;
  Plan plan = Consistent();
  PlanSession first;
  first.id = "a";
  first.launches = 20;
  first.devices = {0, 3};
  first.duration_ns = 1000;
  first.bound = first.certified_bound = 0.1;
  PlanSession second = first;
  second.id = "b";
  second.launches = 12;
  second.duration_ns = 1400;
  second.first_index = 20;
  second.first_device = 2;
  plan.sessions = {first, second};
  const json good = json::parse(PlanToJson(plan));
  REQUIRE(ParsePlan(good.dump(), "p").ok());
  const auto error = [&](const char* pointer, const json& value) {
    json edited = good;
    edited.at(json::json_pointer(pointer)) = value;
    const Result<Plan> read = ParsePlan(edited.dump(), "p");
    return read.ok() ? std::string("read") : read.error().message;
  };
  CHECK(error("/sessions/1/id", "a") ==
        "p: sessions[1].id: is listed twice; expected each session once");
  CHECK(error("/sessions/1/first_index", 19).find("is 19; expected 20") != std::string::npos);
  CHECK(error("/sessions/1/first_device", 1).find("is 1; expected 2") != std::string::npos);
  CHECK(error("/sessions/1/devices", {3, 3}).find("is [3, 3]; expected ascending") !=
        std::string::npos);
  CHECK(error("/sessions/1/launches", 13).find("sessions: is 33 launches in total") !=
        std::string::npos);
  CHECK(error("/sessions/1/duration_ns", 1).find("sessions: is 1001 ns in total") !=
        std::string::npos);
  CHECK(error("/sessions/0/bound", -0.1).find("sessions[0].bound: is -0.1") != std::string::npos);
  CHECK(error("/sessions/0/certified_bound", 0.11) ==
        "p: sessions[0].certified_bound: is 0.11; expected a number from 0 to bound, 0.1");
  // If the error of one session is unknown, the bound follows from the bounds of the sessions.
  json unknown = good;
  unknown["totals"]["observed_error"] = nullptr;
  unknown["totals"]["bound"] = 0.25;
  CHECK(ParsePlan(unknown.dump(), "p").ok());
  unknown["totals"]["bound"] = 0.15;
  CHECK_FALSE(ParsePlan(unknown.dump(), "p").ok());
}

// In each sampled cluster, two of the ten launches are joined: eight take 101 ns, and two 96 ns.
Plan WithJoined() {
  Plan plan = Consistent();
  for (PlanKernel& kernel : plan.kernels) {
    kernel.clusters[0].joined = 2;
    kernel.clusters[0].joined_bias_ns = 10.0;
  }
  plan.totals.joined_fraction = 4 * 96.0 / 2400;
  return plan;
}

TEST_CASE("joined launches read back and must be consistent with their cluster") {
  using nlohmann::json;
  const std::string text = PlanToJson(WithJoined());
  const Result<Plan> read = ParsePlan(text, "p");
  if (!read.ok()) FAIL(read.error().message);
  CHECK(PlanToJson(read.value()) == text);
  const PlanCluster& cluster = read.value().kernels[1].clusters[0];
  CHECK(cluster.joined == 2);
  CHECK(cluster.joined_bias_ns == 10.0);
  CHECK(read.value().kernels[1].clusters[1].joined == 0);
  const json good = json::parse(text);
  const auto error = [&](const char* field, const json& value) {
    json edited = good;
    edited["kernels"][0]["clusters"][0][field] = value;
    const Result<Plan> refused = ParsePlan(edited.dump(), "p");
    return refused.ok() ? std::string("read") : refused.error().message;
  };
  const std::string at = "p: kernels[0].clusters[0].";
  CHECK(error("joined", 10) == at + "joined: is 10; expected less than count, 10");
  CHECK(error("joined", 0) ==
        at + "joined_bias_ns: is 10; expected 0, because the samples represent no other launches");
  CHECK(error("joined", -1) == at + "joined: is -1; expected a whole number");
  CHECK(error("joined_bias_ns", nullptr).starts_with(at + "joined_bias_ns: is null"));
  CHECK(error("joined_bias_ns", "x") == at + "joined_bias_ns: is \"x\"; expected a number");
  // Otherwise the joined launches, or the others, would have a negative duration.
  CHECK(error("joined_bias_ns", 251).starts_with(at + "joined_bias_ns: is 251"));
  CHECK(error("joined_bias_ns", -1001).starts_with(at + "joined_bias_ns: is -1001"));
  CHECK(error("joined_bias_ns", 50).starts_with("p: totals.joined_fraction: is 0.16; expected "));
  json bare = good;
  bare["kernels"][0]["clusters"][1]["joined"] = 1;
  bare["kernels"][0]["clusters"][1]["count"] = 2;
  const Result<Plan> refused = ParsePlan(bare.dump(), "p");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message ==
        "p: kernels[0].clusters[1].captured: is 0; expected at least 1, because launches without a "
        "sample are represented");
}

// As WithJoined, but one of the two launches has a similar duration in another period of the run.
TEST_CASE("launches in other periods read back and must be consistent with their cluster") {
  using nlohmann::json;
  Plan plan = WithJoined();
  for (PlanKernel& kernel : plan.kernels) {
    PlanCluster& cluster = kernel.clusters[0];
    cluster.joined = 1;
    cluster.other_periods = 1;
    cluster.other_periods_ns = 92.0;
    cluster.mean_index = 12.5;
  }
  plan.totals.joined_fraction = 2 * 100.0 / 2400;  // the joined launch takes 192 - 92 ns
  const std::string text = PlanToJson(plan);
  const Result<Plan> read = ParsePlan(text, "p");
  if (!read.ok()) FAIL(read.error().message);
  CHECK(PlanToJson(read.value()) == text);
  const PlanCluster& cluster = read.value().kernels[1].clusters[0];
  CHECK(cluster.other_periods == 1);
  CHECK(cluster.other_periods_ns == 92.0);
  CHECK(cluster.mean_index == 12.5);
  CHECK(std::isnan(read.value().kernels[1].clusters[1].mean_index));
  const json good = json::parse(text);
  const auto error = [&](const char* field, const json& value) {
    json edited = good;
    edited["kernels"][0]["clusters"][0][field] = value;
    const Result<Plan> refused = ParsePlan(edited.dump(), "p");
    return refused.ok() ? std::string("read") : refused.error().message;
  };
  const std::string at = "p: kernels[0].clusters[0].";
  CHECK(error("other_periods", 9) ==
        at + "other_periods: is 9; expected less than count - joined, 9");
  CHECK(error("other_periods", 0).starts_with(at + "other_periods_ns: is 92; expected 0"));
  CHECK(error("other_periods_ns", -1).starts_with(at + "other_periods_ns: is -1"));
  CHECK(error("other_periods_ns", 2000).starts_with(at + "other_periods_ns: is 2000"));
  CHECK(error("mean_index", -1).starts_with(at + "mean_index: is -1; expected an index below "));
  CHECK(error("mean_index", 1e9).starts_with(at + "mean_index: is 1000000000"));
}

TEST_CASE("independent samples read back, and are at most the samples") {
  using nlohmann::json;
  Plan plan = WithJoined();
  plan.kernels[0].clusters[0].independent = 1;
  const std::string text = PlanToJson(plan);
  const Result<Plan> read = ParsePlan(text, "p");
  if (!read.ok()) FAIL(read.error().message);
  CHECK(PlanToJson(read.value()) == text);
  CHECK(read.value().kernels[0].clusters[0].independent == 1);
  CHECK(read.value().kernels[0].clusters[1].independent == 0);
  json edited = json::parse(text);
  edited["kernels"][0]["clusters"][0]["independent"] = 1000;
  const Result<Plan> refused = ParsePlan(edited.dump(), "p");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.starts_with(
      "p: kernels[0].clusters[0].independent: is 1000; expected at most captured"));
}

TEST_CASE("the ranges of a plan read back, and must be the ranges of its kernels") {
  using nlohmann::json;
  Plan plan = WithJoined();
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    plan.kernels[k].range = k == 0 ? "decode" : "";
  }
  for (const char* name : {"decode", ""}) {
    PlanRange& range = plan.ranges.emplace_back();
    range.range = name;
    for (const PlanKernel& kernel : plan.kernels) {
      if (kernel.range != name) continue;
      range.invocations += kernel.invocations;
      range.duration_ns += kernel.duration_ns;
    }
    range.bound = range.certified_bound = 0.05;
    range.observed_error = std::nan("");
  }
  const std::string text = PlanToJson(plan);
  const Result<Plan> read = ParsePlan(text, "p");
  if (!read.ok()) FAIL(read.error().message);
  CHECK(PlanToJson(read.value()) == text);
  CHECK(read.value().kernels[0].range == "decode");
  CHECK(read.value().ranges[0].bound == 0.05);
  CHECK(std::isnan(read.value().ranges[0].observed_error));
  const auto error = [&](const auto& edit) {
    json edited = json::parse(text);
    edit(edited);
    const Result<Plan> refused = ParsePlan(edited.dump(), "p");
    return refused.ok() ? std::string("read") : refused.error().message;
  };
  CHECK(error([](json& p) {
          p.erase("ranges");
        }).starts_with("p: kernels[0].range: is decode; expected a range that the plan lists"));
  CHECK(error([](json& p) {
          p["ranges"][0]["invocations"] = 1;
        }).starts_with("p: ranges[0].invocations: is 1"));
  CHECK(error([](json& p) {
          p["ranges"][1]["range"] = "decode";
        }).starts_with("p: ranges[1].range: is listed twice"));
  CHECK(error([](json& p) {
          p["ranges"].erase(1);
        }).starts_with("p: ranges: is 1 ranges; expected 2"));
  CHECK(error([](json& p) {
          p["ranges"][0]["bound"] = -1;
        }).starts_with("p: ranges[0].bound: is -1"));
}

TEST_CASE(
    "the bound of an older plan becomes its certified bound, and a larger observed error becomes "
    "its bound") {
  using nlohmann::json;
  json old = json::parse(PlanToJson(Consistent()));
  old["totals"].erase("certified_bound");
  old["totals"].erase("joined_fraction");
  const Result<Plan> read = ParsePlan(old.dump(), "p");
  if (!read.ok()) FAIL(read.error().message);
  CHECK(read.value().totals.bound == 0.2);
  CHECK(read.value().totals.certified_bound == 0.2);
  CHECK(read.value().totals.joined_fraction == 0.0);
  old["totals"]["bound"] = 0.05;
  const Result<Plan> exceeded = ParsePlan(old.dump(), "p");
  if (!exceeded.ok()) FAIL(exceeded.error().message);
  CHECK(exceeded.value().totals.certified_bound == 0.05);
  CHECK(exceeded.value().totals.bound == doctest::Approx(380.0 / 2400));
  old["totals"]["bound"] = nullptr;
  const Result<Plan> none = ParsePlan(old.dump(), "p");
  if (!none.ok()) FAIL(none.error().message);
  CHECK(std::isnan(none.value().totals.certified_bound));
}

// Returns the example with a pool of two kernels.
Plan WithPool() {
  Plan plan = Example();
  PlanKernel& pool = plan.kernels.front();
  pool.name = kPoolName;
  pool.process = 0;
  pool.config = {};
  pool.pooled = {{{"copy"}, 5, 234}, {{"fill"}, 7, 1000}};
  pool.clusters[0].samples[0].pooled = 1;
  pool.clusters[0].samples[1].pooled = 0;
  plan.totals.kernels = 2;
  return plan;
}

TEST_CASE("pooled kernels read back and must be consistent with their samples") {
  const Result<Plan> read = ParsePlan(PlanToJson(WithPool()), "plan.json");
  REQUIRE(read.ok());
  const PlanKernel& pool = read.value().kernels.front();
  REQUIRE(pool.pooled.size() == 2);
  CHECK(KernelNameOf(pool, pool.clusters[0].samples[0]) == "fill");
  CHECK(KernelNameOf(pool, pool.clusters[0].samples[1]) == "copy");
  CHECK(HasPool(read.value()));
  CHECK(PlanToJson(read.value()) == PlanToJson(WithPool()));

  const auto message = [](auto&& change) {
    Plan plan = WithPool();
    change(plan, plan.kernels.front());
    const Result<Plan> wrong = ParsePlan(PlanToJson(plan), "plan.json");
    return wrong.ok() ? std::string("accepted") : wrong.error().message;
  };
  CHECK(message([](Plan&, PlanKernel& k) { k.clusters[0].samples[1].pooled = 2; }) ==
        "plan.json: kernels[0].clusters[0].samples[1].pooled: is 2; expected an index below 2");
  CHECK(message([](Plan&, PlanKernel& k) {
          k.clusters[0].samples[0].pooled = kNotPooled;
        }).find("samples[0].pooled: is absent; expected an index") != std::string::npos);
  CHECK(message([](Plan& plan, PlanKernel& k) {
          k.pooled.clear();
          plan.totals.kernels = 1;
        }).find("samples[0].pooled: is 1; expected no such field") != std::string::npos);
  CHECK(message([](Plan&, PlanKernel& k) { k.pooled[1].invocations = 8; }) ==
        "plan.json: kernels[0].invocations: is 12; expected 13, the sum of its pooled kernels");
  CHECK(message([](Plan&, PlanKernel& k) {
          k.pooled[0].duration_ns = 235;
        }).find("kernels[0].duration_ns: is 1234; expected 1235") != std::string::npos);
  CHECK(message([](Plan&, PlanKernel& k) { k.pooled[1].name = "copy"; }) ==
        "plan.json: kernels[0].pooled[1]: is listed twice; expected each kernel once");
  CHECK(message([](Plan& plan, PlanKernel&) { plan.totals.kernels = 1; }) ==
        "plan.json: totals.kernels: is 1; expected 2, the number of kernels in the plan");
}

TEST_CASE("kernels whose names differ only in invalid UTF-8 may be listed twice") {
  Plan plan = Consistent();
  plan.kernels[0].name = "a\xFF";
  plan.kernels[1].name = "a\xFE";
  CHECK(ParsePlan(PlanToJson(plan), "p").ok());
}

TEST_CASE("a duplicate key is rejected on every level") {
  const std::string good = PlanToJson(Consistent());
  const auto error = [&](const std::string& before, const std::string& what) {
    std::string text = good;
    const std::size_t at = text.find(before);
    REQUIRE(at != std::string::npos);
    text.insert(at, what);
    const Result<Plan> read = ParsePlan(text, "p");
    return read.ok() ? std::string("read") : read.error().message;
  };
  CHECK(error("\"schema\"", "\"source\": \"x\", ") == "p: source: occurs twice; expected it once");
  CHECK(error("\"dropped\"", "\"bound\": 0, ") ==
        "p: totals.bound: occurs twice; expected it once");
  CHECK(error("\"device\"", "\"index\": 5, ") ==
        "p: kernels[0].clusters[0].samples[0].index: occurs twice; expected it once");
  // The same key in an escaped form.
  CHECK(error("\"device\"", "\"\\u0069ndex\": 5, ") ==
        "p: kernels[0].clusters[0].samples[0].index: occurs twice; expected it once");
  CHECK(error("\"dropped\"", "\"later\": {\"a\": [1, {\"b\": 1, \"b\": 2}]}, ") ==
        "p: totals.later.a[1].b: occurs twice; expected it once");
}

}  // namespace
}  // namespace stemtap::model
