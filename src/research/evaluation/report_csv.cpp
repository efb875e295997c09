// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/csv.h"
#include "research/evaluation/report.h"

namespace stemtap::research {
namespace {

std::string Cells(const ErrorStatistics& e) {
  return fmt::format("{},{},{},{}", CsvCell(e.mean), CsvCell(e.p95), CsvCell(e.max),
                     CsvCell(e.bias));
}

}  // namespace

std::string EvaluationCsv(const Evaluation& evaluation) {
  std::string csv =
      "workload,invocations,kernels,duration_ns,method,error_bound,runs,speedup,"
      "sampled_duration_ns,samples,clusters,error_mean,error_p95,error_max,error_bias,bound,"
      "coverage,p95_over_bound,uncovered_fraction,against,against_plain_mean,against_plain_p95,"
      "against_plain_max,against_plain_bias,against_calibrated_mean,against_calibrated_p95,"
      "against_calibrated_max,against_calibrated_bias,over_two_pass,prepare_s,draw_s\n";
  for (const EvaluationRow& row : evaluation.rows) {
    const EvaluatedWorkload& w = evaluation.workloads[row.workload];
    const RunStatistics& s = row.evaluation.statistics;
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", CsvCell(w.name),
                       w.launches, w.kernels, w.total_ns, row.method, row.error_bound, s.runs,
                       CsvCell(s.speedup), CsvCell(s.sampled_ns), CsvCell(s.samples),
                       CsvCell(s.clusters), Cells(s.error), CsvCell(s.bound), CsvCell(s.coverage),
                       CsvCell(s.p95_over_bound), CsvCell(s.uncovered));
    csv += w.against_name.empty()
               ? std::string(",,,,,,,,,")
               : fmt::format("{},{},{},", CsvCell(w.against_name), Cells(s.against_plain),
                             Cells(s.against_calibrated));
    csv += fmt::format("{},{},{}\n", row.online ? CsvCell(row.over_two_pass) : std::string(),
                       row.evaluation.prepare_s, row.evaluation.draw_s);
  }
  return csv;
}

std::string EqualErrorCsv(const EqualErrorReport& report) {
  std::string csv =
      "workload,invocations,kernels,duration_ns,one,other,error_bound,ratio,ratio_low,ratio_high,"
      "forward_p95,forward_speedup,forward_tuned_error_bound,forward_tuned_speedup,forward_ratio,"
      "backward_p95,backward_speedup,backward_tuned_error_bound,backward_tuned_speedup,"
      "backward_ratio\n";
  const auto tuning = [](const Tuning& t) {
    return fmt::format(",{},{},{},{},{}", CsvCell(t.fixed.p95), CsvCell(t.fixed.speedup),
                       CsvCell(t.tuned.error_bound), CsvCell(t.tuned.speedup), CsvCell(t.ratio));
  };
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const EvaluatedWorkload& w = report.workloads[i];
    const EqualError& e = report.results[i];
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{}{}{}\n", CsvCell(w.name), w.launches,
                       w.kernels, w.total_ns, report.one, report.other, report.error_bound,
                       CsvCell(e.ratio), CsvCell(e.ratio_low), CsvCell(e.ratio_high),
                       tuning(e.forward), tuning(e.backward));
  }
  return csv;
}

}  // namespace stemtap::research
