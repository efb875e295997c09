// SPDX-License-Identifier: Apache-2.0
#include "model/session_reader.h"

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "base/text.h"
#include "model/json_text.h"
#include "shm/record.h"

namespace stemtap::model {
namespace {

using Json = SessionJson;

// Kind is the type of a JSON field.
enum class Kind { kWhole, kReal, kInteger, kText, kObject, kArray };

struct Field {
  const char* name;
  Kind kind;
  bool required = false;
};

constexpr Field kTop[] = {{"tool", Kind::kText},
                          {"mode", Kind::kText},
                          {"command", Kind::kArray, true},
                          {"options", Kind::kObject, true},
                          {"host", Kind::kObject, true},
                          {"elapsed_s", Kind::kReal, true},
                          {"exit_code", Kind::kInteger, true},
                          {"signal", Kind::kInteger, true},
                          {"counters", Kind::kObject, true},
                          {"processes", Kind::kArray, true},
                          {"devices", Kind::kArray, true},
                          {"warnings", Kind::kArray, true},
                          {"sessions", Kind::kArray}};
constexpr Field kCounters[] = {
    {"seen", Kind::kWhole, true},       {"kept", Kind::kWhole, true},
    {"dropped", Kind::kWhole, true},    {"gaps", Kind::kWhole, true},
    {"captured", Kind::kWhole},         {"captured_duration_ns", Kind::kWhole},
    {"zero_duration", Kind::kWhole},    {"slowed", Kind::kWhole},
    {"slowed_beside", Kind::kWhole},    {"native_unknown", Kind::kWhole},
    {"contexts_refused", Kind::kWhole}, {"slots_refused", Kind::kWhole},
    {"losses", Kind::kObject}};
constexpr Field kHost[] = {
    {"name", Kind::kText}, {"system", Kind::kText}, {"machine", Kind::kText}};
constexpr Field kProcess[] = {
    {"pid", Kind::kInteger},   {"program", Kind::kText},  {"state", Kind::kText},
    {"reason", Kind::kText},   {"seen", Kind::kWhole},    {"kept", Kind::kWhole},
    {"read", Kind::kWhole},    {"late", Kind::kWhole},    {"malformed", Kind::kWhole},
    {"skipped", Kind::kWhole}, {"session", Kind::kWhole}, {"losses", Kind::kObject},
    {"cost", Kind::kObject}};
constexpr Field kDevice[] = {
    {"device", Kind::kWhole},      {"launches", Kind::kWhole}, {"graph_kernels", Kind::kWhole},
    {"duration_ns", Kind::kWhole}, {"busy_ns", Kind::kWhole},  {"busy_cut_ns", Kind::kWhole},
    {"span_ns", Kind::kWhole},     {"session", Kind::kWhole},  {"streams", Kind::kArray}};
// Fields of one original session in a merged session.
constexpr Field kSession[] = {
    {"id", Kind::kText},           {"folder", Kind::kText},          {"tool", Kind::kText},
    {"mode", Kind::kText},         {"command", Kind::kArray},        {"options", Kind::kObject},
    {"host", Kind::kObject, true}, {"elapsed_s", Kind::kReal},       {"exit_code", Kind::kInteger},
    {"signal", Kind::kInteger},    {"counters", Kind::kObject, true}};
constexpr Field kStream[] = {
    {"stream", Kind::kWhole}, {"launches", Kind::kWhole}, {"duration_ns", Kind::kWhole}};

bool Is(const Json& value, Kind kind) {
  switch (kind) {
    case Kind::kWhole:
      return value.is_number_unsigned();
    case Kind::kReal:
      return value.is_number() && value.get<double>() >= 0.0;
    case Kind::kInteger:
      return value.is_number_integer();
    case Kind::kText:
      return value.is_string();
    case Kind::kObject:
      return value.is_object();
    case Kind::kArray:
      return value.is_array();
  }
  return false;
}

const char* Expected(Kind kind) {
  switch (kind) {
    case Kind::kWhole:
      return "a whole number";
    case Kind::kReal:
      return "a number of at least 0";
    case Kind::kInteger:
      return "an integer";
    case Kind::kText:
      return "a text";
    case Kind::kObject:
      return "an object";
    case Kind::kArray:
      return "an array";
  }
  return "";
}

// Returns a value as shown in error messages.
std::string Shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return ShownCell(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// The Check functions return what is wrong, with its path, or an empty string.
template <std::size_t N>
std::string CheckFields(const Json& object, const std::string& path, const Field (&fields)[N]) {
  for (const Field& field : fields) {
    const auto at = object.find(field.name);
    if (at == object.end() && !field.required) continue;
    // Null means unknown, as for some devices or in a merged session.
    if (at != object.end() && (Is(*at, field.kind) || (at->is_null() && !field.required))) continue;
    return fmt::format("{}{}: is {}; expected {}", path, field.name,
                       at == object.end() ? "missing" : Shown(*at), Expected(field.kind));
  }
  return {};
}

std::string CheckWholes(const Json& object, const std::string& path) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_number_unsigned()) continue;
    return fmt::format("{}{}: is {}; expected a whole number", path, ShownCell(name), Shown(value));
  }
  return {};
}

