// SPDX-License-Identifier: Apache-2.0
#include "research/evaluation/evaluation.h"

#include <cmath>
#include <utility>

#include "session/replay.h"

namespace stemtap::research {

EvaluatedWorkload Describe(const EvaluatedRun& workload) {
  return {workload.name,         workload.launches,        workload.kernels,
          workload.total_ns,     workload.speedup_limit,   workload.excluded,
          workload.against_name, workload.against_total_ns};
}

void AddWorkload(const EvaluatedRun& workload, const EvaluationRequest& request, WorkerPool& pool,
                 Evaluation& evaluation) {
  const std::size_t at = evaluation.workloads.size();
  evaluation.workloads.push_back(Describe(workload));
  const std::size_t all =
      request.error_bounds.size() * (request.methods.size() + (request.online ? 1 : 0));
  std::size_t done_with = 0;
  const auto begin = [&](const char* method) {
    if (request.watch) request.watch(method, done_with, all);
    ++done_with;
  };
  for (const double error_bound : request.error_bounds) {
    sampling::SamplingOptions options = request.options;
    options.error_bound = error_bound;
    double two_pass_ns = NAN;
    for (const MethodEntry* method : request.methods) {
      begin(method->name);
      Result<MethodEvaluation> done =
          EvaluateMethod(workload, *method, options, request.vectors, request.runs, pool);
      if (!done.ok()) {
        // Report the reason once, not once per bound.
        if (error_bound == request.error_bounds.front()) {
          evaluation.left_out.push_back({at, method->name, done.error().message});
        }
        continue;
      }
      if (method == request.two_pass) two_pass_ns = done.value().statistics.sampled_ns;
      evaluation.rows.push_back(
          {at, method->name, error_bound, false, 0, std::move(done).value(), NAN});
    }
    if (!request.online) continue;
    begin("online");
    if (std::isnan(two_pass_ns) && request.two_pass != nullptr) {
      const Result<MethodEvaluation> plan =
          EvaluateMethod(workload, *request.two_pass, options, request.vectors, request.runs, pool);
      if (plan.ok()) two_pass_ns = plan.value().statistics.sampled_ns;
    }
    const std::uint64_t lag =
        request.lag.value_or(session::DefaultLag(workload.profile.records.size()));
    MethodEvaluation online = EvaluateOnline(workload, options, lag, request.runs, pool);
    const double over = two_pass_ns > 0.0 ? online.statistics.sampled_ns / two_pass_ns : NAN;
    evaluation.rows.push_back({at, "online", error_bound, true, lag, std::move(online), over});
  }
}

}  // namespace stemtap::research
