// SPDX-License-Identifier: Apache-2.0
#include "sampling/top_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/rng.h"
#include "base/text.h"
#include "model/json_text.h"
#include "model/kernel_id.h"
#include "sampling/plan_builder.h"
#include "sampling/selection.h"
#include "sampling/sizes.h"
#include "stats/log_sketch.h"

namespace stemtap::sampling {
namespace {

// Picks are the launches of a cluster that are added, by their rank among the launches of the
// cluster that have no sample.
struct Picks {
  std::vector<std::uint64_t> ranks;  // ascending
  std::size_t next = 0;
  std::uint64_t seen = 0;
};

// Place is where a group of launches is in the plan.
struct Place {
  std::size_t kernel = 0;
  std::uint32_t pooled = model::kNotPooled;
};

struct Durations {
  stats::LogSketch sketch;
  std::uint64_t zeros = 0;
};

// Adder reads the run of a plan and adds the samples.
class Adder {
 public:
  Adder(const model::Plan& plan, const TopUp& top_up, std::uint64_t seed)
      : plan_(plan), durations_(plan.kernels.size()) {
    Rng rng(seed);
    for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
      const model::PlanKernel& kernel = plan.kernels[k];
      if (kernel.pooled.empty()) places_.emplace(kernel, Place{k});
      for (std::uint32_t i = 0; i < kernel.pooled.size(); ++i) {
        places_.emplace(kernel.pooled[i], Place{k, i});
      }
      std::vector<Picks>& picks = picks_.emplace_back();
      std::vector<std::vector<model::PlanSample>>& samples = samples_.emplace_back();
      for (std::size_t c = 0; c < kernel.clusters.size(); ++c) {
        const model::PlanCluster& cluster = kernel.clusters[c];
        picks.push_back({DrawRanks(Selection::kRandom, cluster.count - cluster.samples.size(),
                                   top_up.samples[k][c], rng)});
        samples.emplace_back();
        for (const model::PlanSample& sample : cluster.samples) sampled_.insert(sample.index);
      }
    }
  }

  // Reads the profile. Returns whether it is the run of the plan.
  Result<bool> Read(model::ProfileReader& reader) {
    const model::GroupBy by = model::GroupByOf(model::OptionText(plan_.options, "group_by"));
    model::KernelGroups groups =
        STEMTAP_TRY(model::KernelGroups::Create(by, model::OptionText(plan_.options, "exclude")));
    model::OccurrenceCounter occurrences(by);
    std::uint64_t index = 0;
    for (model::ProfileBatch batch;;) {
      if (STEMTAP_TRY(reader.Read(batch, model::kBatchLaunches)) == 0) break;
      for (const shm::KernelRecord& record : batch.records) {
        const std::uint64_t at = index++;
        if (groups.Excludes(record.name_id, reader.names())) continue;
        const std::uint64_t occurrence = occurrences.Next(record.name_id, reader.names());
        const std::uint32_t group = groups.Of(record, reader.names());
        if (group == model::kExcludedKernel) continue;
        if (group == of_group_.size()) {
          const auto found = places_.find(groups.group(group));
          if (found == places_.end()) return false;
          of_group_.push_back(found->second);
        }
        if (!Take(of_group_[group], {at, occurrence, record})) return false;
      }
    }
    return AllFound();
  }

  // Returns the plan with all samples. Call after Read.
  model::Plan Finish(const SamplingOptions& options) {
    PlanBuilder builder(options);
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      const model::PlanKernel& kernel = plan_.kernels[k];
      std::vector<SampledCluster> clusters = ClustersOf(k);
      if (kernel.pooled.empty()) {
        builder.AddKernel(kernel, kernel.invocations, kernel.duration_ns, durations_[k].zeros,
                          std::move(clusters));
      } else {
        builder.AddPool(kernel.pooled, durations_[k].zeros, std::move(clusters));
      }
    }
    return builder.Finish();
  }

