// SPDX-License-Identifier: Apache-2.0
//
// Models of the tools that read a selection. Each model reads the exported files by the tool's
// documented rules, counts the launches of a profile the tool's way, and returns the selected
// launches. The models share no code with src/formats/exporters.
#pragma once

#include <doctest/doctest.h>
#include <re2/re2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "formats/exporters/consumers.h"
#include "formats/importers/registry.h"
#include "model/kernel_name.h"
#include "model/profile.h"
#include "sampling/two_pass.h"
#include "support/process.h"
#include "support/shared_data.h"
#include "support/temp_dir.h"

namespace stemtap::test {

using Indices = std::set<std::uint64_t>;

inline model::Profile Load(const std::string& path) {
  auto reader = formats::OpenProfile(path);
  REQUIRE(reader.ok());
  auto profile = model::LoadProfile(*reader.value());
  REQUIRE(profile.ok());
  return std::move(profile).value();
}

inline model::Plan MakePlan(const model::Profile& profile, double error_bound = 0.05) {
  sampling::SamplingOptions options;
  options.error_bound = error_bound;
  options.weights = sampling::Weights::kPlain;
  auto planned = sampling::PlanTwoPass(
      [&]() -> Result<std::unique_ptr<model::ProfileReader>> {
        return model::ReadProfile(profile);
      },
      "profile", options);
  REQUIRE(planned.ok());
  model::Plan plan = std::move(planned).value().plan;
  plan.source = "profile";
  return plan;
}

// Returns a plan of these launches, with one cluster each.
inline model::Plan PlanOf(const model::Profile& profile, const Indices& indices) {
  model::Plan plan;
  plan.source = "profile";
  plan.totals.invocations = profile.records.size();
  std::map<std::uint32_t, std::uint64_t> occurrence;
  for (std::uint64_t i = 0; i < profile.records.size(); ++i) {
    const shm::KernelRecord& r = profile.records[i];
    const std::uint64_t nth = occurrence[r.name_id]++;
    if (!indices.contains(i)) continue;
    model::PlanKernel kernel;
    kernel.name = profile.names.name(r.name_id);
    kernel.invocations = 1;
    model::PlanCluster cluster;
    cluster.count = 3;
    cluster.samples.push_back({i, nth, r, 3.0});
    kernel.clusters.push_back(cluster);
    plan.kernels.push_back(kernel);
  }
  return plan;
}

// Returns `plan` with its kernels grouped as by --group-by function.
inline model::Plan ByFunction(model::Plan plan) {
  plan.options.emplace_back("group_by", "function");
  for (model::PlanKernel& kernel : plan.kernels) kernel.name = model::FunctionName(kernel.name);
  return plan;
}

inline Indices Planned(const model::Plan& plan) {
  Indices indices;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) indices.insert(sample.index);
    }
  }
  return indices;
}

inline Indices OnDevice(const model::Profile& profile, const Indices& indices,
                        std::uint16_t device) {
  Indices on;
  for (const std::uint64_t i : indices) {
    if (profile.records[i].device == device) on.insert(i);
  }
  return on;
}

inline Result<formats::Exported> Export(const std::string& to, const model::Profile& profile,
                                        const model::Plan& plan,
                                        const formats::ExportOptions& options = {}) {
  const formats::Consumer* consumer = formats::FindConsumer(to);
  REQUIRE(consumer != nullptr);
  const auto reader = model::ReadProfile(profile);
  const auto counted = formats::CountLaunches(plan, reader.get(), "profile", consumer->model,
                                              std::string(consumer->tool), options.counting);
  if (!counted.ok()) return counted.error();
  const auto again = model::ReadProfile(profile);
  return consumer->write({counted.value(), options, again.get(), "profile"});
}

inline formats::Exported Exports(const std::string& to, const model::Profile& profile,
                                 const model::Plan& plan,
                                 const formats::ExportOptions& options = {}) {
  Result<formats::Exported> exported = Export(to, profile, plan, options);
  if (!exported.ok()) FAIL(exported.error().message);
  return std::move(exported).value();
}

inline std::string RefusalOf(const std::string& to, const model::Profile& profile,
                             const model::Plan& plan, const formats::ExportOptions& options = {}) {
  const Result<formats::Exported> exported = Export(to, profile, plan, options);
  REQUIRE_FALSE(exported.ok());
  CHECK(exported.error().message.find('\n') == std::string::npos);
  return exported.error().message;
}

// Run describes how a tool counts launches. Graph replays are not counted unless the run has no
// graphs.
struct Run {
  const model::Profile& profile;
  bool graphs_off = false;
  int only_device = -1;  // only the process of this device

  bool Launched(const shm::KernelRecord& r) const {
    return (graphs_off || r.graph_id == 0) && (only_device < 0 || r.device == only_device);
  }
};

