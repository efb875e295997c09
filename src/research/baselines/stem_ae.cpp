// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/stem_ae.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "model/kernel_groups.h"
#include "model/kernel_name.h"
#include "research/baselines/invocation_groups.h"
#include "research/baselines/k_means.h"
#include "research/baselines/stratified.h"
#include "stats/moments.h"

namespace stemtap::research {
namespace {

// Launches of one duration.
struct Point {
  double duration_ns = 0.0;
  std::uint64_t count = 0;
};

// A cluster with the moments that its size depends on.
struct Part {
  std::span<const Point> points;  // ascending
  std::uint64_t count = 0;
  double mean = 0.0;
  double deviation = 0.0;  // population standard deviation; exactly 0 if all durations are equal
  std::uint64_t size = 0;  // launches to draw

  double cost() const { return static_cast<double>(size) * mean; }
  double spread() const { return static_cast<double>(count) * deviation; }
};

Part PartOf(std::span<const Point> points) {
  stats::Moments moments;
  for (const Point& p : points) {
    moments.Merge(stats::Moments(p.count, p.duration_ns, 0.0));
  }
  return {points, moments.count(), moments.mean(), points.size() < 2 ? 0.0 : moments.stddev(), 0};
}

std::uint64_t Ceil(double size) {
  // A tight bound asks for more than any cluster has.
  return size < 0x1p62 ? static_cast<std::uint64_t>(std::ceil(size)) : std::uint64_t{1} << 62;
}

// Divides the durations of one kernel.
class Splitter {
 public:
  Splitter(double z_over_bound, Rng& rng) : z_over_bound_(z_over_bound), rng_(rng) {}

  // Returns the clusters of a kernel, ascending by duration.
  std::vector<Part> Clusters(std::span<const Point> points) {
    Part whole = PartOf(points);
    if (whole.mean > 0.0) {
      whole.size = Ceil(std::pow(z_over_bound_ * whole.deviation / whole.mean, 2));
    }
    leaves_.clear();
    Divide(whole);
    return std::move(leaves_);
  }

 private:
  void Divide(const Part& whole) {
    if (whole.count == 1 || whole.cost() == 0.0 || whole.points.size() < 2) {
      leaves_.push_back(whole);
      if (whole.count == 1) leaves_.back().size = 1;
      return;
    }
    std::pair<Part, Part> halves = Halves(whole);
    if (halves.first.cost() + halves.second.cost() > whole.cost()) {
      leaves_.push_back(whole);
      return;
    }
    Divide(halves.first);
    Divide(halves.second);
  }

  // Splits by k-means and allocates jointly over the halves.
  std::pair<Part, Part> Halves(const Part& whole) {
    const std::span<const Point> points = whole.points;
    const std::size_t cut = Cut(points);
    Part low = PartOf(points.first(cut));
    Part high = PartOf(points.subspan(cut));
    double sum = 0.0;
    for (const Part* half : {&low, &high}) sum += half->spread() * std::sqrt(half->mean);
    const double budget = static_cast<double>(whole.count) * whole.mean / z_over_bound_;
    for (Part* half : {&low, &high}) {
      if (half->mean <= 0.0) continue;
      half->size = Ceil(sum / (budget * budget) * half->spread() / std::sqrt(half->mean));
    }
    return {low, high};
  }

  // Returns the number of points in the lower cluster of k-means with k = 2.
  std::size_t Cut(std::span<const Point> points) {
    std::vector<double> values;
    std::vector<std::uint64_t> counts;
    const double least = points.front().duration_ns;
    const double width = points.back().duration_ns - least;
    for (const Point& p : points) {
      values.push_back((p.duration_ns - least) / width);
      counts.push_back(p.count);
    }
    const KMeansClusters clusters = KMeans({1, values, counts}, 2, rng_);
    // A cluster of values is everything that is nearer to its center, so it is contiguous.
    const auto first = clusters.cluster_of.begin();
    const auto other = std::find_if(first, clusters.cluster_of.end(),
                                    [&](std::uint32_t c) { return c != *first; });
    return static_cast<std::size_t>(other - first);
  }

  double z_over_bound_;
  Rng& rng_;
  std::vector<Part> leaves_;
};

// Groups launches by the demangled name up to its first parenthesis, numbered in order of first
// launch; excluded launches stay excluded.
std::vector<std::uint32_t> GroupsByCutName(const MethodInput& input) {
  constexpr std::uint32_t kUnseen = model::kExcludedKernel;
  std::vector<std::uint32_t> of_name(input.profile.names.size(), kUnseen);
  std::map<std::string, std::uint32_t> known;
  std::vector<std::uint32_t> groups(input.groups.size(), model::kExcludedKernel);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (input.groups[i] == model::kExcludedKernel) continue;
    std::uint32_t& group = of_name[input.profile.records[i].name_id];
    if (group == kUnseen) {
      std::string name =
          model::Demangled(input.profile.names.name(input.profile.records[i].name_id));
      name.erase(std::min(name.find('('), name.size()));
      while (name.ends_with(' ')) name.pop_back();
      group = known.emplace(name, static_cast<std::uint32_t>(known.size())).first->second;
    }
    groups[i] = group;
  }
  return groups;
}

// Returns the launches' durations, each once; sorts `launches` by duration.
std::vector<Point> PointsOf(const model::Profile& profile, std::span<std::uint64_t> launches) {
  std::stable_sort(launches.begin(), launches.end(), [&](std::uint64_t a, std::uint64_t b) {
    return profile.records[a].duration_ns < profile.records[b].duration_ns;
  });
  std::vector<Point> points;
  for (const std::uint64_t i : launches) {
    const auto duration = static_cast<double>(profile.records[i].duration_ns);
    if (points.empty() || points.back().duration_ns != duration) points.push_back({duration, 0});
    ++points.back().count;
  }
  return points;
}

std::unique_ptr<PreparedMethod> Prepare(const MethodInput& input, std::uint64_t least) {
  InvocationGroups grouped = GroupInvocations(GroupsByCutName(input));
  Rng rng(input.options.seed);
  Splitter splitter(input.options.target().z / input.options.error_bound, rng);
  std::vector<SizedCluster> clusters;
  std::size_t begin = 0;
  for (std::size_t g = 0; g < grouped.size(); ++g) {
    const std::vector<Point> points = PointsOf(input.profile, grouped.group(g));
    for (const Part& part : splitter.Clusters(points)) {
      const std::size_t end = begin + part.count;
      clusters.push_back({begin, end, std::max(part.size, least)});
      begin = end;
    }
  }
  return MakeStratified(sampling::Selection::kRandom, input.groups.size(), std::move(grouped.order),
                        std::move(clusters), input.options.error_bound);
}

}  // namespace

Result<std::unique_ptr<PreparedMethod>> PrepareStemAe(const MethodInput& input) {
  return Prepare(input, 0);
}

Result<std::unique_ptr<PreparedMethod>> PrepareStemAeOne(const MethodInput& input) {
  return Prepare(input, 1);
}

}  // namespace stemtap::research
