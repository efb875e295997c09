// SPDX-License-Identifier: Apache-2.0
#include "model/plan_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "model/json_text.h"
#include "model/kernel_id.h"
#include "model/run_time.h"

namespace stemtap::model {
namespace {

// Relative tolerance: the writer added 64-bit durations as doubles in a different order.
constexpr double kRounding = 1e-6;
// Maximum weight in a run within the limit of RunTime.
constexpr double kMaxWeight = 0x1p63;

bool Near(double a, double b) {
  return std::fabs(a - b) <= kRounding * std::max(std::fabs(a), std::fabs(b));
}

// Counter is a sum that detects overflow: `fits` stays false after the first one.
struct Counter {
  std::uint64_t sum = 0;
  bool fits = true;
  void Add(std::uint64_t more) { fits = !__builtin_add_overflow(sum, more, &sum) && fits; }
};

// Check validates a plan and keeps the first inconsistency in `wrong_`. MEMBERS: one sum for each
// total that it compares.
class Check {
 public:
  explicit Check(const Plan& plan) : plan_(plan) {}

  std::string Run() {
    const PlanTotals& t = plan_.totals;
    Counter launches;
    for (const std::uint64_t part :
         {t.invocations, t.excluded_invocations, t.dropped, t.unobserved_launches}) {
      launches.Add(part);
    }
    Expect(launches.fits, "totals.invocations", t.invocations,
           "a sum with excluded, dropped and unobserved launches that fits 64 bits");
    launches_ = launches.sum;
    for (std::size_t k = 0; k < plan_.kernels.size() && wrong_.empty(); ++k) {
      Kernel(plan_.kernels[k], fmt::format("kernels[{}]", k));
    }
    if (wrong_.empty()) Totals();
    if (wrong_.empty()) Ranges();
    if (wrong_.empty()) Sessions();
    return wrong_;
  }

 private:
  template <typename Value>
  bool Expect(bool holds, std::string_view path, const Value& value, std::string_view expected) {
    if (!holds && wrong_.empty()) {
      wrong_ = fmt::format("{}: is {}; expected {}", path, JsonValue(value), expected);
    }
    return holds;
  }
  // Expects that `value` equals the sum `counted`.
  void ExpectCount(const Counter& counted, std::uint64_t value, std::string_view path,
                   std::string_view of) {
    if (!counted.fits) {
      Expect(false, path, value, fmt::format("a sum of {} that fits 64 bits", of));
    } else {
      Expect(counted.sum == value, path, value, fmt::format("{}, the sum of {}", counted.sum, of));
    }
  }
  void ExpectReal(double value, std::string_view path) {
    Expect(std::isfinite(value) && value >= 0.0, path, value, "a number of at least 0");
  }

  void Sample(const PlanSample& sample, const PlanSample* before, const std::string& path,
              std::size_t i) {
    const auto at = [&](const char* field) {
      return fmt::format("{}.samples[{}].{}", path, i, field);
    };
    // Build paths only on failure: a plan can contain millions of samples.
    if (sample.index >= launches_) {
      Expect(false, at("index"), sample.index, fmt::format("an index below {}", launches_));
    }
    if (!indices_.insert(sample.index).second) {
      Expect(false, at("index"), sample.index, "a different launch for each sample");
    }
    if (before != nullptr && sample.index < before->index) {
      Expect(false, at("index"), sample.index, "samples in launch order");
    }
    if (sample.occurrence > sample.index) {
      Expect(false, at("occurrence"), sample.occurrence,
             fmt::format("at most the index, {}", sample.index));
    }
    if (!(sample.weight >= 0.0 && sample.weight <= kMaxWeight)) {
      Expect(false, at("weight"), sample.weight, "a number from 0 to 2^63");
    }
    sampled_ns_.Add(sample.record.duration_ns);
    estimate_ns_ += sample.weight * static_cast<double>(sample.record.duration_ns);
  }

