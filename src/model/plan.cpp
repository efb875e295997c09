// SPDX-License-Identifier: Apache-2.0
#include "model/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/brief_name.h"
#include "base/text.h"
#include "stemtap/version.h"

namespace stemtap::model {
namespace {

// Returns `text` as a JSON string. Kernel names are bytes from the traced program, so invalid UTF-8
// is replaced.
std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Returns the shortest digits that parse to the same double.
std::string Number(double value) {
  return nlohmann::json(value).dump();
}

std::string OptionsToJson(const OptionList& options) {
  std::string json = "{";
  for (const auto& [name, value] : options) {
    if (json.size() > 1) json += ", ";
    json += Quoted(name) + ": ";
    json += std::visit(
        [](const auto& v) -> std::string {
          using Value = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<Value, std::string>) {
            return Quoted(v);
          } else if constexpr (std::is_same_v<Value, double>) {
            return Number(v);
          } else {
            return fmt::format("{}", v);
          }
        },
        value);
  }
  return json + "}";
}

// Returns `value`, or null if the source did not contain it.
std::string Known(std::uint64_t value, bool known) {
  return known ? fmt::format("{}", value) : std::string("null");
}

// Returns the grid and block of a kernel with --group-by launch, or an empty string.
std::string LaunchOf(const PlanKernel& k) {
  const shm::LaunchConfig& c = k.config;
  if (c.grid[0] == shm::kUnknownExtent) return {};
  return fmt::format("\"grid\": [{},{},{}], \"block\": [{},{},{}], ", c.grid[0], c.grid[1],
                     c.grid[2], c.block[0], c.block[1], c.block[2]);
}

// Returns the fields about imputed launches, or an empty string.
std::string ImputedOf(const PlanTotals& t) {
  if (t.imputed == 0) return {};
  return fmt::format(", \"imputed\": {}, \"imputed_duration_ns\": {}, \"native_unknown\": {}",
                     t.imputed, t.imputed_duration_ns, t.native_unknown);
}

// Returns the owning process of a kernel with --share-captures off, or an empty string.
std::string ProcessOf(const PlanKernel& k) {
  return k.process == 0 ? std::string() : fmt::format("\"process\": {}, ", k.process);
}

void AppendSample(std::string& json, const PlanSample& s) {
  const shm::KernelRecord& r = s.record;
  const auto extents = [](auto x, auto y, auto z) {
    return x == shm::kUnknownExtent ? std::string("null") : fmt::format("[{},{},{}]", x, y, z);
  };
  fmt::format_to(std::back_inserter(json),
                 "          {{\"index\": {}, \"occurrence\": {}, \"device\": {}, \"stream\": {}, "
                 "\"grid\": {}, \"block\": {}, \"duration_ns\": {}, {}\"weight\": {}}}",
                 s.index, s.occurrence, Known(r.device, r.device != shm::kUnknown16),
                 Known(r.stream, r.stream != shm::kUnknown32),
                 extents(r.grid[0], r.grid[1], r.grid[2]),
                 extents(r.block[0], r.block[1], r.block[2]), r.duration_ns,
                 s.imputed ? "\"imputed\": true, " : "", Number(s.weight));
}

// Returns the fields about joined launches, or an empty string.
std::string JoinedOf(const PlanCluster& c) {
  if (c.joined == 0) return {};
  return fmt::format("\"joined\": {}, \"joined_bias_ns\": {}, ", c.joined,
                     Number(c.joined_bias_ns));
}

void AppendCluster(std::string& json, const PlanCluster& c) {
  fmt::format_to(std::back_inserter(json),
                 "        {{\"lower_ns\": {}, \"upper_ns\": {}, \"count\": {}, \"mean_ns\": {}, "
                 "\"stddev_ns\": {}, \"target\": {}, \"captured\": {}, {}\"samples\": [",
                 c.lower_ns, c.upper_ns, c.count, Number(c.mean_ns), Number(c.stddev_ns), c.target,
                 c.captured, JoinedOf(c));
  for (std::size_t i = 0; i < c.samples.size(); ++i) {
    json += i == 0 ? "\n" : ",\n";
    AppendSample(json, c.samples[i]);
  }
  json += c.samples.empty() ? "]}" : "\n        ]}";
}

// Returns the sessions that were merged into the plan, or an empty string.
std::string SessionsOf(const Plan& plan) {
  if (plan.sessions.empty()) return {};
  std::string json = "  \"sessions\": [";
  for (const PlanSession& s : plan.sessions) {
    json += &s == plan.sessions.data() ? "\n" : ",\n";
    json += fmt::format(
        "    {{\"id\": {}, \"folder\": {}, \"host\": {}, \"source\": {}, \"first_index\": {}, "
        "\"launches\": {}, \"devices\": [{}], \"first_device\": {}, \"duration_ns\": {}, "
        "\"bound\": {}, \"certified_bound\": {}}}",
        Quoted(s.id), Quoted(s.folder), Quoted(s.host), Quoted(s.source), s.first_index, s.launches,
        fmt::join(s.devices, ", "), s.first_device, s.duration_ns, Number(s.bound),
        Number(s.certified_bound));
  }
  return json + "\n  ],\n";
}

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

double DrawnMean(const PlanCluster& cluster) {
  return cluster.mean_ns + cluster.joined_bias_ns / static_cast<double>(cluster.count);
}

double JoinedTime(const PlanCluster& cluster) {
  if (cluster.joined == 0) return 0.0;
  // joined_bias_ns is joined x drawn mean - joined time.
  return static_cast<double>(cluster.joined) * DrawnMean(cluster) - cluster.joined_bias_ns;
}

void StateBound(PlanTotals& totals) {
  // If the observed error is NaN, the comparison is false and the certified bound is used.
  totals.bound = totals.observed_error > totals.certified_bound ? totals.observed_error
                                                                : totals.certified_bound;
}

bool ExceedsCertifiedBound(double error, double certified_bound) {
  constexpr double kRounding = 1e-9;  // of sums of 64-bit durations in doubles
  return error > certified_bound + kRounding;
}

std::string PlanToJson(const Plan& plan) {
  const PlanTotals& t = plan.totals;
  std::string json = fmt::format(
      "{{\n  \"schema\": \"stemtap.plan/1\",\n  \"tool\": \"stemtap {}\",\n  \"source\": {},\n"
      "  \"options\": {},\n{}",
      kVersion, Quoted(plan.source), OptionsToJson(plan.options), SessionsOf(plan));
  json += fmt::format(
      "  \"totals\": {{\"invocations\": {}, \"duration_ns\": {}, \"kernels\": {}, \"clusters\": "
      "{}, "
      "\"samples\": {}, \"sampled_duration_ns\": {}, \"speedup\": {}, \"bound\": {}, "
      "\"certified_bound\": {}, \"observed_error\": {}, "
      "\"plain_estimate_ns\": {}, \"calibrated_estimate_ns\": {}, "
      "\"uncovered_fraction\": {}, \"joined_fraction\": {}, \"dropped\": {}, \"gaps\": {}, "
      "\"zero_duration\": {}, "
      "\"graph_launches\": {}, "
      "\"excluded_invocations\": {}, \"excluded_duration_ns\": {}{}}},\n",
      t.invocations, t.duration_ns, t.kernels, t.clusters, t.samples, t.sampled_duration_ns,
      Number(t.speedup), Number(t.bound), Number(t.certified_bound), Number(t.observed_error),
      Number(t.plain_estimate_ns), Number(t.calibrated_estimate_ns), Number(t.uncovered_fraction),
      Number(t.joined_fraction), t.dropped, t.gaps, t.zero_duration, t.graph_launches,
      t.excluded_invocations, t.excluded_duration_ns, ImputedOf(t));
  json += "  \"kernels\": [";
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlanKernel& k = plan.kernels[i];
    json += i == 0 ? "\n" : ",\n";
    json += fmt::format(
        "    {{\"name\": {}, {}{}\"invocations\": {}, \"duration_ns\": {},\n      \"clusters\": [",
        Quoted(k.name), ProcessOf(k), LaunchOf(k), k.invocations, k.duration_ns);
    for (std::size_t c = 0; c < k.clusters.size(); ++c) {
      json += c == 0 ? "\n" : ",\n";
      AppendCluster(json, k.clusters[c]);
    }
    json += "\n      ]}";
  }
  return json + (plan.kernels.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

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
