// SPDX-License-Identifier: Apache-2.0
//
// Plan is the result of sampling: the samples that represent all launches, their weights and the
// error bound. plan.json is its file format; all fields are described in docs/formats/plan.md.
//
// UNITS: durations are in ns; fractions and bounds are ratios.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/kernel_id.h"
#include "shm/context_key.h"
#include "shm/record.h"
#include "stats/moments.h"

namespace stemtap::model {

// The value of PlanSample::pooled for a sample of a kernel that is not pooled.
inline constexpr std::uint32_t kNotPooled = ~std::uint32_t{0};

struct PlanSample {
  std::uint64_t index = 0;       // 0-based launch index in the profile or live run
  std::uint64_t occurrence = 0;  // 0-based index among the launches of this kernel
  shm::KernelRecord record;      // name_id is not used
  double weight = 0.0;           // the weight in force
  bool imputed = false;  // a perturbed launch: duration_ns is its context's mean, not as recorded
  // What the program reported about the launch (stemtap/control.h).
  std::string range = {};             // names of the open ranges, joined by '/'; empty: none
  std::uint64_t step = shm::kNoStep;  // 0-based
  std::uint32_t pooled = kNotPooled;  // index of the launch's kernel in PlanKernel::pooled
};

struct PlanCluster {
  std::uint64_t lower_ns = 0;  // durations in [lower_ns, upper_ns]
  std::uint64_t upper_ns = 0;
  std::uint64_t count = 0;
  double mean_ns = 0.0;
  double stddev_ns = 0.0;  // population standard deviation
  std::uint64_t target = 0;
  std::uint64_t captured = 0;
  std::vector<PlanSample> samples;  // in launch order
  // Moments of the durations of the launches that samples were drawn from, ascending, in the detail
  // that the bound needs. Not in plan.json (plan_cells.h).
  std::vector<stats::Moments> cells;
  // Number of independent samples with the information of these, if launches that follow each other
  // have similar durations (docs/math/bursts.md); 0: all are independent.
  std::uint64_t independent = 0;
  // Numbers of launches, included in `count`, that no sample was drawn from: launches with other
  // durations (joined), and launches in other periods of the run. The estimate uses the mean of the
  // drawn launches for them, so it differs from the time of the cluster by joined_bias_ns:
  // (joined + other_periods) x mean of the drawn launches - their time.
  std::uint64_t joined = 0;
  double joined_bias_ns = 0.0;
  std::uint64_t other_periods = 0;
  double other_periods_ns = 0.0;  // time of these launches
  // Mean launch index of the cluster, weighted by duration; NaN if samples are equally likely to be
  // any of its launches. The samples of a cluster with periods are later in the run on average, or
  // earlier.
  double mean_index = std::numeric_limits<double>::quiet_NaN();
};

// Returns the number of launches that samples were drawn from.
std::uint64_t DrawnCount(const PlanCluster& cluster);

// Returns the mean duration of the launches that samples were drawn from. ns.
double DrawnMean(const PlanCluster& cluster);

// Returns the time of the joined launches. ns.
double JoinedTime(const PlanCluster& cluster);

// The name of the entry of `kernels` that contains all pooled kernels.
inline constexpr const char* kPoolName = "(pooled kernels)";

// PooledKernel is a small kernel that shares clusters with others (--pool-small).
struct PooledKernel : KernelId {
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
};

// PlanKernel is a kernel that shares its clusters with no other, or the pool of all small kernels.
struct PlanKernel : KernelId {
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
  std::vector<PlanCluster> clusters = {};  // ascending
  // Has no samples because --max-uncovered allows it, and its samples would cost more than its
  // uncovered time.
  bool uncovered_by_choice = false;
  // In files, the short name (brief_name.h) if it differs from the name. Set when it is written.
  std::string short_name = {};
  // If this is the pool: the kernels that share its clusters, in order of first launch.
  std::vector<PooledKernel> pooled = {};
};

// Returns the name of the kernel that `sample`, a sample of `kernel`, is a launch of. REQUIRES: the
// plan passed CheckPlan.
const std::string& KernelNameOf(const PlanKernel& kernel, const PlanSample& sample);

struct PlanTotals {
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t kernels = 0;
  std::uint64_t clusters = 0;
  std::uint64_t samples = 0;
  std::uint64_t sampled_duration_ns = 0;
  std::uint64_t spread_samples = 0;     // of `samples`: show the spread of metrics other than time
  double speedup = 0.0;                 // duration / sampled duration; 0 if nothing was sampled
  double bound = 0.0;                   // the stated bound, see StateBound; NaN if there is none
  double certified_bound = 0.0;         // at the stated confidence: sampling, bias, uncovered time
  double observed_error = 0.0;          // of the plain estimate; NaN if unknown (imputed launches)
  double plain_estimate_ns = 0.0;       // of duration_ns, with plain weights
  double calibrated_estimate_ns = 0.0;  // ... with calibrated weights; lacks only uncovered time
  double uncovered_fraction = 0.0;      // time of clusters without a sample
  double joined_fraction = 0.0;         // time of joined launches, in clusters with samples
  std::uint64_t dropped = 0;            // lost records, see session.json
  std::uint64_t gaps = 0;               // losses of unknown size, see shm::Loss
  std::uint64_t zero_duration = 0;      // launches recorded with 0 ns
  std::uint64_t graph_launches = 0;     // launches of whole graphs, including excluded ones
  // Launches that --exclude left out. Of the fields above, only graph_launches includes them.
  std::uint64_t excluded_invocations = 0;
  std::uint64_t excluded_duration_ns = 0;
  // Perturbed launches: captured launches and launches concurrent with a capture. They are imputed
  // with their context's mean, or use the recorded duration if no launch of the kernel ran
  // natively.
  std::uint64_t imputed = 0;
  std::uint64_t imputed_duration_ns = 0;
  std::uint64_t native_unknown = 0;  // imputed launches that use the recorded duration
  // Launches that were counted while recording was paused, and not observed. In no field above.
  std::uint64_t unobserved_launches = 0;
  // Times in which recording was off, with an unknown number of launches.
  std::uint64_t unobserved_intervals = 0;

