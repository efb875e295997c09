// SPDX-License-Identifier: Apache-2.0
#include "session/merge/merge_sessions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "base/byte_sink.h"
#include "base/directory.h"
#include "base/text.h"
#include "model/session_files.h"
#include "sampling/plan_merge.h"
#include "session/merge/merged_mask.h"
#include "session/merge/merged_overview.h"
#include "session/merge/merged_session.h"
#include "session/merge/session_part.h"
#include "session/overview_file.h"
#include "session/session_directory.h"
#include "session/session_report.h"
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
                                   const std::string& output, SessionPlace place) {
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
  const model::RecordedSession session = STEMTAP_TRY(MergedSession(parts, outcome.plan));
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

}  // namespace stemtap::session
