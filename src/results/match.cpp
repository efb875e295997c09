// SPDX-License-Identifier: Apache-2.0
#include "results/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/byte_source.h"
#include "base/text.h"
#include "results/csv_rows.h"
#include "results/kernel_names.h"

namespace stemtap {
namespace {

// How many of each kind are named.
constexpr std::size_t kNamed = 5;

struct SamplePlace {
  std::size_t kernel, cluster, sample;
};

void Note(std::vector<std::string>& named, std::uint64_t& count, std::string text) {
  if (count++ < kNamed) named.push_back(std::move(text));
}

bool Known(const std::uint32_t (&grid)[3]) {
  return grid[0] != 0;
}

// Whether grid and block agree as far as both sides tell them.
bool SameShape(const wire::LaunchConfig& config, const wire::KernelRecord& record) {
  if (Known(config.grid) && Known(record.grid) &&
      !std::equal(config.grid, config.grid + 3, record.grid)) {
    return false;
  }
  return config.block[0] == 0 || record.block[0] == 0 ||
         std::equal(config.block, config.block + 3, record.block);
}

class Matcher {
 public:
  Matcher(const Plan& plan, const KernelResults& results, const MatchOptions& options)
      : plan_(plan), results_(results), options_(options) {}

  Result<Match> Run();

 private:
  const PlanSample& At(const SamplePlace& place) const {
    return plan_.kernels[place.kernel].clusters[place.cluster].samples[place.sample];
  }
  Status ByIndex();
  Status ByOrder();
  Status CheckDevices() const;
  void Pair(const SamplePlace& place, std::size_t row);
  Status OrderWithinName(const std::vector<std::size_t>& kernels,
                         const std::vector<std::size_t>& rows);
  void CheckNames();
  void Stranger(std::size_t row) {
    const KernelResult& result = results_.rows[row];
    Note(match_.strangers, match_.stranger_count,
         fmt::format("{} (id {})", result.where, result.id));
  }

