// SPDX-License-Identifier: Apache-2.0
#include "analysis/extrapolation/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/byte_source.h"
#include "base/csv.h"
#include "base/decimal.h"
#include "base/text.h"
#include "model/kernel_groups.h"
#include "model/kernel_name.h"

namespace stemtap::analysis {
namespace {

// Maximum number of items listed per category.
constexpr std::size_t kNamed = 5;

struct SamplePlace {
  std::size_t kernel, cluster, sample;
};

// Launch is a sampled launch. A plan may contain it in several samples.
struct Launch {
  std::uint64_t index;
  std::vector<SamplePlace> places;
};

// Planned contains the plan's launches of one kernel name.
struct Planned {
  std::vector<const Launch*> sampled;  // in launch order
  std::uint64_t launches = 0;
};

void Note(std::vector<std::string>& named, std::uint64_t& count, std::string text) {
  if (count++ < kNamed) named.push_back(std::move(text));
}

bool Known(const std::uint32_t (&grid)[3]) {
  return grid[0] != 0;
}

// Returns whether grid and block agree, as far as both sides provide them.
bool SameShape(const shm::LaunchConfig& config, const shm::KernelRecord& record) {
  if (Known(config.grid) && Known(record.grid) &&
      !std::equal(config.grid, config.grid + 3, record.grid)) {
    return false;
  }
  return config.block[0] == 0 || record.block[0] == 0 ||
         std::equal(config.block, config.block + 3, record.block);
}

class Matcher {
 public:
  Matcher(const model::Plan& plan, const formats::KernelResults& results,
          const MatchOptions& options)
      : plan_(plan), results_(results), options_(options) {}

  Result<Match> Run();

 private:
  const model::PlanSample& At(const SamplePlace& place) const {
    return plan_.kernels[place.kernel].clusters[place.cluster].samples[place.sample];
  }
  const std::string& NameAt(const SamplePlace& place) const {
    return model::KernelNameOf(plan_.kernels[place.kernel], At(place));
  }
  Status ByIndex();
  Status ByOrder();
  Status CheckDevices() const;
  void Pair(const Launch& launch, std::size_t row);
  void GatherLaunches();
  Status CheckOrder(const std::string& kernel, const std::vector<const Launch*>& sampled,
                    const std::vector<std::size_t>& rows) const;
  Status OrderWithinName(const std::string& kernel, const Planned& planned,
                         const std::vector<std::size_t>& rows);
  void CheckNames();
  void NoteUnmatched(std::size_t row) {
    const formats::KernelResult& result = results_.rows[row];
    Note(match_.unmatched, match_.unmatched_count,
         fmt::format("{} (id {})", result.where, result.id));
  }