template <std::size_t N>
std::string CheckList(const Json& list, const std::string& path, const Field (&fields)[N]) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    if (!list[i].is_object()) {
      return fmt::format("{}: is {}; expected an object", at, Shown(list[i]));
    }
    std::string wrong = CheckFields(list[i], at + ".", fields);
    if (!wrong.empty()) return wrong;
    for (const char* inner : {"losses", "cost"}) {
      const auto found = list[i].find(inner);
      if (found == list[i].end() || !found->is_object()) continue;
      wrong = CheckWholes(*found, fmt::format("{}.{}.", at, inner));
      if (!wrong.empty()) return wrong;
    }
    const auto streams = list[i].find("streams");
    if (streams == list[i].end() || !streams->is_array()) continue;
    wrong = CheckList(*streams, at + ".streams", kStream);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string CheckDevices(const Json& devices) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Json number = devices[i].value("device", Json());
    if (number.is_null() || number.get<std::uint64_t>() < shm::kUnknown16) continue;
    return fmt::format("devices[{}].device: is {}; expected the number of a device, or null", i,
                       Shown(number));
  }
  return {};
}

std::string CheckTexts(const Json& list, const std::string& path) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_string()) {
      return fmt::format("{}[{}]: is {}; expected a text", path, i, Shown(list[i]));
    }
  }
  return {};
}

// Checks the objects inside a session. `path` is empty, or the path of one original session of a
// merged session.
std::string CheckInside(const Json& session, const std::string& path) {
  std::string wrong = CheckFields(session["host"], path + "host.", kHost);
  const Json& counters = session["counters"];
  if (wrong.empty()) wrong = CheckFields(counters, path + "counters.", kCounters);
  if (wrong.empty() && counters.contains("losses") && counters["losses"].is_object()) {
    wrong = CheckWholes(counters["losses"], path + "counters.losses.");
  }
  if (wrong.empty() && session.contains("command") && session["command"].is_array()) {
    wrong = CheckTexts(session["command"], path + "command");
  }
  return wrong;
}

std::string CheckSession(const Json& session) {
  std::string wrong = CheckFields(session, "", kTop);
  if (wrong.empty()) wrong = CheckInside(session, "");
  const Json none = Json::array();
  const Json& own =
      session.contains("sessions") && session["sessions"].is_array() ? session["sessions"] : none;
  if (wrong.empty()) wrong = CheckList(own, "sessions", kSession);
  for (std::size_t i = 0; i < own.size() && wrong.empty(); ++i) {
    wrong = CheckInside(own[i], fmt::format("sessions[{}].", i));
  }
  if (wrong.empty()) wrong = CheckTexts(session["warnings"], "warnings");
  if (wrong.empty()) wrong = CheckList(session["processes"], "processes", kProcess);
  if (wrong.empty()) wrong = CheckList(session["devices"], "devices", kDevice);
  if (wrong.empty()) wrong = CheckDevices(session["devices"]);
  return wrong;
}

}  // namespace

Result<Json> ParseSession(std::string_view text, std::string_view source) {
  STEMTAP_TRY(CheckJsonText(text, source, "stemtap.session/1", "a session.json"));
  Json session = Json::parse(text);
  const std::string wrong = CheckSession(session);
  if (!wrong.empty()) return Error{fmt::format("{}: {}", source, wrong)};
  return session;
}

std::string CompareWithPlan(const Json& session, const PlanTotals& totals) {
  const std::pair<const char*, std::uint64_t> shared[] = {
      {"kept", totals.invocations + totals.excluded_invocations},
      {"dropped", totals.dropped},
      {"gaps", totals.gaps}};
  for (const auto& [name, planned] : shared) {
    const auto counted = session["counters"][name].get<std::uint64_t>();
    if (counted == planned) continue;
    return fmt::format("session.json has {} launches {}, plan.json {}", counted, name, planned);
  }
  return {};
}

}  // namespace stemtap::model
