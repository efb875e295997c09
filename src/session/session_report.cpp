// SPDX-License-Identifier: Apache-2.0
#include "session/session_report.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "online/overview_parts.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

using Json = nlohmann::ordered_json;

Json LossesToJson(const std::uint64_t (&losses)[shm::kLossCount]) {
  Json json = Json::object();
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) json[shm::kLossNames[i]] = losses[i];
  return json;
}

Json ProcessToJson(const ProcessReport& p) {
  Json json;
  json["pid"] = p.pid;
  json["program"] = p.program;
  json["state"] = NameOf(p.state);
  json["reason"] = p.reason;
  json["cupti_version"] = p.cupti_version;
  json["driver_version"] = p.driver_version;
  json["seen"] = p.seen;
  json["kept"] = p.kept;
  json["read"] = p.read;
  json["late"] = p.late;
  json["malformed"] = p.malformed;
  json["skipped"] = p.skipped;
  json["launches_gated"] = p.launches_gated;
  json["launches_captured"] = p.launches_captured;
  json["buffers"] = p.buffers;
  json["cost"] = {{"program_ns", p.cost_program_ns},
                  {"background_ns", p.cost_background_ns},
                  {"cupti_ns", p.cost_cupti_ns}};
  json["losses"] = LossesToJson(p.losses);
  return json;
}

Json DeviceToJson(const DeviceTotals& d, const SessionReport& report) {
  Json json;
  json["pid"] =
      d.process < report.processes.size() ? Json(report.processes[d.process].pid) : Json();
  json["device"] = d.device == shm::kUnknown16 ? Json() : Json(d.device);
  json["launches"] = d.launches;
  json["graph_kernels"] = d.graph_kernels;
  json["duration_ns"] = d.duration_ns;
  json["busy_ns"] = d.busy_ns;
  json["busy_cut_ns"] = d.cut_ns;
  json["span_ns"] = d.span_ns;
  json["streams"] = Json::array();
  for (const StreamTotals& s : d.streams) {
    json["streams"].push_back({{"stream", s.stream == shm::kUnknown32 ? Json() : Json(s.stream)},
                               {"launches", s.launches},
                               {"duration_ns", s.duration_ns}});
  }
  return json;
}

Json OptionsToJson(const model::OptionList& options) {
  Json json = Json::object();
  for (const auto& [name, value] : options) {
    std::visit([&, key = name](const auto& v) { json[key] = v; }, value);
  }
  return json;
}

// Returns the counts that session.json and the last overview share.
SessionCounts CountSession(const SessionReport& report, const model::Plan& plan) {
  SessionCounts counts = CountProcesses(report.processes);
  counts.kept = report.sampler.observed + plan.totals.excluded_invocations;
  counts.dropped = plan.totals.dropped;
  if (report.processes.empty()) counts.seen = counts.kept + counts.dropped;
  return counts;
}

Json CountersToJson(const SessionReport& report, const model::Plan& plan) {
  const online::SamplerStatus& s = report.sampler;
  const SessionCounts counts = CountSession(report, plan);
  Json counters;
  counters["seen"] = counts.seen;
  counters["kept"] = counts.kept;
  counters["dropped"] = counts.dropped;
  counters["gaps"] = plan.totals.gaps;
  counters["captured"] = s.captured;
  counters["captured_duration_ns"] = s.captured_duration_ns;
  counters["zero_duration"] = s.zero_duration;
  counters["slowed"] = s.slowed;
  counters["slowed_beside"] = s.slowed_beside;
  counters["native_unknown"] = plan.totals.native_unknown;
  counters["contexts_refused"] = s.contexts_refused;
  counters["slots_refused"] = s.slots_refused;
  counters["losses"] = LossesToJson(counts.losses);
  return counters;
}

}  // namespace

SessionCounts CountProcesses(std::span<const ProcessReport> processes) {
  SessionCounts counts;
  for (const ProcessReport& p : processes) {
    counts.seen += p.seen;
    counts.kept += p.kept - std::min(p.kept, p.malformed);
    counts.dropped += p.dropped();
    counts.gaps += p.gaps();
    for (std::uint32_t i = 0; i < shm::kLossCount; ++i) counts.losses[i] += p.losses[i];
  }
  return counts;
}

void AddLosses(const SessionReport& report, model::Plan& plan) {
  for (const ProcessReport& p : report.processes) {
    plan.totals.dropped += p.dropped();
    plan.totals.gaps += p.gaps();
  }
}

void SetCounts(const SessionCounts& counts, model::Overview& overview) {
  overview.tool = fmt::format("stemtap {}", kVersion);
  overview.seen = counts.seen;
  overview.kept = counts.kept;
  overview.dropped = counts.dropped;
  overview.gaps = counts.gaps;
  overview.losses.clear();
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
    if (counts.losses[i] != 0) overview.losses.emplace_back(shm::kLossNames[i], counts.losses[i]);
  }
}

void EndOverview(const SessionReport& report, const model::Plan& plan, model::Overview& overview) {
  SetCounts(CountSession(report, plan), overview);
  overview.ended = true;
  overview.elapsed_s = report.elapsed_s;
  online::TakeClusters(plan, overview);
}

std::string SessionToJson(const SessionReport& report, const model::Plan& plan) {
  Json json;
  json["schema"] = "stemtap.session/1";
  json["tool"] = fmt::format("stemtap {}", kVersion);
  json["mode"] = NameOf(report.mode);
  json["command"] = report.command;
  json["options"] = OptionsToJson(report.options);
  utsname host{};
  uname(&host);
  json["host"] = {{"name", host.nodename},
                  {"system", fmt::format("{} {}", host.sysname, host.release)},
                  {"machine", host.machine},
                  {"cores", std::thread::hardware_concurrency()}};
  json["elapsed_s"] = report.elapsed_s;
  json["exit_code"] = report.exit_code;
  json["signal"] = report.signal;
  json["counters"] = CountersToJson(report, plan);
  json["processes"] = Json::array();
  for (const ProcessReport& p : report.processes) json["processes"].push_back(ProcessToJson(p));
  json["devices"] = Json::array();
  for (const DeviceTotals& d : report.devices) json["devices"].push_back(DeviceToJson(d, report));
  json["warnings"] = report.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stemtap::session
