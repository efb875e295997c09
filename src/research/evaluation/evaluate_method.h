// SPDX-License-Identifier: Apache-2.0
//
// Evaluating one method on one workload: prepared once, drawn once per seed, judged against the
// truth.
//
//   plain        the weights of the method itself
//   calibrated   those, times (cluster's time) / (plain estimate of the cluster's time), from the run
//                that was sampled: each sampled cluster's own time comes out exactly
//
// Draws run in parallel and are judged on their own; what is reported is added up in order of seed,
// so that it does not depend on the number of threads.
// SOURCE: docs/evaluation.md; Deville & Saerndal 1992 (calibrated).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/worker_pool.h"
#include "research/baselines/method.h"
#include "research/evaluation/evaluated_run.h"
#include "research/evaluation/run_statistics.h"

namespace stemtap {

struct MethodEvaluation {
  std::vector<RunOutcome> runs;  // by seed; one alone when the method is deterministic
  RunStatistics statistics;
  bool deterministic = false;
  double prepare_s = 0.0;
  double draw_s = 0.0;  // mean over the runs
};

// PreparedWorkload is a method on a workload, ready to draw.
class PreparedWorkload {
 public:
  // An error names the input that the method lacks. `workload`, `options` and `vectors` must
  // outlive the object.
  static Result<PreparedWorkload> Create(const EvaluatedRun& workload, const MethodEntry& method,
                                         const SamplingOptions& options,
                                         const BasicBlockVectors* vectors);

  bool deterministic() const { return prepared_->deterministic(); }
  double prepare_s() const { return prepare_s_; }

  // THREADS: may run concurrently.
  RunOutcome Draw(std::uint64_t seed) const;

 private:
  PreparedWorkload(const EvaluatedRun& workload, std::unique_ptr<PreparedMethod> prepared,
                   double prepare_s);

  const EvaluatedRun* workload_;
  std::unique_ptr<PreparedMethod> prepared_;
  double prepare_s_;
  std::vector<double> cluster_ns_;  // time of each cluster on the run sampled
};

// `runs` draws, with seeds options.seed, options.seed + 1, ...; one if the method is deterministic.
// REQUIRES: runs > 0.
Result<MethodEvaluation> EvaluateMethod(const EvaluatedRun& workload, const MethodEntry& method,
                                        const SamplingOptions& options,
                                        const BasicBlockVectors* vectors, std::uint64_t runs,
                                        WorkerPool& pool);

}  // namespace stemtap
