// SPDX-License-Identifier: Apache-2.0
#include "sampling/two_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/rng.h"
#include "model/json_text.h"
#include "sampling/design.h"
#include "sampling/kernel_pool.h"
#include "sampling/plan_builder.h"
#include "sampling/selection.h"
#include "stats/log_sketch.h"

namespace stemtap::sampling {
namespace {

struct KernelDurations {
  stats::LogSketch sketch;
  std::uint64_t zeros = 0;
};

// Survey is the result of pass 1.
struct Survey {
  std::vector<KernelDurations> kernels;  // by group
  std::vector<model::KernelId> groups;   // by group
  std::uint64_t records = 0;
  model::ExcludedTotals excluded;
  std::vector<std::string> warnings;
};

// Counter counts the launches of a duration bin of a kernel or, for Selection::kFirst, of a
// cluster. A launch is sampled if its number is in the picks of the counter.
struct Counter {
  std::uint64_t seen = 0;
  std::size_t next = 0;  // index into picks, which ascend; [next, end) are still to come
  std::size_t end = 0;
};

struct KernelPicks {
  std::uint32_t first_bin = 0;
  std::vector<std::uint32_t> cluster_of_bin;  // from first_bin on
  std::vector<Counter> counters;              // by bin from first_bin on; kFirst: by cluster
  std::vector<std::uint64_t> picks;
  std::vector<SampledCluster> clusters;
};

Result<Survey> SurveyProfile(model::ProfileReader& reader, const SamplingOptions& options) {
  model::KernelGroups groups =
      STEMTAP_TRY(model::KernelGroups::Create(options.group_by, options.exclude));
  Survey survey;
  survey.records = STEMTAP_TRY(model::ForEachLaunch(reader, [&](const shm::KernelRecord& record) {
    const std::uint32_t group = groups.Of(record, reader.names());
    if (group == model::kExcludedKernel) return;
    if (group == survey.kernels.size()) {
      survey.kernels.emplace_back();
      survey.groups.push_back(groups.group(group));
    }
    KernelDurations& kernel = survey.kernels[group];
    kernel.sketch.Add(record.duration_ns);
    kernel.zeros += record.duration_ns == 0;
  }));
  survey.excluded = groups.excluded();
  survey.warnings = reader.warnings();
  return survey;
}

// Place is where the launches of a group are planned: a unit is a kernel or the pool.
struct Place {
  std::uint32_t unit = 0;
  std::uint32_t pooled = model::kNotPooled;  // number in the pool
};

// UnitDesign is the sample of each unit.
struct UnitDesign {
  std::vector<Place> places;        // by group
  std::vector<std::size_t> pooled;  // groups in the pool, which is the last unit; empty: no pool
  std::vector<KernelDurations> units;
  std::vector<KernelCells> cells;                // by unit
  std::vector<std::vector<std::uint32_t>> bins;  // bin of each cell, by unit
  Design sample;
};

// Designs the sample if the groups in `pooled`, ascending, are a pool.
UnitDesign DesignWithPool(const Survey& survey, std::vector<std::size_t> pooled,
                          const SamplingOptions& options, const ParallelFor& parallel) {
  UnitDesign design;
  KernelDurations pool;
  std::uint32_t in_pool = 0;
  const auto pool_unit = static_cast<std::uint32_t>(survey.kernels.size() - pooled.size());
  for (std::size_t g = 0; g < survey.kernels.size(); ++g) {
    if (in_pool < pooled.size() && pooled[in_pool] == g) {
      design.places.push_back({pool_unit, in_pool++});
      pool.sketch.Merge(survey.kernels[g].sketch);
      pool.zeros += survey.kernels[g].zeros;
    } else {
      design.places.push_back({static_cast<std::uint32_t>(design.units.size())});
      design.units.push_back(survey.kernels[g]);
    }
  }
  if (!pooled.empty()) design.units.push_back(std::move(pool));
  design.pooled = std::move(pooled);
  const std::size_t count = design.units.size();
  design.cells.resize(count);
  design.bins.resize(count);
  parallel(count, [&](std::size_t u) {
    design.cells[u] = CellsOf(design.units[u].sketch, &design.bins[u]);
  });
  model::NameTable ranges;
  std::vector<std::uint32_t> range_of;  // by unit; the pool is in no range
  for (std::size_t g = 0; g < survey.groups.size(); ++g) {
    if (design.places[g].pooled != model::kNotPooled) continue;
    range_of.push_back(ranges.Intern(survey.groups[g].range));
  }
  range_of.resize(count, ranges.Intern(""));
  design.sample = DesignSample(design.cells, options, parallel, range_of);
  return design;
}

// Designs the sample, with a pool of small kernels if options allow it and it is cheaper.
UnitDesign DesignPlan(const Survey& survey, const SamplingOptions& options,
                      const ParallelFor& parallel) {
  UnitDesign best = DesignWithPool(survey, {}, options, parallel);
  if (options.pool_small <= 0.0) return best;
  std::vector<double> times_ns;
  for (const KernelDurations& kernel : survey.kernels) {
    times_ns.push_back(static_cast<double>(kernel.sketch.total_duration()));
  }
  for (std::vector<std::size_t>& pooled :
       PoolCandidates(times_ns, best.sample.costs, options.pool_small)) {
    UnitDesign tried = DesignWithPool(survey, std::move(pooled), options, parallel);
    if (tried.sample.cost < best.sample.cost) best = std::move(tried);
  }
  return best;
}

// Draws the ranks of every cluster of a kernel and sets up the counters that find them.
KernelPicks DrawPicks(const std::vector<StratumRange>& strata, const KernelCells& cells,
                      const std::vector<std::uint32_t>& bins, Selection selection, Rng& rng) {
  KernelPicks kernel;
  kernel.first_bin = bins.front();
  const std::size_t width = bins.back() - bins.front() + 1;
  kernel.cluster_of_bin.resize(width, 0);
  kernel.counters.resize(selection == Selection::kFirst ? strata.size() : width);
  for (std::size_t s = 0; s < strata.size(); ++s) {
    const StratumRange& stratum = strata[s];
    SampledCluster cluster;
    cluster.lower_ns = stats::LogSketch::LowerEdge(bins[stratum.first]);
    cluster.upper_ns = stats::LogSketch::LowerEdge(bins[stratum.end - 1] + 1) - 1;
    cluster.moments = stratum.moments;
    cluster.target = stratum.sample_size;
    cluster.cells.assign(cells.begin() + static_cast<std::ptrdiff_t>(stratum.first),
                         cells.begin() + static_cast<std::ptrdiff_t>(stratum.end));
    kernel.clusters.push_back(std::move(cluster));

    const std::vector<std::uint64_t> ranks =
        DrawRanks(selection, stratum.moments.count(), stratum.sample_size, rng);
    if (selection == Selection::kFirst) {
      kernel.counters[s] = {0, kernel.picks.size(), kernel.picks.size() + ranks.size()};
      kernel.picks.insert(kernel.picks.end(), ranks.begin(), ranks.end());
    }
    // Ranks are ordered by bin, then by launch.
    std::size_t next = 0;
    std::uint64_t before = 0;
    for (std::size_t c = stratum.first; c < stratum.end; ++c) {
      const std::size_t bin = bins[c] - kernel.first_bin;
      kernel.cluster_of_bin[bin] = static_cast<std::uint32_t>(s);
      const std::uint64_t end = before + cells[c].count();
      if (selection != Selection::kFirst) {
        Counter& counter = kernel.counters[bin];
        counter.next = kernel.picks.size();
        for (; next < ranks.size() && ranks[next] < end; ++next) {
          kernel.picks.push_back(ranks[next] - before);
        }
        counter.end = kernel.picks.size();
      }
      before = end;
    }
  }
  return kernel;
}

// Adds the picked launches to the clusters of `kernels`. Returns whether the profile is the one of
// pass 1, which had `records` launches.
Result<bool> CollectSamples(model::ProfileReader& reader, const SamplingOptions& options,
                            std::uint64_t records, const std::vector<Place>& places,
                            std::vector<KernelPicks>& units) {
  model::KernelGroups groups =
      STEMTAP_TRY(model::KernelGroups::Create(options.group_by, options.exclude));
  model::OccurrenceCounter occurrences(options.group_by);
  std::uint64_t index = 0;
  bool same = true;
  const auto read = model::ForEachLaunch(reader, [&](const shm::KernelRecord& record) {
    const std::uint64_t at = index++;
    if (groups.Excludes(record.name_id, reader.names())) return;
    const std::uint64_t occurrence = occurrences.Next(record.name_id, reader.names());
    const std::uint32_t group = groups.Of(record, reader.names());
    if (group == model::kExcludedKernel) return;
    const std::uint32_t bin = stats::LogSketch::BinOf(record.duration_ns);
    if (group >= places.size()) {
      same = false;
      return;
    }
    KernelPicks& kernel = units[places[group].unit];
    if (bin - kernel.first_bin >= kernel.cluster_of_bin.size()) {
      same = false;
      return;
    }
    const std::uint32_t cluster = kernel.cluster_of_bin[bin - kernel.first_bin];
    Counter& counter =
        kernel.counters[options.selection == Selection::kFirst ? cluster : bin - kernel.first_bin];
    if (counter.next == counter.end || counter.seen++ != kernel.picks[counter.next]) return;
    ++counter.next;
    model::PlanSample& sample =
        kernel.clusters[cluster].samples.emplace_back(model::PlanSample{at, occurrence, record});
    sample.pooled = places[group].pooled;
  });
  const bool complete = STEMTAP_TRY(read) == records;
  for (const KernelPicks& kernel : units) {
    for (const Counter& counter : kernel.counters) same = same && counter.next == counter.end;
  }
  return same && complete;
}

}  // namespace

Result<TwoPassPlan> PlanTwoPass(const OpenReader& open, const std::string& source,
                                const SamplingOptions& options, const ParallelFor& parallel) {
  std::unique_ptr<model::ProfileReader> reader = STEMTAP_TRY(open());
  const Survey survey = STEMTAP_TRY(SurveyProfile(*reader, options));
  if (survey.kernels.empty()) {
    return Error{fmt::format("{}: contains no kernel launch{}; expected at least one",
                             model::NameOfSource(source),
                             survey.records == 0 ? "" : " that is not excluded")};
  }

  const UnitDesign design = DesignPlan(survey, options, parallel);
  const std::size_t count = design.units.size();
  Rng rng(options.seed);
  std::vector<KernelPicks> units;
  units.reserve(count);
  for (std::size_t u = 0; u < count; ++u) {
    units.push_back(DrawPicks(design.sample.kernels[u], design.cells[u], design.bins[u],
                              options.selection, rng));
  }

  if (!reader->Rewind()) reader = STEMTAP_TRY(open());
  if (!STEMTAP_TRY(CollectSamples(*reader, options, survey.records, design.places, units))) {
    return Error{
        fmt::format("{}: is not the same when read again; expected a file that is complete",
                    model::NameOfSource(source))};
  }
  PlanBuilder builder(options);
  for (std::size_t g = 0; g < survey.kernels.size(); ++g) {
    if (design.places[g].pooled != model::kNotPooled) continue;
    const KernelDurations& kernel = survey.kernels[g];
    builder.AddKernel(survey.groups[g], kernel.sketch.count(),
                      static_cast<std::uint64_t>(kernel.sketch.total_duration()), kernel.zeros,
                      std::move(units[design.places[g].unit].clusters));
  }
  if (!design.pooled.empty()) {
    std::vector<model::PooledKernel> pooled;
    for (const std::size_t g : design.pooled) {
      const stats::LogSketch& sketch = survey.kernels[g].sketch;
      pooled.push_back(
          {survey.groups[g], sketch.count(), static_cast<std::uint64_t>(sketch.total_duration())});
    }
    builder.AddPool(std::move(pooled), design.units.back().zeros, std::move(units.back().clusters));
  }
  TwoPassPlan result{builder.Finish(), survey.warnings};
  result.plan.totals.spread_samples = design.sample.spread_samples;
  result.plan.totals.excluded_invocations = survey.excluded.invocations;
  result.plan.totals.excluded_duration_ns = survey.excluded.duration_ns;
  return result;
}

}  // namespace stemtap::sampling
