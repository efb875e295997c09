// SPDX-License-Identifier: Apache-2.0
//
// Plan is the answer: which invocations stand for the rest, with what weight, and how wrong that
// may be. It is what plan.json holds; see docs/formats/plan.md for every field.
//
// UNITS: durations in ns, fractions and bounds as ratios.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "shm/context_key.h"
#include "shm/record.h"
#include "stats/moments.h"

namespace stemtap {

struct PlanSample {
  std::uint64_t index = 0;       // 0-based launch index in the profile or live run
  std::uint64_t occurrence = 0;  // 0-based, among the invocations of this kernel
  shm::KernelRecord record;      // name_id is not used
  double weight = 0.0;           // the one in force
  bool imputed = false;  // captured for real: duration_ns is what its like took, not what it took
};

struct PlanCluster {
  std::uint64_t lower_ns = 0;  // durations in [lower_ns, upper_ns]
  std::uint64_t upper_ns = 0;
  std::uint64_t count = 0;
  double mean_ns = 0.0;
  double stddev_ns = 0.0;  // population
  std::uint64_t target = 0;
  std::uint64_t captured = 0;
  std::vector<PlanSample> samples;  // in launch order
  // Durations of the launches that samples were drawn from, ascending, as far as the bound needs
  // them; not in plan.json (plan_cells.h).
  std::vector<Moments> cells;
  // Launches, out of `count`, that no sample was drawn from. The other launches' mean stands in for
  // theirs, so the estimate of the cluster's time errs by joined_bias_ns: what the other launches'
  // mean makes of their time, less their time.
  std::uint64_t joined = 0;
  double joined_bias_ns = 0.0;
};

// Mean duration of the launches that samples were drawn from: all but the joined ones.
double DrawnMean(const PlanCluster& cluster);

// Time of the joined launches, ns.
double JoinedTime(const PlanCluster& cluster);

struct PlanKernel {
  std::string name;
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
  std::vector<PlanCluster> clusters;  // ascending
  // With --group-by launch: the grid and block that make this kernel; grid 0: not part of it.
  shm::LaunchConfig config = {};
  // With --share-captures off: the process whose kernel it is; 0: of any.
  std::int32_t process = 0;
};

struct PlanTotals {
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t kernels = 0;
  std::uint64_t clusters = 0;
  std::uint64_t samples = 0;
  std::uint64_t sampled_duration_ns = 0;
  double speedup = 0.0;                 // duration / sampled duration; 0 when nothing was sampled
  double bound = 0.0;                   // the stated one, see StateBound; NaN: none can be stated
  double certified_bound = 0.0;         // at the stated confidence: sampling, bias, uncovered time
  double observed_error = 0.0;          // of the plain estimate, known exactly; NaN: imputed
  double plain_estimate_ns = 0.0;       // of duration_ns, with plain weights
  double calibrated_estimate_ns = 0.0;  // ... with calibrated ones: misses the uncovered time alone
  double uncovered_fraction = 0.0;      // time of clusters without a sample
  double joined_fraction = 0.0;         // time of joined launches, in clusters with samples
  std::uint64_t dropped = 0;            // records lost on the way, see session.json
  std::uint64_t gaps = 0;               // losses of unknown size: buffers, another profiler's turn
  std::uint64_t zero_duration = 0;      // invocations recorded with 0 ns
  std::uint64_t graph_launches = 0;     // of whole graphs, those excluded too
  // Of kernels that --exclude left out; no part of the figures above but graph_launches.
  std::uint64_t excluded_invocations = 0;
  std::uint64_t excluded_duration_ns = 0;
  // Launches that a tracer slowed: those captured, and those beside them. They count with the mean
  // of their like; where there is none, with what was recorded.
  std::uint64_t imputed = 0;
  std::uint64_t imputed_duration_ns = 0;
  std::uint64_t native_unknown = 0;  // of these, with what was recorded
};

// Sets `totals.bound`, the bound that the plan states: the certified bound, or the observed error
// where that is known and larger.
void StateBound(PlanTotals& totals);

// Returns whether an error, or the bound that was stated for it, exceeds the certified bound by more
// than rounding. The stated bound is then the observed error.
bool ExceedsCertifiedBound(double error, double certified_bound);

// One of the sessions that a plan was merged of. Its launches follow those of the one before, and its
// devices are numbered anew behind those of it.
struct PlanSession {
  std::string id;  // of what it holds: a copy of it has the same
  std::string folder;
  std::string host;
  std::string source;
  std::uint64_t first_index = 0;  // in the merged plan
  std::uint64_t launches = 0;     // those excluded too
  std::vector<std::uint16_t>
      devices;  // by its own numbers, ascending: the n-th is first_device + n
  std::uint16_t first_device = 0;
  std::uint64_t duration_ns = 0;
  double bound = 0.0;            // its own, as PlanTotals; NaN: none can be stated
  double certified_bound = 0.0;  // its own
};

using OptionValue = std::variant<std::string, double, std::uint64_t>;
using OptionList = std::vector<std::pair<std::string, OptionValue>>;

struct Plan {
  std::string source;
  OptionList options;                 // every option in force
  std::vector<PlanSession> sessions;  // of a merged plan
  PlanTotals totals;
  std::vector<PlanKernel> kernels;  // in order of first launch
};

// plan.json, one line per sample, ending in a newline. The same plan gives the same bytes.
std::string PlanToJson(const Plan& plan);

// A screenful: the answer with both estimates, then the kernels that hold the most time. Kernel
// names are escaped.
std::string PlanSummary(const Plan& plan, std::size_t most_kernels = 12);

}  // namespace stemtap
