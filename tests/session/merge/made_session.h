// SPDX-License-Identifier: Apache-2.0
//
// A small handmade session that tests merge or damage. It is complete like a collector's session.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/overview.h"
#include "model/plan_cells.h"
#include "sampling/plan_builder.h"
#include "support/temp_dir.h"

namespace stemtap::test {

struct MadeSession {
  std::string host = "node0";
  model::OptionList options = {{"error_bound", 0.05},
                               {"confidence", 0.95},
                               {"level", "kernels"},
                               {"seed", std::uint64_t{1}}};
  std::vector<std::string> kernels = {"gemm", "softmax"};
  std::uint64_t launches = 60;  // of each kernel
  std::uint64_t base_ns = 1000;
  std::uint64_t excluded = 0;
  std::uint64_t dropped = 0;
  std::uint16_t device = 0;
  std::int32_t process = 0;
};

inline model::Plan PlanOf(const MadeSession& made) {
  sampling::PlanBuilder builder(sampling::SamplingOptions{});
  std::uint64_t index = 0;
  for (const std::string& name : made.kernels) {
    sampling::SampledCluster cluster;
    std::uint64_t sum = 0;
    cluster.lower_ns = made.base_ns;
    cluster.upper_ns = made.base_ns + made.launches - 1;
    for (std::uint64_t i = 0; i < made.launches; ++i) {
      stats::Moments cell;
      cell.Add(static_cast<double>(made.base_ns + i));
      cluster.moments.Merge(cell);
      cluster.cells.push_back(cell);
      sum += made.base_ns + i;
      if (i != 3 && i != 40) continue;
      model::PlanSample sample;
      sample.index = index + i;
      sample.occurrence = i;
      sample.record.device = made.device;
      sample.record.stream = 7;
      sample.record.duration_ns = made.base_ns + i;
      cluster.samples.push_back(sample);
    }
    cluster.target = 2;
    index += made.launches;
    builder.AddKernel({name, made.process}, made.launches, sum, 0, {cluster});
  }
  model::Plan plan = builder.Finish();
  plan.source = "python3 train.py";
  plan.options = made.options;
  plan.totals.excluded_invocations = made.excluded;
  plan.totals.dropped = made.dropped;
  return plan;
}

inline std::string SessionText(const MadeSession& made, const model::Plan& plan) {
  const std::uint64_t kept = plan.totals.invocations + made.excluded;
  return fmt::format(
      R"({{"schema": "stemtap.session/1", "tool": "stemtap 0.1.0", "mode": "live", "command": ["python3", "train.py"],
"options": {{"error_bound": 0.05}}, "host": {{"name": "{}", "system": "Linux 6.1", "machine": "x86_64", "cores": 2}},
"elapsed_s": 1.5, "exit_code": 0, "signal": 0,
"counters": {{"seen": {}, "kept": {}, "dropped": {}, "gaps": 0, "captured": {}, "losses": {{"ring_full": {}, "names_cut": 1}}}},
"processes": [{{"pid": 42, "program": "python3", "state": "closed", "reason": "", "seen": {}, "kept": {}}}],
"devices": [{{"pid": 42, "device": {}, "launches": {}, "duration_ns": {}}}, {{"pid": 42, "device": null, "launches": 0}}],
"warnings": ["a warning"]}})",
      made.host, kept + made.dropped, kept, made.dropped, plan.totals.samples, made.dropped,
      kept + made.dropped, kept, made.device, kept, plan.totals.duration_ns);
}

inline model::Overview OverviewOf(const MadeSession& made, const model::Plan& plan) {
  model::Overview o;
  o.mode = "live";
  o.ended = true;
  o.started_unix_ms = 1000;
  o.elapsed_s = 1.5;
  o.command = {"python3", "train.py"};
  o.confidence = 0.95;
  o.error_bound = 0.05;
  o.level = "kernels";
  o.seen = plan.totals.invocations + made.excluded + made.dropped;
  o.kept = plan.totals.invocations + made.excluded;
  o.dropped = made.dropped;
  o.observed = plan.totals.invocations;
  o.duration_ns = plan.totals.duration_ns;
  o.captured = plan.totals.samples;
  model::TakeBounds(plan.totals, o);
  o.timeline = {
      {0.5, o.observed / 2, o.duration_ns / 2, 1, 1000, 2, o.observed == 0 ? NAN : 0.5, 0},
      {1.5, o.observed, o.duration_ns, o.captured, 4000, 0, o.bound, made.dropped}};
  o.processes = {{42, "python3", "closed", "", o.seen, o.kept, made.dropped, o.captured}};
  for (const model::PlanKernel& k : plan.kernels) {
    model::OverviewKernel kernel;
    kernel.name = k.name;
    kernel.process = k.process;
    kernel.invocations = k.invocations;
    kernel.duration_ns = k.duration_ns;
    kernel.captured = 2;
    for (const model::PlanCluster& c : k.clusters) {
      kernel.clusters.push_back({c.lower_ns, c.upper_ns, c.count, c.mean_ns, c.stddev_ns,
                                 c.captured, c.target, model::ClusterState::kClosed});
    }
    for (std::uint64_t i = 0; i < made.launches; ++i) {
      kernel.histogram.push_back({made.base_ns + i, made.base_ns + i + 1, 1});
    }
    o.kernels.push_back(kernel);
  }
  return o;
}

// Writes the directory `name` and returns its path.
inline std::string MakeSession(const TempDir& scratch, const std::string& name,
                               const MadeSession& made) {
  const model::Plan plan = PlanOf(made);
  scratch.Write(name + "/plan.json", model::PlanToJson(plan));
  scratch.Write(name + "/cells.json", model::CellsToJson(plan));
  scratch.Write(name + "/session.json", SessionText(made, plan));
  scratch.Write(name + "/overview.json", model::OverviewToJson(OverviewOf(made, plan)));
  scratch.Write(name + "/summary.txt", "as it was\n");
  scratch.Write(
      name + "/mask.ndjson",
      "{\"event\":\"capture\",\"index\":3,\"kernel\":\"gemm\",\"occurrence\":3,\"cluster\":0,"
      "\"time_ns\":99}\n{\"event\":\"close\",\"index\":5,\"kernel\":\"gemm\",\"occurrence\":5,"
      "\"cluster\":0,\"time_ns\":null}\n");
  return (scratch / name).string();
}

}  // namespace stemtap::test
