// SPDX-License-Identifier: Apache-2.0
#include "analysis/alignment/plan_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "model/kernel_groups.h"
#include "model/kernel_name.h"
#include "shm/record.h"

namespace stemtap::analysis {
namespace {

// Maximum number of samples listed in an error; the rest is counted, so that the error is one line.
constexpr std::size_t kMaxNamed = 5;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

shm::KernelRecord RecordOf(const RunLaunch& launch) {
  shm::KernelRecord record;
  record.name_id = launch.name_id;
  record.start_ns = shm::kUnknownTime;
  record.duration_ns = launch.duration_ns;
  record.device = launch.device;
  record.stream = launch.stream;
  record.shared_bytes = launch.shared_bytes;
  std::copy_n(launch.grid, 3, record.grid);
  std::copy_n(launch.block, 3, record.block);
  return record;
}

constexpr const char* kGroupedByRange =
    "groups launches by range; expected a plan without --ranges and --only-range";

// Population is the launches of a run by kernel, with the plan's options for grouping.
struct Population {
  std::vector<std::vector<std::uint32_t>> launches;  // by group, ascending
  std::vector<model::KernelId> groups;
  std::vector<std::uint64_t> occurrence;  // by launch (OccurrenceCounter)
  model::ExcludedTotals excluded;
};

Result<Population> PopulationOf(const Run& run, model::GroupBy by, const std::string& exclude) {
  model::KernelGroups groups = STEMTAP_TRY(model::KernelGroups::Create(by, exclude));
  model::OccurrenceCounter occurrences(by);
  Population population;
  population.occurrence.resize(run.launches.size(), 0);
  for (std::uint32_t i = 0; i < run.launches.size(); ++i) {
    const shm::KernelRecord record = RecordOf(run.launches[i]);
    if (!groups.Excludes(record.name_id, run.names)) {
      population.occurrence[i] = occurrences.Next(record.name_id, run.names);
    }
    const std::uint32_t group = groups.Of(record, run.names);
    if (group == model::kExcludedKernel) continue;
    if (group >= population.launches.size()) population.launches.resize(group + 1);
    population.launches[group].push_back(i);
  }
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    population.groups.push_back(groups.group(g));
  }
  population.excluded = groups.excluded();
  return population;
}

// Durations accumulates the moments of durations (Welford) and their range.
struct Durations {
  std::uint64_t count = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t min_ns = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ns = 0;
  double mean = 0.0;
  double m2 = 0.0;
  double index_time = 0.0;  // sum of duration x launch index

  void Add(std::uint64_t duration_ns, std::uint32_t index) {
    index_time += static_cast<double>(duration_ns) * static_cast<double>(index);
    ++count;
    sum_ns += duration_ns;
    min_ns = std::min(min_ns, duration_ns);
    max_ns = std::max(max_ns, duration_ns);
    const auto x = static_cast<double>(duration_ns);
    const double delta = x - mean;
    mean += delta / static_cast<double>(count);
    m2 += delta * (x - mean);
  }

