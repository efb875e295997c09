// SPDX-License-Identifier: Apache-2.0
#include "session/merge/merged_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include "base/text.h"
#include "session/session_report.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

// Fields of session.json that apply to only one session.
constexpr const char* kOwn[] = {"tool",      "mode",      "command", "options", "host",
                                "elapsed_s", "exit_code", "signal",  "counters"};

// Adds whole numbers, including those in nested objects, and ignores other values. Returns false if
// a sum overflows.
bool AddCounters(const Json& more, Json& sum) {
  for (const auto& [name, value] : more.items()) {
    if (value.is_object()) {
      Json& inner = sum[name];
      if (inner.is_null()) inner = Json::object();
      if (inner.is_object() && !AddCounters(value, inner)) return false;
    } else if (value.is_number_unsigned()) {
      std::uint64_t total = 0;
      if (sum.contains(name) && sum[name].is_number_unsigned()) {
        total = sum[name].get<std::uint64_t>();
      }
      if (__builtin_add_overflow(total, value.get<std::uint64_t>(), &total)) return false;
      sum[name] = total;
    }
  }
  return true;
}

// Returns the value that all sessions share, or null if they differ.
Json Common(std::span<const Json> sessions, const char* field) {
  const Json first = sessions.front().value(field, Json());
  for (const Json& session : sessions) {
    if (session.value(field, Json()) != first) return {};
  }
  return first;
}

// Returns one host entry: the common values, and the names of all hosts.
Json CommonHost(std::span<const Json> sessions) {
  std::vector<Json> hosts;
  std::string names;
  std::vector<std::string> seen;
  for (const Json& session : sessions) {
    hosts.push_back(session.value("host", Json::object()));
    const Json name = hosts.back().value("name", Json());
    if (!name.is_string()) continue;
    const std::string text = name.get<std::string>();
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
    seen.push_back(text);
    names += (names.empty() ? "" : ", ") + text;
  }
  Json host = {{"name", names}};
  for (const char* field : {"system", "machine", "cores"}) host[field] = Common(hosts, field);
  return host;
}

// Returns the entry of one session in the list of a merged session.
Json OwnOf(const Json& session) {
  Json own = Json::object();
  for (const char* field : kOwn) own[field] = session.value(field, Json());
  return own;
}

// Appends the items of a list, each with the index of its session.
void AppendList(const Json& from, const char* field, std::size_t first, std::size_t first_device,
                Json& into) {
  for (Json item : from[field]) {
    const Json of = item.value("session", Json());
    item["session"] = first + (of.is_number_unsigned() ? of.get<std::uint64_t>() : 0);
    if (item.contains("device") && item["device"].is_number_unsigned()) {
      item["device"] = item["device"].get<std::uint64_t>() + first_device;
    }
    into.push_back(std::move(item));
  }
}

double NumberOf(const Json& object, const char* field) {
  const Json value = object.value(field, Json());
  return value.is_number() ? value.get<double>() : 0.0;
}

std::string TextOf(const Json& object, const char* field) {
  const Json value = object.value(field, Json());
  return value.is_string() ? value.get<std::string>() : std::string();
}

// "error bound 4.52 %", and the certified bound if the observed error exceeds it.
std::string BoundOf(const model::PlanSession& session) {
  if (std::isnan(session.bound)) return "no error bound";
  std::string text = fmt::format("error bound {:.2f} %", 100 * session.bound);
  if (model::ExceedsCertifiedBound(session.bound, session.certified_bound)) {
    text += fmt::format(" (the observed error; it exceeds the certified bound, {:.2f} %)",
                        100 * session.certified_bound);
  }
  return text;
}

// "session 0: node7, stemtap-python3-12: 816000 launches, 3644.973 ms, error bound 4.52 %"
std::string SessionLine(std::size_t number, const model::PlanSession& session, const Json& own) {
  const Json counters = own.value("counters", Json::object());
  std::string line = fmt::format("session {}: {}, {}: ", number, EscapeForTerminal(session.host),
                                 EscapeForTerminal(session.folder));
  if (session.launches == 0) {
    line += "no kernel was recorded";
  } else {
    line += fmt::format("{} launches, {:.3f} ms, {}", session.launches,
                        static_cast<double>(session.duration_ns) * 1e-6, BoundOf(session));
  }
  for (const char* name : {"dropped", "gaps"}) {
    if (const double count = NumberOf(counters, name); count != 0) {
      line += fmt::format(", {:.0f} {}", count, name);
    }
  }
  if (const double signal = NumberOf(own, "signal"); signal != 0) {
    line += fmt::format(", ended by signal {:.0f}", signal);
  } else if (const double code = NumberOf(own, "exit_code"); code != 0) {
    line += fmt::format(", exit code {:.0f}", code);
  }
  return line + "\n";
}

}  // namespace

