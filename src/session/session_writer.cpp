// SPDX-License-Identifier: Apache-2.0
#include "session/session_writer.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "model/plan_cells.h"
#include "online/overview_parts.h"
#include "shm/session_env.h"
#include "stemtap/version.h"

namespace stemtap::session {
namespace {

using Json = nlohmann::ordered_json;

// Maximum devices with a line in the summary; session.json contains all.
constexpr std::size_t kMostDevices = 16;

Json LossesToJson(const std::uint64_t (&losses)[shm::kLossCount]) {
  Json json = Json::object();
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) json[shm::kLossNames[i]] = losses[i];
  return json;
}

Json ProcessToJson(const ProcessReport& p) {
  Json json;
  json["pid"] = p.pid;
  json["program"] = p.program;
  json["state"] = p.state;
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

// "device 0: busy 91.20 % of 12.345 s, by 3 streams, 1.42 kernels at once on average"
std::string DeviceLine(const DeviceTotals& d, const SessionReport& report) {
  std::string line =
      d.device == shm::kUnknown16 ? "unknown device" : fmt::format("device {}", d.device);
  if (report.processes.size() > 1 && d.process < report.processes.size()) {
    line += fmt::format(" of process {}", report.processes[d.process].pid);
  }
  const auto busy = static_cast<double>(d.busy_ns);
  line += fmt::format(": busy {:.2f} % of {:.3f} s", 100.0 * busy / static_cast<double>(d.span_ns),
                      static_cast<double>(d.span_ns) * 1e-9);
  if (d.streams.size() > 1 && d.busy_ns > 0) {
    line += fmt::format(", by {} streams, {:.2f} kernels at once on average", d.streams.size(),
                        static_cast<double>(d.duration_ns) / busy);
  }
  return line + "\n";
}

// "recording took 0.120 ms of the program's threads and 41.000 ms beside them, in 3.210 s". Other
// slowdown, especially by CUPTI inside the driver, cannot be measured from inside the process.
std::string CostLine(const SessionReport& report) {
  double program_ns = 0;
  double background_ns = 0;
  double cupti_ns = 0;
  for (const ProcessReport& p : report.processes) {
    program_ns += static_cast<double>(p.cost_program_ns);
    background_ns += static_cast<double>(p.cost_background_ns);
    cupti_ns += static_cast<double>(p.cost_cupti_ns);
  }
  if (program_ns + background_ns == 0) return "";
  std::string line = fmt::format(
      "recording took {:.3f} ms of the program's threads and {:.3f} ms beside them, in {:.3f} s",
      program_ns * 1e-6, background_ns * 1e-6, report.elapsed_s);
  if (cupti_ns != 0) line += fmt::format("; CUPTI says {:.3f} ms of itself", cupti_ns * 1e-6);
  return line + "\n";
}

Json OptionsToJson(const model::OptionList& options) {
  Json json = Json::object();
  for (const auto& [name, value] : options) {
    std::visit([&, key = name](const auto& v) { json[key] = v; }, value);
  }
  return json;
}

// Returns the counts of the session. `dropped` is the plan's count, as SessionWriter::Finish sets
// it.
SessionCounts CountSession(const SessionReport& report, const model::Plan& plan,
                           std::uint64_t dropped) {
  SessionCounts counts = CountProcesses(report.processes);
  counts.kept = report.sampler.observed + plan.totals.excluded_invocations;
  counts.dropped = dropped;
  if (report.processes.empty()) counts.seen = counts.kept + dropped;
  return counts;
}

std::string SessionToJson(const SessionReport& report, const model::Plan& plan) {
  Json json;
  json["schema"] = "stemtap.session/1";
  json["tool"] = fmt::format("stemtap {}", kVersion);
  json["mode"] = report.mode;
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
  const online::SamplerStatus& s = report.sampler;
  Json counters;
  const SessionCounts counts = CountSession(report, plan, plan.totals.dropped);
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
  json["counters"] = counters;
  json["processes"] = Json::array();
  for (const ProcessReport& p : report.processes) json["processes"].push_back(ProcessToJson(p));
  json["devices"] = Json::array();
  for (const DeviceTotals& d : report.devices) json["devices"].push_back(DeviceToJson(d, report));
  json["warnings"] = report.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::uint64_t ProcessReport::dropped() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < shm::kRecordLossCount; ++i) sum += losses[i];
  return sum + malformed;
}

std::uint64_t ProcessReport::gaps() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = shm::kRecordLossCount; i < shm::kGapLossEnd; ++i) sum += losses[i];
  return sum;
}

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
  std::uint64_t dropped = plan.totals.dropped;
  for (const ProcessReport& p : report.processes) dropped += p.dropped();
  SetCounts(CountSession(report, plan, dropped), overview);
  overview.mode = report.mode;
  overview.ended = true;
  overview.elapsed_s = report.elapsed_s;
  overview.command = report.command;
  online::TakeClusters(plan, overview);
}

