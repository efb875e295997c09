// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/evaluate_online.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "sampling/weights.h"
#include "session/engine.h"

namespace stemtap::research {
namespace {

RunOutcome ReplayOnce(const EvaluatedRun& workload, const sampling::SamplingOptions& options,
                      std::uint64_t lag) {
  auto gate = std::make_unique<shm::GateTable>();
  WorkerPool alone(1);  // threads are used for the runs, not for the epochs of one run
  session::Engine engine(options, *gate, session::GateAsked::kByEngine, lag, alone);
  std::vector<std::uint32_t> engine_ids;
  for (std::uint32_t id = 0; id < workload.profile.names.size(); ++id) {
    engine_ids.push_back(engine.AddKernel(workload.profile.names.name(id)));
  }
  for (shm::KernelRecord record : workload.profile.records) {
    record.name_id = engine_ids[record.name_id];
    engine.Push(record);
  }
  const model::Plan plan = engine.Finish();

  std::vector<JudgedInvocation> judged;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      double sampled_ns = 0.0;
      for (const model::PlanSample& s : cluster.samples) {
        sampled_ns += static_cast<double>(s.record.duration_ns);
      }
      const std::uint64_t taken = cluster.samples.size();
      const double plain = sampling::PlainWeight(cluster.count, taken);
      const double calibrated =
          taken == 0 ? 0.0
                     : sampling::CalibratedWeight(cluster.count, cluster.mean_ns, taken,
                                                  sampled_ns / static_cast<double>(taken));
      for (const model::PlanSample& s : cluster.samples)
        judged.push_back({s.index, plain, calibrated});
    }
  }
  std::sort(judged.begin(), judged.end(),
            [](const JudgedInvocation& a, const JudgedInvocation& b) { return a.index < b.index; });
  RunOutcome outcome;
  Judge(workload, judged, outcome);
  outcome.sampled_ns = static_cast<double>(engine.status().captured_duration_ns);
  outcome.samples = engine.status().captured;
  outcome.clusters = plan.totals.clusters;
  outcome.bound = plan.totals.certified_bound;
  outcome.uncovered = plan.totals.uncovered_fraction;
  return outcome;
}

}  // namespace

MethodEvaluation EvaluateOnline(const EvaluatedRun& workload,
                                const sampling::SamplingOptions& options, std::uint64_t lag,
                                std::uint64_t runs, WorkerPool& pool) {
  using Clock = std::chrono::steady_clock;
  MethodEvaluation evaluation;
  evaluation.runs.resize(runs);
  std::vector<double> seconds(runs);
  pool.ForEach(runs, [&](std::size_t i) {
    const auto start = Clock::now();
    sampling::SamplingOptions seeded = options;
    seeded.seed = options.seed + i;
    evaluation.runs[i] = ReplayOnce(workload, seeded, lag);
    seconds[i] = std::chrono::duration<double>(Clock::now() - start).count();
  });
  for (const double s : seconds) evaluation.draw_s += s / static_cast<double>(runs);
  evaluation.statistics = StatisticsOf(evaluation.runs, static_cast<double>(workload.total_ns));
  return evaluation;
}

}  // namespace stemtap::research
