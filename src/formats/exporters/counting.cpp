// SPDX-License-Identifier: Apache-2.0
#include "formats/exporters/counting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "model/kernel_groups.h"
#include "model/kernel_name.h"
#include "model/launch_selection.h"

namespace stemtap::formats {
namespace {

// Returns a kernel name as plan.json contains it, with invalid UTF-8 replaced.
std::string AsInPlan(const std::string& name) {
  const std::string quoted =
      nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(quoted).get<std::string>();
}

std::string Shown(const std::string& name) {
  constexpr std::size_t kMax = 80;
  return EscapeForTerminal(name.size() <= kMax ? name : name.substr(0, kMax) + "...");
}

// What is known about all launches of one kernel so far.
struct NameState {
  std::uint64_t launches = 0;
  bool uniform = true;
  shm::KernelRecord first;
};

bool SameLaunch(const shm::KernelRecord& a, const shm::KernelRecord& b) {
  return a.device == b.device && a.stream == b.stream && a.shared_bytes == b.shared_bytes &&
         std::equal(a.grid, a.grid + 3, b.grid) && std::equal(a.block, a.block + 3, b.block);
}

bool FullyKnown(const shm::KernelRecord& r) {
  return r.device != shm::kUnknown16 && r.stream != shm::kUnknown32 &&
         r.shared_bytes != shm::kUnknown32 && r.grid[0] != shm::kUnknownExtent &&
         r.block[0] != shm::kUnknownExtent;
}

std::vector<CountedSample> SamplesOf(const model::Plan& plan) {
  std::vector<CountedSample> samples;
  std::size_t number = 0;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) {
        CountedSample counted;
        counted.kernel = &kernel;
        counted.name = model::KernelNameOf(kernel, sample);
        counted.cluster = &cluster;
        counted.sample = &sample;
        counted.cluster_number = number;
        counted.device = sample.record.device;
        counted.start_ns = shm::kUnknownTime;
        samples.push_back(counted);
      }
      ++number;
    }
  }
  std::stable_sort(samples.begin(), samples.end(),
                   [](const auto& a, const auto& b) { return a.sample->index < b.sample->index; });
  return samples;
}

// Counter numbers the launches as a tool does. MEMBERS: its inputs, and the counters of the tool.
class Counter {
 public:
  Counter(const model::Plan& plan, const std::string& profile_name, const CountingModel& model,
          const std::string& tool, const CountingOptions& options)
      : plan_(plan),
        profile_(profile_name),
        model_(model),
        tool_(tool),
        options_(options),
        processes_(options.processes == Processes::kUnspecified && options.ranks > 1
                       ? Processes::kPerDevice
                       : options.processes),
        by_function_(model::GroupByOf(model::OptionText(plan.options, "group_by")) ==
                     model::GroupBy::kFunction) {
    counted_.plan = &plan;
    counted_.samples = SamplesOf(plan);
  }

  Status FromProfile(model::ProfileReader& reader) {
    counted_.from_profile = true;
    std::uint64_t index = 0;
    std::size_t next = 0;
    std::vector<std::uint32_t> name_of(counted_.samples.size());
    const auto count = [&](const shm::KernelRecord& record) -> Status {
      if (record.name_id >= names_.size()) names_.resize(reader.names().size());
      counted_.graph_kernels += record.graph_id != 0;
      seen_.emplace(record.device, 0);
      const std::uint64_t id = Count(record);
      for (; next < counted_.samples.size() && counted_.samples[next].sample->index == index;
           ++next) {
        STEMTAP_TRY(Meet(counted_.samples[next], record, reader.names(), id));
        name_of[next] = record.name_id;
      }
      ++index;
      return Success{};
    };
    STEMTAP_TRY(model::ForEachLaunch(reader, count));
    const std::uint64_t planned = plan_.totals.numbered();
    if (next < counted_.samples.size() || index != planned) {
      return Error{
          fmt::format("{}: contains {} launches; expected the {} launches of the plan's run",
                      profile_, index, planned)};
    }
    for (std::size_t i = 0; i < counted_.samples.size(); ++i) {
      counted_.samples[i].uniform = names_[name_of[i]].uniform;
    }
    for (std::uint32_t i = 0; i < names_.size(); ++i) {
      if (names_[i].launches != 0) counted_.names.push_back(reader.names().name(i));
    }
    counted_.devices = launches_;
    return CheckRun();
  }

