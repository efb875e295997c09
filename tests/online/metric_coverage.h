// SPDX-License-Identifier: Apache-2.0
//
// Generates a metric for the launches of a stream and compares the intervals of Extrapolate with
// the known total of the metric over the run.
//
// GUARANTEE  The interval covers the total over the run with the stated confidence, except for the
// stated share of time that it does not cover (MetricEstimate: uncovered plus joined). Samples do
// not determine the metric of that time. The check widens the interval by that share, because it
// assumes that the metric per ns of that time is between 0 and twice the estimate for other time.
//
// THREADS: none.  UNITS: ns; shares and errors are ratios.
#pragma once

#include <vector>

#include "analysis/extrapolation/estimate.h"
#include "base/rng.h"
#include "model/plan.h"
#include "online/bound_harness.h"

namespace stemtap::test {

// The correlation of a metric with duration within clusters.
inline constexpr double kMetricCorrelation = 0.5;

// MetricShape is how a metric depends on duration. In both cases, the correlation within a cluster
// is kMetricCorrelation.
enum class MetricShape {
  kProportional,  // duration times an independent lognormal factor
  kLinear,        // a constant part, a part linear in duration, and uniform noise
};

// IntervalOutcome compares one interval with the truth.
struct IntervalOutcome {
  double error = 0.0;           // (estimate - truth) / truth
  double scaled_error = 0.0;    // the same for the estimate / covered share of time
  double relative_width = 0.0;  // half-width / truth
  bool covered = false;         // the truth is in the widened interval
  bool covered_as_is = false;   // the truth is in the interval
  bool covered_scaled = false;  // ... divided by the share of time that is covered
};

struct MetricOutcome {
  IntervalOutcome plain;
  IntervalOutcome calibrated;
  double share_outside = 0.0;  // of time: uncovered plus joined
};

// Returns a value for each launch of `stream`. The mean in a cluster is the mean duration times the
// kernel's factor, which is between 0.1 and 10. REQUIRES: `plan` was created from `stream`.
std::vector<double> DrawMetric(const LaunchStream& stream, const model::Plan& plan,
                               MetricShape shape, Rng& rng);

// Returns the intervals for the total of `values`, computed only from the samples of `plan`.
MetricOutcome ExtrapolateMetric(const model::Plan& plan, const std::vector<double>& values);

}  // namespace stemtap::test