  void Joined(const PlanCluster& c, const std::string& path) {
    if (!std::isnan(c.mean_index)) {
      Expect(c.mean_index >= 0.0 && c.mean_index < static_cast<double>(launches_),
             path + ".mean_index", c.mean_index, fmt::format("an index below {}", launches_));
    }
    if (c.other_periods == 0) {
      Expect(c.other_periods_ns == 0.0, path + ".other_periods_ns", c.other_periods_ns,
             "0, because other_periods is 0");
    }
    if (c.joined == 0 && c.other_periods == 0) {
      Expect(c.joined_bias_ns == 0.0, path + ".joined_bias_ns", c.joined_bias_ns,
             "0, because the samples represent no other launches");
      return;
    }
    Expect(c.joined < c.count, path + ".joined", c.joined,
           fmt::format("less than count, {}", c.count));
    Expect(c.other_periods < c.count - std::min(c.joined, c.count), path + ".other_periods",
           c.other_periods, fmt::format("less than count - joined, {}", c.count - c.joined));
    Expect(c.captured > 0, path + ".captured", c.captured,
           "at least 1, because launches without a sample are represented");
    const double slack = kRounding * c.mean_ns;
    Expect(c.other_periods_ns >= 0.0 &&
               c.other_periods_ns <= (c.mean_ns + slack) * static_cast<double>(c.count),
           path + ".other_periods_ns", c.other_periods_ns, "a part of the cluster's time");
    Expect(DrawnMean(c) >= -slack && JoinedTime(c) >= -slack * static_cast<double>(c.count),
           path + ".joined_bias_ns", c.joined_bias_ns,
           fmt::format("a difference that {} launches with a mean of {} ns can have", c.count,
                       c.mean_ns));
    joined_ns_ += JoinedTime(c);
  }

  void Cluster(const PlanCluster& c, const std::string& path) {
    Expect(c.upper_ns >= c.lower_ns, path + ".upper_ns", c.upper_ns,
           fmt::format("at least lower_ns, {}", c.lower_ns));
    // The tolerance of 1 ns: edges are integers, and means of imputed launches are rounded to find
    // their bin.
    Expect(c.mean_ns >= static_cast<double>(c.lower_ns) * (1 - kRounding) - 1 &&
               c.mean_ns <= static_cast<double>(c.upper_ns) * (1 + kRounding) + 1,
           path + ".mean_ns", c.mean_ns,
           fmt::format("a number from lower_ns to upper_ns, {} to {}", c.lower_ns, c.upper_ns));
    Expect(c.stddev_ns >= 0.0 && c.stddev_ns <= static_cast<double>(RunTime::kMaxNs),
           path + ".stddev_ns", c.stddev_ns, "a number from 0 to 2^63");
    Expect(c.count > 0, path + ".count", c.count, "at least 1");
    Expect(c.captured == c.samples.size(), path + ".captured", c.captured,
           fmt::format("{}, the number of samples", c.samples.size()));
    Expect(c.captured <= c.count, path + ".captured", c.captured,
           fmt::format("at most count, {}", c.count));
    Expect(c.independent <= c.captured, path + ".independent", c.independent,
           fmt::format("at most captured, {}", c.captured));
    Joined(c, path);
    for (std::size_t i = 0; i < c.samples.size() && wrong_.empty(); ++i) {
      Sample(c.samples[i], i == 0 ? nullptr : &c.samples[i - 1], path, i);
    }
  }

  // Checks the list of pooled kernels, and that samples refer to it.
  void Pool(const PlanKernel& kernel, const std::string& path) {
    Counter invocations;
    Counter duration_ns;
    for (std::size_t i = 0; i < kernel.pooled.size(); ++i) {
      const PooledKernel& pooled = kernel.pooled[i];
      Expect(listed_.Add(pooled, false), fmt::format("{}.pooled[{}]", path, i), "listed twice",
             "each kernel once");
      invocations.Add(pooled.invocations);
      duration_ns.Add(pooled.duration_ns);
    }
    if (!kernel.pooled.empty()) {
      ExpectCount(invocations, kernel.invocations, path + ".invocations", "its pooled kernels");
      ExpectCount(duration_ns, kernel.duration_ns, path + ".duration_ns", "its pooled kernels");
    }
    for (std::size_t c = 0; c < kernel.clusters.size() && wrong_.empty(); ++c) {
      const std::vector<PlanSample>& samples = kernel.clusters[c].samples;
      for (std::size_t i = 0; i < samples.size() && wrong_.empty(); ++i) {
        const std::uint32_t pooled = samples[i].pooled;
        if (kernel.pooled.empty() ? pooled == kNotPooled : pooled < kernel.pooled.size()) continue;
        const std::string at = fmt::format("{}.clusters[{}].samples[{}].pooled", path, c, i);
        if (kernel.pooled.empty()) {
          Expect(false, at, pooled,
                 "no such field, because the kernel has no list of pooled kernels");
        } else if (pooled == kNotPooled) {
          Expect(false, at, "absent", "an index of the list of pooled kernels");
        } else {
          Expect(false, at, pooled, fmt::format("an index below {}", kernel.pooled.size()));
        }
      }
    }
    kernels_ += std::max<std::size_t>(kernel.pooled.size(), 1);
  }

