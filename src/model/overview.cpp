// SPDX-License-Identifier: Apache-2.0
#include "model/overview.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "model/plan.h"

namespace stemtap::model {
namespace {

// Text builds JSON in one growing string. It must be fast: an overview can have tens of thousands
// of kernels and is written once per second while a session runs.
class Text {
 public:
  template <typename... Parts>
  void Add(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
  }
  void AddPlain(std::string_view text) { text_ += text; }
  // Escapes `text` and replaces invalid UTF-8, as in session.json. Names come from the traced
  // program and may contain any bytes.
  void AddString(const std::string& text) {
    text_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void AddField(const char* name, const std::string& text) {
    Add("\"{}\": ", name);
    AddString(text);
    text_ += ", ";
  }
  // Nine digits are enough to distinguish durations. NaN and infinity become null.
  void AddReal(double value) {
    if (std::isfinite(value)) {
      Add("{:.9g}", value);
    } else {
      text_ += "null";
    }
  }
  // Adds brackets and calls part(item) for each item, separated by `between`.
  template <typename Items, typename Part>
  void AddList(const Items& items, const Part& part, const char* between = ", ") {
    text_ += '[';
    bool first = true;
    for (const auto& item : items) {
      if (!first) text_ += between;
      first = false;
      part(item);
    }
    text_ += ']';
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

const char* NameOf(ClusterState state) {
  switch (state) {
    case ClusterState::kClosed:
      return "closed";
    case ClusterState::kUnreachable:
      return "unreachable";
    case ClusterState::kOpen:
      break;
  }
  return "open";
}

void AddProcess(Text& text, const OverviewProcess& p) {
  text.Add("{{\"pid\": {}, ", p.pid);
  text.AddField("program", p.program);
  text.AddField("state", p.state);
  text.AddField("reason", p.reason);
  text.Add("\"seen\": {}, \"kept\": {}, \"dropped\": {}, \"captured\": {}}}", p.seen, p.kept,
           p.dropped, p.captured);
}

void AddPoint(Text& text, const TimelinePoint& p) {
  text.Add("[{:.3f}, {}, {}, {}, {}, {}, ", p.elapsed_s, p.observed, p.duration_ns, p.captured,
           p.captured_duration_ns, p.clusters_open);
  text.AddReal(p.bound);
  text.Add(", {}]", p.dropped);
}

void AddCluster(Text& text, const OverviewCluster& c) {
  text.Add("{{\"lower_ns\": {}, \"upper_ns\": {}, \"count\": {}, \"mean_ns\": ", c.lower_ns,
           c.upper_ns, c.count);
  text.AddReal(c.mean_ns);
  text.AddPlain(", \"stddev_ns\": ");
  text.AddReal(c.stddev_ns);
  text.Add(", \"captured\": {}, \"target\": {}, \"state\": \"{}\"}}", c.captured, c.target,
           NameOf(c.state));
}

void AddKernel(Text& text, const OverviewKernel& k) {
  text.AddPlain("{");
  text.AddField("name", k.name);
  if (k.process == 0) {
    text.AddPlain("\"process\": null, ");
  } else {
    text.Add("\"process\": {}, ", k.process);
  }
  const auto& [grid, block] = k.config;
  if (grid[0] == 0) {
    text.AddPlain("\"grid\": null, \"block\": null, ");
  } else {
    text.Add("\"grid\": [{}, {}, {}], \"block\": [{}, {}, {}], ", grid[0], grid[1], grid[2],
             block[0], block[1], block[2]);
  }
  text.Add("\"invocations\": {}, \"duration_ns\": {}, \"captured\": {}, \"imputed\": {}, ",
           k.invocations, k.duration_ns, k.captured, k.imputed);
  text.AddPlain("\"clusters\": ");
  text.AddList(k.clusters, [&](const OverviewCluster& c) { AddCluster(text, c); });
  text.AddPlain(", \"histogram\": ");
  text.AddList(k.histogram, [&](const HistogramBin& b) {
    text.Add("[{}, {}, {}]", b.lower_ns, b.upper_ns, b.count);
  });
  text.AddPlain(", \"slices\": ");
  text.AddList(k.slices, [&](const KernelSlice& s) {
    text.Add("[{}, {}, {}]", s.slice, s.invocations, s.duration_ns);
  });
  text.AddPlain("}");
}

}  // namespace

void TakeBounds(const PlanTotals& totals, OverviewTotals& overview) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  overview.bound = totals.invocations == 0 ? kNone : totals.bound;
  const bool exceeds = ExceedsCertifiedBound(totals.observed_error, totals.certified_bound);
  overview.certified_bound = totals.invocations != 0 && exceeds ? totals.certified_bound : kNone;
}

std::string OverviewToJson(const Overview& o) {
  Text text;
  text.AddPlain("{\"schema\": \"stemtap.overview/1\", ");
  text.AddField("tool", o.tool);
  text.AddField("mode", o.mode);
  text.AddField("state", o.ended ? "ended" : "running");
  if (o.pid != 0) text.Add("\"pid\": {}, ", o.pid);
  text.Add("\"started_unix_ms\": {}, \"elapsed_s\": {:.3f}, \"period_ms\": {},\n\"command\": ",
           o.started_unix_ms, o.elapsed_s, o.period_ms);
  text.AddList(o.command, [&](const std::string& word) { text.AddString(word); });
  text.AddPlain(", \"error_bound\": ");
  text.AddReal(o.error_bound);
  text.AddPlain(", \"confidence\": ");
  text.AddReal(o.confidence);
  text.AddPlain(", ");
  text.AddField("level", o.level);
  text.AddField("actuator", o.actuator);
  text.Add("\n\"seen\": {}, \"kept\": {}, \"dropped\": {}, \"gaps\": {}, \"losses\": {{", o.seen,
           o.kept, o.dropped, o.gaps);
  for (std::size_t i = 0; i < o.losses.size(); ++i) {
    if (i != 0) text.AddPlain(", ");
    text.AddString(o.losses[i].first);
    text.Add(": {}", o.losses[i].second);
  }
  text.Add("}},\n\"observed\": {}, \"duration_ns\": {}, \"captured\": {}, ", o.observed,
           o.duration_ns, o.captured);
  text.Add("\"captured_duration_ns\": {}, \"kernels_known\": {}, \"clusters_open\": {}, ",
           o.captured_duration_ns, o.kernels_known, o.clusters_open);
  text.Add("\"clusters_closed\": {}, \"bound\": ", o.clusters_closed);
  text.AddReal(o.bound);
  if (!std::isnan(o.certified_bound)) {
    text.AddPlain(", \"certified_bound\": ");
    text.AddReal(o.certified_bound);
  }
  text.Add(", \"slowed\": {}, \"zero_duration\": {}, \"excluded\": {}, ", o.slowed, o.zero_duration,
           o.excluded);
  text.Add("\"excluded_duration_ns\": {},\n\"processes\": ", o.excluded_duration_ns);
  text.AddList(o.processes, [&](const OverviewProcess& p) { AddProcess(text, p); });
  text.AddPlain(",\n\"timeline\": ");
  text.AddList(o.timeline, [&](const TimelinePoint& p) { AddPoint(text, p); });
  text.Add(",\n\"slices\": {{\"start_ns\": {}, \"width_ns\": {}, \"count\": {}}},\n\"kernels\": ",
           o.slices_start_ns, o.slices_width_ns, o.slices);
  text.AddList(
      o.kernels, [&](const OverviewKernel& k) { AddKernel(text, k); }, ",\n");
  text.AddPlain("}\n");
  return text.Take();
}

}  // namespace stemtap::model
