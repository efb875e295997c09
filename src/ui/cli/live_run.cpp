// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/live_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/text.h"
#include "model/session.h"
#include "shm/record.h"
#include "shm/session_env.h"

namespace stemtap::ui {
namespace {

using model::RecordedSession;

// Returns whether every part of the session ran live.
bool RanLive(const RecordedSession& session) {
  if (session.mode != "merged") return session.mode == "live";
  return std::all_of(session.sessions.begin(), session.sessions.end(),
                     [](const model::OriginalSession& part) { return part.mode == "live"; });
}

// Returns the session of `plan`, or nothing if no session.json matches the plan.
std::optional<RecordedSession> SessionOf(const std::string& path, const model::Plan& plan) {
  const auto file = std::filesystem::path(path).parent_path() / shm::kSessionFileName;
  Result<RecordedSession> session = model::LoadSession(file.string());
  if (!session.ok() || !RanLive(session.value())) return std::nullopt;
  std::uint64_t launches = 0;
  for (const model::DeviceTotals& device : session.value().devices) launches += device.launches;
  if (launches != plan.totals.invocations + plan.totals.excluded_invocations) return std::nullopt;
  return std::move(session).value();
}

// Returns the index of the merged plan's session that contains `device`, or the number of sessions
// if none does.
std::size_t SessionWith(const std::optional<std::uint16_t>& device, const model::Plan& plan) {
  const auto at = std::find_if(plan.sessions.begin(), plan.sessions.end(), [&](const auto& s) {
    return device && *device >= s.first_device &&
           std::size_t{*device} - s.first_device < s.devices.size();
  });
  return static_cast<std::size_t>(at - plan.sessions.begin());
}

}  // namespace

std::string WhyNotPlain(const std::string& path, const model::Plan& plan,
                        const formats::CountingModel& model, std::optional<std::uint16_t> device) {
  std::optional<RecordedSession> session = SessionOf(path, plan);
  if (!session) return kNoSessionOfRun;
  if (plan.sessions.size() > 1) {
    const std::size_t of = SessionWith(device, plan);
    if (of == plan.sessions.size()) {
      return fmt::format("contains {} sessions, and no --device N selects one",
                         plan.sessions.size());
    }
    const auto is_of_other = [of](const auto& item) { return item.session != of; };
    std::erase_if(session->devices, is_of_other);
    std::erase_if(session->processes, is_of_other);
  }
  const std::vector<model::DeviceTotals>& devices = session->devices;
  if (devices.size() != 1 || devices[0].device == shm::kUnknown16) {
    return fmt::format("contains launches on {}", Plural(devices.size(), "device"));
  }
  for (const model::ProcessReport& process : session->processes) {
    if (process.state == model::ProcessState::kDisabled) {
      return "is from a run with a process that was not recorded";
    }
  }
  if (devices[0].graph_kernels != 0 && !model.graph_kernels) {
    return fmt::format("has {} made by CUDA graphs",
                       Plural(devices[0].graph_kernels, "launch", "launches"));
  }
  return {};
}

std::vector<std::string> CommandOfRun(const std::string& path, const model::Plan& plan) {
  if (!plan.sessions.empty()) return {};
  const std::optional<RecordedSession> session = SessionOf(path, plan);
  if (!session || session->command.empty()) return {};
  // The program of the demo.
  const std::filesystem::path program = session->command.front();
  return program.filename() == "stemtap_play" ? std::vector<std::string>() : session->command;
}

}  // namespace stemtap::ui