  void Kernel(const PlanKernel& kernel, const std::string& path) {
    const bool merged = plan_.sessions.size() > 1;
    Expect(listed_.Add(kernel, merged), path, "listed twice", "each kernel once");
    Counter count;
    double time_ns = 0.0;
    for (std::size_t c = 0; c < kernel.clusters.size() && wrong_.empty(); ++c) {
      const PlanCluster& cluster = kernel.clusters[c];
      Cluster(cluster, fmt::format("{}.clusters[{}]", path, c));
      count.Add(cluster.count);
      samples_ += cluster.samples.size();
      time_ns += static_cast<double>(cluster.count) * cluster.mean_ns;
    }
    clusters_ += kernel.clusters.size();
    Pool(kernel, path);
    const auto is_sampled = [](const PlanCluster& c) { return c.captured > 0; };
    Expect(!kernel.uncovered_by_choice ||
               std::none_of(kernel.clusters.begin(), kernel.clusters.end(), is_sampled),
           path + ".uncovered_by_choice", kernel.uncovered_by_choice,
           "false, because the kernel has samples");
    ExpectCount(count, kernel.invocations, path + ".invocations", "the counts of its clusters");
    Expect(kernel.duration_ns <= RunTime::kMaxNs, path + ".duration_ns", kernel.duration_ns,
           "at most 2^63 - 1");
    // A plan that was transferred to another run may contain cluster times of the original run;
    // such a plan has no bound. Each imputed duration is rounded.
    const double rounded =
        plan_.totals.imputed == 0 ? 0.0 : static_cast<double>(kernel.invocations);
    const auto duration = static_cast<double>(kernel.duration_ns);
    if (!std::isnan(plan_.totals.bound)) {
      Expect(Near(time_ns, duration) || std::fabs(time_ns - duration) <= rounded,
             path + ".duration_ns", kernel.duration_ns,
             fmt::format("{}, the time of its clusters", time_ns));
    }
    invocations_.Add(kernel.invocations);
    duration_ns_.Add(kernel.duration_ns);
  }

  void Totals() {
    const PlanTotals& t = plan_.totals;
    ExpectCount(invocations_, t.invocations, "totals.invocations", "the kernels' values");
    ExpectCount(duration_ns_, t.duration_ns, "totals.duration_ns", "the kernels' values");
    Expect(t.spread_samples <= t.samples, "totals.spread_samples", t.spread_samples,
           fmt::format("at most samples, {}", t.samples));
    ExpectCount(sampled_ns_, t.sampled_duration_ns, "totals.sampled_duration_ns",
                "the samples' durations");
    const std::tuple<const char*, std::uint64_t, std::uint64_t> sizes[] = {
        {"kernels", t.kernels, kernels_},
        {"clusters", t.clusters, clusters_},
        {"samples", t.samples, samples_}};
    for (const auto& [name, value, listed] : sizes) {
      Expect(value == listed, fmt::format("totals.{}", name), value,
             fmt::format("{}, the number of {} in the plan", listed, name));
    }
    for (const auto& [path, value] : {std::pair("totals.zero_duration", t.zero_duration),
                                      std::pair("totals.imputed", t.imputed)}) {
      Expect(value <= t.invocations, path, value,
             fmt::format("at most invocations, {}", t.invocations));
    }
    Expect(t.native_unknown <= t.imputed, "totals.native_unknown", t.native_unknown,
           fmt::format("at most imputed, {}", t.imputed));
    Expect(t.imputed_duration_ns <= t.duration_ns, "totals.imputed_duration_ns",
           t.imputed_duration_ns, fmt::format("at most duration_ns, {}", t.duration_ns));
    Expect(t.excluded_duration_ns <= RunTime::kMaxNs, "totals.excluded_duration_ns",
           t.excluded_duration_ns, "at most 2^63 - 1");
    Estimates();
  }

