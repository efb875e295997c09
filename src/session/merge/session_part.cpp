// SPDX-License-Identifier: Apache-2.0
#include "session/merge/session_part.h"

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

#include "base/text.h"
#include "model/json_text.h"
#include "model/overview_check.h"
#include "model/overview_reader.h"
#include "model/plan_cells.h"
#include "model/plan_reader.h"
#include "model/session_reader.h"
#include "shm/context_key.h"

namespace stemtap::session {
namespace {

namespace fs = std::filesystem;

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// A merged plan numbers the launches of a session by its kept launches only. A larger sample index
// would become a launch of the next session.
Status CheckIndices(const model::Plan& plan, const std::string& shown) {
  const std::uint64_t launches = plan.totals.invocations + plan.totals.excluded_invocations;
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) {
        if (sample.index < launches) continue;
        return Error{fmt::format("{}/plan.json: has a sample of launch {}; expected one of {}",
                                 shown, sample.index, launches)};
      }
    }
  }
  return Success{};
}

// Numbers the devices of a session as a merged plan does: from 0, in the order of their own
// numbers.
void NumberDevices(SessionPart& part, model::PlanSession& session) {
  std::set<std::uint16_t> own;
  for (const Json& device : part.session["devices"]) {
    if (device.contains("device") && !device["device"].is_null()) {
      own.insert(device["device"].get<std::uint16_t>());
    }
  }
  std::vector<model::PlanSample*> samples;
  for (model::PlanKernel& kernel : part.plan.kernels) {
    for (model::PlanCluster& cluster : kernel.clusters) {
      for (model::PlanSample& sample : cluster.samples) {
        if (sample.record.device == shm::kUnknown16) continue;
        own.insert(sample.record.device);
        samples.push_back(&sample);
      }
    }
  }
  session.devices.assign(own.begin(), own.end());
  const auto number = [&](std::uint16_t device) {
    return static_cast<std::uint16_t>(std::distance(own.begin(), own.find(device)));
  };
  for (model::PlanSample* sample : samples) sample->record.device = number(sample->record.device);
  for (Json& device : part.session["devices"]) {
    if (device.contains("device") && !device["device"].is_null()) {
      device["device"] = number(device["device"].get<std::uint16_t>());
    }
  }
}

// Checks that session.json of a merged session has a valid entry for each session in the plan.
Status CheckMerged(const SessionPart& part) {
  const Json parts = part.session.value("sessions", Json::array());
  bool alike = parts.is_array() && parts.size() == part.plan.sessions.size();
  for (const Json& own : parts) {
    alike = alike && own.is_object() && own.value("host", Json()).is_object() &&
            own.value("counters", Json()).is_object();
  }
  if (alike) return Success{};
  return Error{
      fmt::format("{}: plan.json and session.json are from different sessions", part.path)};
}

// Checks device numbers of a merged session: a number beyond its devices would become a device of
// the next session.
Status CheckMergedDevices(const SessionPart& part) {
  std::size_t devices = 0;
  for (const model::PlanSession& session : part.plan.sessions) devices += session.devices.size();
  std::size_t beyond = 0;  // highest device number plus 1
  const auto meet = [&](std::uint16_t device) {
    if (device != shm::kUnknown16) beyond = std::max(beyond, std::size_t{device} + 1);
  };
  for (const Json& device : part.session["devices"]) {
    const Json number = device.value("device", Json());
    if (!number.is_null()) meet(number.get<std::uint16_t>());
  }
  for (const model::PlanKernel& kernel : part.plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) meet(sample.record.device);
    }
  }
  if (beyond <= devices) return Success{};
  return Error{
      fmt::format("{}: has device {}, but its sessions have {} devices; expected unmodified "
                  "files",
                  part.path, beyond - 1, devices)};
}

std::string NameOf(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  return error || whole.filename().empty() ? path : whole.filename().string();
}

}  // namespace

