// SPDX-License-Identifier: Apache-2.0
#include "session/merge/merge_sessions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "base/byte_sink.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/text.h"
#include "model/json_text.h"
#include "model/overview_check.h"
#include "model/overview_reader.h"
#include "model/plan_cells.h"
#include "model/plan_reader.h"
#include "model/session_files.h"
#include "sampling/plan_merge.h"
#include "session/merge/merged_files.h"
#include "session/overview_file.h"
#include "session/session.h"
#include "session/session_directory.h"
#include "shm/context_key.h"
#include "shm/session_env.h"

namespace stemtap::session {

namespace {

// Options that may differ between sessions: they change how a machine sampled, but not what its
// numbers mean.
constexpr std::string_view kMayDiffer[] = {"seed", "lag", "actuator", "max_captures_per_second",
                                           "max_overhead"};

bool Has(const model::OptionList& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(),
                     [&](const auto& o) { return o.first == name; });
}

// Returns the options that all parts share.
Result<model::OptionList> CommonOptions(std::span<const SessionPart> parts) {
  model::OptionList common = parts.front().plan.options;
  for (const SessionPart& part : parts.subspan(1)) {
    const model::OptionList& first = parts.front().plan.options;
    const model::OptionList& other = part.plan.options;
    model::OptionList all = first;
    all.insert(all.end(), other.begin(), other.end());
    for (const auto& [name, value] : all) {
      const bool same = Has(first, name) && Has(other, name) &&
                        model::OptionText(first, name) == model::OptionText(other, name);
      if (same) continue;
      if (std::find(std::begin(kMayDiffer), std::end(kMayDiffer), name) == std::end(kMayDiffer)) {
        std::string option = EscapeForTerminal(name);
        std::replace(option.begin(), option.end(), '_', '-');
        return Error{
            fmt::format("{}: was recorded with --{} '{}', but {} with '{}'; expected sessions with "
                        "the same options",
                        part.path, option, EscapeForTerminal(model::OptionText(other, name)),
                        parts.front().path, EscapeForTerminal(model::OptionText(first, name)))};
      }
      std::erase_if(common, [&, key = name](const auto& o) { return o.first == key; });
    }
  }
  return common;
}

Result<double> ConfidenceOf(const SessionPart& part) {
  for (const auto& [name, value] : part.plan.options) {
    const double* confidence = std::get_if<double>(&value);
    if (name == "confidence" && confidence != nullptr && *confidence > 0.0 && *confidence < 1.0) {
      return *confidence;
    }
  }
  return Error{fmt::format("{}/plan.json: options.confidence: expected a number between 0 and 1",
                           part.path)};
}

Status CheckDistinct(std::span<const SessionPart> parts) {
  std::map<std::string, const SessionPart*> known;
  for (const SessionPart& part : parts) {
    for (const model::PlanSession& session : part.plan.sessions) {
      const auto [at, is_new] = known.emplace(session.id, &part);
      if (is_new) continue;
      return Error{
          fmt::format("{}: contains session {} ('{}'), as does {}; expected each session once",
                      part.path, session.id, EscapeForTerminal(session.folder), at->second->path)};
    }
  }
  return Success{};
}

// Returns the names of all profiles, separated by commas. Each command of live sessions appears
// once.
std::string SourceOf(const model::Plan& plan, const model::RecordedSession& session) {
  std::string source;
  std::vector<std::string> told;
  for (std::size_t i = 0; i < plan.sessions.size(); ++i) {
    const std::string& own = plan.sessions[i].source;
    const bool live = session.sessions[i].mode != NameOf(SessionMode::kReplay);
    if (live && std::find(told.begin(), told.end(), own) != told.end()) continue;
    told.push_back(own);
    source += (source.empty() ? "" : ", ") + own;
  }
  return source;
}

Status WriteMask(std::span<const SessionPart> parts, const Directory& output,
                 std::vector<std::string>& warnings) {
  const std::string path = output.PathOf(shm::kMaskFileName);
  const int fd = output.OpenForWriting(shm::kMaskFileName);
  if (fd < 0) return Error{fmt::format("{}: cannot be written: {}", path, std::strerror(errno))};
  const std::unique_ptr<ByteSink> sink = SinkTo(fd, path);
  const Status written = WriteMergedMask(parts, *sink, warnings);
  return written.ok() ? sink->Finish() : written;
}

Status WriteFolder(std::span<const SessionPart> parts, const Directory& output,
                   const std::string& session_json, MergeOutcome& outcome) {
  for (const SessionPart& part : parts) {
    if (part.mask.empty()) {
      outcome.warnings.push_back(part.path +
                                 ": has no mask.ndjson; the merged mask lacks its events");
    }
  }
  Status written = WriteMask(parts, output, outcome.warnings);
  if (!written.ok()) return written;
  const auto without = std::find_if(parts.begin(), parts.end(),
                                    [](const SessionPart& part) { return !part.overview; });
  if (without == parts.end()) {
    written = output.Replace(kOverviewFileName,
                             model::OverviewToJson(MergedOverview(parts, outcome.plan)));
    if (!written.ok()) return written;
  } else {
    outcome.warnings.push_back(without->path +
                               ": has no overview.json; the merged session has none either");
  }
  return WriteResults(output, outcome.plan, session_json, outcome.summary);
}

Status CheckOther(const std::string& folder, const std::string& output) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(folder, output, ignored)) return Success{};
  return Error{fmt::format("{}: is one of the sessions to merge; expected another directory",
                           EscapeForTerminal(output)),
               2};
}

}  // namespace