// ---- Accel-Sim: 1-based; one counter per context; reads tokens with operator>> and each part with
// std::stoull. All contexts share one switch: a selected launch turns it on, and a launch whose
// successor in its context is not selected turns it off afterward ----

inline Indices AccelSimTraces(const std::string& value, const Run& run) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  std::istringstream in(value);
  for (std::string token; in >> token;) {
    REQUIRE(token.find('@') == std::string::npos);
    const auto dash = token.find('-');
    const std::uint64_t first = std::stoull(token.substr(0, dash));
    std::uint64_t last = first;
    if (dash != std::string::npos) {
      last = dash + 1 == token.size() ? 0 : std::stoull(token.substr(dash + 1));
    }
    ranges.emplace_back(first, last);
  }
  const auto is_selected = [&](std::uint64_t id) {
    bool selected = ranges.empty();
    for (const auto& [first, last] : ranges) {
      selected = selected || (id >= first && (last == 0 || id <= last));
    }
    return selected;
  };
  std::map<std::uint16_t, std::uint64_t> next_id;
  Indices traced;
  bool active = false;
  for (std::uint64_t i = 0; i < run.profile.records.size(); ++i) {
    const shm::KernelRecord& r = run.profile.records[i];
    if (!run.Launched(r)) continue;
    const std::uint64_t id = ++next_id[r.device];
    active = active || is_selected(id);
    if (active) traced.insert(i);
    active = active && is_selected(id + 1);
  }
  return traced;
}

// Returns the value that a shell sees after it sources the file.
inline std::string SourcedRange(const std::string& text) {
  TempDir directory;
  const std::string file = directory.Write("accelsim.env", text).string();
  const auto shell =
      RunProcess({"sh", "-c", ". \"$0\"; printf %s \"$DYNAMIC_KERNEL_RANGE\"", file});
  REQUIRE(shell.exit_code == 0);
  REQUIRE(shell.err.empty());
  return shell.out;
}

// ---- Tools with one window per run: the settings of the script as a program sees them ----

using Window = std::pair<std::uint64_t, std::uint64_t>;

inline std::vector<Window> WindowsSeen(const std::string& script, const std::string& first,
                                       const std::string& last) {
  TempDir directory;
  const std::string file = directory.Write("script", script).string();
  const std::string log = (directory / "log").string();
  const std::string program =
      directory.Write("program", "echo \"$" + first + " $" + last + " $1\" >> '" + log + "'\n")
          .string();
  CHECK(RunProcess({"sh", "-n", file}).exit_code == 0);
  const auto ran = RunProcess({"sh", file, "sh", program, "argument"},
                              {.env = {{"TRACES", (directory / "traces").string()}}});
  CAPTURE(ran.err);
  REQUIRE(ran.exit_code == 0);
  std::vector<Window> windows;
  std::istringstream in(ReadFile(log));
  for (std::string a, b, argument; in >> a >> b >> argument;) {
    CHECK(argument == "argument");
    windows.emplace_back(std::stoull(a), std::stoull(b));
  }
  return windows;
}

// Returns the launches whose per-process number (the first is `base`) satisfies `selects`.
template <typename Selects>
Indices ProcessSelects(const Run& run, std::uint64_t base, const Selects& selects) {
  Indices selected;
  std::uint64_t id = base;
  for (std::uint64_t i = 0; i < run.profile.records.size(); ++i) {
    if (!run.Launched(run.profile.records[i])) continue;
    if (selects(id)) selected.insert(i);
    ++id;
  }
  return selected;
}

// ---- MacSim: skips two lines, then reads "size n id..." up to an empty line; an empty list
// selects everything ----

struct MacSimList {
  std::vector<int> ids;
  double launches = 0.0;  // the number of launches that the samples represent
};

inline MacSimList ReadMacSim(const std::string& text) {
  MacSimList list;
  std::istringstream in(text);
  std::string line;
  REQUIRE(static_cast<bool>(std::getline(in, line)));
  REQUIRE(static_cast<bool>(std::getline(in, line)));
  while (std::getline(in, line)) {
    if (line.empty()) break;
    std::istringstream row(line);
    int size = 0;
    int count = 0;
    REQUIRE(static_cast<bool>(row >> size >> count));
    REQUIRE(count > 0);
    for (int i = 0; i < count; ++i) {
      int id = -1;
      REQUIRE(static_cast<bool>(row >> id));
      list.ids.push_back(id);
    }
    int more = 0;
    REQUIRE_FALSE(static_cast<bool>(row >> more));
    list.launches += size;
  }
  CHECK_FALSE(static_cast<bool>(std::getline(in, line)));
  return list;
}

inline Indices MacSimTraces(const std::string& text, const Run& run) {
  const std::vector<int> ids = ReadMacSim(text).ids;
  const std::set<int> found(ids.begin(), ids.end());
  return ProcessSelects(run, 0, [&](std::uint64_t id) {
    return ids.empty() || found.contains(static_cast<int>(id));
  });
}