 private:
  // Counts a launch, and keeps it if it is a sample or is added. Returns whether the plan can be
  // of this run.
  bool Take(const Place& place, model::PlanSample launch) {
    const model::PlanKernel& kernel = plan_.kernels[place.kernel];
    const std::uint64_t duration_ns = launch.record.duration_ns;
    durations_[place.kernel].sketch.Add(duration_ns);
    durations_[place.kernel].zeros += duration_ns == 0;
    const auto cluster = std::lower_bound(
        kernel.clusters.begin(), kernel.clusters.end(), duration_ns,
        [](const model::PlanCluster& c, std::uint64_t ns) { return c.upper_ns < ns; });
    if (cluster == kernel.clusters.end() || duration_ns < cluster->lower_ns) return false;
    const auto c = static_cast<std::size_t>(cluster - kernel.clusters.begin());
    launch.pooled = place.pooled;
    const bool is_sample = sampled_.erase(launch.index) != 0;
    if (is_sample) {
      const auto known = std::find_if(
          cluster->samples.begin(), cluster->samples.end(),
          [&](const model::PlanSample& sample) { return sample.index == launch.index; });
      if (known == cluster->samples.end() || known->record.duration_ns != duration_ns) return false;
    } else {
      Picks& picks = picks_[place.kernel][c];
      if (picks.next == picks.ranks.size() || picks.ranks[picks.next] != picks.seen++) return true;
      ++picks.next;
    }
    samples_[place.kernel][c].push_back(std::move(launch));
    return true;
  }

  bool AllFound() const {
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      if (durations_[k].sketch.count() != plan_.kernels[k].invocations) return false;
      for (const Picks& picks : picks_[k]) {
        if (picks.next != picks.ranks.size()) return false;
      }
    }
    return sampled_.empty();
  }

  std::vector<SampledCluster> ClustersOf(std::size_t k) {
    const KernelCells cells = CellsOf(durations_[k].sketch);
    std::vector<SampledCluster> clusters;
    auto cell = cells.begin();
    for (std::size_t c = 0; c < plan_.kernels[k].clusters.size(); ++c) {
      const model::PlanCluster& planned = plan_.kernels[k].clusters[c];
      SampledCluster& cluster = clusters.emplace_back();
      cluster.lower_ns = planned.lower_ns;
      cluster.upper_ns = planned.upper_ns;
      cluster.samples = std::move(samples_[k][c]);
      cluster.target = std::max<std::uint64_t>(planned.target, cluster.samples.size());
      for (; cell != cells.end() && cell->mean() <= static_cast<double>(planned.upper_ns); ++cell) {
        cluster.cells.push_back(*cell);
      }
      cluster.moments = MomentsOf(cluster.cells);
    }
    return clusters;
  }

  const model::Plan& plan_;
  std::unordered_map<model::KernelId, Place, model::KernelIdHash> places_;
  std::vector<Place> of_group_;
  std::vector<Durations> durations_;  // by kernel of the plan
  std::vector<std::vector<Picks>> picks_;
  std::vector<std::vector<std::vector<model::PlanSample>>> samples_;
  std::unordered_set<std::uint64_t> sampled_;  // launch indices of the plan that were not seen yet
};

SamplingOptions OptionsOf(const model::Plan& plan) {
  SamplingOptions options;
  options.confidence = model::OptionNumber(plan.options, "confidence");
  const double max_uncovered = model::OptionNumber(plan.options, "max_uncovered");
  options.max_uncovered = std::isnan(max_uncovered) ? 0.0 : max_uncovered;
  if (model::OptionText(plan.options, "weights") == "plain") options.weights = Weights::kPlain;
  return options;
}

}  // namespace

