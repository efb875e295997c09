// SPDX-License-Identifier: Apache-2.0
#include "sampling/two_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/rng.h"
#include "model/json_text.h"
#include "sampling/plan_builder.h"
#include "sampling/sample_design.h"
#include "sampling/selection.h"
#include "stats/log_sketch.h"

namespace stemtap::sampling {
namespace {

constexpr std::size_t kBatch = 16384;

struct KernelDurations {
  stats::LogSketch sketch;
  std::uint64_t zeros = 0;
};

// Survey is the result of pass 1.
struct Survey {
  std::vector<KernelDurations> kernels;            // by group
  std::vector<model::KernelGroups::Group> groups;  // by group
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

// Calls visit(record, names) for every launch, in launch order.
template <typename Visit>
Result<std::uint64_t> ForEachRecord(model::ProfileReader& reader, const Visit& visit) {
  std::uint64_t count = 0;
  for (model::ProfileBatch batch;;) {
    const std::size_t read = STEMTAP_TRY(reader.Read(batch, kBatch));
    if (read == 0) return count;
    for (const shm::KernelRecord& record : batch.records) visit(record, reader.names());
    count += read;
  }
}

Result<Survey> SurveyProfile(model::ProfileReader& reader, const SamplingOptions& options) {
  model::KernelGroups groups =
      STEMTAP_TRY(model::KernelGroups::Create(options.group_by, options.exclude));
  Survey survey;
  const auto count =
      ForEachRecord(reader, [&](const shm::KernelRecord& record, const model::NameTable& names) {
        const std::uint32_t group = groups.Of(record, names);
        if (group == model::kExcludedKernel) return;
        if (group == survey.kernels.size()) {
          survey.kernels.emplace_back();
          survey.groups.push_back(groups.group(group));
        }
        KernelDurations& kernel = survey.kernels[group];
        kernel.sketch.Add(record.duration_ns);
        kernel.zeros += record.duration_ns == 0;
      });
  survey.records = STEMTAP_TRY(count);
  survey.excluded = groups.excluded();
  survey.warnings = reader.warnings();
  return survey;
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
                            std::uint64_t records, std::vector<KernelPicks>& kernels) {
  model::KernelGroups groups =
      STEMTAP_TRY(model::KernelGroups::Create(options.group_by, options.exclude));
  std::uint64_t index = 0;
  bool same = true;
  const auto read = ForEachRecord(reader, [&](const shm::KernelRecord& record,
                                              const model::NameTable& names) {
    const std::uint64_t at = index++;
    const std::uint32_t group = groups.Of(record, names);
    if (group == model::kExcludedKernel) return;
    const std::uint64_t occurrence = groups.NextOccurrence(group, record);
    const std::uint32_t bin = stats::LogSketch::BinOf(record.duration_ns);
    if (group >= kernels.size() ||
        bin - kernels[group].first_bin >= kernels[group].cluster_of_bin.size()) {
      same = false;
      return;
    }
    KernelPicks& kernel = kernels[group];
    const std::uint32_t cluster = kernel.cluster_of_bin[bin - kernel.first_bin];
    Counter& counter =
        kernel.counters[options.selection == Selection::kFirst ? cluster : bin - kernel.first_bin];
    if (counter.next == counter.end || counter.seen++ != kernel.picks[counter.next]) return;
    ++counter.next;
    kernel.clusters[cluster].samples.push_back({at, occurrence, record, 0.0});
  });
  const bool complete = STEMTAP_TRY(read) == records;
  for (const KernelPicks& kernel : kernels) {
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

  const std::size_t count = survey.kernels.size();
  std::vector<KernelCells> cells(count);
  std::vector<std::vector<std::uint32_t>> bins(count);
  parallel(count, [&](std::size_t k) { cells[k] = CellsOf(survey.kernels[k].sketch, &bins[k]); });
  const SampleDesign design = DesignSample(cells, options, parallel);
  Rng rng(options.seed);
  std::vector<KernelPicks> kernels;
  kernels.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    kernels.push_back(DrawPicks(design.kernels[k], cells[k], bins[k], options.selection, rng));
  }

  if (!reader->Rewind()) reader = STEMTAP_TRY(open());
  if (!STEMTAP_TRY(CollectSamples(*reader, options, survey.records, kernels))) {
    return Error{
        fmt::format("{}: is not the same when read again; expected a file that is complete",
                    model::NameOfSource(source))};
  }
  PlanBuilder builder(options);
  for (std::size_t k = 0; k < count; ++k) {
    const stats::LogSketch& sketch = survey.kernels[k].sketch;
    builder.AddKernel(survey.groups[k].name, sketch.count(),
                      static_cast<std::uint64_t>(sketch.total_duration()), survey.kernels[k].zeros,
                      std::move(kernels[k].clusters), survey.groups[k].config);
  }
  TwoPassPlan result{builder.Finish(), survey.warnings};
  result.plan.totals.spread_samples = design.spread_samples;
  result.plan.totals.excluded_invocations = survey.excluded.invocations;
  result.plan.totals.excluded_duration_ns = survey.excluded.duration_ns;
  return result;
}

}  // namespace stemtap::sampling