  const Plan& plan_;
  const KernelResults& results_;
  const MatchOptions& options_;
  Match match_;
  std::vector<SamplePlace> places_;  // of the samples that results may be of
  std::uint64_t other_name_ = 0;
  std::uint64_t other_shape_ = 0;
  std::string first_other_;
};

// A consumer that counts launches per context gives the same id on every device.
Status Matcher::CheckDevices() const {
  const bool per_context = results_.source == ResultsSource::kAccelsim;
  if (!per_context || options_.device || options_.use_ids) return Success{};
  std::optional<std::uint16_t> first;
  for (const SamplePlace& place : places_) {
    const std::uint16_t device = At(place).record.device;
    if (device == wire::kUnknown16) continue;
    if (first && *first != device) {
      return Error{
          fmt::format("the plan's samples are of devices {} and {}, and {} counts launches per "
                      "context: expected "
                      "--device N for ids that count the launches of all devices, or --ids FILE",
                      *first, device, NameOf(results_.source))};
    }
    first = device;
  }
  return Success{};
}

void Matcher::Pair(const SamplePlace& place, std::size_t row) {
  std::size_t& taken = match_.rows[place.kernel][place.cluster][place.sample];
  const KernelResult& result = results_.rows[row];
  if (taken != kNoResult) {
    Note(match_.duplicates, match_.duplicate_count,
         fmt::format("{} (id {}, as {})", result.where, result.id, results_.rows[taken].where));
    return;
  }
  taken = row;
  ++match_.matched;
  const PlanKernel& kernel = plan_.kernels[place.kernel];
  const PlanSample& sample = At(place);
  const bool other_name = !result.name.empty() && !MaySameKernel(result.name, kernel.name);
  const bool other_shape = !other_name && !SameShape(result.config, sample.record);
  if ((other_name || other_shape) && other_name_ + other_shape_ == 0) {
    first_other_ =
        fmt::format("{}: {} has {} '{}', the plan's launch {} is of '{}'", result.where,
                    fmt::format("id {}", result.id), other_name ? "the kernel" : "another shape of",
                    ShownCell(result.name), sample.index, ShownCell(kernel.name));
  }
  other_name_ += other_name;
  other_shape_ += other_shape;
}

Status Matcher::ByIndex() {
  std::unordered_map<std::uint64_t, std::size_t> place_of;  // launch index -> places_
  for (std::size_t i = 0; i < places_.size(); ++i) place_of.emplace(At(places_[i]).index, i);
  const std::uint64_t base = results_.source == ResultsSource::kAccelsim ? 1
                             : results_.source == ResultsSource::kCsv    ? options_.id_base
                                                                         : 0;
  for (std::size_t row = 0; row < results_.rows.size(); ++row) {
    const std::uint64_t id = results_.rows[row].id;
    std::optional<std::uint64_t> index;
    if (options_.use_ids) {
      const auto at = options_.index_of.find(id);
      if (at != options_.index_of.end()) index = at->second;
    } else if (id >= base) {
      index = id - base;
    }
    const auto place = index ? place_of.find(*index) : place_of.end();
    if (place == place_of.end()) {
      Stranger(row);
    } else {
      Pair(places_[place->second], row);
    }
  }
  return Success{};
}

Status Matcher::OrderWithinName(const std::vector<std::size_t>& kernels,
                                const std::vector<std::size_t>& rows) {
  std::vector<SamplePlace> samples;
  std::uint64_t launches = 0;
  for (const std::size_t k : kernels) launches += plan_.kernels[k].invocations;
  for (const SamplePlace& place : places_) {
    if (std::find(kernels.begin(), kernels.end(), place.kernel) != kernels.end()) {
      samples.push_back(place);
    }
  }
  std::sort(samples.begin(), samples.end(),
            [&](const SamplePlace& a, const SamplePlace& b) { return At(a).index < At(b).index; });
  const std::string name = ShownCell(plan_.kernels[kernels.front()].name);
  if (rows.size() > samples.size()) {
    // Every launch was profiled: rows count occurrences, which are known within one name.
    const bool one_name = std::all_of(kernels.begin(), kernels.end(), [&](std::size_t k) {
      return plan_.kernels[k].name == plan_.kernels[kernels.front()].name;
    });
    if (rows.size() != launches || !one_name) {
      return Error{fmt::format(
          "{}: {} rows of '{}', expected one for each of the plan's {} samples or {} launches "
          "(--ids FILE says which row is which launch)",
          results_.rows[rows.front()].where, rows.size(), name, samples.size(), launches)};
    }
    std::vector<bool> used(rows.size());
    for (const SamplePlace& place : samples) {
      const std::uint64_t occurrence = At(place).occurrence;
      if (occurrence >= rows.size()) continue;
      used[occurrence] = true;
      Pair(place, rows[occurrence]);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!used[i]) Stranger(rows[i]);
    }
    return Success{};
  }
  if (rows.size() < samples.size()) {
    match_.warnings.push_back(
        fmt::format("{} rows of '{}' for {} samples: taken as the first ones in launch order",
                    rows.size(), name, samples.size()));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) Pair(samples[i], rows[i]);
  return Success{};
}

// ncu numbers what it profiled, not what was launched; within a kernel's name the order is the same.
Status Matcher::ByOrder() {
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_name;  // rows
  for (std::size_t row = 0; row < results_.rows.size(); ++row) {
    by_name[results_.rows[row].name].push_back(row);
  }
  std::map<std::string, std::vector<std::size_t>, std::less<>> exact;
  std::map<std::string, std::vector<std::size_t>, std::less<>> base;
  for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
    exact[plan_.kernels[k].name].push_back(k);
    base[BaseName(plan_.kernels[k].name)].push_back(k);
  }
  const bool all_exact = std::all_of(by_name.begin(), by_name.end(), [&](const auto& named) {
    // A name that no kernel of the plan has in any form is a stranger either way.
    return exact.contains(named.first) || !base.contains(BaseName(named.first));
  });
  std::map<std::string, std::vector<std::size_t>, std::less<>> groups;  // rows by the plan's key
  for (const auto& [name, rows] : by_name) {
    std::vector<std::size_t>& group = groups[all_exact ? name : BaseName(name)];
    group.insert(group.end(), rows.begin(), rows.end());
  }
  for (auto& [key, rows] : groups) {
    const auto& keys = all_exact ? exact : base;
    const auto kernels = keys.find(key);
    std::sort(rows.begin(), rows.end());
    if (kernels == keys.end()) {
      for (const std::size_t row : rows) Stranger(row);
      continue;
    }
    const Status ordered = OrderWithinName(kernels->second, rows);
    if (!ordered.ok()) return ordered;
  }
  return Success{};
}

