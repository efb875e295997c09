// SPDX-License-Identifier: Apache-2.0
#include "model/plan_cells.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

namespace stemtap::model {
namespace {

// A cluster of 8 sampled launches, 100 to 107 ns, and 4 joined launches of 60 ns.
Plan Example() {
  Plan plan;
  PlanCluster& cluster = plan.kernels.emplace_back().clusters.emplace_back();
  stats::Moments all;
  for (std::uint64_t d = 100; d < 108; ++d) {
    stats::Moments cell;
    cell.Add(static_cast<double>(d));
    all.Merge(cell);
    cluster.cells.push_back(cell);
  }
  cluster.joined_bias_ns = 4 * (all.mean() - 60.0);
  for (int i = 0; i < 4; ++i) all.Add(60.0);
  cluster.joined = 4;
  cluster.count = 12;
  cluster.mean_ns = all.mean();
  cluster.stddev_ns = all.stddev();
  cluster.captured = 2;
  cluster.samples.resize(2);
  return plan;
}

std::string Reading(const std::string& text, Plan plan) {
  const Status read = ParseCells(text, "cells.json", plan);
  return read.ok() ? std::string("read") : read.error().message;
}

TEST_CASE("cells describe the launches from which samples were drawn") {
  const Plan plan = Example();
  const std::string text = CellsToJson(plan);
  Plan read = plan;
  read.kernels[0].clusters[0].cells.clear();
  REQUIRE(ParseCells(text, "cells.json", read).ok());
  CHECK(read.kernels[0].clusters[0].cells.size() == 8);

  const auto without = [&](const std::string& what, const std::string& by) {
    std::string edited = text;
    return edited.replace(edited.find(what), what.size(), by);
  };
  CHECK(Reading(without("[1,100,0],", ""), plan) ==
        "cells.json: clusters[0]: has 7 launches; expected 8, as plan.json has");
  CHECK(Reading(without("[1,100,0]", "[2,100,0]"), plan) ==
        "cells.json: clusters[0]: has more launches than plan.json; expected 8");
  CHECK(Reading(without("[1,100,0]", "[1,160,0]"), plan) ==
        "cells.json: clusters[0]: has a mean of 111 ns; expected 103.5, as plan.json has");
  CHECK(Reading(without("[1,100,0]", "[1,100,9000]"), plan)
            .starts_with("cells.json: clusters[0]: has a standard deviation of 33.6191"));
}

TEST_CASE("clusters with joined launches need cells unless all other launches are sampled") {
  Plan plan = Example();
  plan.kernels[0].clusters[0].cells.clear();
  const std::string text = CellsToJson(plan);
  CHECK(Reading(text, plan) == "cells.json: clusters[0]: is empty; expected cells of 8 launches");
  plan.kernels[0].clusters[0].captured = 8;
  CHECK(Reading(text, plan) == "read");
  plan.kernels[0].clusters[0].captured = 2;
  plan.kernels[0].clusters[0].joined = 0;
  plan.kernels[0].clusters[0].joined_bias_ns = 0.0;
  CHECK(Reading(text, plan) == "read");
}

}  // namespace
}  // namespace stemtap::model