  // REQUIRES: count > 0.
  void Describe(model::PlanCluster& cluster) const {
    // Joined launches and other periods keep their share of the cluster's time.
    if (cluster.mean_ns > 0.0) {
      cluster.joined_bias_ns *= mean / cluster.mean_ns;
      cluster.other_periods_ns *= mean / cluster.mean_ns;
    }
    if (!std::isnan(cluster.mean_index) && sum_ns > 0) {
      cluster.mean_index = index_time / static_cast<double>(sum_ns);
    }
    cluster.lower_ns = min_ns;
    cluster.upper_ns = max_ns;
    cluster.mean_ns = mean;
    cluster.stddev_ns = std::sqrt(m2 / static_cast<double>(count));
  }
};

// Returns the cluster of each launch of a kernel in A: for samples the cluster that contains them,
// for other launches by the duration ranges of the plan. Clusters with the same range are periods
// of a run, in order. Returns nullopt if this does not reproduce the plan's counts: the clusters
// are not cut by duration, or their ranges overlap otherwise.
std::optional<std::vector<std::size_t>> Membership(const model::PlanKernel& kernel, const Run& a,
                                                   const std::vector<std::uint32_t>& launches) {
  std::unordered_map<std::uint64_t, std::size_t> sampled;
  for (std::size_t c = 0; c < kernel.clusters.size(); ++c) {
    for (const model::PlanSample& sample : kernel.clusters[c].samples)
      sampled.emplace(sample.index, c);
  }
  // Completely sampled clusters contain only their samples, whatever their range.
  std::vector<std::size_t> open;
  for (std::size_t c = 0; c < kernel.clusters.size(); ++c) {
    if (kernel.clusters[c].count > kernel.clusters[c].samples.size()) open.push_back(c);
  }
  std::stable_sort(open.begin(), open.end(), [&](std::size_t x, std::size_t y) {
    return kernel.clusters[x].upper_ns < kernel.clusters[y].upper_ns;
  });
  std::vector<std::size_t> member;
  std::vector<std::uint64_t> counts(kernel.clusters.size(), 0);
  for (const std::uint32_t index : launches) {
    const std::uint64_t duration = a.launches[index].duration_ns;
    const auto known = sampled.find(index);
    std::size_t cluster;
    if (known != sampled.end()) {
      cluster = known->second;
    } else {
      auto at = std::lower_bound(
          open.begin(), open.end(), duration,
          [&](std::size_t c, std::uint64_t ns) { return kernel.clusters[c].upper_ns < ns; });
      while (at != open.end() && counts[*at] == kernel.clusters[*at].count) ++at;
      if (at == open.end() || kernel.clusters[*at].lower_ns > duration) return std::nullopt;
      cluster = *at;
    }
    ++counts[cluster];
    member.push_back(cluster);
  }
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] != kernel.clusters[c].count) return std::nullopt;
  }
  return member;
}

// Transfer transfers the samples of a plan. MEMBERS: its inputs, and a table for each way in which
// it looks up kernels of the two runs.
class Transfer {
 public:
  Transfer(const model::Plan& plan, const Run& a, const Run& b, const Alignment& alignment,
           const PlanTransferOptions& options)
      : plan_(plan), a_(a), b_(b), alignment_(alignment), options_(options) {}

  Result<PlanTransfer> Run() {
    std::set<std::int32_t> processes;
    for (const model::PlanKernel& kernel : plan_.kernels) processes.insert(kernel.process);
    if (processes.size() > 1) {
      return Error{fmt::format(
          "{}: has kernels of {} processes (--share-captures off); expected one process",
          EscapeForTerminal(options_.plan_name), processes.size())};
    }
    const model::GroupBy by = model::GroupByOf(model::OptionText(plan_.options, "group_by"));
    const std::string exclude = model::OptionText(plan_.options, "exclude");
    Population of_a = STEMTAP_TRY(PopulationOf(a_, by, exclude));
    Population of_b = STEMTAP_TRY(PopulationOf(b_, by, exclude));
    in_a_ = std::move(of_a);
    in_b_ = std::move(of_b);
    for (const KernelCount& count : alignment_.differs) {
      const bool by_function = by == model::GroupBy::kFunction;
      unequal_.insert(by_function ? model::FunctionName(count.name) : count.name);
    }
    for (std::size_t g = 0; g < in_b_.groups.size(); ++g) {
      groups_of_b_[Comparable(in_b_.groups[g])].push_back(g);
    }
    transferred_.assign(in_b_.groups.size(), false);

    result_.plan.source = options_.source_b;
    result_.plan.options = plan_.options;
    for (std::size_t g = 0; g < in_a_.groups.size(); ++g) {
      const model::KernelId& group = in_a_.groups[g];
      group_of_a_.emplace(group, g);
      ++alike_in_a_[Comparable(group)];
    }
    for (const model::PlanKernel& kernel : plan_.kernels) {
      STEMTAP_TRY(Kernel(kernel));
    }
    if (!options_.drop_unmatched && !result_.dropped.empty()) return Refusal();
    NewKernels();
    Totals();
    return std::move(result_);
  }

 private:
  std::string Comparable(const std::string& name) const {
    return alignment_.names_cut ? ComparableName(name) : name;
  }

  // Process ids of A are not valid in B.
  model::KernelId Comparable(const model::KernelId& id) const {
    return {Comparable(id.name), 0, id.config};
  }

  Error NotOfA(const std::string& what) const {
    return {fmt::format("{}: {}; expected a plan made from the first run",
                        EscapeForTerminal(options_.plan_name), what)};
  }

  // Counterpart is the group of B for a kernel, or the reason why its samples cannot be
  // transferred.
  struct Counterpart {
    std::size_t group = 0;
    std::string obstacle;
  };