Result<SessionWriter> SessionWriter::Create(const std::string& path, SessionPlace place) {
  std::error_code failure;
  const std::string absolute = std::filesystem::absolute(path, failure).string();
  if (failure || absolute.size() > shm::kMaxSessionPathBytes) {
    return Error{
        fmt::format("{:.60}...: the path of the session folder has {} bytes; expected at most {}",
                    EscapeForTerminal(path), absolute.size(), shm::kMaxSessionPathBytes)};
  }
  Result<Directory> directory =
      place == SessionPlace::kNamed     ? Directory::Claim(path, shm::kMaskFileName)
      : place == SessionPlace::kDefault ? Directory::ClaimNew(path, shm::kMaskFileName)
                                        : Directory::ClaimExisting(path, shm::kMaskFileName);
  if (!directory.ok()) return directory.error();
  return SessionWriter(std::move(directory).value());
}

Result<MaskWriter> SessionWriter::OpenMask() {
  return MaskWriter::Open(directory_.OpenForWriting(shm::kMaskFileName),
                          directory_.PathOf(shm::kMaskFileName));
}

void SessionWriter::Discard() {
  directory_.Remove(shm::kMaskFileName);
  directory_.Remove(shm::kGateFileName);
  directory_.RemoveSelf();
}

Status SessionWriter::Finish(const SessionReport& report, model::Plan& plan) {
  for (const ProcessReport& p : report.processes) {
    plan.totals.dropped += p.dropped();
    plan.totals.gaps += p.gaps();
  }
  plan.options = report.options;
  Status status = directory_.Replace("plan.json", model::PlanToJson(plan));
  if (!status.ok()) return status;
  status = directory_.Replace(shm::kSessionFileName, SessionToJson(report, plan));
  if (!status.ok()) return status;
  // The largest file is written late, because the disk may be full. The summary does not need it.
  const Status cells = directory_.Replace(model::kCellsFileName, model::CellsToJson(plan));
  status = directory_.Replace("summary.txt", SessionSummary(report, plan));
  return cells.ok() ? status : cells;
}

std::string SessionSummary(const SessionReport& report, const model::Plan& plan) {
  std::string text;
  if (plan.totals.invocations == 0) {
    text = "no kernel was recorded\n";
  } else {
    text = model::PlanSummary(plan);
  }
  for (std::size_t i = 0; i < report.devices.size() && i < kMostDevices; ++i) {
    if (report.devices[i].span_ns != 0) text += DeviceLine(report.devices[i], report);
  }
  if (report.devices.size() > kMostDevices) {
    text += fmt::format("... and {} more devices\n", report.devices.size() - kMostDevices);
  }
  text += CostLine(report);
  for (const ProcessReport& p : report.processes) {
    const std::string who = fmt::format("process {} ({})", p.pid, EscapeForTerminal(p.program));
    if (p.state == "stood_down") {
      text += fmt::format("{}: nothing was recorded: {}\n", who, EscapeForTerminal(p.reason));
    } else {
      if (!p.reason.empty()) text += fmt::format("{}: {}\n", who, EscapeForTerminal(p.reason));
      if (p.state == "recording") {
        text += fmt::format(
            "{}: ended without a goodbye (killed, _exit, exec) or still runs: what it launched "
            "last "
            "may be missing\n",
            who);
      }
    }
    for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
      if (p.losses[i] != 0)
        text += fmt::format("{}: {} {}\n", who, p.losses[i], shm::kLossNames[i]);
    }
    if (p.late != 0) {
      text += fmt::format("{}: {} records came too late to be put in launch order\n", who, p.late);
    }
    if (p.malformed != 0) {
      text += fmt::format("{}: {} records could not be understood\n", who, p.malformed);
    }
  }
  for (const std::string& warning : report.warnings)
    text += "warning: " + EscapeForTerminal(warning) + "\n";
  return text;
}

}  // namespace stemtap::session
