// SPDX-License-Identifier: Apache-2.0
//
// Evaluation is all that `stemtap evaluate` found: one row per workload, method and error bound,
// and what was left out and why. The reports (report.h) print it; nothing is computed in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/plan.h"
#include "research/evaluation/evaluate_method.h"
#include "research/evaluation/evaluate_online.h"

namespace stemtap {

struct EvaluatedWorkload {
  std::string name;
  std::uint64_t launches = 0;
  std::uint64_t kernels = 0;
  std::uint64_t total_ns = 0;
  double speedup_limit = 0.0;
  ExcludedTotals excluded;
  std::string against_name;  // empty: none
  std::uint64_t against_total_ns = 0;
};

struct EvaluationRow {
  std::size_t workload = 0;  // into Evaluation::workloads
  std::string method;
  double error_bound = 0.0;  // asked for
  bool online = false;
  MethodEvaluation evaluation;
  // online: captured time over that of the two-pass plan by the same options; NaN: not online, or
  // the two-pass plan was not to be had.
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
  SamplingOptions options;
  std::vector<double> error_bounds;  // one row per bound
  std::uint64_t runs = 100;
  bool online = false;
  std::uint64_t lag = 0;                  // online
  const MethodEntry* two_pass = nullptr;  // online: the plan it is measured by; none: not measured
  const BasicBlockVectors* vectors = nullptr;
  // Told before each evaluation of a workload: of which method, and how many of how many are done.
  std::function<void(const char* method, std::size_t done, std::size_t all)> watch;
};

struct Evaluation {
  OptionList options;  // every option in force
  double confidence = 0.95;
  std::vector<EvaluatedWorkload> workloads;
  std::vector<EvaluationRow> rows;  // by workload, then bound, then method
  std::vector<LeftOut> left_out;
};

// What the reports say of a workload itself.
EvaluatedWorkload Describe(const EvaluatedRun& workload);

// Evaluates all that is asked for on `workload` and appends it.
void AddWorkload(const EvaluatedRun& workload, const EvaluationRequest& request, WorkerPool& pool,
                 Evaluation& evaluation);

}  // namespace stemtap
