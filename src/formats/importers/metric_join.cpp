// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/metric_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "formats/importers/importers.h"
#include "formats/importers/ncu_page.h"
#include "formats/importers/registry.h"
#include "model/kernel_name.h"
#include "model/profile.h"

namespace stemtap::formats {
namespace {

constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};
constexpr std::uint32_t kNoName = ~std::uint32_t{0};

// Returns the devices of a run in ascending order; the unknown device is last.
std::vector<std::uint16_t> DevicesOf(const model::Profile& profile) {
  std::set<std::uint16_t> devices;
  for (const shm::KernelRecord& record : profile.records) devices.insert(record.device);
  if (devices.empty()) devices.insert(shm::kUnknown16);
  return {devices.begin(), devices.end()};
}

std::string WithoutSpaces(const std::string& name) {
  std::string result = model::Demangled(name);
  std::erase(result, ' ');
  return result;
}

std::string Extents(const shm::KernelRecord& r) {
  return fmt::format("grid {}x{}x{} and block {}x{}x{}", r.grid[0], r.grid[1], r.grid[2],
                     r.block[0], r.block[1], r.block[2]);
}

// Returns whether both extents are known and differ.
template <typename Extent>
bool Differ(const Extent (&a)[3], const Extent (&b)[3]) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (a[i] != shm::kUnknownExtent && b[i] != shm::kUnknownExtent && a[i] != b[i]) return true;
  }
  return false;
}

// Joined returns the launches of a profile with other metrics.
class Joined : public model::ProfileReader {
 public:
  Joined(model::Profile profile, std::vector<std::string> warnings) : profile_(std::move(profile)) {
    names_ = profile_.names;
    marks_ = profile_.marks;
    metric_names_ = profile_.metric_names;
    warnings_ = std::move(warnings);
  }

  Result<std::size_t> ReadSome(model::ProfileBatch& batch, std::size_t limit) override {
    const std::size_t count = std::min(limit, profile_.records.size() - next_);
    const auto part = [&](const auto& from, auto& to) {
      const auto first = from.begin() + static_cast<std::ptrdiff_t>(next_);
      to.assign(first, first + static_cast<std::ptrdiff_t>(count));
    };
    part(profile_.records, batch.records);
    if (!profile_.steps.empty()) part(profile_.steps, batch.steps);
    batch.metrics.resize(profile_.metrics.size());
    for (std::size_t i = 0; i < profile_.metrics.size(); ++i) {
      part(profile_.metrics[i], batch.metrics[i]);
    }
    next_ += count;
    return count;
  }

 private:
  model::Profile profile_;
  std::size_t next_ = 0;
};

class Join {
 public:
  Join(const model::Profile& profile, const std::string& profile_name,
       const model::Profile& metrics, const std::string& metrics_name)
      : profile_(profile),
        profile_name_(profile_name),
        metrics_(metrics),
        metrics_name_(metrics_name),
        group_of_(profile.names.size(), kNoGroup),
        metrics_group_of_(metrics.names.size(), kNoGroup) {}

  // Groups the names of both sides, then pairs launches.
  Status Run() {
    const auto whole = [](const std::string& name) { return name; };
    GroupBy(whole);
    const std::size_t exact = groups_;
    GroupBy(WithoutSpaces);
    const std::size_t spelled = groups_;
    GroupBy(model::BaseName);
    if (groups_ == 0) {
      return Error{fmt::format(
          "{}: no kernel of {}, but for example '{}'; expected the same kernels, for example '{}'",
          metrics_name_, profile_name_, FirstName(metrics_), FirstName(profile_))};
    }
    if (spelled > exact) {
      Warn(fmt::format("{} joined despite different spelling",
                       Plural(spelled - exact, "kernel name is", "kernel names are")));
    }
    if (groups_ > spelled) {
      Warn(fmt::format("{} joined by function name alone, such as '{}'",
                       Plural(groups_ - spelled, "kernel is", "kernels are"),
                       ShownCell(by_function_)));
    }
    STEMTAP_TRY(Pair());
    WarnOfLeftOver();
    return Success{};
  }

  // For each launch of the profile, the row of its metrics or kNoRow.
  static constexpr std::size_t kNoRow = ~std::size_t{0};
  const std::vector<std::size_t>& rows() const { return rows_; }
  std::vector<std::string>& warnings() { return warnings_; }

