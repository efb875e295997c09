// SPDX-License-Identifier: Apache-2.0
#include "merge/session_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/byte_source.h"
#include "base/file.h"
#include "base/text.h"
#include "trace/overview_reader.h"
#include "trace/plan_cells.h"
#include "trace/plan_reader.h"
#include "wire/context_key.h"

namespace stemtap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPlanBytes = std::size_t{1} << 30;  // as LoadPlan
// A process takes 700 bytes, and twenty times that while it is read: a hundred thousand of them.
constexpr std::size_t kMostSessionBytes = std::size_t{64} << 20;
constexpr std::size_t kMostDepth = 64;

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<std::string> ReadText(const std::string& path, std::size_t most, const char* expected) {
  Result<std::unique_ptr<ByteSource>> opened = OpenByteSource(path);
  if (!opened.ok()) return opened.error();
  return ReadWhole(*LimitUnpacking(std::move(opened).value()), most, expected);
}

// The folder must hold a session that has ended.
Status CheckEnded(const fs::path& folder, const std::string& shown) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return Error{fmt::format("{}: is not there or no folder, expected that of a session", shown)};
  }
  for (const char* name : {"plan.json", "session.json"}) {
    if (Exists(folder / name)) continue;
    if (Exists(folder / "overview.json") || Exists(folder / "mask.ndjson")) {
      return Error{fmt::format(
          "{}: has no {}: the session still runs or was killed, expected one that has ended", shown,
          name)};
    }
    return Error{fmt::format("{}: is no session folder, expected one with a {}", shown, name)};
  }
  if (!Exists(folder / kCellsFileName)) {
    return Error{
        fmt::format("{}: has no {}, which the bound of several sessions needs, expected a session "
                    "of 'stemtap run' or 'replay' of this version",
                    shown, kCellsFileName)};
  }
  return Success{};
}

// What the totals say must be what the kernels and clusters add up to.
Status CheckPlan(const Plan& plan, const std::string& shown) {
  const auto damaged = [&](std::string_view what) {
    return Error{
        fmt::format("{}/plan.json: {}: damaged, expected it as it was written", shown, what)};
  };
  std::uint64_t invocations = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t clusters = 0;
  std::uint64_t samples = 0;
  std::uint64_t sampled_ns = 0;
  bool overflown = false;
  const auto add = [&](std::uint64_t more, std::uint64_t& sum) {
    overflown |= __builtin_add_overflow(sum, more, &sum);
  };
  std::uint64_t launches = 0;
  add(plan.totals.invocations, launches);
  add(plan.totals.excluded_invocations, launches);
  for (const PlanKernel& kernel : plan.kernels) {
    const std::string name = EscapeForTerminal(kernel.name.substr(0, 80));
    std::uint64_t count = 0;
    for (const PlanCluster& cluster : kernel.clusters) {
      add(cluster.count, count);
      ++clusters;
      samples += cluster.samples.size();
      const bool finite = cluster.mean_ns >= 0.0 && cluster.stddev_ns >= 0.0;
      if (!finite || cluster.samples.size() != cluster.captured ||
          cluster.samples.size() > cluster.count) {
        return damaged(fmt::format("'{}' has a cluster that no launches make", name));
      }
      for (const PlanSample& sample : cluster.samples) {
        add(sample.record.duration_ns, sampled_ns);
        if (sample.index < launches) continue;
        return damaged(
            fmt::format("'{}' has a sample of launch {} of {}", name, sample.index, launches));
      }
    }
    if (count != kernel.invocations) {
      return damaged(fmt::format("the clusters of '{}' have {} launches, it has {}", name, count,
                                 kernel.invocations));
    }
    add(kernel.invocations, invocations);
    add(kernel.duration_ns, duration_ns);
  }
  const PlanTotals& t = plan.totals;
  if (overflown || invocations != t.invocations || duration_ns != t.duration_ns ||
      clusters != t.clusters || samples != t.samples || sampled_ns != t.sampled_duration_ns ||
      plan.kernels.size() != t.kernels) {
    return damaged("its kernels do not add up to its totals");
  }
  if (t.bound < 0.0) return damaged("totals.bound is below 0");
  return Success{};
}

