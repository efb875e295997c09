// SPDX-License-Identifier: Apache-2.0
#include "model/overview_check.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "base/saturating.h"
#include "base/text.h"
#include "model/json_text.h"
#include "model/kernel_id.h"
#include "model/run_time.h"

namespace stemtap::model {
namespace {

// Means and standard deviations are at most 2^63 ns, and an overview rounds them to nine digits.
constexpr double kMaxRealNs = 1e19;

class Check {
 public:
  explicit Check(const Overview& overview) : overview_(overview) {}

  std::string Run() {
    const Overview& o = overview_;
    ExpectReal(o.elapsed_s, "elapsed_s");
    ExpectBound(o.error_bound, "error_bound");
    ExpectBound(o.confidence, "confidence");
    ExpectBound(o.bound, "bound");
    ExpectBound(o.certified_bound, "certified_bound");
    Expect(
        o.duration_ns <= RunTime::kMaxNs, [] { return "duration_ns"; }, o.duration_ns,
        "at most 2^63 - 1");
    Timeline();
    ActivityOverTime();
    for (std::size_t k = 0; k < o.kernels.size() && wrong_.empty(); ++k) {
      Kernel(o.kernels[k], fmt::format("kernels[{}]", k));
    }
    return wrong_;
  }

 private:
  // `path`, and `value` if it is a function, build texts on failure only, because `stemtap top`
  // checks an overview every second.
  template <typename Path, typename Value>
  void Expect(bool holds, const Path& path, const Value& value, std::string_view expected) {
    if (holds || !wrong_.empty()) return;
    if constexpr (std::is_invocable_v<Value>) {
      wrong_ = fmt::format("{}: is {}; expected {}", path(), value(), expected);
    } else {
      wrong_ = fmt::format("{}: is {}; expected {}", path(), JsonValue(value), expected);
    }
  }
  void ExpectReal(double value, const char* path) {
    Expect(
        std::isfinite(value) && value >= 0.0, [=] { return path; }, value,
        "a number of at least 0");
  }
  void ExpectBound(double value, const char* path) {
    if (!std::isnan(value)) ExpectReal(value, path);
  }

  void Timeline() {
    const std::vector<TimelinePoint>& points = overview_.timeline;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto at = [i](const char* field) {
        return [=] { return fmt::format("timeline[{}][{}]", i, field); };
      };
      const TimelinePoint& p = points[i];
      Expect(std::isfinite(p.elapsed_s) && p.elapsed_s >= (i == 0 ? 0.0 : points[i - 1].elapsed_s),
             at("0"), p.elapsed_s, "ascending times");
      Expect(i == 0 || p.observed >= points[i - 1].observed, at("1"), p.observed,
             "launches that do not decrease");
      Expect(std::isnan(p.bound) || p.bound >= 0.0, at("6"), p.bound, "a number of at least 0");
    }
  }

  void ActivityOverTime() {
    const Activity& a = overview_.activity;
    if (a.empty()) return;
    Expect(
        a.width_ns > 0, [] { return "activity.width_ns"; }, a.width_ns, "a positive number");
    ActivitySlices(a.slices, "activity");
    for (std::size_t i = 0; i < a.by_device.size(); ++i) {
      ActivitySlices(a.by_device[i].slices, fmt::format("activity.by_device[{}]", i));
    }
  }