  Counterpart CounterpartOf(const model::PlanKernel& kernel, std::size_t launches) const {
    const model::KernelId key = Comparable(kernel);
    const auto other = groups_of_b_.find(key);
    const bool present = other != groups_of_b_.end();
    if (alike_in_a_.at(key) > 1 || (present && other->second.size() > 1)) {
      return {0, "several kernels have its name without compiler suffixes"};
    }
    if (!present || unequal_.contains(Comparable(kernel.name)) ||
        in_b_.launches[other->second.front()].size() != launches) {
      return {0, "the runs launch its kernel a different number of times"};
    }
    return {other->second.front(), {}};
  }

  // Returns the partner of a launch of A if it belongs to `group` of B. Partners may belong to
  // different kernels if a property was not compared.
  std::uint32_t PartnerIn(std::size_t group, std::uint64_t index) const {
    const std::uint32_t partner = alignment_.partner_of_a[index];
    const std::vector<std::uint32_t>& launches = in_b_.launches[group];
    const bool in_group = std::binary_search(launches.begin(), launches.end(), partner);
    return in_group ? partner : kNoPartner;
  }

  // Returns why a sample's launch cannot be transferred; empty if it can.
  std::string Obstacle(const model::PlanSample& sample, const Counterpart& other) const {
    if (!other.obstacle.empty()) return other.obstacle;
    if (alignment_.partner_of_a[sample.index] == kNoPartner) {
      return "the launch has no counterpart at its position in the order";
    }
    if (PartnerIn(other.group, sample.index) == kNoPartner) {
      return "the launch at its position in the order belongs to another kernel";
    }
    return {};
  }

  Status Kernel(const model::PlanKernel& kernel) {
    const auto known = group_of_a_.find({kernel.name, 0, kernel.config});
    if (known == group_of_a_.end() || in_a_.launches[known->second].size() != kernel.invocations) {
      return NotOfA(fmt::format(
          "the kernel '{}' is launched {} times in the plan and {} times in the run",
          EscapeForTerminal(kernel.name), kernel.invocations,
          known == group_of_a_.end() ? std::size_t{0} : in_a_.launches[known->second].size()));
    }
    const std::vector<std::uint32_t>& launches = in_a_.launches[known->second];
    const Counterpart other = CounterpartOf(kernel, launches.size());
    model::PlanKernel transferred = kernel;
    for (model::PlanCluster& cluster : transferred.clusters) {
      STEMTAP_TRY(Samples(kernel, launches, other, cluster));
    }
    // All samples are dropped; NewKernels counts the launches of B.
    if (!other.obstacle.empty()) return Success{};
    transferred.name = in_b_.groups[other.group].name;
    if (transferred_[other.group]) {
      return NotOfA(fmt::format("the kernel '{}' occurs twice", EscapeForTerminal(kernel.name)));
    }
    transferred_[other.group] = true;
    transferred.process = 0;  // process ids of A are not valid in B
    transferred.duration_ns = 0;
    for (const std::uint32_t i : in_b_.launches[other.group]) {
      transferred.duration_ns += b_.launches[i].duration_ns;
    }
    Describe(kernel, launches, other.group, transferred);
    result_.plan.kernels.push_back(std::move(transferred));
    return Success{};
  }