  // Returns the number of launches that were numbered; dropped ones have no number.
  std::uint64_t numbered() const {
    return invocations + excluded_invocations + unobserved_launches;
  }
};

// PlanRange is the launches of one range, if the plan groups them by range.
struct PlanRange {
  std::string range;  // as in KernelId; empty: outside of all ranges
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t samples = 0;
  std::uint64_t sampled_duration_ns = 0;
  double plain_estimate_ns = 0.0;
  // As in PlanTotals, of the time of the range.
  double bound = 0.0;
  double certified_bound = 0.0;
  double observed_error = 0.0;
};

// Sets `totals.bound`, the stated bound: the certified bound, or the observed error if it is known
// and larger.
void StateBound(PlanTotals& totals);

// Returns whether `error`, an observed error or a stated bound, exceeds the certified bound by more
// than rounding. The stated bound is then the observed error.
bool ExceedsCertifiedBound(double error, double certified_bound);

// PlanSession is one of the sessions that were merged into a plan. Launches and devices are
// renumbered to follow the launches and devices of the previous session.
struct PlanSession {
  std::string id;  // content hash; copies of a session have the same id
  std::string folder;
  std::string host;
  std::string source;
  std::uint64_t first_index = 0;  // in the merged plan
  std::uint64_t launches = 0;     // including excluded launches
  // Device numbers in the session, ascending. The n-th is first_device + n in the merged plan.
  std::vector<std::uint16_t> devices;
  std::uint16_t first_device = 0;
  std::uint64_t duration_ns = 0;
  double bound = 0.0;            // as in PlanTotals, for this session
  double certified_bound = 0.0;  // as in PlanTotals, for this session
};

using OptionValue = std::variant<std::string, double, std::uint64_t>;
using OptionList = std::vector<std::pair<std::string, OptionValue>>;

// Returns the value of an option as text; "" if the list lacks it.
std::string OptionText(const OptionList& options, std::string_view name);

// Returns the value of an option that is a number; NaN if the list lacks it.
double OptionNumber(const OptionList& options, std::string_view name);

struct Plan {
  std::string source;
  OptionList options;                 // all options in force
  std::vector<PlanSession> sessions;  // empty if the plan is not merged
  PlanTotals totals;
  std::vector<PlanRange> ranges;    // by time, descending; empty if not grouped by range
  std::vector<PlanKernel> kernels;  // in order of first launch
};

// Returns whether the plan is of a live session, which has no profile: `source` is a command.
bool IsOfLiveSession(const Plan& plan);

// Returns whether the plan has a pool. Commands that need the clusters of each kernel fail with
// kHasPool.
bool HasPool(const Plan& plan);
inline constexpr const char* kHasPool =
    "has kernels that share clusters; expected a plan without --pool-small";

// Returns whether a sample has a range. Without one, commands that print ranges fail with
// kNoRanges.
bool HasRanges(const Plan& plan);
inline constexpr const char* kNoRanges =
    "has no sample with a range; expected a run of a program that marks ranges, at level gate";

// Returns the content of plan.json: one line per sample, with a newline at the end. Equal plans
// give equal bytes.
std::string PlanToJson(const Plan& plan);

struct SimulatorRates {
  // MB of traces per ms of GPU time. A hundred multiprocessors that issue a warp instruction every
  // other cycle at 1.5 GHz execute 75 million of them per ms, and a compressed trace takes 10 to 20
  // bytes for each.
  double trace_mb_per_ms = 1000.0;
  // Simulated time / GPU time: a simulator executes some 10,000 to 100,000 warp instructions per
  // second.
  double slowdown = 1e6;
};

// PlanCost estimates how large the traces of a plan's samples are and how long a simulator needs
// for them. Both are in proportion to the GPU time of the samples and are only orders of magnitude:
// a kernel that waits for memory issues fewer instructions per ns than one that computes.
struct PlanCost {
  double trace_mb = 0.0;
  double simulation_s = 0.0;
};

// Returns the cost of launches that take `duration_ns` in total.
PlanCost CostOf(double duration_ns, const SimulatorRates& rates);

// Returns one line, without its end: the cost of the samples and of all launches, and the rates.
std::string CostText(const PlanTotals& totals, const SimulatorRates& rates);

}  // namespace stemtap::model