Result<MergeOutcome> MergeSessions(const std::vector<std::string>& folders,
                                   const std::string& output, SessionPlace place,
                                   const JobParts& job) {
  for (const std::string& folder : folders) {
    STEMTAP_TRY(CheckEnded(folder));
    if (place == SessionPlace::kReplaced) STEMTAP_TRY(CheckOther(folder, output));
  }
  std::vector<SessionPart> parts;
  for (const std::string& folder : folders) parts.push_back(STEMTAP_TRY(LoadSessionPart(folder)));
  STEMTAP_TRY(CheckDistinct(parts));
  model::OptionList options = STEMTAP_TRY(CommonOptions(parts));
  const double confidence = STEMTAP_TRY(ConfidenceOf(parts.front()));

  std::vector<model::Plan> plans;
  for (SessionPart& part : parts) {
    plans.push_back(part.plan);
    // From here on, only the launches of each kernel are needed.
    for (model::PlanKernel& kernel : part.plan.kernels) kernel.clusters = {};
  }
  MergeOutcome outcome;
  outcome.plan = STEMTAP_TRY(sampling::MergePlans(std::move(plans), confidence));
  outcome.plan.options = std::move(options);
  if (job.pool) outcome.plan = STEMTAP_TRY(job.pool(outcome.plan));
  model::RecordedSession session = STEMTAP_TRY(MergedSession(parts, outcome.plan));
  session.warnings.insert(session.warnings.end(), job.warnings.begin(), job.warnings.end());
  outcome.job_warnings = job.warnings;
  outcome.plan.source = SourceOf(outcome.plan, session);
  outcome.summary = MergedSummary(outcome.plan, session);
  const std::string session_json = model::SessionToJson(session);
  if (session_json.size() > model::kMaxSessionBytes) {
    return Error{fmt::format(
        "{}/session.json: would have more than {} bytes; expected sessions with fewer processes",
        EscapeForTerminal(output), model::kMaxSessionBytes)};
  }

  const bool existed = ::access(output.c_str(), F_OK) == 0;
  const Directory directory = STEMTAP_TRY(ClaimSession(output, place));
  const Status written = WriteFolder(parts, directory, session_json, outcome);
  if (!written.ok()) {
    for (const char* name : model::kSessionFiles) directory.Remove(name);
    if (!existed) directory.RemoveSelf();
    return written.error();
  }
  return outcome;
}

namespace {

namespace fs = std::filesystem;

// A merged plan numbers the launches of a session as the session does. A larger sample index
// would become a launch of the next session.
Status CheckIndices(const model::Plan& plan, const std::string& shown) {
  const std::uint64_t launches = plan.totals.numbered();
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

// Numbers the devices of a session as a merged plan does: from 0, in the order of their numbers in
// the session.
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
  self.launches = totals.numbered();
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
      return Error{
          fmt::format("{}: has no {}: the session is running or was killed ('stemtap recover' "
                      "completes it); expected a session that has ended",
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
