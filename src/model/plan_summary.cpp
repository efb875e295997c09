// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "base/brief_name.h"
#include "base/text.h"
#include "model/plan.h"

namespace stemtap::model {
namespace {

// Returns the time of the kernels whose samples are exactly their first launches, in ns. Excludes
// kernels with samples of all launches.
double FirstLaunchesTime(const Plan& plan) {
  double time_ns = 0.0;
  for (const PlanKernel& kernel : plan.kernels) {
    std::uint64_t samples = 0;
    std::uint64_t last = 0;
    for (const PlanCluster& cluster : kernel.clusters) {
      samples += cluster.samples.size();
      for (const PlanSample& sample : cluster.samples) last = std::max(last, sample.occurrence);
    }
    const bool first_only = samples > 0 && last < samples && samples < kernel.invocations;
    if (first_only) time_ns += static_cast<double>(kernel.duration_ns);
  }
  return time_ns;
}

// Returns a text such as " at 95 % confidence", or an empty string if the plan has no confidence.
std::string AtConfidence(const Plan& plan) {
  for (const auto& [name, value] : plan.options) {
    const double* confidence = std::get_if<double>(&value);
    if (name == "confidence" && confidence != nullptr) {
      return fmt::format(" at {:g} % confidence", 100 * *confidence);
    }
  }
  return {};
}

// Returns the lines of the summary that explain what the bound covers.
std::string BoundNotes(const Plan& plan) {
  const PlanTotals& t = plan.totals;
  if (std::isnan(t.bound)) return {};
  if (!ExceedsCertifiedBound(t.bound, t.certified_bound)) {
    return fmt::format(
        "the bound covers the sampling error{}, plus the uncovered time and the bias of joined "
        "launches in full\n",
        AtConfidence(plan));
  }
  // In a merged plan, the observed errors of sessions may be known although the error of the plan
  // is unknown.
  if (std::isnan(t.observed_error)) {
    return fmt::format(
        "the observed errors of some sessions exceed their certified bounds, so the bound is "
        "larger than the certified bound, {:.2f} %\n",
        100 * t.certified_bound);
  }
  std::string text = fmt::format(
      "the observed error, {:.2f} %, exceeds the certified bound, {:.2f} %, so the bound is the "
      "observed error\n",
      100 * t.observed_error, 100 * t.certified_bound);
  const double first = FirstLaunchesTime(plan) / static_cast<double>(t.duration_ns);
  if (first > 0.5) {
    text += fmt::format(
        "kernels with {:.2f} % of the time were captured at their first launches only; run longer, "
        "or sample a recording with 'stemtap plan'\n",
        100 * first);
  }
  return text;
}

}  // namespace

std::string PlanSummary(const Plan& plan, std::size_t most_kernels) {
  const PlanTotals& t = plan.totals;
  const auto off = [&](double estimate_ns) {
    const auto total = static_cast<double>(t.duration_ns);
    return total > 0.0 ? 100 * std::fabs(estimate_ns - total) / total : 0.0;
  };
  std::string text = fmt::format(
      "{} invocations of {} kernel{}, {:.3f} ms of GPU time\n"
      "{} samples in {} clusters hold {:.3f} ms: {:.1f}x less to trace\n"
      "{}, uncovered time {:.2f} %{}\n{}"
      "estimates of that time from the sample: plain {:.3f} ms ({}), calibrated {:.3f} ms ({:.2f} "
      "% "
      "off)\n",
      t.invocations, t.kernels, t.kernels == 1 ? "" : "s",
      static_cast<double>(t.duration_ns) * 1e-6, t.samples, t.clusters,
      static_cast<double>(t.sampled_duration_ns) * 1e-6, t.speedup,
      std::isnan(t.bound) ? std::string("no error bound can be stated for this selection")
                          : fmt::format("error bound {:.2f} %", 100 * t.bound),
      100 * t.uncovered_fraction,
      t.joined_fraction > 0.0 ? fmt::format(", joined launches {:.2f} %", 100 * t.joined_fraction)
                              : std::string(),
      BoundNotes(plan), t.plain_estimate_ns * 1e-6,
      std::isnan(t.observed_error) ? std::string("error not known")
                                   : fmt::format("{:.2f} % off", 100 * t.observed_error),
      t.calibrated_estimate_ns * 1e-6, off(t.calibrated_estimate_ns));
  if (t.dropped != 0) {
    text += fmt::format("{} records were dropped: every number above stands on incomplete data\n",
                        t.dropped);
  }
  if (t.gaps != 0) {
    text += fmt::format("{} gaps, whose launches are not known: the run was longer than this\n",
                        t.gaps);
  }
  if (t.zero_duration != 0) {
    text += fmt::format("{} invocations were recorded with 0 ns (a profiler's rounding)\n",
                        t.zero_duration);
  }
  if (t.graph_launches != 0) {
    text += fmt::format("{} launches are of whole graphs, each timed as one\n", t.graph_launches);
  }
  if (t.imputed != 0) {
    text += fmt::format(
        "{} invocations were slowed by the tracer: counted with {:.3f} ms, as their like took "
        "without it\n",
        t.imputed, static_cast<double>(t.imputed_duration_ns) * 1e-6);
  }
  if (t.native_unknown != 0) {
    text += fmt::format(
        "{} of these have no like: counted as recorded under the tracer, however slow that was\n",
        t.native_unknown);
  }
  if (t.excluded_invocations != 0) {
    text +=
        fmt::format("excluded on request: {} invocations with {:.3f} ms, in none of the above\n",
                    t.excluded_invocations, static_cast<double>(t.excluded_duration_ns) * 1e-6);
  }
  std::vector<std::size_t> order(plan.kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return plan.kernels[a].duration_ns > plan.kernels[b].duration_ns;
  });
  text += "\n   time  invocations   mean us  clusters  samples  kernel\n";
  for (std::size_t i = 0; i < std::min(order.size(), most_kernels); ++i) {
    const PlanKernel& k = plan.kernels[order[i]];
    std::size_t samples = 0;
    for (const PlanCluster& c : k.clusters) samples += c.samples.size();
    std::string name = EscapeForTerminal(BriefName(k.name));
    // With --group-by launch, the launch configuration distinguishes rows with the same name.
    const shm::LaunchConfig& launch = k.config;
    if (launch.grid[0] != shm::kUnknownExtent) {
      name = fmt::format("{}x{}x{}/{}x{}x{} {}", launch.grid[0], launch.grid[1], launch.grid[2],
                         launch.block[0], launch.block[1], launch.block[2], name);
    }
    if (k.process != 0) name = fmt::format("{} {}", k.process, name);
    constexpr std::size_t kNameWidth = 60;  // lines have 108 columns in total
    if (name.size() > kNameWidth) {
      std::size_t end = kNameWidth - 3;
      while ((static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // do not split UTF-8
      name = name.substr(0, end) + "...";
    }
    const double share = t.duration_ns == 0 ? 0.0
                                            : 100.0 * static_cast<double>(k.duration_ns) /
                                                  static_cast<double>(t.duration_ns);
    text += fmt::format("{:5.1f} %  {:>11}  {:>8.2f}  {:>8}  {:>7}  {}\n", share, k.invocations,
                        static_cast<double>(k.duration_ns) * 1e-3 /
                            static_cast<double>(std::max<std::uint64_t>(k.invocations, 1)),
                        k.clusters.size(), samples, name);
  }
  if (order.size() > most_kernels) {
    text += fmt::format("         ... and {} kernels more\n", order.size() - most_kernels);
  }
  return text;
}

}  // namespace stemtap::model