  const model::Plan& plan_;
  const formats::KernelResults& results_;
  const MatchOptions& options_;
  Match match_;
  std::vector<Launch> launches_;  // candidates for results, by index
  std::uint64_t other_name_ = 0;
  std::uint64_t other_shape_ = 0;
  std::string first_other_;
};

// Tools that count launches per context or process use the same id on several devices.
Status Matcher::CheckDevices() const {
  const bool counts_apart = results_.source == formats::ResultsSource::kAccelsim ||
                            results_.source == formats::ResultsSource::kMacsim;
  if (!counts_apart || options_.use_ids) return Success{};
  if (plan_.sessions.size() > 1) {
    return Error{
        fmt::format("the plan covers {} sessions, which {} counts separately; expected --ids FILE, "
                    "a table of ids and launch indexes from 'stemtap export --weights-csv'",
                    plan_.sessions.size(), formats::NameOf(results_.source))};
  }
  if (options_.device) return Success{};
  std::optional<std::uint16_t> first;
  for (const Launch& launch : launches_) {
    const std::uint16_t device = At(launch.places.front()).record.device;
    if (device == shm::kUnknown16) continue;
    if (first && *first != device) {
      return Error{fmt::format(
          "the plan has samples on devices {} and {}, and {} counts launches per {}; expected "
          "--device N for ids that count the launches of all devices, or --ids FILE",
          *first, device, formats::NameOf(results_.source),
          results_.source == formats::ResultsSource::kAccelsim ? "context" : "process")};
    }
    first = device;
  }
  return Success{};
}

void Matcher::Pair(const Launch& launch, std::size_t row) {
  const formats::KernelResult& result = results_.rows[row];
  for (const SamplePlace& place : launch.places) {
    std::size_t& taken = match_.rows[place.kernel][place.cluster][place.sample];
    if (taken != kNoResult) {
      Note(match_.duplicates, match_.duplicate_count,
           fmt::format("{} (id {}, as {})", result.where, result.id, results_.rows[taken].where));
      return;
    }
    taken = row;
    ++match_.matched;
    const std::string& name = NameAt(place);
    const model::PlanSample& sample = At(place);
    const bool other_name = !result.name.empty() && !model::MaySameKernel(result.name, name);
    const bool other_shape = !other_name && !SameShape(result.config, sample.record);
    if ((other_name || other_shape) && other_name_ + other_shape_ == 0) {
      first_other_ =
          fmt::format("{}: id {} has {} '{}', but launch {} of the plan is '{}'", result.where,
                      result.id, other_name ? "the kernel" : "another shape of",
                      ShownCell(result.name), sample.index, ShownCell(name));
    }
    other_name_ += other_name;
    other_shape_ += other_shape;
  }
}

Status Matcher::ByIndex() {
  std::unordered_map<std::uint64_t, std::size_t> launch_of;  // index -> launches_
  for (std::size_t i = 0; i < launches_.size(); ++i) launch_of.emplace(launches_[i].index, i);
  const std::uint64_t base = results_.source == formats::ResultsSource::kAccelsim ? 1
                             : results_.source == formats::ResultsSource::kCsv    ? options_.id_base
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
    const auto launch = index ? launch_of.find(*index) : launch_of.end();
    if (launch == launch_of.end()) {
      NoteUnmatched(row);
    } else {
      Pair(launches_[launch->second], row);
    }
  }
  return Success{};
}

// Rows that have the grid and block of another sample of their kernel are not in launch order: each
// would become the result of another launch.
Status Matcher::CheckOrder(const std::string& kernel, const std::vector<const Launch*>& sampled,
                           const std::vector<std::size_t>& rows) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const formats::KernelResult& row = results_.rows[rows[i]];
    const auto has_shape = [&](const Launch* launch) {
      const shm::KernelRecord& record = At(launch->places.front()).record;
      return Known(row.config.grid) && Known(record.grid) && SameShape(row.config, record);
    };
    if (SameShape(row.config, At(sampled[i]->places.front()).record)) continue;
    const auto other = std::find_if(sampled.begin(), sampled.end(), has_shape);
    if (other == sampled.end()) continue;
    return Error{fmt::format(
        "{}: row {} of '{}' has the grid and block of launch {}, but sample {} of this kernel is "
        "launch {}; expected rows in launch order: the files of all runs, in the order of the runs "
        "(or --ids FILE, which maps rows to launches)",
        row.where, i + 1, ShownCell(kernel), (*other)->index, i + 1, sampled[i]->index)};
  }
  return Success{};
}

Status Matcher::OrderWithinName(const std::string& kernel, const Planned& planned,
                                const std::vector<std::size_t>& rows) {
  const std::vector<const Launch*>& sampled = planned.sampled;
  const std::uint64_t launches = planned.launches;
  const std::string name = ShownCell(kernel);
  if (rows.size() > sampled.size()) {
    // Every launch was profiled, so rows are occurrences.
    if (rows.size() != launches) {
      return Error{fmt::format(
          "{}: {} rows of '{}'; expected one for each of the plan's {} samples or {} launches "
          "(--ids FILE maps rows to launches)",
          results_.rows[rows.front()].where, rows.size(), name, sampled.size(), launches)};
    }
    std::vector<bool> used(rows.size());
    for (const Launch* launch : sampled) {
      const std::uint64_t occurrence = At(launch->places.front()).occurrence;
      if (occurrence >= rows.size()) continue;
      used[occurrence] = true;
      Pair(*launch, rows[occurrence]);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!used[i]) NoteUnmatched(rows[i]);
    }
    return Success{};
  }
  STEMTAP_TRY(CheckOrder(kernel, sampled, rows));
  if (rows.size() < sampled.size()) {
    match_.warnings.push_back(
        fmt::format("{} of '{}' for {}; the first samples in launch order get results",
                    Plural(rows.size(), "row"), name, Plural(sampled.size(), "sample")));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) Pair(*sampled[i], rows[i]);
  return Success{};
}

