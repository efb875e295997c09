// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "model/brief_name.h"
#include "model/json_fields.h"
#include "model/json_text.h"
#include "model/json_walk.h"
#include "model/json_writer.h"
#include "model/plan.h"
#include "model/plan_check.h"
#include "model/plan_reader.h"
#include "stemtap/version.h"

namespace stemtap::model {

// Names in the tables below.
using R = shm::KernelRecord;
using L = shm::LaunchConfig;
using S = PlanSample;
using O = PooledKernel;
using C = PlanCluster;
using K = PlanKernel;
using T = PlanTotals;
using M = PlanSession;
using G = PlanRange;
using P = Plan;

// The value of certified_bound in a plan that lacks the field. No number in a file can be infinite.
constexpr double kLacking = -std::numeric_limits<double>::infinity();

template <>
inline constexpr auto kTable<PlanSample> = std::tuple(
    Required<&S::index>("index"), Required<&S::occurrence>("occurrence"),
    Nullable<&S::record, &R::device>("device", shm::kUnknown16).NullIfAbsent(),
    Nullable<&S::record, &R::stream>("stream", shm::kUnknown32).NullIfAbsent(),
    Nullable<&S::record, &R::grid>("grid").NullIfAbsent(),
    Nullable<&S::record, &R::block>("block").NullIfAbsent(),
    Required<&S::record, &R::duration_ns>("duration_ns"),
    Optional<&S::imputed>("imputed").OmitIfAbsent(), Optional<&S::range>("range").OmitIfAbsent(),
    Nullable<&S::step>("step", shm::kNoStep).OmitIfAbsent(),
    Nullable<&S::pooled>("pooled", kNotPooled).OmitIfAbsent(), Required<&S::weight>("weight"));

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr bool HasJoined(const PlanCluster& cluster) {
  return cluster.joined != 0;
}
constexpr bool HasOtherPeriods(const PlanCluster& cluster) {
  return cluster.other_periods != 0;
}
constexpr bool HasBias(const PlanCluster& cluster) {
  return HasJoined(cluster) || HasOtherPeriods(cluster);
}
constexpr bool HasMeanIndex(const PlanCluster& cluster) {
  return cluster.mean_index == cluster.mean_index;  // not NaN
}

template <>
inline constexpr auto kTable<PlanCluster> = std::tuple(
    Required<&C::lower_ns>("lower_ns"), Required<&C::upper_ns>("upper_ns"),
    Required<&C::count>("count"), Required<&C::mean_ns>("mean_ns"),
    Required<&C::stddev_ns>("stddev_ns"), Required<&C::target>("target"),
    Required<&C::captured>("captured"), Optional<&C::independent>("independent").OmitIfAbsent(),
    Nullable<&C::joined>("joined").OnlyIf(HasJoined),
    Nullable<&C::other_periods>("other_periods").OnlyIf(HasOtherPeriods),
    Optional<&C::other_periods_ns>("other_periods_ns").OnlyIf(HasOtherPeriods),
    Optional<&C::joined_bias_ns>("joined_bias_ns").OnlyIf(HasBias),
    Optional<&C::mean_index>("mean_index", kNaN).OnlyIf(HasMeanIndex),
    Required<&C::samples>("samples").Items({"\n          ", ",\n          ", "\n        "}));

constexpr bool HasLaunchConfig(const KernelId& kernel) {
  return kernel.has_config();
}

template <>
inline constexpr auto kTable<PooledKernel> = std::tuple(
    Required<&O::name>("name"), Nullable<&O::config, &L::grid>("grid").OnlyIf(HasLaunchConfig),
    Nullable<&O::config, &L::block>("block").OnlyIf(HasLaunchConfig),
    Required<&O::invocations>("invocations"), Required<&O::duration_ns>("duration_ns"));

template <>
inline constexpr auto kTable<PlanKernel> = std::tuple(
    Required<&K::name>("name"), Optional<&K::short_name>("short_name").OmitIfAbsent(),
    Nullable<&K::process>("process").OmitIfAbsent(), Optional<&K::range>("range").OmitIfAbsent(),
    Nullable<&K::config, &L::grid>("grid").OnlyIf(HasLaunchConfig),
    Nullable<&K::config, &L::block>("block").OnlyIf(HasLaunchConfig),
    Required<&K::invocations>("invocations"), Required<&K::duration_ns>("duration_ns"),
    Optional<&K::uncovered_by_choice>("uncovered_by_choice").OmitIfAbsent(),
    Optional<&K::pooled>("pooled")
        .OmitIfAbsent()
        .Lead(",\n      ")
        .Items({"\n        ", ",\n        ", "\n      "}),
    Required<&K::clusters>("clusters")
        .Lead(",\n      ")
        .Items({"\n        ", ",\n        ", "\n      ", true}));

constexpr bool HasImputed(const PlanTotals& totals) {
  return totals.imputed != 0;
}

template <>
inline constexpr auto kTable<PlanTotals> = std::tuple(
    Required<&T::invocations>("invocations"), Required<&T::duration_ns>("duration_ns"),
    Required<&T::kernels>("kernels"), Required<&T::clusters>("clusters"),
    Required<&T::samples>("samples"), Required<&T::sampled_duration_ns>("sampled_duration_ns"),
    Optional<&T::spread_samples>("spread_samples").OmitIfAbsent(), Required<&T::speedup>("speedup"),
    Required<&T::bound>("bound"), Optional<&T::certified_bound>("certified_bound", kLacking),
    Required<&T::observed_error>("observed_error"),
    Required<&T::plain_estimate_ns>("plain_estimate_ns"),
    Required<&T::calibrated_estimate_ns>("calibrated_estimate_ns"),
    Required<&T::uncovered_fraction>("uncovered_fraction"),
    Optional<&T::joined_fraction>("joined_fraction"), Required<&T::dropped>("dropped"),
    Nullable<&T::gaps>("gaps"), Required<&T::zero_duration>("zero_duration"),
    Nullable<&T::graph_launches>("graph_launches"),
    Nullable<&T::excluded_invocations>("excluded_invocations"),
    Nullable<&T::excluded_duration_ns>("excluded_duration_ns"),
    Nullable<&T::imputed>("imputed").OnlyIf(HasImputed),
    Nullable<&T::imputed_duration_ns>("imputed_duration_ns").OnlyIf(HasImputed),
    Nullable<&T::native_unknown>("native_unknown").OnlyIf(HasImputed),
    Optional<&T::unobserved_launches>("unobserved_launches").OmitIfAbsent(),
    Optional<&T::unobserved_intervals>("unobserved_intervals").OmitIfAbsent());

template <>
inline constexpr auto kTable<PlanRange> =
    std::tuple(Required<&G::range>("range"), Required<&G::invocations>("invocations"),
               Required<&G::duration_ns>("duration_ns"), Required<&G::samples>("samples"),
               Required<&G::sampled_duration_ns>("sampled_duration_ns"),
               Required<&G::bound>("bound"), Required<&G::certified_bound>("certified_bound"),
               Required<&G::observed_error>("observed_error"),
               Required<&G::plain_estimate_ns>("plain_estimate_ns"));

template <>
inline constexpr auto kTable<PlanSession> = std::tuple(
    Required<&M::id>("id"), Required<&M::folder>("folder"), Required<&M::host>("host"),
    Required<&M::source>("source"), Required<&M::first_index>("first_index"),
    Required<&M::launches>("launches"), Required<&M::devices>("devices"),
    Required<&M::first_device>("first_device"), Required<&M::duration_ns>("duration_ns"),
    Required<&M::bound>("bound"), Optional<&M::certified_bound>("certified_bound", kLacking));

template <>
inline constexpr auto kTable<Plan> = std::tuple(
    Required<&P::source>("source"), Required<&P::options>("options").Lead(",\n  "),
    Optional<&P::sessions>("sessions")
        .OmitIfAbsent()
        .Lead(",\n  ")
        .Items({"\n    ", ",\n    ", "\n  "}),
    Required<&P::totals>("totals").Lead(",\n  "),
    Optional<&P::ranges>("ranges").OmitIfAbsent().Lead(",\n  ").Items({"\n    ", ",\n    ",
                                                                       "\n  "}),
    Required<&P::kernels>("kernels").Lead(",\n  ").Items({"\n    ", ",\n    ", "\n  "}));

namespace {

constexpr std::string_view kSchema = "stemtap.plan/1";
constexpr const char* kExpected = "a plan.json";

// A reader of the file has no demangler.
void SetShortNames(std::vector<PlanKernel>& kernels) {
  std::vector<std::string_view> names;
  for (const PlanKernel& kernel : kernels) names.push_back(kernel.name);
  std::vector<std::string> briefs = BriefNames(names);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (briefs[i] == kernels[i].name) briefs[i].clear();
    kernels[i].short_name = std::move(briefs[i]);
  }
}

// Sets what the file does not contain.
void Complete(Plan& plan) {
  std::sort(plan.options.begin(), plan.options.end());
  for (PlanSession& session : plan.sessions) {
    if (session.certified_bound == kLacking) session.certified_bound = session.bound;
  }
  PlanTotals& totals = plan.totals;
  if (totals.certified_bound == kLacking) {
    // In old plans, `bound` is the certified bound, even if the observed error is larger.
    totals.certified_bound = totals.bound;
    StateBound(totals);
  }
  for (PlanKernel& kernel : plan.kernels) {
    for (PlanCluster& cluster : kernel.clusters) {
      for (PlanSample& sample : cluster.samples) {
        sample.record.start_ns = shm::kUnknownTime;
        sample.record.shared_bytes = shm::kUnknown32;
      }
    }
  }
}

}  // namespace

std::string PlanToJson(const Plan& plan) {
  constexpr JsonStyle kStyle;
  Plan named = plan;
  SetShortNames(named.kernels);
  std::string text =
      fmt::format("{{\n  \"schema\": \"{}\",\n  \"tool\": \"stemtap {}\",\n  ", kSchema, kVersion);
  JsonWriter(kStyle, text).Fields(named, kTable<Plan>);
  return text += "\n}\n";
}

bool LooksLikePlan(std::string_view leading) {
  return leading.substr(0, kPlanSchemaWithin).find("\"stemtap.plan/") != std::string_view::npos;
}

Result<Plan> ParsePlan(std::string_view json, std::string_view source) {
  Plan plan;
  STEMTAP_TRY(ReadJson(json, source, kSchema, kExpected, plan));
  Complete(plan);
  const std::string wrong = CheckPlan(plan);
  if (!wrong.empty()) return Error{fmt::format("{}: {}", source, wrong)};
  return plan;
}

Result<Plan> LoadPlan(const std::string& path) {
  const std::string text = STEMTAP_TRY(ReadJsonFile(path, kMaxPlanBytes, kExpected));
  return ParsePlan(text, NameOfSource(path));
}

}  // namespace stemtap::model