  // The user's assertion replaces the profile.
  Status FromPlan() {
    const std::uint64_t all = plan_.totals.numbered();
    // The session whose launches are counted: all launches if the plan is not merged.
    model::PlanSession of;
    of.launches = all;
    if (model_.scope != CountScope::kNone && plan_.sessions.size() > 1) {
      const model::PlanSession session = STEMTAP_TRY(SessionOfDevice());
      of = session;
    }
    for (CountedSample& s : counted_.samples) {
      if (s.sample->index >= all) {
        return Error{fmt::format("the plan has a sample of launch {}; expected a number below {}",
                                 s.sample->index, all)};
      }
      if (s.sample->index - of.first_index >= of.launches) continue;  // left out with its device
      s.id = s.sample->index - of.first_index + model_.base;
      seen_.emplace(s.device, 0);
    }
    if (model_.scope != CountScope::kNone && options_.ranks > 1) {
      return Error{fmt::format(
          "--plain-launches: the plan covers {} ranks; expected one process, or --profile",
          options_.ranks)};
    }
    std::set<std::int32_t> processes;
    for (const model::PlanKernel& kernel : plan_.kernels) processes.insert(kernel.process);
    if (model_.scope != CountScope::kNone && processes.size() > 1) {
      return Error{
          fmt::format("--plain-launches: the plan has kernels of {} processes (--share-captures "
                      "off); expected one process, or --profile",
                      processes.size())};
    }
    if (model_.scope != CountScope::kNone && seen_.size() > 1) {
      return Error{fmt::format(
          "--plain-launches: the plan has samples on {} devices; expected one, or --profile",
          seen_.size())};
    }
    return Success{};
  }

  Result<CountedPlan> Finish() {
    counted_.excepted = std::erase_if(counted_.samples, [&](const CountedSample& s) {
      return options_.except.contains(s.sample->index);
    });
    if (counted_.excepted != 0 && counted_.samples.empty()) {
      return Error{"--except: the plan has no other samples; expected a plan with more samples"};
    }
    if (!options_.only_range.empty()) {
      model::LaunchSelection selection;
      selection.only_range = options_.only_range;
      counted_.in_other_ranges = std::erase_if(counted_.samples, [&](const CountedSample& s) {
        return !model::CountedRangeOf(selection, s.kernel->range).is_selected;
      });
      if (counted_.samples.empty()) {
        return Error{fmt::format(
            "--only-range: no sample is in a range called '{}'; expected a plan with --ranges or "
            "--only-range, and one of its ranges (see its summary)",
            EscapeForTerminal(options_.only_range))};
      }
    }
    if (options_.device) {
      const auto other =
          std::remove_if(counted_.samples.begin(), counted_.samples.end(),
                         [&](const CountedSample& s) { return s.device != *options_.device; });
      counted_.left_out = static_cast<std::size_t>(counted_.samples.end() - other);
      counted_.samples.erase(other, counted_.samples.end());
      if (counted_.samples.empty()) {
        return Error{
            fmt::format("--device {}: the plan has no sample on this device; expected a device "
                        "with samples",
                        *options_.device)};
      }
    }
    if (counted_.samples.empty()) {
      return Error{fmt::format("the plan has no samples; expected at least one for {}", tool_)};
    }
    if (model_.scope == CountScope::kNone) return std::move(counted_);
    for (const CountedSample& s : counted_.samples) {
      if (uncounted_.contains(s.sample->index)) {
        return Error{
            fmt::format("launch {} of '{}' is in a CUDA graph, which {} cannot select; trace a run "
                        "without graphs and add --graphs off, or choose ncu",
                        s.sample->index, Shown(s.planned_name()), tool_)};
      }
      if (model_.max_id != 0 && s.id > model_.max_id) {
        return Error{fmt::format(
            "launch {} has number {}; expected at most {}, the maximum that {} can read",
            s.sample->index, s.id, model_.max_id, tool_)};
      }
    }
    return std::move(counted_);
  }

