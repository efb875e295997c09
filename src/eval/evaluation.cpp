// SPDX-License-Identifier: Apache-2.0
#include "eval/evaluation.h"

#include <cmath>
#include <utility>

namespace stemtap {

EvaluatedWorkload Describe(const Workload& workload) {
  return {workload.name,         workload.launches,        workload.kernels,
          workload.total_ns,     workload.speedup_limit,   workload.excluded,
          workload.against_name, workload.against_total_ns};
}

void AddWorkload(const Workload& workload, const EvaluationRequest& request, WorkerPool& pool,
                 Evaluation& evaluation) {
  const std::size_t at = evaluation.workloads.size();
  evaluation.workloads.push_back(Describe(workload));
  for (const double error_bound : request.error_bounds) {
    SamplingOptions options = request.options;
    options.error_bound = error_bound;
    double two_pass_ns = NAN;
    for (const MethodEntry* method : request.methods) {
      Result<MethodEvaluation> done =
          EvaluateMethod(workload, *method, options, request.vectors, request.runs, pool);
      if (!done.ok()) {
        // Said once, not once per bound.
        if (error_bound == request.error_bounds.front()) {
          evaluation.left_out.push_back({at, method->name, done.error().message});
        }
        continue;
      }
      if (method == request.two_pass) two_pass_ns = done.value().statistics.sampled_ns;
      evaluation.rows.push_back(
          {at, method->name, error_bound, false, std::move(done).value(), NAN});
    }
    if (!request.online) continue;
    if (std::isnan(two_pass_ns) && request.two_pass != nullptr) {
      const Result<MethodEvaluation> plan =
          EvaluateMethod(workload, *request.two_pass, options, request.vectors, request.runs, pool);
      if (plan.ok()) two_pass_ns = plan.value().statistics.sampled_ns;
    }
    MethodEvaluation online = EvaluateOnline(workload, options, request.lag, request.runs, pool);
    const double over = two_pass_ns > 0.0 ? online.statistics.sampled_ns / two_pass_ns : NAN;
    evaluation.rows.push_back({at, "online", error_bound, true, std::move(online), over});
  }
}

}  // namespace stemtap