void Matcher::CheckNames() {
  if (other_name_ + other_shape_ == 0) return;
  match_.warnings.push_back(
      fmt::format("{} ({} results with another name, {} with another grid or block, of {})",
                  first_other_, other_name_, other_shape_, match_.matched));
}

Result<Match> Matcher::Run() {
  for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
    std::vector<std::vector<std::size_t>>& kernel = match_.rows.emplace_back();
    for (std::size_t c = 0; c < plan_.kernels[k].clusters.size(); ++c) {
      const std::vector<PlanSample>& samples = plan_.kernels[k].clusters[c].samples;
      kernel.emplace_back(samples.size(), kNoResult);
      for (std::size_t s = 0; s < samples.size(); ++s) {
        ++match_.samples;
        if (!options_.device || samples[s].record.device == *options_.device) {
          places_.push_back({k, c, s});
        }
      }
    }
  }
  const Status devices = CheckDevices();
  if (!devices.ok()) return devices.error();
  const bool by_order = results_.source == ResultsSource::kNcu && !options_.use_ids;
  const Status paired = by_order ? ByOrder() : ByIndex();
  if (!paired.ok()) return paired.error();
  if (match_.matched == 0) {
    return Error{fmt::format(
        "none of {} results is of one of the plan's {} samples{}", results_.rows.size(),
        match_.samples,
        results_.rows.empty()
            ? ""
            : fmt::format(
                  ", first {} '{}' id {}: expected the plan that these results were made by",
                  results_.rows.front().where, ShownCell(results_.rows.front().name),
                  results_.rows.front().id))};
  }
  if (2 * (other_name_ + other_shape_) > match_.matched) {
    return Error{
        fmt::format("{} ({} of {} results are of another kernel or shape): expected the plan's "
                    "launches; ids may "
                    "count otherwise (--id-base, --ids)",
                    first_other_, other_name_ + other_shape_, match_.matched)};
  }
  CheckNames();
  for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
    for (std::size_t c = 0; c < plan_.kernels[k].clusters.size(); ++c) {
      const std::vector<PlanSample>& samples = plan_.kernels[k].clusters[c].samples;
      for (std::size_t s = 0; s < samples.size(); ++s) {
        if (match_.rows[k][c][s] != kNoResult) continue;
        Note(match_.missing, match_.missing_count,
             fmt::format("launch {} ({})", samples[s].index, ShownCell(plan_.kernels[k].name)));
      }
    }
  }
  return std::move(match_);
}

}  // namespace

Result<Match> MatchResults(const Plan& plan, const KernelResults& results,
                           const MatchOptions& options) {
  return Matcher(plan, results, options).Run();
}

Result<std::unordered_map<std::uint64_t, std::uint64_t>> LoadIds(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> opened = OpenByteSource(path);
  if (!opened.ok()) return opened.error();
  LineReader lines(std::move(opened).value());
  std::unordered_map<std::uint64_t, std::uint64_t> index_of;
  std::vector<std::string> header;
  for (;;) {
    const Result<bool> more = lines.Next();
    if (!more.ok()) return more.error();
    if (!more.value()) break;
    if (lines.line().empty()) continue;
    const std::string where = lines.Where();
    Result<std::vector<std::string>> split = SplitRow(lines);
    if (!split.ok()) return split.error();
    const std::vector<std::string>& cells = split.value();
    if (header.empty()) {
      header = cells;
      continue;
    }
    if (cells.size() != header.size()) {
      return Error{fmt::format("{}: {} cells, expected {}", where, cells.size(), header.size())};
    }
    const auto cell = [&](const char* name) -> std::optional<std::uint64_t> {
      const auto at = std::find(header.begin(), header.end(), name);
      if (at == header.end()) return {};
      return ParseWhole(cells[static_cast<std::size_t>(at - header.begin())]);
    };
    const std::optional<std::uint64_t> id = cell("id");
    const std::optional<std::uint64_t> index = cell("index");
    if (!id || !index) {
      return Error{fmt::format(
          "{}: expected the columns id and index with a whole number in each row", where)};
    }
    if (!index_of.emplace(*id, *index).second) {
      return Error{fmt::format("{}: id {} stands twice, expected once", where, *id)};
    }
  }
  if (index_of.empty()) {
    return Error{
        fmt::format("{}: no ids, expected a CSV with the columns id and index", lines.name())};
  }
  return index_of;
}

}  // namespace stemtap