 private:
  // In a merged plan, the user's assertion applies to each session; the device selects the session.
  Result<model::PlanSession> SessionOfDevice() const {
    if (!options_.device) {
      return Error{fmt::format(
          "--plain-launches: the plan covers {} sessions, which {} counts separately; expected "
          "--device N for a session of one process and one device, or --profile",
          plan_.sessions.size(), tool_)};
    }
    for (const model::PlanSession& session : plan_.sessions) {
      const std::size_t number = std::size_t{*options_.device} - session.first_device;
      if (*options_.device < session.first_device || number >= session.devices.size()) continue;
      if (session.devices.size() == 1) return session;
      return Error{
          fmt::format("--plain-launches: device {} belongs to session '{}', which has {} devices; "
                      "expected one, or --profile",
                      *options_.device, Shown(session.folder), session.devices.size())};
    }
    return Error{
        fmt::format("--device {}: no session of the plan has this device; expected a device of the "
                    "merged plan",
                    *options_.device)};
  }

  bool OtherProcess(const shm::KernelRecord& record) const {
    return processes_ == Processes::kPerDevice && options_.device &&
           record.device != *options_.device;
  }

  // Returns the number of this launch, and counts the launch if the tool does.
  std::uint64_t Count(const shm::KernelRecord& record) {
    if (OtherProcess(record)) return 0;
    NameState& name = names_[record.name_id];
    const bool graph = record.graph_id != 0 && !model_.graph_kernels;
    if (graph && options_.graphs != Graphs::kOff) return 0;
    if (name.launches++ == 0) {
      name.first = record;
      name.uniform = FullyKnown(record);
    } else {
      name.uniform = name.uniform && SameLaunch(record, name.first);
    }
    const std::uint64_t on_device = launches_[record.device]++;
    const std::uint64_t before = model_.scope == CountScope::kContext ? on_device : total_;
    ++total_;
    return before + model_.base;
  }

  // Returns whether the plan lists launches of `name` under the kernel `planned`.
  bool IsPlanned(const std::string& name, const std::string& planned) const {
    const std::string& kernel = by_function_ ? model::FunctionName(name) : name;
    return kernel == planned || AsInPlan(kernel) == planned;
  }

  Status Meet(CountedSample& s, const shm::KernelRecord& record, const model::NameTable& names,
              std::uint64_t id) {
    const std::string& name = names.name(record.name_id);
    if (!IsPlanned(name, s.planned_name()) ||
        (!s.sample->imputed && record.duration_ns != s.sample->record.duration_ns)) {
      return Error{fmt::format(
          "{}: launch {} is '{}' of {} ns; expected '{}' of {} ns (the plan is from another run)",
          profile_, s.sample->index, Shown(name), record.duration_ns, Shown(s.planned_name()),
          s.sample->record.duration_ns)};
    }
    s.id = id;
    s.name = name;
    s.device = record.device;
    s.start_ns = record.start_ns;
    const std::uint64_t launches = names_[record.name_id].launches;
    s.occurrence = launches == 0 ? 0 : launches - 1;
    if (record.graph_id != 0 && !model_.graph_kernels && options_.graphs != Graphs::kOff) {
      uncounted_[s.sample->index] = true;
    }
    return Success{};
  }

  // Checks that the user has given the options without which the numbers are ambiguous.
  Status CheckRun() const {
    if (model_.scope == CountScope::kNone) return Success{};
    if (seen_.contains(shm::kUnknown16) && options_.ranks > 1) {
      return Error{
          fmt::format("{}: the devices of the launches of {} ranks are unknown, but {} needs them; "
                      "expected profiles with devices, or the plan of one rank",
                      profile_, options_.ranks, tool_)};
    }
    if (seen_.contains(shm::kUnknown16) && (!options_.plain_launches || seen_.size() > 1)) {
      return Error{
          fmt::format("{}: the devices of its launches are unknown, but {} needs them; add "
                      "--plain-launches if one process used one device",
                      profile_, tool_)};
    }
    if (counted_.graph_kernels != 0 && !model_.graph_kernels &&
        options_.graphs == Graphs::kUnspecified) {
      return Error{
          fmt::format("{}: {} of its launches are in CUDA graphs, which {} cannot number; trace a "
                      "run without graphs and add --graphs off, or choose ncu (--graphs uncounted: "
                      "see docs/formats/selections.md)",
                      profile_, counted_.graph_kernels, tool_)};
    }
    if (model_.scope == CountScope::kProcess && seen_.size() > 1) return CheckProcesses();
    return Success{};
  }