  // A plan that groups launches by range lists every range once, with the sums of its kernels.
  void Ranges() {
    if (plan_.ranges.empty()) {
      for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
        Expect(plan_.kernels[k].range.empty(), fmt::format("kernels[{}].range", k),
               plan_.kernels[k].range, "a range that the plan lists in 'ranges'");
      }
      return;
    }
    struct Sums {
      Counter invocations;
      Counter duration_ns;
    };
    std::unordered_map<std::string_view, Sums> sums;
    for (const PlanKernel& kernel : plan_.kernels) {
      sums[kernel.range].invocations.Add(kernel.invocations);
      sums[kernel.range].duration_ns.Add(kernel.duration_ns);
    }
    std::unordered_set<std::string_view> listed;
    for (std::size_t i = 0; i < plan_.ranges.size() && wrong_.empty(); ++i) {
      const PlanRange& range = plan_.ranges[i];
      const std::string path = fmt::format("ranges[{}]", i);
      Expect(listed.insert(range.range).second, path + ".range", "listed twice", "each range once");
      ExpectCount(sums[range.range].invocations, range.invocations, path + ".invocations",
                  "the kernels' values");
      ExpectCount(sums[range.range].duration_ns, range.duration_ns, path + ".duration_ns",
                  "the kernels' values");
      if (!std::isnan(range.bound)) ExpectReal(range.bound, path + ".bound");
      if (!std::isnan(range.certified_bound)) {
        ExpectReal(range.certified_bound, path + ".certified_bound");
      }
    }
    Expect(listed.size() == sums.size(), "ranges", fmt::format("{} ranges", listed.size()),
           fmt::format("{}, the ranges of the kernels", sums.size()));
  }

  void Estimates() {
    const PlanTotals& t = plan_.totals;
    const auto total = static_cast<double>(t.duration_ns);
    ExpectReal(t.plain_estimate_ns, "totals.plain_estimate_ns");
    if (!std::isnan(t.calibrated_estimate_ns)) {
      ExpectReal(t.calibrated_estimate_ns, "totals.calibrated_estimate_ns");
    }
    Expect(t.uncovered_fraction >= 0.0 && t.uncovered_fraction <= 1.0 + kRounding,
           "totals.uncovered_fraction", t.uncovered_fraction, "a number from 0 to 1");
    const double speedup =
        t.sampled_duration_ns == 0 ? 0.0 : total / static_cast<double>(t.sampled_duration_ns);
    Expect(Near(t.speedup, speedup), "totals.speedup", t.speedup,
           fmt::format("{}, duration_ns / sampled_duration_ns", speedup));
    Expect(Near(estimate_ns_, t.calibrated_estimate_ns) || Near(estimate_ns_, t.plain_estimate_ns),
           "totals.plain_estimate_ns", t.plain_estimate_ns,
           fmt::format("this or the calibrated estimate ({}) to equal the sum of weight x "
                       "duration_ns, {}",
                       t.calibrated_estimate_ns, estimate_ns_));
    ObservedError();
    Bounds();
    JoinedFraction();
  }

  void ObservedError() {
    const PlanTotals& t = plan_.totals;
    if (std::isnan(t.observed_error)) return;
    const auto total = static_cast<double>(t.duration_ns);
    const double error = total > 0.0 ? std::fabs(t.plain_estimate_ns - total) / total : 0.0;
    Expect(std::fabs(t.observed_error - error) <= kRounding * (1.0 + error),
           "totals.observed_error", t.observed_error,
           fmt::format("{}, the error of the plain estimate", error));
  }

