// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the online sampler like any method: the workload is replayed once per seed through the
// engine used for live recording, and the resulting plan is compared to the recorded total. The
// sampled time includes all captures, even captures that the estimate does not use.
//
// The engine behaves as in a live run, including exclusion and grouping; it receives the durations
// of the sampled run, delayed by `lag` launches.
// SOURCE: docs/math/online.md, docs/evaluation.md.
#pragma once

#include <cstdint>

#include "research/evaluation/evaluate_method.h"

namespace stemtap::research {

// Runs `runs` replays with seeds options.seed, options.seed + 1, ... Sampled time, speedup and
// bound refer to the whole online run. REQUIRES: runs > 0.
MethodEvaluation EvaluateOnline(const EvaluatedRun& workload,
                                const sampling::SamplingOptions& options, std::uint64_t lag,
                                std::uint64_t runs, WorkerPool& pool);

}  // namespace stemtap::research