// Form contains the names of the plan and of the results in one normalized form.
struct Form {
  std::string (*of)(std::string_view name);
  std::map<std::string, std::set<std::string>, std::less<>> plan;
  std::map<std::string, std::uint64_t, std::less<>> results;
};

// ncu numbers the launches that it profiled, not all launches. Within a kernel name the order is
// the same. Across the names of one function it is not if each name has its own report, so rows are
// never merged by function.
Status Matcher::ByOrder() {
  if (model::GroupByOf(model::OptionText(plan_.options, "group_by")) == model::GroupBy::kFunction) {
    return Error{
        "the plan lists kernels by function (--group-by function), and rows of ncu are matched by "
        "name; expected --ids FILE, a table of ids and launch indexes"};
  }
  std::map<std::string, std::vector<std::size_t>> rows_of;  // by name
  for (std::size_t row = 0; row < results_.rows.size(); ++row) {
    rows_of[results_.rows[row].name].push_back(row);
  }
  std::map<std::string, Planned> exact;
  Form forms[] = {{&model::Spelling, {}, {}}, {&model::BaseName, {}, {}}};
  for (const model::PlanKernel& kernel : plan_.kernels) {
    if (kernel.pooled.empty()) exact[kernel.name].launches += kernel.invocations;
    for (const model::PooledKernel& pooled : kernel.pooled) {
      exact[pooled.name].launches += pooled.invocations;
    }
  }
  for (const Launch& launch : launches_) {
    exact[NameAt(launch.places.front())].sampled.push_back(&launch);
  }
  for (Form& form : forms) {
    for (const auto& [name, planned] : exact) form.plan[form.of(name)].insert(name);
    for (const auto& [name, rows] : rows_of) ++form.results[form.of(name)];
  }
  for (const auto& [name, rows] : rows_of) {
    const std::string* kernel = exact.contains(name) ? &name : nullptr;
    for (const Form& form : forms) {
      if (kernel != nullptr) break;
      const std::string key = form.of(name);
      const auto named = form.plan.find(key);
      if (named == form.plan.end()) continue;
      const std::uint64_t results = form.results.find(key)->second;
      if (named->second.size() > 1 || results > 1) {
        return Error{
            fmt::format("{}: '{}' is not a name in the plan, and {} kernels of the plan and {} "
                        "names of the results are similar to '{}'; expected names as in the plan "
                        "(ncu --rename-kernels no), or --ids FILE",
                        results_.rows[rows.front()].where, ShownCell(name), named->second.size(),
                        results, ShownCell(key))};
      }
      kernel = &*named->second.begin();
    }
    if (kernel == nullptr) {
      for (const std::size_t row : rows) NoteUnmatched(row);
      continue;
    }
    STEMTAP_TRY(OrderWithinName(*kernel, exact[*kernel], rows));
  }
  return Success{};
}

void Matcher::CheckNames() {
  if (other_name_ + other_shape_ == 0) return;
  match_.warnings.push_back(
      fmt::format("{} ({} results with another name, {} with another grid or block, of {})",
                  first_other_, other_name_, other_shape_, match_.matched));
}

void Matcher::GatherLaunches() {
  std::map<std::uint64_t, std::vector<SamplePlace>> places;
  for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
    std::vector<std::vector<std::size_t>>& kernel = match_.rows.emplace_back();
    for (std::size_t c = 0; c < plan_.kernels[k].clusters.size(); ++c) {
      const std::vector<model::PlanSample>& samples = plan_.kernels[k].clusters[c].samples;
      kernel.emplace_back(samples.size(), kNoResult);
      for (std::size_t s = 0; s < samples.size(); ++s) {
        ++match_.samples;
        if (!options_.device || samples[s].record.device == *options_.device) {
          places[samples[s].index].push_back({k, c, s});
        }
      }
    }
  }
  for (auto& [index, at] : places) launches_.push_back({index, std::move(at)});
}

