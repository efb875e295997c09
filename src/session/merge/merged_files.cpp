// SPDX-License-Identifier: Apache-2.0
#include "session/merge/merged_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/line_reader.h"
#include "base/quoting.h"
#include "base/saturating.h"
#include "base/text.h"
#include "model/completeness.h"
#include "model/graph_launches.h"
#include "model/plan_summary.h"
#include "session/session.h"
#include "stats/log_sketch.h"
#include "stemtap/version.h"

namespace stemtap::session {

namespace {

using model::RecordedSession;
using C = model::SessionCounters;

constexpr std::uint64_t C::*kCounters[] = {&C::seen,
                                           &C::kept,
                                           &C::dropped,
                                           &C::gaps,
                                           &C::paused,
                                           &C::captured,
                                           &C::captured_duration_ns,
                                           &C::zero_duration,
                                           &C::slowed,
                                           &C::slowed_beside,
                                           &C::native_unknown,
                                           &C::contexts_refused,
                                           &C::slots_refused,
                                           &C::mask_events_missing};

// Returns false if a sum overflows.
bool AddCounters(const model::SessionCounters& more, model::SessionCounters& sum) {
  bool overflows = false;
  for (const auto counter : kCounters) {
    overflows |= __builtin_add_overflow(sum.*counter, more.*counter, &(sum.*counter));
  }
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
    overflows |= __builtin_add_overflow(sum.losses[i], more.losses[i], &sum.losses[i]);
  }
  return !overflows;
}

// Sets `common` to the value that all sessions share, or clears it if they differ.
template <typename Value, typename Of>
void SetCommon(std::span<const model::OriginalSession> sessions, const Of& of, Value& common) {
  common = of(sessions.front());
  for (const model::OriginalSession& session : sessions) {
    if (of(session) != common) common = {};
  }
}

// Returns one host entry: the common values, and the names of all hosts.
model::SessionHost CommonHost(std::span<const model::OriginalSession> sessions) {
  model::SessionHost host;
  std::vector<std::string> names;
  for (const model::OriginalSession& session : sessions) {
    const std::string& name = session.host.name;
    const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
    if (is_new && !name.empty()) names.push_back(name);
  }
  host.name = fmt::format("{}", fmt::join(names, ", "));
  using O = model::OriginalSession;
  SetCommon(
      sessions, [](const O& own) { return own.host.system; }, host.system);
  SetCommon(
      sessions, [](const O& own) { return own.host.machine; }, host.machine);
  SetCommon(
      sessions, [](const O& own) { return own.host.cores; }, host.cores);
  return host;
}

// Appends processes or devices, each with the number of its session.
template <typename Item>
void AppendItems(const std::vector<Item>& from, std::size_t first, std::vector<Item>& into) {
  for (const Item& item : from) {
    into.push_back(item);
    into.back().session = first + (item.session == model::kNoSession ? 0 : item.session);
  }
}

// Appends the sessions of `part`: itself, or those it was merged from.
void AppendSessions(const SessionPart& part, std::vector<model::OriginalSession>& sessions) {
  if (part.session.sessions.empty()) {
    sessions.push_back({part.session, "", ""});
  } else {
    sessions.insert(sessions.end(), part.session.sessions.begin(), part.session.sessions.end());
  }
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
std::string SessionLine(std::size_t number, const model::PlanSession& session,
                        const model::OriginalSession& own) {
  std::string line = fmt::format("session {}: {}, {}: ", number, EscapeForTerminal(session.host),
                                 EscapeForTerminal(session.folder));
  if (session.launches == 0) {
    line += "no kernel was recorded";
  } else {
    line += fmt::format("{}, {:.3f} ms, {}", Plural(session.launches, "launch", "launches"),
                        static_cast<double>(session.duration_ns) * 1e-6, BoundOf(session));
  }
  if (own.counters.dropped != 0) line += fmt::format(", {} dropped", own.counters.dropped);
  if (own.counters.gaps != 0) line += ", " + Plural(own.counters.gaps, "gap");
  if (own.signal != 0) {
    line += fmt::format(", ended by signal {}", own.signal);
  } else if (own.exit_code != 0) {
    line += fmt::format(", exit code {}", own.exit_code);
  }
  return line + "\n";
}

// Returns what a process reported and whether launches may be missing; empty if neither applies.
std::string ProcessLine(const model::ProcessReport& process) {
  const std::string reason = EscapeForTerminal(process.reason);
  std::string text =
      process.state == ProcessState::kDisabled ? "nothing was recorded: " + reason : reason;
  if (process.state == ProcessState::kRecording) {
    text += text.empty() ? "" : "; ";
    text += "did not shut down cleanly; launches after its last flush may be missing";
  }
  if (text.empty()) return {};
  return fmt::format("process {} ({}) of session {}: {}\n", process.pid,
                     EscapeForTerminal(process.program), process.session, text);
}

}  // namespace

Result<RecordedSession> MergedSession(std::span<const SessionPart> parts, const model::Plan& plan) {
  RecordedSession merged;
  merged.tool = fmt::format("stemtap {}", kVersion);
  merged.mode = NameOf(SessionMode::kMerged);
  for (const SessionPart& part : parts) {
    const std::size_t first = merged.sessions.size();
    const model::PlanSession& at = plan.sessions[first];
    if (!AddCounters(part.session.counters, merged.counters)) {
      return Error{
          fmt::format("{}: the summed counters of the sessions exceed 64 bits", part.path)};
    }
    AppendItems(part.session.processes, first, merged.processes);
    const std::size_t first_device = merged.devices.size();
    AppendItems(part.session.devices, first, merged.devices);
    for (model::DeviceTotals& device : std::span(merged.devices).subspan(first_device)) {
      if (device.device == shm::kUnknown16) continue;
      device.device = static_cast<std::uint16_t>(device.device + at.first_device);
    }
    for (const std::string& warning : part.session.warnings) {
      merged.warnings.push_back(part.session.sessions.empty() ? at.folder + ": " + warning
                                                              : warning);
    }
    AppendSessions(part, merged.sessions);
  }
  merged.completeness = model::CompletenessLine(merged.processes);
  SetCommon(
      std::span(std::as_const(merged.sessions)), [](const auto& own) { return own.command; },
      merged.command);
  merged.options = plan.options;
  merged.host = CommonHost(merged.sessions);
  for (std::size_t i = 0; i < merged.sessions.size(); ++i) {
    model::OriginalSession& own = merged.sessions[i];
    merged.elapsed_s = std::fmax(merged.elapsed_s, own.elapsed_s);
    if (merged.exit_code == 0) merged.exit_code = own.exit_code;
    if (merged.signal == 0) merged.signal = own.signal;
    own.id = plan.sessions[i].id;
    own.folder = plan.sessions[i].folder;
  }
  return merged;
}

std::string MergedSummary(const model::Plan& plan, const RecordedSession& session) {
  std::string text = plan.totals.invocations == 0 ? std::string("no kernel was recorded\n")
                                                  : model::PlanSummary(plan);
  for (std::size_t i = 0; i < plan.sessions.size(); ++i) {
    text += SessionLine(i, plan.sessions[i], session.sessions[i]);
  }
  if (!session.completeness.empty()) text += EscapeForTerminal(session.completeness) + "\n";
  const std::string graphs = model::GraphLaunchesLine(session.processes, session.devices);
  if (!graphs.empty()) text += graphs + "\n";
  for (const model::ProcessReport& process : session.processes) text += ProcessLine(process);
  for (std::uint32_t i = 0; i < shm::kLossCount; ++i) {
    const std::uint64_t count = session.counters.losses[i];
    if (count != 0) text += fmt::format("{} {}\n", count, shm::kLossNames[i]);
  }
  for (const std::string& warning : session.warnings) {
    text += "warning: " + EscapeForTerminal(warning) + "\n";
  }
  return text;
}

namespace {

// Merges overlapping bins, then bins in the same part of an octave, with wider and wider parts
// until they fit. No launch is lost, and none is shown far from its duration. Bins of single
// sessions are also such parts, so they are nested or disjoint.
void JoinBins(std::vector<model::HistogramBin>& bins) {
  std::sort(
      bins.begin(), bins.end(), [](const model::HistogramBin& a, const model::HistogramBin& b) {
        return std::make_pair(a.lower_ns, a.upper_ns) < std::make_pair(b.lower_ns, b.upper_ns);
      });
  std::vector<model::HistogramBin> joined;
  for (const model::HistogramBin& bin : bins) {
    if (!joined.empty() && bin.lower_ns < joined.back().upper_ns) {
      joined.back().upper_ns = std::max(joined.back().upper_ns, bin.upper_ns);
      AddSaturated(bin.count, joined.back().count);
    } else {
      joined.push_back(bin);
    }
  }
  for (std::uint32_t by = 1;
       joined.size() > model::Overview::kMaxBins && by <= stats::LogSketch::kPartBits; ++by) {
    const auto part = [by](const model::HistogramBin& bin) {
      return stats::LogSketch::BinOf(bin.lower_ns) >> by;
    };
    std::vector<model::HistogramBin> wider;
    for (const model::HistogramBin& bin : joined) {
      if (wider.empty() || part(wider.back()) != part(bin)) {
        wider.push_back(bin);
      } else {
        wider.back().upper_ns = bin.upper_ns;
        AddSaturated(bin.count, wider.back().count);
      }
    }
    joined = std::move(wider);
  }
  bins = std::move(joined);
}

// Adds kernels as a merged plan has them: one per name, and one per process if kernels are not
// shared.
void AddKernels(std::span<const SessionPart> parts, const model::Plan& plan,
                model::Overview& merged) {
  std::unordered_map<model::KernelId, std::size_t, model::KernelIdHash> place;
  std::vector<model::OverviewKernel>& kernels = merged.kernels;
  for (const SessionPart& part : parts) {
    for (const model::OverviewKernel& kernel : part.overview->kernels) {
      const auto found = kernel.spans_sessions() ? place.find(kernel) : place.end();
      if (found == place.end()) {
        if (kernel.spans_sessions()) place.emplace(kernel, kernels.size());
        kernels.push_back(kernel);
        kernels.back().slices.clear();
        kernels.back().launched_config = {};  // other sessions may have other ones
        continue;
      }
      model::OverviewKernel& into = kernels[found->second];
      AddSaturated(kernel.invocations, into.invocations);
      AddSaturated(kernel.duration_ns, into.duration_ns);
      AddSaturated(kernel.captured, into.captured);
      AddSaturated(kernel.imputed, into.imputed);
      into.clusters.insert(into.clusters.end(), kernel.clusters.begin(), kernel.clusters.end());
      into.histogram.insert(into.histogram.end(), kernel.histogram.begin(), kernel.histogram.end());
    }
  }
  // An overview contains only the kernels with the most time, so a kernel may be missing in some
  // sessions. Its totals come from the plan.
  for (const model::PlanKernel& kernel : plan.kernels) {
    const auto found = kernel.spans_sessions() ? place.find(kernel) : place.end();
    if (found == place.end()) continue;
    kernels[found->second].invocations = kernel.invocations;
    kernels[found->second].duration_ns = kernel.duration_ns;
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.duration_ns > b.duration_ns; });
  if (kernels.size() > model::Overview::kMaxKernels) kernels.resize(model::Overview::kMaxKernels);
  for (model::OverviewKernel& kernel : kernels) {
    std::stable_sort(kernel.clusters.begin(), kernel.clusters.end(),
                     [](const auto& a, const auto& b) { return a.lower_ns < b.lower_ns; });
    JoinBins(kernel.histogram);
  }
}

// Returns the combined timeline: at each point of one session, the latest point of the others.
std::vector<model::TimelinePoint> MergedTimeline(std::span<const SessionPart> parts) {
  std::vector<std::pair<const model::TimelinePoint*, std::size_t>> order;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const model::TimelinePoint& point : parts[i].overview->timeline)
      order.emplace_back(&point, i);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first->elapsed_s < b.first->elapsed_s;
  });
  const std::size_t stride = order.size() / model::Overview::kMaxPoints + 1;
  std::vector<const model::TimelinePoint*> latest(parts.size(), nullptr);
  std::vector<model::TimelinePoint> timeline;
  for (std::size_t i = 0; i < order.size(); ++i) {
    latest[order[i].second] = order[i].first;
    if ((order.size() - 1 - i) % stride != 0) continue;
    model::TimelinePoint sum;
    sum.elapsed_s = order[i].first->elapsed_s;
    double error_ns = 0.0;
    for (const model::TimelinePoint* point : latest) {
      if (point == nullptr) continue;
      model::AddCounters(*point, sum);
      // A session without launches has no bound and contributes nothing to the combined bound.
      if (point->duration_ns == 0) continue;
      error_ns += point->bound * static_cast<double>(point->duration_ns);
    }
    sum.bound = sum.duration_ns == 0 ? std::numeric_limits<double>::quiet_NaN()
                                     : error_ns / static_cast<double>(sum.duration_ns);
    timeline.push_back(sum);
  }
  return timeline;
}

