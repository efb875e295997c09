// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "model/completeness.h"
#include "model/graph_launches.h"
#include "model/plan_summary.h"
#include "session/session_report.h"

namespace stemtap::session {
namespace {

// Maximum devices with a line in the summary; session.json contains all.
constexpr std::size_t kMaxDevices = 16;

// "device 0: busy 91.20 % of 12.345 s, 3 streams, 1.42 concurrent kernels on average"
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
    line += fmt::format(", {} streams, {:.2f} concurrent kernels on average", d.streams.size(),
                        static_cast<double>(d.duration_ns) / busy);
  }
  return line + "\n";
}

// "recording cost 0.120 ms on the program's threads and 41.000 ms on its own, in 3.210 s". Other
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
      "recording cost {:.3f} ms on the program's threads and {:.3f} ms on its own, in {:.3f} s",
      program_ns * 1e-6, background_ns * 1e-6, report.elapsed_s);
  if (cupti_ns != 0) line += fmt::format("; CUPTI reports {:.3f} ms of overhead", cupti_ns * 1e-6);
  return line + "\n";
}

std::string DeviceLines(const SessionReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.devices.size() && i < kMaxDevices; ++i) {
    if (report.devices[i].span_ns != 0) text += DeviceLine(report.devices[i], report);
  }
  if (report.devices.size() > kMaxDevices) {
    text += fmt::format("... and {} more devices\n", report.devices.size() - kMaxDevices);
  }
  return text;
}

// "37 launches were not recorded: the program had paused recording"
std::string PauseLine(const SessionReport& report) {
  const std::uint64_t paused = CountProcesses(report.processes).paused;
  if (paused == 0) return "";
  return fmt::format("{} launches were not recorded: the program had paused recording\n", paused);
}

// Returns what a process reported and whether its launches may be missing.
std::string ProcessLines(const ProcessReport& p) {
  const std::string who = p.combined != 0
                              ? Plural(p.combined, "other process", "other processes")
                              : fmt::format("process {} ({})", p.pid, EscapeForTerminal(p.program));
  std::string text;
  if (p.state == ProcessState::kDisabled) {
    text += fmt::format("{}: nothing was recorded: {}\n", who, EscapeForTerminal(p.reason));
  } else if (!p.reason.empty()) {
    text += fmt::format("{}: {}\n", who, EscapeForTerminal(p.reason));
  }
  if (p.state == ProcessState::kRecording) {
    text += fmt::format(
        "{}: did not shut down cleanly (killed, _exit, exec, or still running); launches after its "
        "last flush may be missing\n",
        who);
  }
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
    if (p.losses[i] != 0) {
      text += fmt::format("{}: {} {}\n", who, p.losses[i], shm::kLossNames[i]);
    }
  }
  if (p.late != 0) {
    text += fmt::format("{}: {} records arrived too late to be sorted into launch order\n", who,
                        p.late);
  }
  if (p.malformed != 0) {
    text += fmt::format("{}: {} malformed records were discarded\n", who, p.malformed);
  }
  return text;
}

}  // namespace

std::string SessionSummary(const SessionReport& report, const model::Plan& plan) {
  std::string text =
      plan.totals.invocations == 0 ? "no kernel was recorded\n" : model::PlanSummary(plan);
  if (std::string line = model::CompletenessLine(report.processes); !line.empty()) {
    text += line + "\n";
  }
  if (std::string line = model::GraphLaunchesLine(report.processes, report.devices);
      !line.empty()) {
    text += line + "\n";
  }
  text += DeviceLines(report);
  text += CostLine(report);
  text += PauseLine(report);
  for (const ProcessReport& p : report.processes) text += ProcessLines(p);
  for (const std::string& warning : report.warnings) {
    text += "warning: " + EscapeForTerminal(warning) + "\n";
  }
  return text;
}

}  // namespace stemtap::session