std::string WhyNoTopUp(const model::Plan& plan) {
  const std::string method = model::OptionText(plan.options, "method");
  const bool stratified = std::any_of(std::begin(kMethods), std::end(kMethods),
                                      [&](const MethodSpec& spec) { return method == spec.name; });
  if (!stratified || model::OptionText(plan.options, "selection") != "random") {
    return "its samples were not drawn at random from its clusters";
  }
  if (!plan.sessions.empty()) return "it contains several sessions";
  if (plan.totals.imputed != 0) return "it contains launches that captures slowed";
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      if (model::DrawnCount(cluster) != cluster.count) {
        return "it was sampled online, and its samples represent launches that no sample was drawn "
               "from";
      }
    }
    for (std::size_t c = 1; c < kernel.clusters.size(); ++c) {
      if (kernel.clusters[c].lower_ns <= kernel.clusters[c - 1].upper_ns) {
        return "it was sampled online, and its clusters overlap";
      }
    }
  }
  return {};
}

TopUp TopUpOf(const model::Plan& plan) {
  struct Single {
    std::size_t kernel = 0;
    std::size_t cluster = 0;
    double mean_ns = 0.0;
  };
  TopUp top_up;
  std::vector<Single> singles;
  const auto add = [&](std::size_t k, std::size_t c, double mean_ns) {
    ++top_up.samples[k][c];
    ++top_up.count;
    top_up.duration_ns += mean_ns;
  };
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    top_up.samples.emplace_back(plan.kernels[k].clusters.size());
    for (std::size_t c = 0; c < plan.kernels[k].clusters.size(); ++c) {
      const model::PlanCluster& cluster = plan.kernels[k].clusters[c];
      if (cluster.samples.empty()) {
        if (!plan.kernels[k].uncovered_by_choice) add(k, c, cluster.mean_ns);
        continue;
      }
      if (!IsNarrow(cluster.mean_ns, cluster.stddev_ns)) continue;
      if (cluster.samples.size() > 1) ++top_up.several;
      if (cluster.samples.size() == 1 && cluster.count > 1) {
        singles.push_back({k, c, cluster.mean_ns});
      }
    }
  }
  std::stable_sort(singles.begin(), singles.end(),
                   [](const Single& a, const Single& b) { return a.mean_ns < b.mean_ns; });
  for (const Single& single : singles) {
    if (top_up.several >= kSpreadPairs) break;
    add(single.kernel, single.cluster, single.mean_ns);
    ++top_up.second;
    ++top_up.several;
  }
  return top_up;
}

Result<TwoPassPlan> TopUpPlan(const model::Plan& plan, const std::string& plan_name,
                              const OpenReader& open, const std::string& source,
                              std::uint64_t seed) {
  const std::string shown = EscapeForTerminal(plan_name);
  if (const std::string obstacle = WhyNoTopUp(plan); !obstacle.empty()) {
    return Error{fmt::format("{}: {}; expected a plan of 'stemtap plan' with --selection random",
                             shown, obstacle)};
  }
  const TopUp top_up = TopUpOf(plan);
  if (top_up.count == 0) {
    return Error{fmt::format(
        "{}: needs no more samples: every cluster has one, and {} narrow clusters have several; "
        "for smaller errors, plan with a smaller --error-bound or with --min-samples",
        shown, top_up.several)};
  }
  const std::unique_ptr<model::ProfileReader> reader = STEMTAP_TRY(open());
  Adder adder(plan, top_up, seed);
  if (!STEMTAP_TRY(adder.Read(*reader))) {
    return Error{fmt::format("{}: is not the run that {} was made from",
                             model::NameOfSource(source), shown)};
  }
  TwoPassPlan result{adder.Finish(OptionsOf(plan)), reader->warnings()};
  result.plan.source = plan.source;
  result.plan.options = plan.options;
  model::PlanTotals& totals = result.plan.totals;
  totals.spread_samples = plan.totals.spread_samples + top_up.second;
  totals.excluded_invocations = plan.totals.excluded_invocations;
  totals.excluded_duration_ns = plan.totals.excluded_duration_ns;
  totals.dropped = plan.totals.dropped;
  totals.gaps = plan.totals.gaps;
  totals.graph_launches = plan.totals.graph_launches;
  return result;
}

}  // namespace stemtap::sampling
