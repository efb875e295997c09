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

#include "base/file.h"
#include "base/text.h"
#include "model/json_text.h"
#include "model/overview_check.h"
#include "model/overview_reader.h"
#include "model/plan_cells.h"
#include "model/plan_reader.h"
#include "shm/context_key.h"

namespace stemtap::session {
namespace {

namespace fs = std::filesystem;

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
  for (const model::DeviceTotals& device : part.session.devices) {
    if (device.device != shm::kUnknown16) own.insert(device.device);
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
  for (model::DeviceTotals& device : part.session.devices) {
    if (device.device != shm::kUnknown16) device.device = number(device.device);
  }
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
  for (const model::DeviceTotals& device : part.session.devices) meet(device.device);
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

// Describes the only session of `part`, and numbers its devices as a merged plan does.
model::PlanSession SelfOf(SessionPart& part, const std::string& path, const std::string& plan_text,
                          const std::string& session_text) {
  const auto hash = [](const std::string& text) { return shm::NameHash(text.data(), text.size()); };
  const model::PlanTotals& totals = part.plan.totals;
  model::PlanSession self;
  self.id = fmt::format("{:016x}", shm::MixKeys(hash(plan_text), hash(session_text)));
  self.folder = NameOf(path);
  self.host = part.session.host.name;
  self.source = part.plan.source;
  self.launches = totals.invocations + totals.excluded_invocations;
  self.duration_ns = totals.duration_ns;
  self.bound = totals.bound;
  self.certified_bound = totals.certified_bound;
  NumberDevices(part, self);
  return self;
}

// Fails if a comparison of two files found a difference.
Status CheckAlike(const std::string& difference, const std::string& shown) {
  if (difference.empty()) return Success{};
  return Error{fmt::format("{}: {}; expected files of one session", shown, difference)};
}

}  // namespace

Status CheckEnded(const std::string& path) {
  const std::string shown = EscapeForTerminal(path);
  const fs::path folder(path);
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return Error{fmt::format("{}: is not a directory; expected a session directory", shown)};
  }
  STEMTAP_TRY(CheckReadable(folder));
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
  const std::string session_text =
      STEMTAP_TRY(model::ReadJsonFile(session_path, model::kMaxSessionBytes, "a session.json"));
  part.session = STEMTAP_TRY(model::ParseSession(session_text, EscapeForTerminal(session_path)));
  const std::string plan_path = (folder / "plan.json").string();
  const std::string plan_text =
      STEMTAP_TRY(model::ReadJsonFile(plan_path, model::kMaxPlanBytes, "a plan.json"));
  part.plan = STEMTAP_TRY(model::ParsePlan(plan_text, EscapeForTerminal(plan_path)));
  STEMTAP_TRY(CheckIndices(part.plan, part.path));
  STEMTAP_TRY(CheckAlike(model::CompareWithPlan(part.session, part.plan.totals), part.path));
  STEMTAP_TRY(model::LoadCells((folder / model::kCellsFileName).string(), part.plan));
  if (part.session.sessions.size() != part.plan.sessions.size()) {
    return Error{
        fmt::format("{}: plan.json and session.json are from different sessions", part.path)};
  }
  if (part.plan.sessions.empty()) {
    model::PlanSession self = SelfOf(part, path, plan_text, session_text);
    part.plan.sessions.push_back(std::move(self));
  } else {
    STEMTAP_TRY(CheckMergedDevices(part));
  }
  if (Exists(folder / "overview.json")) {
    part.overview = STEMTAP_TRY(model::LoadOverview((folder / "overview.json").string()));
    STEMTAP_TRY(CheckAlike(model::CompareWithPlan(*part.overview, part.plan), part.path));
  }
  if (Exists(folder / "mask.ndjson")) part.mask = (folder / "mask.ndjson").string();
  return part;
}

}  // namespace stemtap::session