 private:
  void Warn(const std::string& what) {
    warnings_.push_back(fmt::format("{}: {}", metrics_name_, what));
  }

  static std::string FirstName(const model::Profile& profile) {
    return profile.names.size() == 0 ? "" : ShownCell(profile.names.name(0));
  }

  template <typename KeyOf>
  void GroupBy(const KeyOf& key_of) {
    struct Side {
      std::vector<std::uint32_t> here, there;
    };
    std::map<std::string, Side> sides;
    for (std::uint32_t id = 0; id < group_of_.size(); ++id) {
      if (group_of_[id] == kNoGroup) sides[key_of(profile_.names.name(id))].here.push_back(id);
    }
    for (std::uint32_t id = 0; id < metrics_group_of_.size(); ++id) {
      if (metrics_group_of_[id] == kNoGroup) {
        sides[key_of(metrics_.names.name(id))].there.push_back(id);
      }
    }
    for (const auto& [key, side] : sides) {
      if (side.here.empty() || side.there.empty()) continue;
      for (const std::uint32_t id : side.here) group_of_[id] = groups_;
      for (const std::uint32_t id : side.there) metrics_group_of_[id] = groups_;
      by_function_ = key;
      ++groups_;
    }
  }

  Status Pair() {
    // Devices are distinguished only if both files contain the same devices.
    const std::vector<std::uint16_t> devices = DevicesOf(profile_);
    const bool by_device = devices == DevicesOf(metrics_) && devices.back() != shm::kUnknown16;
    if (!by_device && std::max(devices.size(), DevicesOf(metrics_).size()) > 1) {
      Warn(fmt::format("{} has other devices than {}; launches are counted across all devices",
                       metrics_name_, profile_name_));
    }
    const std::size_t per_group = by_device ? devices.size() : 1;
    const auto place = [&](std::uint32_t group, std::uint16_t device) {
      const auto at = std::lower_bound(devices.begin(), devices.end(), device);
      return group * per_group + (by_device ? static_cast<std::size_t>(at - devices.begin()) : 0);
    };
    const std::size_t places = groups_ * per_group;
    std::vector<std::vector<std::size_t>> there(places);
    for (std::size_t i = 0; i < metrics_.records.size(); ++i) {
      const shm::KernelRecord& record = metrics_.records[i];
      const std::uint32_t group = metrics_group_of_[record.name_id];
      if (group == kNoGroup) {
        ++counts_.unmatched_there;
      } else {
        there[place(group, record.device)].push_back(i);
      }
    }
    std::vector<std::size_t> seen(places);
    std::vector<std::uint32_t> example(places, kNoName);
    rows_.assign(profile_.records.size(), kNoRow);
    for (std::size_t i = 0; i < profile_.records.size(); ++i) {
      const shm::KernelRecord& record = profile_.records[i];
      const std::uint32_t group = group_of_[record.name_id];
      if (group == kNoGroup) {
        ++counts_.unmatched_here;
        continue;
      }
      const std::size_t at = place(group, record.device);
      example[at] = record.name_id;
      const std::size_t n = seen[at]++;
      if (n >= there[at].size()) continue;
      const std::size_t row = there[at][n];
      const shm::KernelRecord& other = metrics_.records[row];
      if (Differ(record.grid, other.grid) || Differ(record.block, other.block)) {
        return Error{
            fmt::format("{}: launch {} has {}; expected {} as in its counterpart (launch {} of "
                        "{}, number {} of '{}')",
                        metrics_name_, row, Extents(other), Extents(record), i, profile_name_, n,
                        ShownCell(profile_.names.name(record.name_id)))};
      }
      rows_[i] = row;
    }
    for (std::size_t at = 0; at < places; ++at) {
      if (seen[at] == there[at].size() || example[at] == kNoName) continue;
      if (counts_.uneven++ == 0) {
        counts_.uneven_example =
            fmt::format("'{}' {} times, {} in {}", ShownCell(profile_.names.name(example[at])),
                        there[at].size(), seen[at], profile_name_);
      }
    }
    return Success{};
  }