Result<Match> Matcher::Run() {
  GatherLaunches();
  STEMTAP_TRY(CheckDevices());
  const bool by_order = results_.source == formats::ResultsSource::kNcu && !options_.use_ids;
  STEMTAP_TRY(by_order ? ByOrder() : ByIndex());
  if (match_.matched == 0) {
    return Error{fmt::format(
        "none of {} results is for one of the plan's {} samples, first {} '{}' id {}; expected the "
        "plan that selected these launches, or --ids FILE, a table of ids and launch indexes from "
        "'stemtap export --weights-csv'",
        results_.rows.size(), match_.samples, results_.rows.front().where,
        ShownCell(results_.rows.front().name), results_.rows.front().id)};
  }
  if (2 * (other_name_ + other_shape_) > match_.matched) {
    return Error{
        fmt::format("{} ({} of {} results have another kernel or shape); expected the plan's "
                    "launches, or ids that count differently (--id-base, --ids)",
                    first_other_, other_name_ + other_shape_, match_.matched)};
  }
  CheckNames();
  for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
    for (std::size_t c = 0; c < plan_.kernels[k].clusters.size(); ++c) {
      const std::vector<model::PlanSample>& samples = plan_.kernels[k].clusters[c].samples;
      for (std::size_t s = 0; s < samples.size(); ++s) {
        if (match_.rows[k][c][s] != kNoResult) continue;
        Note(match_.missing, match_.missing_count,
             fmt::format("launch {} ({})", samples[s].index, ShownCell(NameAt({k, c, s}))));
      }
    }
  }
  return std::move(match_);
}

}  // namespace

Result<Match> MatchResults(const model::Plan& plan, const formats::KernelResults& results,
                           const MatchOptions& options) {
  return Matcher(plan, results, options).Run();
}

Result<IdTable> LoadIds(const std::string& path) {
  std::unique_ptr<ByteSource> opened = STEMTAP_TRY(OpenByteSource(path));
  return ReadIds(std::move(opened));
}

Result<IdTable> ReadIds(std::unique_ptr<ByteSource> source) {
  CsvReader csv(LimitUnpacking(std::move(source)));
  IdTable index_of;
  std::vector<std::string> header;
  for (;;) {
    const bool more = STEMTAP_TRY(csv.NextRow());
    if (!more) break;
    if (!csv.ended()) {
      return csv.At("no line end after the last row; expected a complete file");
    }
    const std::vector<std::string_view>& cells = csv.cells();
    if (header.empty()) {
      header.assign(cells.begin(), cells.end());
      continue;
    }
    if (cells.size() != header.size()) {
      return csv.At(fmt::format("{} cells; expected {}", cells.size(), header.size()));
    }
    const auto cell = [&](const char* name) -> std::optional<std::uint64_t> {
      const auto at = std::find(header.begin(), header.end(), name);
      if (at == header.end()) return {};
      return WholeNumber(Trimmed(cells[static_cast<std::size_t>(at - header.begin())]));
    };
    const std::optional<std::uint64_t> id = cell("id");
    const std::optional<std::uint64_t> index = cell("index");
    if (!id || !index) {
      return csv.At("no whole number in the columns id and index; expected both in each row");
    }
    // If a launch is in several samples, an exported table has several rows for it.
    const auto [at, fresh] = index_of.emplace(*id, *index);
    if (!fresh && at->second != *index) {
      return csv.At(fmt::format("id {} belongs to launches {} and {}; expected one", *id,
                                at->second, *index));
    }
  }
  if (index_of.empty()) {
    return Error{
        fmt::format("{}: no ids; expected a CSV with the columns id and index", csv.name())};
  }
  return index_of;
}

}  // namespace stemtap::analysis
