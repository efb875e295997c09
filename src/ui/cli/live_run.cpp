// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/live_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/byte_source.h"
#include "base/file.h"
#include "base/text.h"
#include "model/session.h"
#include "shm/session_env.h"

namespace stemtap::ui {
namespace {

using nlohmann::json;

// Returns whether every part of the session ran live.
bool RanLive(const json& session) {
  if (session.value("mode", json()) != "merged") return session.value("mode", json()) == "live";
  const json parts = session.value("sessions", json::array());
  return std::all_of(parts.begin(), parts.end(), [](const json& part) {
    return part.is_object() && part.value("mode", json()) == "live";
  });
}

// Returns the session of `plan`, or null if no session.json matches the plan.
json SessionOf(const std::string& path, const model::Plan& plan) {
  const auto file = std::filesystem::path(path).parent_path() / shm::kSessionFileName;
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(file.string());
  if (!source.ok()) return {};
  const Result<std::string> text = ReadWhole(*source.value(), model::kMaxSessionBytes, "a session.json");
  if (!text.ok()) return {};
  json session = json::parse(text.value(), nullptr, false);
  if (!session.is_object() || !RanLive(session)) return {};
  const json& devices = session["devices"];
  if (!devices.is_array() || !session["processes"].is_array()) return {};
  std::uint64_t launches = 0;
  for (const json& device : devices) {
    for (const char* count : {"launches", "graph_kernels"}) {
      if (!device.is_object() || !device.contains(count) || !device[count].is_number_unsigned()) {
        return {};
      }
    }
    launches += device["launches"].get<std::uint64_t>();
  }
  const bool same = launches == plan.totals.invocations + plan.totals.excluded_invocations;
  return same ? session : json();
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

// Returns the entries of `list` that belong to session number `session` of a merged plan.
json EntriesOf(const json& list, std::size_t session) {
  json part = json::array();
  for (const json& item : list) {
    if (item.is_object() && item.value("session", json()) == session) part.push_back(item);
  }
  return part;
}

}  // namespace

std::string WhyNotPlain(const std::string& path, const model::Plan& plan,
                        const formats::CountingModel& model, std::optional<std::uint16_t> device) {
  json session = SessionOf(path, plan);
  if (session.is_null()) return kNoSessionOfRun;
  if (plan.sessions.size() > 1) {
    const std::size_t of = SessionWith(device, plan);
    if (of == plan.sessions.size()) {
      return fmt::format("contains {} sessions, and no --device N selects one",
                         plan.sessions.size());
    }
    for (const char* list : {"devices", "processes"}) session[list] = EntriesOf(session[list], of);
  }
  const json& devices = session["devices"];
  if (devices.size() != 1 || devices[0].value("device", json()).is_null()) {
    return fmt::format("contains launches on {}", Plural(devices.size(), "device"));
  }
  for (const json& process : session["processes"]) {
    if (process.is_object() && process.value("state", json()) == "stood_down") {
      return "is from a run with a process that was not recorded";
    }
  }
  const auto graph_kernels = devices[0]["graph_kernels"].get<std::uint64_t>();
  if (graph_kernels != 0 && !model.graph_kernels) {
    return fmt::format("has {} made by CUDA graphs", Plural(graph_kernels, "launch", "launches"));
  }
  return {};
}

std::vector<std::string> CommandOfRun(const std::string& path, const model::Plan& plan) {
  if (!plan.sessions.empty()) return {};
  const json session = SessionOf(path, plan);
  const json command = session.is_object() ? session.value("command", json()) : json();
  std::vector<std::string> words;
  for (const json& word : command) {
    if (!word.is_string()) return {};
    words.push_back(word.get<std::string>());
  }
  // The program of the demo.
  const bool is_demo =
      !words.empty() && std::filesystem::path(words.front()).filename() == "stemtap_play";
  return is_demo ? std::vector<std::string>() : words;
}

}  // namespace stemtap::ui
