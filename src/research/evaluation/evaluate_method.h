// SPDX-License-Identifier: Apache-2.0
//
// Evaluates one method on one workload: the method is prepared once, drawn once per seed, and
// compared to the recorded total.
//
//   plain        the weights of the method itself
//   calibrated   plain weights x (cluster's time) / (plain estimate of the cluster's time), with
//                both from the sampled run: each sampled cluster's own time is estimated exactly
//
// Draws run in parallel and are evaluated independently. Results are summed in order of seed, so
// they do not depend on the number of threads.
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

namespace stemtap::research {

struct MethodEvaluation {
  std::vector<RunOutcome> runs;  // by seed; only one if the method is deterministic
  RunStatistics statistics;
  bool deterministic = false;
  double prepare_s = 0.0;
  double draw_s = 0.0;  // mean over the runs
};

// PreparedWorkload is a method prepared on a workload, ready to draw.
class PreparedWorkload {
 public:
  // An error lists the input that the method lacks. `workload`, `options` and `vectors` must
  // outlive the object.
  static Result<PreparedWorkload> Create(const EvaluatedRun& workload, const MethodEntry& method,
                                         const sampling::SamplingOptions& options,
                                         const BasicBlockVectors* vectors);

  bool deterministic() const { return prepared_->deterministic(); }
  double prepare_s() const { return prepare_s_; }

  // THREADS: may be called concurrently.
  RunOutcome Draw(std::uint64_t seed) const;

 private:
  PreparedWorkload(const EvaluatedRun& workload, std::unique_ptr<PreparedMethod> prepared,
                   double prepare_s);

  const EvaluatedRun* workload_;
  std::unique_ptr<PreparedMethod> prepared_;
  double prepare_s_;
  std::vector<double> cluster_ns_;  // time of each cluster in the sampled run
};

// Draws `runs` samples, with seeds options.seed, options.seed + 1, ...; one if the method is
// deterministic. REQUIRES: runs > 0.
Result<MethodEvaluation> EvaluateMethod(const EvaluatedRun& workload, const MethodEntry& method,
                                        const sampling::SamplingOptions& options,
                                        const BasicBlockVectors* vectors, std::uint64_t runs,
                                        WorkerPool& pool);

}  // namespace stemtap::research
