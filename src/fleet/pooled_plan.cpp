// SPDX-License-Identifier: Apache-2.0
#include "fleet/pooled_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "model/plan_check.h"
#include "online/cluster.h"
#include "online/collapse.h"
#include "sampling/plan_builder.h"
#include "sampling/strata.h"

namespace stemtap::fleet {
namespace {

// Population is the launches of one kernel in all runs.
struct Population {
  struct Capture {
    std::uint64_t occurrence = 0;  // in its run
    std::uint32_t bin = 0;         // determines its cluster
    model::PlanSample sample;      // numbered as in the merged plan
  };
  stats::LogSketch sketch;
  stats::LogSketch capturable;       // launches that could be captured
  stats::Correlations correlations;  // of each launch, added
  std::vector<Capture> captures;
};

// Numbers a capture of `session` as the merged plan does. `before`: launches of the kernel's name
// in earlier sessions.
model::PlanSample Numbered(model::PlanSample sample, const model::PlanSession& session,
                           std::uint64_t before) {
  sample.index += session.first_index;
  sample.occurrence += before;
  const auto at =
      std::lower_bound(session.devices.begin(), session.devices.end(), sample.record.device);
  if (at != session.devices.end() && *at == sample.record.device) {
    sample.record.device =
        static_cast<std::uint16_t>(session.first_device + (at - session.devices.begin()));
  }
  return sample;
}

// Returns the first cell of each cluster. Clusters without launches are left out.
std::vector<std::size_t> FirstCells(const std::vector<std::uint32_t>& bins,
                                    std::span<const online::DirectedCluster> clusters) {
  std::vector<std::size_t> first_cells = {0};
  for (const online::DirectedCluster& cluster : clusters) {
    const auto at = std::lower_bound(bins.begin(), bins.end(), cluster.first_bin);
    const auto place = static_cast<std::size_t>(at - bins.begin());
    if (place > first_cells.back() && place < bins.size()) first_cells.push_back(place);
  }
  return first_cells;
}

std::vector<sampling::SampledCluster> ClustersOf(
    const Population& population, std::span<const online::DirectedCluster> directed) {
  online::BinnedCells cells;
  cells.moments = sampling::CellsOf(population.sketch, &cells.bins);
  if (cells.bins.empty()) return {};
  const std::vector<std::size_t> first_cells = FirstCells(cells.bins, directed);
  const auto end_of = [&](std::size_t c) {
    return c + 1 < first_cells.size() ? first_cells[c + 1] : cells.bins.size();
  };
  const auto end_bin_of = [&](std::size_t c) {
    return c + 1 < first_cells.size() ? cells.bins[first_cells[c + 1]] : stats::LogSketch::kEndBin;
  };
  std::vector<online::SampledRange> strata(first_cells.size());
  std::vector<std::vector<model::PlanSample>> samples(first_cells.size());
  std::vector<std::vector<std::uint64_t>> occurrences(first_cells.size());
  for (std::size_t c = 0; c < first_cells.size(); ++c) {
    for (std::size_t i = first_cells[c]; i < end_of(c); ++i) {
      strata[c].launches.Merge(cells.moments[i]);
    }
  }
  for (const auto& [occurrence, bin, sample] : population.captures) {
    const auto above =
        std::upper_bound(first_cells.begin() + 1, first_cells.end(), bin,
                         [&](std::uint32_t b, std::size_t first) { return b < cells.bins[first]; });
    const auto c = static_cast<std::size_t>(above - first_cells.begin()) - 1;
    samples[c].push_back(sample);
    occurrences[c].push_back(occurrence);
    ++strata[c].samples;
  }
  // The launches that could not be captured, and the others.
  const bool has_early = population.capturable.count() != 0 &&
                         population.capturable.count() < population.sketch.count();
  std::vector<std::array<online::ClusterPeriod, 2>> periods(first_cells.size());
  for (std::size_t c = 0; c < first_cells.size(); ++c) {
    strata[c].enough = std::max<std::uint64_t>(strata[c].samples, 1);
    if (!has_early) continue;
    periods[c][1].launches =
        population.capturable.MomentsIn(cells.bins[first_cells[c]], end_bin_of(c));
    periods[c][0].launches = stats::Without(strata[c].launches, periods[c][1].launches);
    periods[c][1].captured = strata[c].samples;
    strata[c].periods = periods[c];
  }
  stats::Correlations correlations;
  correlations.Add(population.correlations, 1.0 / static_cast<double>(population.sketch.count()));
  double bias_ns = 0.0;
  std::vector<sampling::SampledCluster> clusters;
  for (const online::JointStratum& joint : online::JoinStrata(strata, bias_ns)) {
    sampling::SampledCluster& cluster = clusters.emplace_back();
    const std::size_t end = end_of(joint.end - 1);
    cluster.lower_ns = stats::LogSketch::LowerEdge(cells.bins[first_cells[joint.first]]);
    cluster.upper_ns = stats::LogSketch::LowerEdge(cells.bins[end - 1] + 1) - 1;
    cluster.moments = joint.all;
    cluster.joined_launches =
        joint.all.count() - joint.sampled.count() - joint.other_periods.count();
    cluster.other_periods = joint.other_periods;
    for (std::size_t i = first_cells[joint.home]; i < end_of(joint.home); ++i) {
      const stats::Moments cell =
          has_early && joint.covered()
              ? population.capturable.MomentsIn(cells.bins[i], cells.bins[i] + 1)
              : cells.moments[i];
      if (cell.count() != 0) cluster.cells.push_back(cell);
    }
    cluster.samples = std::move(samples[joint.home]);
    std::sort(occurrences[joint.home].begin(), occurrences[joint.home].end());
    const auto captured = static_cast<double>(cluster.samples.size());
    const double repeats = 2.0 * correlations.OfPairs(occurrences[joint.home]);
    cluster.independent = static_cast<std::uint64_t>(
        std::max(1.0, captured * captured / std::max(captured + repeats, 1.0)));
    cluster.target = cluster.samples.size();
    std::sort(
        cluster.samples.begin(), cluster.samples.end(),
        [](const model::PlanSample& a, const model::PlanSample& b) { return a.index < b.index; });
  }
  return clusters;
}

}  // namespace

Result<model::Plan> PoolPlan(const model::Plan& merged, std::span<const RunState> runs,
                             std::span<const DirectedKernel> clusters) {
  if (runs.size() != merged.sessions.size()) {
    return Error{fmt::format("the job has {}, expected one for each of its {} sessions",
                             Plural(runs.size(), "run"), merged.sessions.size())};
  }
  std::map<std::uint64_t, std::string> names;
  for (const model::PlanKernel& kernel : merged.kernels) names.emplace(KeyOf(kernel), kernel.name);
  std::map<std::uint64_t, Population> populations;
  std::map<std::string, std::uint64_t> before;  // launches by name, in earlier runs
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [key, capture] : runs[i].captures) {
      const model::PlanSample& sample = capture.sample;
      // Launches that were dropped may have had a number.
      const std::uint64_t launches = merged.sessions[i].launches + merged.totals.dropped;
      if (sample.index >= launches) {
        return Error{fmt::format("the job has a capture with index {}; expected one below {}",
                                 sample.index, launches)};
      }
      const std::string& name = names[key];
      populations[key].captures.push_back(
          {sample.occurrence, capture.bin, Numbered(sample, merged.sessions[i], before[name])});
    }
    for (const auto& [key, sketch] : runs[i].sketches) {
      // Without traits, captures of one burst would count as independent.
      const auto traits = runs[i].traits.find(key);
      if (traits == runs[i].traits.end()) {
        return Error{
            "the server returned an unexpected value in 'traits'; expected the data of a stemtap "
            "job"};
      }
      Population& population = populations[key];
      population.sketch.Merge(sketch);
      population.capturable.Merge(CapturableOf(sketch, traits->second));
      population.correlations.Add(traits->second.correlations, static_cast<double>(sketch.count()));
      before[names[key]] += sketch.count();
    }
  }
  sampling::SamplingOptions options;
  options.confidence = model::OptionNumber(merged.options, "confidence");
  options.error_bound = model::OptionNumber(merged.options, "error_bound");
  if (model::OptionText(merged.options, "weights") == "plain") {
    options.weights = sampling::Weights::kPlain;
  }
  std::map<std::uint64_t, std::span<const online::DirectedCluster>> directed;
  for (const DirectedKernel& kernel : clusters) directed.emplace(kernel.key, kernel.clusters);
  sampling::PlanBuilder builder(options);
  for (const model::PlanKernel& kernel : merged.kernels) {
    const std::uint64_t key = KeyOf(kernel);
    const Population& population = populations[key];
    if (population.sketch.count() != kernel.invocations) {
      return Error{fmt::format(
          "the job has {} launches of {}, its sessions have {}; expected the sessions of the job",
          population.sketch.count(), EscapeForTerminal(kernel.name), kernel.invocations)};
    }
    builder.AddKernel(kernel, kernel.invocations, kernel.duration_ns, 0,
                      ClustersOf(population, directed[key]));
    populations.erase(key);
  }
  for (const auto& [key, population] : populations) {
    if (population.sketch.count() == 0) continue;
    return Error{fmt::format(
        "the job has {} of a kernel that its sessions lack; expected the sessions of the job",
        Plural(population.sketch.count(), "launch", "launches"))};
  }
  model::Plan plan = builder.Finish();
  plan.source = merged.source;
  plan.options = merged.options;
  plan.sessions = merged.sessions;
  for (const auto member :
       {&model::PlanTotals::dropped, &model::PlanTotals::gaps, &model::PlanTotals::zero_duration,
        &model::PlanTotals::graph_launches, &model::PlanTotals::excluded_invocations,
        &model::PlanTotals::excluded_duration_ns, &model::PlanTotals::imputed,
        &model::PlanTotals::imputed_duration_ns, &model::PlanTotals::native_unknown,
        &model::PlanTotals::unobserved_launches, &model::PlanTotals::unobserved_intervals}) {
    plan.totals.*member = merged.totals.*member;
  }
  // The native durations of the samples are unknown, and so is the observed error.
  if (std::isnan(merged.totals.observed_error)) {
    plan.totals.observed_error = NAN;
    model::StateBound(plan.totals);
    plan.ranges = sampling::DescribeRanges(plan, options.confidence);
  }
  if (const std::string wrong = model::CheckPlan(plan); !wrong.empty()) {
    return Error{fmt::format("the captures of the job are not of its sessions: {}", wrong)};
  }
  return plan;
}

}  // namespace stemtap::fleet