Result<Json> MergedSession(std::span<const SessionPart> parts, const model::Plan& plan) {
  Json counters = Json::object();
  Json processes = Json::array();
  Json devices = Json::array();
  Json warnings = Json::array();
  std::vector<Json> sessions;
  for (const SessionPart& part : parts) {
    const std::size_t first = sessions.size();
    const model::PlanSession& at = plan.sessions[first];
    if (!AddCounters(part.session["counters"], counters)) {
      return Error{
          fmt::format("{}: the summed counters of the sessions exceed 64 bits", part.path)};
    }
    AppendList(part.session, "processes", first, 0, processes);
    AppendList(part.session, "devices", first, at.first_device, devices);
    const bool merged = part.session.contains("sessions");
    for (const Json& warning : part.session["warnings"]) {
      const std::string text = warning.is_string() ? warning.get<std::string>() : warning.dump();
      warnings.push_back(merged ? text : fmt::format("{}: {}", at.folder, text));
    }
    if (merged) {
      for (const Json& own : part.session["sessions"]) sessions.push_back(OwnOf(own));
    } else {
      sessions.push_back(OwnOf(part.session));
    }
  }
  Json result = {{"schema", "stemtap.session/1"},
                 {"tool", fmt::format("stemtap {}", kVersion)},
                 {"mode", NameOf(SessionMode::kMerged)}};
  const Json command = Common(sessions, "command");
  result["command"] = command.is_array() ? command : Json::array();
  result["options"] = Json::object();
  for (const auto& [name, value] : plan.options) {
    std::visit([&, key = name](const auto& v) { result["options"][key] = v; }, value);
  }
  result["host"] = CommonHost(sessions);
  double elapsed_s = 0.0;
  Json exit_code = 0;
  Json signal = 0;
  for (const Json& own : sessions) {
    elapsed_s = std::max(elapsed_s, NumberOf(own, "elapsed_s"));
    if (exit_code == 0 && own["exit_code"].is_number()) exit_code = own["exit_code"];
    if (signal == 0 && own["signal"].is_number()) signal = own["signal"];
  }
  result["elapsed_s"] = elapsed_s;
  result["exit_code"] = exit_code;
  result["signal"] = signal;
  result["counters"] = std::move(counters);
  result["processes"] = std::move(processes);
  result["devices"] = std::move(devices);
  result["warnings"] = std::move(warnings);
  result["sessions"] = Json::array();
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    Json own = {{"id", plan.sessions[i].id}, {"folder", plan.sessions[i].folder}};
    own.update(sessions[i]);
    result["sessions"].push_back(std::move(own));
  }
  return result;
}

std::string MergedSummary(const model::Plan& plan, const Json& session) {
  std::string text = plan.totals.invocations == 0 ? std::string("no kernel was recorded\n")
                                                  : model::PlanSummary(plan);
  for (std::size_t i = 0; i < plan.sessions.size(); ++i) {
    text += SessionLine(i, plan.sessions[i], session["sessions"][i]);
  }
  for (const Json& process : session["processes"]) {
    const std::string state = TextOf(process, "state");
    const std::string reason = EscapeForTerminal(TextOf(process, "reason"));
    std::string told =
        state == NameOf(ProcessState::kDisabled) ? "nothing was recorded: " + reason : reason;
    if (state == NameOf(ProcessState::kRecording)) {
      told += told.empty() ? "" : "; ";
      told += "did not shut down cleanly; launches after its last flush may be missing";
    }
    if (told.empty()) continue;
    text += fmt::format("process {:.0f} ({}) of session {:.0f}: {}\n", NumberOf(process, "pid"),
                        EscapeForTerminal(TextOf(process, "program")), NumberOf(process, "session"),
                        told);
  }
  const Json losses = session["counters"].value("losses", Json::object());
  for (const auto& [name, count] : losses.items()) {
    if (count.is_number_unsigned() && count != 0) {
      text += fmt::format("{} {}\n", count.get<std::uint64_t>(), EscapeForTerminal(name));
    }
  }
  for (const Json& warning : session["warnings"]) {
    text += "warning: " + EscapeForTerminal(warning.get<std::string>()) + "\n";
  }
  return text;
}

}  // namespace stemtap::session