Result<Json> ParseSession(const std::string& text, const std::string& name) {
  const auto expected = [&](std::string_view what) {
    return Error{fmt::format("{}: {}", name, what)};
  };
  if (NestsDeeper(text, kMostDepth)) return expected("nests too deep, expected a session.json");
  Json session = Json::parse(text, nullptr, false);
  if (!session.is_object()) return expected("is no JSON (cut short?), expected a session.json");
  if (session.value("schema", Json()) != "stemtap.session/1") {
    return expected("schema: expected \"stemtap.session/1\"");
  }
  const auto has = [&](const Json& object, const char* field, bool (Json::*is)() const noexcept) {
    return object.contains(field) && (object[field].*is)();
  };
  for (const char* field : {"options", "host", "counters"}) {
    if (!has(session, field, &Json::is_object))
      return expected(fmt::format("{}: expected an object", field));
  }
  for (const char* field : {"command", "processes", "devices", "warnings"}) {
    if (!has(session, field, &Json::is_array))
      return expected(fmt::format("{}: expected an array", field));
  }
  for (const char* field : {"elapsed_s", "exit_code", "signal"}) {
    if (!has(session, field, &Json::is_number))
      return expected(fmt::format("{}: expected a number", field));
  }
  for (const char* field : {"seen", "kept", "dropped", "gaps"}) {
    if (!has(session["counters"], field, &Json::is_number_unsigned)) {
      return expected(fmt::format("counters.{}: expected a whole number", field));
    }
  }
  for (const char* list : {"processes", "devices"}) {
    for (const Json& item : session[list]) {
      if (!item.is_object()) return expected(fmt::format("{}: expected objects", list));
    }
  }
  for (const Json& device : session["devices"]) {
    const Json number = device.value("device", Json());
    if (number.is_null()) continue;
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() >= wire::kUnknown16) {
      return expected("devices: expected the number of a device, or null");
    }
  }
  return session;
}

// The two files must be of one session.
Status CheckCounters(const SessionPart& part) {
  const PlanTotals& t = part.plan.totals;
  const Json& counters = part.session["counters"];
  const std::pair<const char*, std::uint64_t> shared[] = {
      {"kept", t.invocations + t.excluded_invocations}, {"dropped", t.dropped}, {"gaps", t.gaps}};
  for (const auto& [name, planned] : shared) {
    const auto counted = counters[name].get<std::uint64_t>();
    if (counted == planned) continue;
    return Error{fmt::format(
        "{}: session.json has {} launches {}, plan.json {}: expected files of one session",
        part.path, counted, name, planned)};
  }
  return Success{};
}

// Numbers the devices of a session as a merged plan does: from 0, in the order of their own numbers.
void NumberDevices(SessionPart& part, PlanSession& session) {
  std::set<std::uint16_t> own;
  for (const Json& device : part.session["devices"]) {
    if (device.contains("device") && !device["device"].is_null()) {
      own.insert(device["device"].get<std::uint16_t>());
    }
  }
  std::vector<PlanSample*> samples;
  for (PlanKernel& kernel : part.plan.kernels) {
    for (PlanCluster& cluster : kernel.clusters) {
      for (PlanSample& sample : cluster.samples) {
        if (sample.record.device == wire::kUnknown16) continue;
        own.insert(sample.record.device);
        samples.push_back(&sample);
      }
    }
  }
  session.devices.assign(own.begin(), own.end());
  const auto number = [&](std::uint16_t device) {
    return static_cast<std::uint16_t>(std::distance(own.begin(), own.find(device)));
  };
  for (PlanSample* sample : samples) sample->record.device = number(sample->record.device);
  for (Json& device : part.session["devices"]) {
    if (device.contains("device") && !device["device"].is_null()) {
      device["device"] = number(device["device"].get<std::uint16_t>());
    }
  }
}

// A merged session says of each of its parts what session.json says of one.
Status CheckMerged(const SessionPart& part) {
  const Json parts = part.session.value("sessions", Json::array());
  bool alike = parts.is_array() && parts.size() == part.plan.sessions.size();
  for (const Json& own : parts) {
    alike = alike && own.is_object() && own.value("host", Json()).is_object() &&
            own.value("counters", Json()).is_object();
  }
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  for (const PlanSession& session : part.plan.sessions) {
    launches += session.launches;
    duration_ns += session.duration_ns;
    alike = alike && !(session.bound < 0.0);
  }
  const PlanTotals& t = part.plan.totals;
  const bool none = part.plan.sessions.empty();
  if (alike && (none || (launches == t.invocations + t.excluded_invocations &&
                         duration_ns == t.duration_ns))) {
    return Success{};
  }
  return Error{fmt::format("{}: plan.json and session.json are of different sessions", part.path)};
}