  // Transfers the samples of `cluster` in place.
  Status Samples(const model::PlanKernel& kernel, const std::vector<std::uint32_t>& launches,
                 const Counterpart& other, model::PlanCluster& cluster) {
    std::vector<model::PlanSample> kept;
    double weight = 0.0;
    double weight_kept = 0.0;
    for (const model::PlanSample& sample : cluster.samples) {
      if (!std::binary_search(launches.begin(), launches.end(), sample.index)) {
        return NotOfA(fmt::format("launch {} is '{}' in the plan and another kernel in the run",
                                  sample.index, EscapeForTerminal(kernel.name)));
      }
      const std::uint64_t recorded = a_.launches[sample.index].duration_ns;
      // The duration of an imputed sample differs from the recorded one.
      if (!sample.imputed && recorded != sample.record.duration_ns) {
        return NotOfA(fmt::format("launch {} takes {} ns in the plan and {} ns in the run",
                                  sample.index, sample.record.duration_ns, recorded));
      }
      weight += sample.weight;
      const std::string obstacle = Obstacle(sample, other);
      if (!obstacle.empty()) {
        result_.dropped.push_back({sample.index, kernel.name, obstacle});
        continue;
      }
      weight_kept += sample.weight;
      model::PlanSample& partner = kept.emplace_back(sample);
      partner.index = alignment_.partner_of_a[sample.index];
      partner.occurrence = in_b_.occurrence[partner.index];
      partner.record = RecordOf(b_.launches[partner.index]);
      partner.imputed = false;
      partner.range.clear();  // what the other program reported is not known
      partner.step = shm::kNoStep;
    }
    if (kept.size() < cluster.samples.size()) {
      for (model::PlanSample& sample : kept) {
        // If calibration made the weights of the kept samples 0, divide the cluster's weight
        // equally.
        sample.weight = weight_kept > 0.0 ? sample.weight * (weight / weight_kept)
                                          : weight / static_cast<double>(kept.size());
      }
      cluster.captured = kept.size();
    }
    std::sort(kept.begin(), kept.end(), [](const model::PlanSample& x, const model::PlanSample& y) {
      return x.index < y.index;
    });
    cluster.samples = std::move(kept);
    cluster.independent = std::min<std::uint64_t>(cluster.independent, cluster.captured);
    if (cluster.samples.empty()) {
      cluster.joined = cluster.other_periods = 0;
      cluster.joined_bias_ns = cluster.other_periods_ns = 0.0;
    }
    return Success{};
  }