Status CheckEnded(const std::string& path) {
  const std::string shown = EscapeForTerminal(path);
  const fs::path folder(path);
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return Error{fmt::format("{}: is not a directory; expected a session directory", shown)};
  }
  for (const char* name : {"plan.json", "session.json"}) {
    if (Exists(folder / name)) continue;
    if (Exists(folder / "overview.json") || Exists(folder / "mask.ndjson")) {
      return Error{fmt::format(
          "{}: has no {}: the session is running or was killed; expected a session that has ended",
          shown, name)};
    }
    return Error{
        fmt::format("{}: is not a session directory; expected one with a {}", shown, name)};
  }
  if (!Exists(folder / model::kCellsFileName)) {
    return Error{
        fmt::format("{}: has no {}, which the bound of several sessions requires; expected a "
                    "session of this version of stemtap",
                    shown, model::kCellsFileName)};
  }
  return Success{};
}

Result<SessionPart> LoadSessionPart(const std::string& path) {
  SessionPart part;
  part.path = EscapeForTerminal(path);
  const fs::path folder(path);
  // The small file first, so that an invalid session is refused early.
  const std::string session_path = (folder / "session.json").string();
  const Result<std::string> session_text =
      model::ReadJsonFile(session_path, model::kMaxSessionBytes, "a session.json");
  if (!session_text.ok()) return session_text.error();
  Result<Json> session = model::ParseSession(session_text.value(), EscapeForTerminal(session_path));
  if (!session.ok()) return session.error();
  part.session = std::move(session).value();

  const std::string plan_path = (folder / "plan.json").string();
  const Result<std::string> plan_text =
      model::ReadJsonFile(plan_path, model::kMaxPlanBytes, "a plan.json");
  if (!plan_text.ok()) return plan_text.error();
  Result<model::Plan> plan = model::ParsePlan(plan_text.value(), EscapeForTerminal(plan_path));
  if (!plan.ok()) return plan.error();
  part.plan = std::move(plan).value();
  const Status numbered = CheckIndices(part.plan, part.path);
  if (!numbered.ok()) return numbered.error();
  const std::string differs = model::CompareWithPlan(part.session, part.plan.totals);
  if (!differs.empty()) {
    return Error{fmt::format("{}: {}; expected files of one session", part.path, differs)};
  }
  const Status cells = model::LoadCells((folder / model::kCellsFileName).string(), part.plan);
  if (!cells.ok()) return cells.error();

  const Status merged = CheckMerged(part);
  if (!merged.ok()) return merged.error();
  if (part.plan.sessions.empty()) {
    model::PlanSession self;
    const auto hash = [](const std::string& text) {
      return shm::NameHash(text.data(), text.size());
    };
    self.id =
        fmt::format("{:016x}", shm::MixKeys(hash(plan_text.value()), hash(session_text.value())));
    self.folder = NameOf(path);
    const Json host = part.session["host"].value("name", Json());
    self.host = host.is_string() ? host.get<std::string>() : "";
    self.source = part.plan.source;
    self.launches = part.plan.totals.invocations + part.plan.totals.excluded_invocations;
    self.duration_ns = part.plan.totals.duration_ns;
    self.bound = part.plan.totals.bound;
    self.certified_bound = part.plan.totals.certified_bound;
    NumberDevices(part, self);
    part.plan.sessions.push_back(std::move(self));
  } else {
    const Status devices = CheckMergedDevices(part);
    if (!devices.ok()) return devices.error();
  }

  if (Exists(folder / "overview.json")) {
    Result<model::Overview> overview = model::LoadOverview((folder / "overview.json").string());
    if (!overview.ok()) return overview.error();
    part.overview = std::move(overview).value();
    const std::string contradiction = model::CompareWithPlan(*part.overview, part.plan);
    if (!contradiction.empty()) {
      return Error{fmt::format("{}: {}; expected files of one session", part.path, contradiction)};
    }
  }
  if (Exists(folder / "mask.ndjson")) part.mask = (folder / "mask.ndjson").string();
  return part;
}

}  // namespace stemtap::session
