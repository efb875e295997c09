// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

#include "research/evaluation/report.h"
#include "research/evaluation/trust_report.h"
#include "stemtap/version.h"

namespace stemtap::research {
namespace {

using Json = nlohmann::ordered_json;

// JSON has neither NaN nor infinity; they become null.
Json Number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json OptionsJson(const model::OptionList& options) {
  Json json = Json::object();
  for (const auto& [name, value] : options) {
    std::visit([&json, &key = name](const auto& v) { json[key] = v; }, value);
  }
  return json;
}

Json WorkloadJson(const EvaluatedWorkload& w) {
  Json json = {{"name", w.name},
               {"invocations", w.launches},
               {"kernels", w.kernels},
               {"duration_ns", w.total_ns},
               {"speedup_limit", Number(w.speedup_limit)},
               {"excluded_invocations", w.excluded.invocations},
               {"excluded_duration_ns", w.excluded.duration_ns}};
  if (!w.against_name.empty()) {
    json["against"] = w.against_name;
    json["against_duration_ns"] = w.against_total_ns;
  }
  return json;
}

Json ErrorsJson(const ErrorStatistics& e) {
  return {{"mean", Number(e.mean)},
          {"p95", Number(e.p95)},
          {"max", Number(e.max)},
          {"bias", Number(e.bias)}};
}

Json RowJson(const EvaluationRow& row, const Evaluation& evaluation) {
  const RunStatistics& s = row.evaluation.statistics;
  const EvaluatedWorkload& workload = evaluation.workloads[row.workload];
  Json json = {{"workload", workload.name},
               {"method", row.method},
               {"error_bound", row.error_bound},
               {"deterministic", row.evaluation.deterministic},
               {"runs", s.runs},
               {"speedup", Number(s.speedup)},
               {"sampled_duration_ns", Number(s.sampled_ns)},
               {"samples", Number(s.samples)},
               {"clusters", Number(s.clusters)},
               {"error", ErrorsJson(s.error)},
               {"bound", Number(s.bound)},
               {"coverage", Number(s.coverage)},
               {"p95_over_bound", Number(s.p95_over_bound)},
               {"uncovered_fraction", Number(s.uncovered)}};
  if (!workload.against_name.empty()) {
    json["against"] = {{"plain", ErrorsJson(s.against_plain)},
                       {"calibrated", ErrorsJson(s.against_calibrated)}};
  }
  if (row.online) {
    json["online"] = {{"lag", row.lag},
                      {"over_two_pass", Number(row.over_two_pass)},
                      {"calibrated", ErrorsJson(s.against_calibrated)}};
  }
  json["prepare_s"] = row.evaluation.prepare_s;
  json["draw_s"] = row.evaluation.draw_s;
  return json;
}

Json TrustJson(const TrustReport& r, const Evaluation& evaluation) {
  Json curve = Json::array();
  for (const auto& [workload, error] : r.s_curve) {
    curve.push_back({{"workload", evaluation.workloads[workload].name}, {"error", Number(error)}});
  }
  return {{"method", r.method},
          {"error_bound", r.error_bound},
          {"workloads", r.workloads},
          {"speedup_harmonic", Number(r.speedup)},
          {"error_mean", Number(r.error)},
          {"error_max", Number(r.max_error)},
          {"pearson", Number(r.pearson)},
          {"coverage", Number(r.coverage)},
          {"workloads_covered", Number(r.workloads_covered)},
          {"median_p95_over_bound", Number(r.median_p95_over_bound)},
          {"s_curve", curve}};
}

Json PointJson(const TunedPoint& p) {
  return {{"error_bound", p.error_bound}, {"p95", Number(p.p95)},
          {"p95_low", Number(p.p95_low)}, {"p95_high", Number(p.p95_high)},
          {"speedup", Number(p.speedup)}, {"runs", p.runs}};
}

Json TuningJson(const Tuning& t) {
  static constexpr const char* kEnds[] = {"met", "always_below", "never_below"};
  return {{"fixed", PointJson(t.fixed)},
          {"tuned", PointJson(t.tuned)},
          {"end", kEnds[static_cast<std::size_t>(t.end)]},
          {"ratio", Number(t.ratio)},
          {"ratio_low", Number(t.ratio_low)},
          {"ratio_high", Number(t.ratio_high)}};
}

// File names may contain bytes that are not UTF-8.
std::string Dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json Head(const model::OptionList& options) {
  return {{"schema", "stemtap.evaluation/1"},
          {"tool", std::string("stemtap ") + kVersion},
          {"options", OptionsJson(options)}};
}

}  // namespace

std::string EvaluationJson(const Evaluation& evaluation) {
  Json json = Head(evaluation.options);
  json["workloads"] = Json::array();
  for (const EvaluatedWorkload& w : evaluation.workloads) {
    json["workloads"].push_back(WorkloadJson(w));
  }
  json["rows"] = Json::array();
  for (const EvaluationRow& row : evaluation.rows) {
    json["rows"].push_back(RowJson(row, evaluation));
  }
  json["summary"] = Json::array();
  for (const TrustReport& r : MakeTrustReports(evaluation)) {
    json["summary"].push_back(TrustJson(r, evaluation));
  }
  json["left_out"] = Json::array();
  for (const LeftOut& l : evaluation.left_out) {
    json["left_out"].push_back({{"workload", evaluation.workloads[l.workload].name},
                                {"method", l.method},
                                {"reason", l.reason}});
  }
  return Dump(json);
}

std::string EqualErrorJson(const EqualErrorReport& report) {
  Json json = Head(report.options);
  json["equal_error"] = {{"one", report.one},
                         {"other", report.other},
                         {"error_bound", report.error_bound},
                         {"rows", Json::array()}};
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const EqualError& e = report.results[i];
    Json row = WorkloadJson(report.workloads[i]);
    row["ratio"] = Number(e.ratio);
    row["ratio_low"] = Number(e.ratio_low);
    row["ratio_high"] = Number(e.ratio_high);
    row["forward"] = TuningJson(e.forward);
    row["backward"] = TuningJson(e.backward);
    json["equal_error"]["rows"].push_back(row);
  }
  return Dump(json);
}

}  // namespace stemtap::research