  void Bounds() {
    const PlanTotals& t = plan_.totals;
    if (std::isnan(t.bound)) {
      Expect(std::isnan(t.certified_bound), "totals.certified_bound", t.certified_bound,
             "null, because bound is null");
      return;
    }
    ExpectReal(t.bound, "totals.bound");
    ExpectReal(t.certified_bound, "totals.certified_bound");
    Expect(t.certified_bound <= t.bound * (1 + kRounding), "totals.certified_bound",
           t.certified_bound, fmt::format("at most bound, {}", t.bound));
    // In a merged plan without a known error, the bound follows from the bounds of the sessions.
    if (std::isnan(t.observed_error) && plan_.sessions.size() > 1) return;
    PlanTotals stated = t;
    StateBound(stated);
    Expect(std::fabs(t.bound - stated.bound) <= kRounding * (1.0 + stated.bound), "totals.bound",
           t.bound,
           fmt::format("{}, the larger of certified_bound and observed_error", stated.bound));
  }

  void JoinedFraction() {
    const PlanTotals& t = plan_.totals;
    Expect(t.joined_fraction >= 0.0 && t.joined_fraction <= 1.0 + kRounding,
           "totals.joined_fraction", t.joined_fraction, "a number from 0 to 1");
    // In a transferred plan, which has no bound, this is the share in the original run.
    if (std::isnan(t.bound)) return;
    const double total = std::max(static_cast<double>(t.duration_ns), 1.0);
    const double rounded = t.imputed == 0 ? 0.0 : static_cast<double>(t.invocations) / total;
    Expect(std::fabs(t.joined_fraction - joined_ns_ / total) <= kRounding + rounded,
           "totals.joined_fraction", t.joined_fraction,
           fmt::format("{}, the share of the joined launches", joined_ns_ / total));
  }

  void Sessions() {
    if (plan_.sessions.empty()) return;
    Counter launches;
    Counter duration_ns;
    std::uint64_t devices = 0;
    std::unordered_set<std::string> ids;
    for (std::size_t i = 0; i < plan_.sessions.size() && wrong_.empty(); ++i) {
      const PlanSession& session = plan_.sessions[i];
      const std::string path = fmt::format("sessions[{}]", i);
      Expect(ids.insert(session.id).second, path + ".id", "listed twice", "each session once");
      Expect(session.first_index == launches.sum, path + ".first_index", session.first_index,
             fmt::format("{}, the number of launches in the sessions before", launches.sum));
      Expect(session.first_device == devices, path + ".first_device", session.first_device,
             fmt::format("{}, the number of devices in the sessions before", devices));
      const std::vector<std::uint16_t>& numbers = session.devices;
      Expect(std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) ==
                     numbers.end() &&
                 (numbers.empty() || numbers.back() < shm::kUnknown16),
             path + ".devices", fmt::format("[{}]", fmt::join(numbers, ", ")),
             "ascending device numbers");
      if (!std::isnan(session.bound)) {
        ExpectReal(session.bound, path + ".bound");
        Expect(session.certified_bound >= 0.0 &&
                   session.certified_bound <= session.bound * (1 + kRounding),
               path + ".certified_bound", session.certified_bound,
               fmt::format("a number from 0 to bound, {}", session.bound));
      }
      launches.Add(session.launches);
      duration_ns.Add(session.duration_ns);
      devices += session.devices.size();
    }
    const PlanTotals& t = plan_.totals;
    const std::uint64_t counted = t.numbered();
    Expect(launches.fits && launches.sum == counted, "sessions",
           fmt::format("{} launches in total", launches.sum),
           fmt::format("{}, as in totals", counted));
    Expect(duration_ns.fits && duration_ns.sum == t.duration_ns, "sessions",
           fmt::format("{} ns in total", duration_ns.sum),
           fmt::format("{}, as in totals", t.duration_ns));
  }

  const Plan& plan_;
  std::string wrong_;
  std::uint64_t launches_ = 0;  // launch indices are below this number
  Counter invocations_;
  Counter duration_ns_;
  Counter sampled_ns_;
  std::uint64_t kernels_ = 0;
  std::uint64_t clusters_ = 0;
  std::uint64_t samples_ = 0;
  double estimate_ns_ = 0.0;  // estimate of duration_ns with the weights in force
  double joined_ns_ = 0.0;    // time of joined launches
  ListedKernels listed_;
  std::unordered_set<std::uint64_t> indices_;
};

}  // namespace

std::string CheckPlan(const Plan& plan) {
  return Check(plan).Run();
}

}  // namespace stemtap::model