  // Checks that it is known which devices the tool numbers together. Each error contains the
  // complete options that work.
  Status CheckProcesses() const {
    std::vector<std::uint16_t> sampled;
    for (const CountedSample& s : counted_.samples) sampled.push_back(s.device);
    const std::string choices = DeviceChoices(sampled);
    const bool one_device_each = options_.ranks == seen_.size();
    if (options_.processes == Processes::kUnspecified && !one_device_each) {
      return Error{fmt::format(
          "{}: has launches of {} devices, which {} numbers by process; if each device had its own "
          "process, export one after another with --processes per-device and {}; if one process "
          "used all of them, add --processes one",
          profile_, seen_.size(), tool_, choices)};
    }
    if (processes_ == Processes::kPerDevice && !options_.device) {
      return Error{
          fmt::format("{}: has launches of {} processes, and {} needs a selection for each; export "
                      "one after another with {}",
                      profile_, seen_.size(), tool_, choices)};
    }
    return Success{};
  }

  const model::Plan& plan_;
  const std::string& profile_;
  const CountingModel& model_;
  const std::string& tool_;
  const CountingOptions& options_;
  const Processes processes_;  // CheckProcesses checks what is assumed about ranks
  bool by_function_;           // the plan groups kernels by function
  CountedPlan counted_;
  std::vector<NameState> names_;  // by name id
  std::map<std::uint16_t, std::uint64_t> launches_;
  std::map<std::uint16_t, int> seen_;
  std::map<std::uint64_t, bool> uncounted_;  // launch indices of samples without a number
  std::uint64_t total_ = 0;
};

}  // namespace

Result<CountedPlan> CountLaunches(const model::Plan& plan, model::ProfileReader* profile,
                                  const std::string& profile_name, const CountingModel& model,
                                  const std::string& tool, const CountingOptions& options) {
  if (model.scope != CountScope::kNone && plan.totals.dropped != 0) {
    return Error{
        fmt::format("{} launches were dropped while the plan was recorded, so later launches "
                    "cannot be numbered for {}; expected a plan without dropped launches",
                    plan.totals.dropped, tool)};
  }
  if (model.scope != CountScope::kNone && plan.totals.gaps != 0) {
    return Error{
        fmt::format("the plan was recorded with {} gaps of unknown size, so later launches cannot "
                    "be numbered for {}; expected a plan without gaps",
                    plan.totals.gaps, tool)};
  }
  if (model.scope != CountScope::kNone && plan.totals.unobserved_intervals != 0) {
    return Error{fmt::format(
        "recording was off in {} while the plan was recorded, so later launches cannot be numbered "
        "for {}; expected a plan of a run with --count-while-off, or --to csv",
        Plural(plan.totals.unobserved_intervals, "interval"), tool)};
  }
  if (model.scope != CountScope::kNone && plan.totals.graph_launches != 0) {
    return Error{
        fmt::format("{} launches of the run are whole graphs, whose kernels {} counts "
                    "individually; expected a plan recorded with --level kernels",
                    plan.totals.graph_launches, tool)};
  }
  Counter counter(plan, profile_name, model, tool, options);
  STEMTAP_TRY(profile != nullptr ? counter.FromProfile(*profile) : counter.FromPlan());
  return counter.Finish();
}

std::vector<std::uint64_t> Ids(const CountedPlan& counted) {
  std::vector<std::uint64_t> ids;
  ids.reserve(counted.samples.size());
  for (const CountedSample& sample : counted.samples) ids.push_back(sample.id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<IdRange> Ranges(const std::vector<std::uint64_t>& ids) {
  std::vector<IdRange> ranges;
  for (const std::uint64_t id : ids) {
    if (!ranges.empty() && ranges.back().last + 1 == id) {
      ranges.back().last = id;
    } else {
      ranges.push_back({id, id});
    }
  }
  return ranges;
}

std::string DeviceChoices(const std::vector<std::uint16_t>& devices) {
  constexpr std::size_t kMaxShown = 8;
  std::set<std::uint16_t> distinct(devices.begin(), devices.end());
  distinct.erase(shm::kUnknown16);
  std::string choices;
  std::size_t shown = 0;
  for (const std::uint16_t device : distinct) {
    if (shown++ == kMaxShown) return choices + ", ...";
    choices += fmt::format("{}--device {}", choices.empty() ? "" : ", ", device);
  }
  return choices.empty() ? "--device N" : choices;
}

std::string DeviceName(std::uint16_t device) {
  return device == shm::kUnknown16 ? "unknown" : fmt::format("{}", device);
}

}  // namespace stemtap::formats