  void WarnOfLeftOver() {
    if (counts_.uneven > 0) {
      Warn(fmt::format(
          "{} launched a different number of times, such as {}; the first launches of both files "
          "are joined, which is wrong if the profiler skipped launches (ncu --launch-skip)",
          Plural(counts_.uneven, "kernel was", "kernels were"), counts_.uneven_example));
    }
    const auto count = [](const std::vector<std::uint32_t>& groups) {
      return static_cast<std::uint64_t>(std::count(groups.begin(), groups.end(), kNoGroup));
    };
    if (counts_.unmatched_there > 0) {
      Warn(fmt::format("{} not in {} ({}); skipped",
                       Plural(count(metrics_group_of_), "kernel name is", "kernel names are"),
                       profile_name_, Plural(counts_.unmatched_there, "launch", "launches")));
    }
    const auto without = static_cast<std::size_t>(std::count(rows_.begin(), rows_.end(), kNoRow));
    if (without > 0) {
      Warn(
          fmt::format("{} of the {} launches of {} have metrics; {} have none, {} of them in {} "
                      "without any metrics",
                      rows_.size() - without, rows_.size(), profile_name_, without,
                      counts_.unmatched_here, Plural(count(group_of_), "kernel")));
    }
  }

  const model::Profile& profile_;
  const std::string& profile_name_;
  const model::Profile& metrics_;
  const std::string& metrics_name_;
  std::vector<std::uint32_t> group_of_;          // by name id of the profile
  std::vector<std::uint32_t> metrics_group_of_;  // by name id of the metrics
  std::uint32_t groups_ = 0;
  std::string by_function_;  // key of the most recent group
  std::vector<std::size_t> rows_;
  // What the warnings report.
  struct Counts {
    std::uint64_t unmatched_here = 0;
    std::uint64_t unmatched_there = 0;
    std::uint64_t uneven = 0;
    std::string uneven_example;
  };
  Counts counts_;
  std::vector<std::string> warnings_;
};

}  // namespace

Result<std::unique_ptr<model::ProfileReader>> OpenMetrics(std::unique_ptr<ByteSource> source) {
  source = LimitUnpacking(std::move(source));  // every format keeps the whole content
  const std::string_view leading = STEMTAP_TRY(source->Peek(kDetectBytes));
  if (LooksLikeNcuCsv(leading)) return OpenNcuMetrics(std::move(source));
  return OpenProfile(std::move(source), Marks::kSkip);
}

Result<std::unique_ptr<model::ProfileReader>> JoinMetrics(
    std::unique_ptr<model::ProfileReader> profile, const std::string& profile_name,
    std::unique_ptr<model::ProfileReader> metrics, const std::string& metrics_name) {
  model::Profile here = STEMTAP_TRY(model::LoadProfile(*profile));
  const model::Profile there = STEMTAP_TRY(model::LoadProfile(*metrics));
  if (there.metric_names.empty()) {
    return Error{fmt::format("{}: no metrics; expected at least one", metrics_name)};
  }
  for (const std::string& name : there.metric_names) {
    if (std::find(here.metric_names.begin(), here.metric_names.end(), name) !=
        here.metric_names.end()) {
      return Error{fmt::format("{}: {} also has the metric '{}'; expected it in one of them",
                               metrics_name, profile_name, ShownCell(name))};
    }
  }
  Join join(here, profile_name, there, metrics_name);
  STEMTAP_TRY(join.Run());
  for (std::size_t m = 0; m < there.metric_names.size(); ++m) {
    here.metric_names.push_back(there.metric_names[m]);
    std::vector<double>& column = here.metrics.emplace_back();
    column.reserve(here.records.size());
    for (const std::size_t row : join.rows()) {
      column.push_back(row == Join::kNoRow ? std::numeric_limits<double>::quiet_NaN()
                                           : there.metrics[m][row]);
    }
  }
  std::vector<std::string> warnings = std::move(here.warnings);
  for (const std::vector<std::string>& more : {there.warnings, join.warnings()}) {
    warnings.insert(warnings.end(), more.begin(), more.end());
  }
  return std::unique_ptr<model::ProfileReader>(
      std::make_unique<Joined>(std::move(here), std::move(warnings)));
}

Result<std::unique_ptr<model::ProfileReader>> JoinMetricsFile(
    std::unique_ptr<model::ProfileReader> profile, const std::string& profile_name,
    const std::string& metrics) {
  std::unique_ptr<ByteSource> source = STEMTAP_TRY(OpenStream(metrics));
  std::unique_ptr<model::ProfileReader> measured = STEMTAP_TRY(OpenMetrics(std::move(source)));
  return JoinMetrics(std::move(profile), profile_name, std::move(measured), metrics);
}

}  // namespace stemtap::formats
