// SPDX-License-Identifier: Apache-2.0
#include "trace/plan.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

namespace stemtap {
namespace {

bool Says(const Plan& plan, const std::string& text) {
  return PlanSummary(plan, 1).find(text) != std::string::npos;
}

TEST_CASE("the summary says when the plain estimate misses its bound") {
  Plan plan;
  plan.totals.duration_ns = 1000;
  plan.totals.bound = 0.05;
  plan.totals.observed_error = 0.04;
  CHECK_FALSE(Says(plan, "misses the bound"));
  plan.totals.observed_error = 0.06;
  CHECK(Says(plan, "misses the bound, as it may by chance"));
  plan.totals.observed_error = 0.21;
  CHECK(Says(plan, "misses the bound by far, hardly by chance"));
  // Nothing but rounding.
  plan.totals.bound = 0.0;
  plan.totals.observed_error = 1e-16;
  CHECK_FALSE(Says(plan, "misses the bound"));
  plan.totals.observed_error = 0.06;
  plan.totals.bound = NAN;
  CHECK_FALSE(Says(plan, "misses the bound"));
  CHECK(Says(plan, "no error bound"));
}

TEST_CASE("the summary counts what is not in its figures") {
  Plan plan;
  CHECK_FALSE(Says(plan, "dropped"));
  CHECK_FALSE(Says(plan, "0 ns"));
  CHECK_FALSE(Says(plan, "excluded"));
  plan.totals.dropped = 3;
  plan.totals.zero_duration = 4;
  plan.totals.excluded_invocations = 5;
  CHECK(Says(plan, "3 records were dropped"));
  CHECK_FALSE(Says(plan, "gaps"));
  plan.totals.gaps = 2;
  CHECK(Says(plan, "2 gaps"));
  CHECK(Says(plan, "4 invocations were recorded with 0 ns"));
  CHECK(Says(plan, "5 invocations"));
}

TEST_CASE("the summary says what is imputed, and then knows of no error") {
  Plan plan;
  plan.totals.duration_ns = 1000;
  CHECK_FALSE(Says(plan, "tracer"));
  CHECK(Says(plan, "(0.00 % off), calibrated"));
  plan.totals.imputed = 7;
  plan.totals.imputed_duration_ns = 2'500'000;
  plan.totals.observed_error = NAN;
  CHECK(Says(plan, "7 invocations were slowed by the tracer: counted with 2.500 ms"));
  CHECK(Says(plan, "(error not known), calibrated"));
  CHECK_FALSE(Says(plan, "have no like"));
  plan.totals.native_unknown = 2;
  CHECK(Says(plan, "2 of these have no like"));
}

TEST_CASE("a plan without imputed launches or processes apart names neither") {
  Plan plan;
  plan.kernels.emplace_back().clusters.emplace_back().samples.emplace_back();
  const std::string json = PlanToJson(plan);
  for (const char* field : {"imputed", "native_unknown", "process"}) {
    CHECK(json.find(field) == std::string::npos);
  }
}

}  // namespace
}  // namespace stemtap