  template <typename Slice>
  void ActivitySlices(const std::vector<Slice>& slices, const std::string& path) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const auto place = [&path, i] { return fmt::format("{}.slices[{}]", path, i); };
      const std::uint32_t slice = slices[i].slice;
      Expect(slice < overview_.activity.count, place, slice, "a slice below count");
      Expect(i == 0 || slice > slices[i - 1].slice, place, slice, "ascending slices");
    }
  }

  void Kernel(const OverviewKernel& k, const std::string& path) {
    const auto at = [&path](const char* field) {
      return [&path, field] { return path + "." + field; };
    };
    Expect(
        listed_.Add(k, overview_.mode == "merged"), [&path] { return path; }, "listed twice",
        "each kernel once");
    Expect(k.duration_ns <= RunTime::kMaxNs, at("duration_ns"), k.duration_ns, "at most 2^63 - 1");
    Expect(k.captured <= k.invocations, at("captured"), k.captured, "at most the invocations");
    Expect(k.imputed <= k.invocations, at("imputed"), k.imputed, "at most the invocations");
    std::uint64_t count = 0;
    for (std::size_t c = 0; c < k.clusters.size(); ++c) {
      Cluster(k.clusters[c], path, c);
      AddSaturated(k.clusters[c].count, count);
    }
    const auto in_all = [&] { return fmt::format("{} launches in total", count); };
    Expect(count <= k.invocations, at("clusters"), in_all, "at most the invocations");
    Histogram(k, path);
    for (std::size_t s = 0; s < k.slices.size(); ++s) {
      const auto place = [&] { return fmt::format("{}.slices[{}]", path, s); };
      const std::uint32_t slice = k.slices[s].slice;
      Expect(slice < overview_.slices, place, slice, slice_range_);
      Expect(s == 0 || slice > k.slices[s - 1].slice, place, slice, "ascending slices");
    }
  }

  void Cluster(const OverviewCluster& c, const std::string& path, std::size_t i) {
    const auto at = [&](const char* field) {
      return [&path, i, field] { return fmt::format("{}.clusters[{}].{}", path, i, field); };
    };
    Expect(c.lower_ns <= c.upper_ns, at("upper_ns"), c.upper_ns, "at least lower_ns");
    Expect(c.mean_ns >= 0.0 && c.mean_ns <= kMaxRealNs, at("mean_ns"), c.mean_ns,
           "a number from 0 to 1e19");
    Expect(c.stddev_ns >= 0.0 && c.stddev_ns <= kMaxRealNs, at("stddev_ns"), c.stddev_ns,
           "a number from 0 to 1e19");
  }

  void Histogram(const OverviewKernel& k, const std::string& path) {
    std::uint64_t count = 0;
    for (std::size_t b = 0; b < k.histogram.size(); ++b) {
      const auto place = [&] { return fmt::format("{}.histogram[{}]", path, b); };
      const HistogramBin& bin = k.histogram[b];
      Expect(
          bin.lower_ns < bin.upper_ns && bin.count > 0, place,
          [&] { return fmt::format("[{}, {}, {}]", bin.lower_ns, bin.upper_ns, bin.count); },
          "a bin with launches and lower < upper");
      Expect(b == 0 || bin.lower_ns >= k.histogram[b - 1].upper_ns, place, bin.lower_ns,
             "ascending bins");
      AddSaturated(bin.count, count);
    }
    Expect(
        count <= k.invocations, [&] { return path + ".histogram"; },
        [=] { return fmt::format("{} launches in total", count); }, "at most the invocations");
  }

  const Overview& overview_;
  const std::string slice_range_ = fmt::format("a slice below {}", overview_.slices);
  ListedKernels listed_;
  std::string wrong_;
};

}  // namespace

std::string CheckOverview(const Overview& overview) {
  return Check(overview).Run();
}

std::string CompareWithPlan(const Overview& overview, const Plan& plan) {
  if (overview.observed > plan.totals.invocations) {
    return fmt::format("overview.json has {} launches and plan.json has {}", overview.observed,
                       plan.totals.invocations);
  }
  // Several kernels may have equal ids.
  std::unordered_map<KernelId, std::uint64_t, KernelIdHash> planned;
  for (const PlanKernel& k : plan.kernels) {
    AddSaturated(k.invocations, planned[k]);
  }
  for (const OverviewKernel& k : overview.kernels) {
    const auto found = planned.find(k);
    const std::uint64_t launches = found == planned.end() ? 0 : found->second;
    if (k.invocations <= launches) continue;
    return fmt::format("overview.json has {} launches of '{}' and plan.json has {}", k.invocations,
                       EscapeForTerminal(k.name.substr(0, 80)), launches);
  }
  return {};
}

}  // namespace stemtap::model
