// SPDX-License-Identifier: Apache-2.0
//
// Evaluation is the complete result of `stemtap evaluate`: one row per workload, method and error
// bound, and the methods that were left out with their reasons. The reports (report.h) print it and
// compute nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/plan.h"
#include "research/evaluation/evaluate_method.h"
#include "research/evaluation/evaluate_online.h"

namespace stemtap::research {

struct EvaluatedWorkload {
  std::string name;
  std::uint64_t launches = 0;
  std::uint64_t kernels = 0;
  std::uint64_t total_ns = 0;
  double speedup_limit = 0.0;
  model::ExcludedTotals excluded;
  std::string against_name;  // empty if none
  std::uint64_t against_total_ns = 0;
};

struct EvaluationRow {
  std::size_t workload = 0;  // into Evaluation::workloads
  std::string method;
  double error_bound = 0.0;  // requested
  bool online = false;
  std::uint64_t lag = 0;  // online
  MethodEvaluation evaluation;
  // online: captured time over the sampled time of the two-pass plan with the same options; NaN if
  // not online or if there is no two-pass plan.
  double over_two_pass = 0.0;
};

// A method that could not be evaluated on a workload.
struct LeftOut {
  std::size_t workload = 0;
  std::string method;
  std::string reason;
};

struct EvaluationRequest {
  std::vector<const MethodEntry*> methods;
  sampling::SamplingOptions options;
  std::vector<double> error_bounds;  // one row per bound
  std::uint64_t runs = 100;
  bool online = false;
  std::optional<std::uint64_t> lag;  // online; default: session::DefaultLag of the workload
  // online: the method of the two-pass plan to compare with; nullptr: no comparison.
  const MethodEntry* two_pass = nullptr;
  const BasicBlockVectors* vectors = nullptr;
  // Called before each evaluation on a workload with the method, the number done and the total
  // number.
  std::function<void(const char* method, std::size_t done, std::size_t all)> watch;
};

struct Evaluation {
  model::OptionList options;  // all effective options
  double confidence = 0.95;
  std::vector<EvaluatedWorkload> workloads;
  std::vector<EvaluationRow> rows;  // by workload, then bound, then method
  std::vector<LeftOut> left_out;
};

// Returns the description of a workload for the reports.
EvaluatedWorkload Describe(const EvaluatedRun& workload);

// Runs all requested evaluations on `workload` and appends the results.
void AddWorkload(const EvaluatedRun& workload, const EvaluationRequest& request, WorkerPool& pool,
                 Evaluation& evaluation);

}  // namespace stemtap::research