// A merged session numbers devices through those of its parts: any other would become one of the next.
Status CheckMergedDevices(const SessionPart& part) {
  std::size_t devices = 0;
  for (const PlanSession& session : part.plan.sessions) devices += session.devices.size();
  std::size_t beyond = 0;  // the highest number there is, and one
  const auto meet = [&](std::uint16_t device) {
    if (device != wire::kUnknown16) beyond = std::max(beyond, std::size_t{device} + 1);
  };
  for (const Json& device : part.session["devices"]) {
    const Json number = device.value("device", Json());
    if (!number.is_null()) meet(number.get<std::uint16_t>());
  }
  for (const PlanKernel& kernel : part.plan.kernels) {
    for (const PlanCluster& cluster : kernel.clusters) {
      for (const PlanSample& sample : cluster.samples) meet(sample.record.device);
    }
  }
  if (beyond <= devices) return Success{};
  return Error{
      fmt::format("{}: has device {}, its sessions have {}: damaged, expected it as it was "
                  "written",
                  part.path, beyond - 1, devices)};
}

std::string NameOf(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  return error || whole.filename().empty() ? path : whole.filename().string();
}

}  // namespace

Result<SessionPart> LoadSessionPart(const std::string& path) {
  SessionPart part;
  part.path = EscapeForTerminal(path);
  const fs::path folder(path);
  const Status ended = CheckEnded(folder, part.path);
  if (!ended.ok()) return ended.error();

  const std::string plan_path = (folder / "plan.json").string();
  const Result<std::string> plan_text = ReadText(plan_path, kMostPlanBytes, "a plan.json");
  if (!plan_text.ok()) return plan_text.error();
  Result<Plan> plan = ParsePlan(plan_text.value(), EscapeForTerminal(plan_path));
  if (!plan.ok()) return plan.error();
  part.plan = std::move(plan).value();
  const Status sound = CheckPlan(part.plan, part.path);
  if (!sound.ok()) return sound.error();
  const Status cells = LoadCells((folder / kCellsFileName).string(), part.plan);
  if (!cells.ok()) return cells.error();

  const std::string session_path = (folder / "session.json").string();
  const Result<std::string> session_text =
      ReadText(session_path, kMostSessionBytes, "a session.json");
  if (!session_text.ok()) return session_text.error();
  Result<Json> session = ParseSession(session_text.value(), EscapeForTerminal(session_path));
  if (!session.ok()) return session.error();
  part.session = std::move(session).value();
  const Status counted = CheckCounters(part);
  if (!counted.ok()) return counted.error();

  const Status merged = CheckMerged(part);
  if (!merged.ok()) return merged.error();
  if (part.plan.sessions.empty()) {
    PlanSession self;
    const auto hash = [](const std::string& text) {
      return wire::NameHash(text.data(), text.size());
    };
    self.id =
        fmt::format("{:016x}", wire::MixKeys(hash(plan_text.value()), hash(session_text.value())));
    self.folder = NameOf(path);
    const Json host = part.session["host"].value("name", Json());
    self.host = host.is_string() ? host.get<std::string>() : "";
    self.source = part.plan.source;
    self.launches = part.plan.totals.invocations + part.plan.totals.excluded_invocations;
    self.duration_ns = part.plan.totals.duration_ns;
    self.bound = part.plan.totals.bound;
    NumberDevices(part, self);
    part.plan.sessions.push_back(std::move(self));
  } else {
    const Status numbered = CheckMergedDevices(part);
    if (!numbered.ok()) return numbered.error();
  }

  if (Exists(folder / "overview.json")) {
    Result<Overview> overview = LoadOverview((folder / "overview.json").string());
    if (!overview.ok()) return overview.error();
    part.overview = std::move(overview).value();
  }
  if (Exists(folder / "mask.ndjson")) part.mask = (folder / "mask.ndjson").string();
  return part;
}

}  // namespace stemtap
