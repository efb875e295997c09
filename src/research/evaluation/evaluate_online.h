// SPDX-License-Identifier: Apache-2.0
//
// The online sampler, evaluated like any method: the workload is replayed once per seed through the
// engine of live use, and its plan judged against the truth. What it costs is the time of all its
// captures, those left out of the estimate included.
//
// The engine does whatever a live run does, exclusion and grouping included; the durations it sees
// are those of the run sampled, held back by `lag` launches.
// SOURCE: docs/math/online.md, docs/evaluation.md.
#pragma once

#include <cstdint>

#include "research/evaluation/evaluate_method.h"

namespace stemtap {

// `runs` replays with seeds options.seed, options.seed + 1, ... Sampled time, speedup and the bound
// of the outcome are those of the whole run online. REQUIRES: runs > 0.
MethodEvaluation EvaluateOnline(const EvaluatedRun& workload, const SamplingOptions& options,
                                std::uint64_t lag, std::uint64_t runs, WorkerPool& pool);

}  // namespace stemtap