  // Computes the ranges and moments of the clusters from B's durations.
  void Describe(const model::PlanKernel& kernel, const std::vector<std::uint32_t>& launches,
                std::size_t group, model::PlanKernel& transferred) {
    const std::optional<std::vector<std::size_t>> member = Membership(kernel, a_, launches);
    std::vector<Durations> durations(kernel.clusters.size());
    std::size_t without = 0;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const std::uint32_t partner = PartnerIn(group, launches[i]);
      if (partner == kNoPartner) {
        ++without;
      } else if (member) {
        durations[(*member)[i]].Add(b_.launches[partner].duration_ns, partner);
      }
    }
    if (without > 0) {
      result_.warnings.push_back(
          fmt::format("'{}': {} of {} launches have no counterpart; cluster counts, and all "
                      "figures of clusters without counterparts, are from the first run",
                      EscapeForTerminal(kernel.name), without, launches.size()));
    }
    if (!member) {
      result_.warnings.push_back(
          fmt::format("'{}': its clusters are not defined by duration alone; their ranges, means "
                      "and deviations are from the first run",
                      EscapeForTerminal(kernel.name)));
      return;
    }
    for (std::size_t c = 0; c < durations.size(); ++c) {
      // The durations of a cluster without partners are unknown, not 0.
      if (durations[c].count > 0) durations[c].Describe(transferred.clusters[c]);
    }
  }

  // Adds the launches of B whose kernel was not transferred, as clusters without samples.
  void NewKernels() {
    for (std::size_t g = 0; g < in_b_.groups.size(); ++g) {
      if (transferred_[g]) continue;
      Durations durations;
      for (const std::uint32_t i : in_b_.launches[g]) durations.Add(b_.launches[i].duration_ns, i);
      model::PlanKernel kernel;
      kernel.name = in_b_.groups[g].name;
      kernel.config = in_b_.groups[g].config;
      kernel.invocations = durations.count;
      kernel.duration_ns = durations.sum_ns;
      model::PlanCluster& cluster = kernel.clusters.emplace_back();
      cluster.count = durations.count;
      durations.Describe(cluster);
      result_.plan.kernels.push_back(std::move(kernel));
    }
  }

  void Totals() {
    model::PlanTotals& totals = result_.plan.totals;
    double uncovered_ns = 0.0;
    double joined_ns = 0.0;
    double in_force = 0.0;
    for (const model::PlanKernel& kernel : result_.plan.kernels) {
      totals.invocations += kernel.invocations;
      totals.duration_ns += kernel.duration_ns;
      ++totals.kernels;
      double described = 0.0;  // time of the clusters by their means, to divide the kernel's time
      double bare = 0.0;
      double joined = 0.0;
      bool covered = false;
      for (const model::PlanCluster& cluster : kernel.clusters) {
        ++totals.clusters;
        const double time = static_cast<double>(cluster.count) * cluster.mean_ns;
        described += time;
        if (cluster.samples.empty()) bare += time;
        joined += model::JoinedTime(cluster);
        double sampled = 0.0;
        for (const model::PlanSample& sample : cluster.samples) {
          ++totals.samples;
          totals.sampled_duration_ns += sample.record.duration_ns;
          const auto duration = static_cast<double>(sample.record.duration_ns);
          sampled += duration;
          in_force += sample.weight * duration;
        }
        if (!cluster.samples.empty()) {
          covered = true;
          totals.plain_estimate_ns += sampled * static_cast<double>(cluster.count) /
                                      static_cast<double>(cluster.samples.size());
        }
      }
      if (!covered) {
        uncovered_ns += static_cast<double>(kernel.duration_ns);
      } else if (described > 0.0) {
        uncovered_ns += static_cast<double>(kernel.duration_ns) * bare / described;
        joined_ns += static_cast<double>(kernel.duration_ns) * joined / described;
      }
    }
    // If the plan has plain weights, use them as they are: a method may have its own.
    const bool plain = model::OptionText(plan_.options, "weights") == "plain";
    if (plain) totals.plain_estimate_ns = in_force;
    const auto total = static_cast<double>(totals.duration_ns);
    totals.speedup = totals.sampled_duration_ns == 0
                         ? 0.0
                         : total / static_cast<double>(totals.sampled_duration_ns);
    totals.bound = totals.certified_bound = kUnknown;
    totals.observed_error = total > 0.0 ? std::fabs(totals.plain_estimate_ns - total) / total : 0.0;
    totals.calibrated_estimate_ns = plain ? kUnknown : in_force;
    totals.uncovered_fraction = total > 0.0 ? uncovered_ns / total : 0.0;
    totals.joined_fraction = total > 0.0 ? std::clamp(joined_ns / total, 0.0, 1.0) : 0.0;
    for (const std::vector<std::uint32_t>& launches : in_b_.launches) {
      for (const std::uint32_t i : launches)
        totals.zero_duration += b_.launches[i].duration_ns == 0;
    }
    totals.excluded_invocations = in_b_.excluded.invocations;
    totals.excluded_duration_ns = in_b_.excluded.duration_ns;
  }

  Error Refusal() const {
    std::string list;
    for (std::size_t i = 0; i < result_.dropped.size() && i < kMaxNamed; ++i) {
      const DroppedSample& dropped = result_.dropped[i];
      list += fmt::format("{}launch {} of '{}' ({})", i == 0 ? "" : "; ", dropped.index,
                          EscapeForTerminal(dropped.kernel.substr(0, 80)), dropped.reason);
    }
    if (result_.dropped.size() > kMaxNamed) {
      list += fmt::format("; and {} more", result_.dropped.size() - kMaxNamed);
    }
    return {fmt::format(
        "{}: {} of {} samples cannot be transferred: {}; expected counterparts for all, or "
        "--drop-unmatched",
        EscapeForTerminal(options_.plan_name), result_.dropped.size(), plan_.totals.samples, list)};
  }

  const model::Plan& plan_;
  const stemtap::analysis::Run& a_;
  const stemtap::analysis::Run& b_;
  const Alignment& alignment_;
  const PlanTransferOptions& options_;
  Population in_a_;
  Population in_b_;
  std::set<std::string> unequal_;  // kernels whose counts differ
  std::unordered_map<model::KernelId, std::size_t, model::KernelIdHash> group_of_a_;
  // By compared name, which several kernels may share.
  std::unordered_map<model::KernelId, std::size_t, model::KernelIdHash> alike_in_a_;
  std::unordered_map<model::KernelId, std::vector<std::size_t>, model::KernelIdHash> groups_of_b_;
  std::vector<bool> transferred_;  // by group of B
  PlanTransfer result_;
};

}  // namespace

Result<PlanTransfer> TransferPlan(const model::Plan& plan, const Run& a, const Run& b,
                                  const Alignment& alignment, const PlanTransferOptions& options) {
  if (!plan.ranges.empty()) {
    return Error{fmt::format("{}: {}", EscapeForTerminal(options.plan_name), kGroupedByRange)};
  }
  if (model::HasPool(plan)) {
    return Error{fmt::format("{}: {}", EscapeForTerminal(options.plan_name), model::kHasPool)};
  }
  return Transfer(plan, a, b, alignment, options).Run();
}

}  // namespace stemtap::analysis