inline Indices SieveTraces(const std::string& text, const Run& run) {
  std::set<std::uint64_t> wanted;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) wanted.insert(std::stoull(line) + 1);
  return ProcessSelects(run, 1, [&](std::uint64_t id) { return wanted.contains(id); });
}

// ---- ncu: each run is selected by its arguments ----

// NcuCount is what an ncu launch number counts. In import mode, ncu 2024.2 counts matches of the
// filter. The documentation specifies launches with the same name or, in newer versions, with the
// same name, context, stream, grid, block and shared memory.
enum class NcuCount { kMatches, kName, kLaunch };
constexpr NcuCount kNcuCounts[] = {NcuCount::kMatches, NcuCount::kName, NcuCount::kLaunch};

using Arguments = std::vector<std::string>;

// Returns the arguments of every ncu call in the script.
inline std::vector<Arguments> NcuCalls(const std::string& script) {
  TempDir directory;
  const std::string file = directory.Write("script", script).string();
  const std::string log = (directory / "log").string();
  const std::string ncu =
      directory
          .Write("ncu", "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\" >> '" + log +
                            "'; done\necho END >> '" + log + "'\n")
          .string();
  std::filesystem::permissions(ncu, std::filesystem::perms::owner_all);
  CHECK(RunProcess({"sh", "-n", file}).exit_code == 0);
  const auto ran =
      RunProcess({"sh", file, "./app", "two words"},
                 {.env = {{"NCU", ncu}, {"REPORT", "r"}, {"NCU_OPTIONS", "--set full"}}});
  CAPTURE(ran.err);
  REQUIRE(ran.exit_code == 0);
  std::vector<Arguments> calls(1);
  std::istringstream in(ReadFile(log));
  for (std::string line; std::getline(in, line);) {
    if (line == "END") {
      calls.emplace_back();
    } else {
      calls.back().push_back(line);
    }
  }
  calls.pop_back();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Arguments& call = calls[i];
    const Arguments tail = {"-f",    "-o",       "r." + std::to_string(i + 1), "--set", "full",
                            "./app", "two words"};
    REQUIRE(call.size() > tail.size());
    CHECK(Arguments(call.end() - static_cast<std::ptrdiff_t>(tail.size()), call.end()) == tail);
    call.resize(call.size() - tail.size());
  }
  return calls;
}

inline Indices NcuProfiles(const Arguments& call, const Run& run, NcuCount count) {
  std::map<std::string, std::string> options;
  REQUIRE(call.size() % 2 == 0);
  for (std::size_t i = 0; i < call.size(); i += 2) {
    REQUIRE(options.emplace(call[i], call[i + 1]).second);
  }
  Indices profiled;
  const std::vector<shm::KernelRecord>& records = run.profile.records;
  const auto in_process = [&](const shm::KernelRecord& r) {
    return run.only_device < 0 || r.device == run.only_device;
  };
  if (options.contains("--launch-skip")) {
    const std::uint64_t skip = std::stoull(options.at("--launch-skip"));
    const std::uint64_t length = std::stoull(options.at("--launch-count"));
    std::uint64_t launch = 0;
    for (std::uint64_t i = 0; i < records.size(); ++i) {
      if (!in_process(records[i])) continue;
      if (launch >= skip && launch - skip < length) profiled.insert(i);
      ++launch;
    }
    return profiled;
  }
  const std::string& filter = options.at("--kernel-id");
  std::vector<std::string> fields;
  std::istringstream in(filter);
  for (std::string field; std::getline(in, field, ':');) fields.push_back(field);
  REQUIRE(fields.size() == 5);  // context, stream, operator, name, invocation
  CHECK(fields[0].empty());
  CHECK(fields[1].empty());
  CHECK(fields[2] == "regex");
  RE2::Options latin;
  latin.set_log_errors(false);
  latin.set_dot_nl(true);
  const RE2 name(fields[3], latin);
  REQUIRE(name.ok());
  const RE2 invocation(fields[4], latin);
  REQUIRE(invocation.ok());
  std::map<std::uint32_t, bool> matches;
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::vector<std::uint32_t>>;
  std::map<Key, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < records.size(); ++i) {
    const shm::KernelRecord& r = records[i];
    if (!in_process(r)) continue;
    if (!matches.contains(r.name_id)) {
      matches[r.name_id] = RE2::PartialMatch(run.profile.names.name(r.name_id), name);
    }
    if (!matches[r.name_id]) continue;
    Key key = {count == NcuCount::kName ? r.name_id : 0, 0, 0, {}};
    if (count == NcuCount::kLaunch) {
      key = {r.name_id,
             r.device,
             r.stream,
             {r.grid[0], r.grid[1], r.grid[2], r.block[0], r.block[1], r.block[2], r.shared_bytes}};
    }
    if (RE2::FullMatch(std::to_string(++counts[key]), invocation)) profiled.insert(i);
  }
  return profiled;
}

}  // namespace stemtap::test