// Keeps the text that all parts share; empty if they differ.
void KeepCommon(const std::string& text, bool first, std::string& common) {
  if (first) common = text;
  if (text != common) common.clear();
}

}  // namespace

model::Overview MergedOverview(std::span<const SessionPart> parts, const model::Plan& plan) {
  model::Overview merged;
  merged.tool = fmt::format("stemtap {}", kVersion);
  merged.mode = NameOf(SessionMode::kMerged);
  merged.ended = true;
  merged.started_unix_ms = parts.front().overview->started_unix_ms;
  merged.command = parts.front().overview->command;
  merged.error_bound = parts.front().overview->error_bound;
  merged.confidence = parts.front().overview->confidence;
  std::map<std::string, std::uint64_t> losses;
  for (const SessionPart& part : parts) {
    const model::Overview& o = *part.overview;
    const bool first = &part == parts.data();
    merged.started_unix_ms = std::min(merged.started_unix_ms, o.started_unix_ms);
    merged.elapsed_s = std::max(merged.elapsed_s, o.elapsed_s);
    merged.period_ms = std::max(merged.period_ms, o.period_ms);
    if (o.command != merged.command) merged.command.clear();
    KeepCommon(o.level, first, merged.level);
    KeepCommon(o.actuator, first, merged.actuator);
    model::AddCounters(o, merged);
    for (const auto& [name, count] : o.losses) AddSaturated(count, losses[name]);
    merged.processes.insert(merged.processes.end(), o.processes.begin(), o.processes.end());
  }
  merged.losses.assign(losses.begin(), losses.end());
  merged.kernels_known = plan.totals.kernels;
  model::TakeBounds(plan.totals, merged);
  merged.timeline = MergedTimeline(parts);
  AddKernels(parts, plan, merged);
  return merged;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxDepth = 8;
constexpr const char* kExpected = "; expected an event of a mask.ndjson";

// Offsets are the numbers of the first launches of a part in the merged run.
struct Offsets {
  std::uint64_t index = 0;
  std::map<std::string, std::uint64_t> occurrence;  // by kernel name
};

// Returns the event of `line` with its numbers shifted, or why the event is invalid.
Result<std::string> Moved(std::string_view line, const Offsets& offsets) {
  if (NestsDeeper(line, kMaxDepth)) return Error{"nests too deep"};
  Json event = Json::parse(line, nullptr, false);
  if (!event.is_object()) return Error{"is not JSON"};
  for (const char* field : {"index", "occurrence"}) {
    if (!event.contains(field) || !event[field].is_number_unsigned()) {
      return Error{std::string(field) + ": expected a whole number"};
    }
  }
  if (!event.contains("kernel") || !event["kernel"].is_string()) {
    return Error{"kernel: expected a string"};
  }
  const auto move = [&](const char* field, std::uint64_t by) {
    std::uint64_t moved = 0;
    if (__builtin_add_overflow(event[field].get<std::uint64_t>(), by, &moved)) return false;
    event[field] = moved;
    return true;
  };
  if (!move("index", offsets.index)) return Error{"index: exceeds 64 bits"};
  const auto before = offsets.occurrence.find(event["kernel"].get<std::string>());
  if (before != offsets.occurrence.end() && !move("occurrence", before->second)) {
    return Error{"occurrence: exceeds 64 bits"};
  }
  return EscapeJson(event.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

// Returns whether the last line of the mask is incomplete. It is left out.
Result<bool> WriteEvents(const std::string& path, const Offsets& offsets, ByteSink& sink) {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path);
  if (!source.ok()) return source.error();
  LineReader lines(LimitUnpacking(std::move(source).value()));
  for (;;) {
    const Result<bool> next = lines.Next();
    if (!next.ok()) return next.error();
    if (!next.value()) return false;
    if (!lines.ended() && !Json::accept(lines.text())) return true;
    const Result<std::string> moved = Moved(lines.text(), offsets);
    if (!moved.ok()) return lines.At(moved.error().message + kExpected);
    STEMTAP_TRY(sink.Write(moved.value()));
  }
}

}  // namespace

Status WriteMergedMask(std::span<const SessionPart> parts, ByteSink& sink,
                       std::vector<std::string>& warnings) {
  Offsets offsets;
  for (const SessionPart& part : parts) {
    if (!part.mask.empty()) {
      const bool is_cut = STEMTAP_TRY(WriteEvents(part.mask, offsets, sink));
      if (is_cut) {
        warnings.push_back(
            part.path + "/mask.ndjson: the last line is incomplete; the merged mask lacks 1 event");
      }
    }
    for (const model::PlanSession& session : part.plan.sessions) offsets.index += session.launches;
    for (const model::PlanKernel& kernel : part.plan.kernels) {
      // Kernels of one process are counted within that process.
      if (kernel.spans_sessions()) offsets.occurrence[kernel.name] += kernel.invocations;
    }
  }
  return Success{};
}

}  // namespace stemtap::session
