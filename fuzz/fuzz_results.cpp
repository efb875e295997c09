// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as results of one source, twice with different read sizes. Both results
// must be equal, or both must fail with the same one-line error. Accepted results are matched to a
// plan and extrapolated; totals must be finite.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/extrapolation/extrapolate.h"
#include "analysis/extrapolation/match.h"
#include "analysis/extrapolation/report.h"
#include "base/memory_source.h"
#include "formats/results/kernel_results.h"
#include "fuzz/expect.h"

namespace {

using namespace stemtap;

formats::ResultsSource Source() {
  for (const formats::ResultsSource source :
       {formats::ResultsSource::kAccelsim, formats::ResultsSource::kMacsim,
        formats::ResultsSource::kNcu, formats::ResultsSource::kCsv}) {
    if (std::string_view(formats::NameOf(source)) == STEMTAP_FUZZ_FORMAT) return source;
  }
  std::abort();
}

// Twelve launches of three kernels, as in tests/data/results: one fully sampled, one partially
// sampled, one with clusters that use the spread of other clusters.
model::Plan MakePlan() {
  model::Plan plan;
  const char* const names[] = {"axpy(float*)", "reduce_sum", "gemm(half*, half*)"};
  const std::uint64_t durations[] = {2'048, 3'584, 15'040};
  for (std::uint64_t k = 0; k < 3; ++k) {
    model::PlanKernel& kernel = plan.kernels.emplace_back();
    kernel.name = names[k];
    const std::uint64_t clusters = k == 2 ? 2 : 1;
    for (std::uint64_t c = 0; c < clusters; ++c) {
      model::PlanCluster& cluster = kernel.clusters.emplace_back();
      cluster.count = k == 0 ? 4 : k == 1 ? 40 : 1'000'000;
      cluster.mean_ns = static_cast<double>(durations[k] + 100 * c);
      cluster.stddev_ns = 20.0;
      for (std::uint64_t i = 0; i < (k == 2 ? 1 : 4); ++i) {
        model::PlanSample& sample = cluster.samples.emplace_back();
        sample.occurrence = 2 * c + i;
        sample.index = 3 * sample.occurrence + k;
        sample.record.duration_ns = durations[k] + 32 * i;
        sample.record.device = 0;
        sample.weight = static_cast<double>(cluster.count) / (k == 2 ? 1.0 : 4.0);
      }
      kernel.invocations += cluster.count;
      kernel.duration_ns += cluster.count * (durations[k] + 100 * c);
    }
    plan.totals.invocations += kernel.invocations;
    plan.totals.duration_ns += kernel.duration_ns;
  }
  return plan;
}

Result<formats::KernelResults> Read(std::string_view content, std::size_t piece, bool allow_cut) {
  formats::ResultsOptions options;
  options.source = Source();
  options.allow_cut = allow_cut;
  return formats::ReadResults(std::make_unique<MemorySource>("input", content, piece), options);
}

// Returns all results as text for comparison; every value must be finite or missing.
std::string Dump(const formats::KernelResults& results) {
  std::string text;
  for (const formats::ResultMetric& metric : results.metrics) {
    text += fmt::format("{} [{}] {}\n", metric.name, metric.unit, static_cast<int>(metric.kind));
  }
  for (const formats::KernelResult& row : results.rows) {
    EXPECT(row.where.starts_with("input:"));
    EXPECT(row.values.size() <= results.metrics.size());
    text += fmt::format("{} {} {}", row.id, row.name, row.where);
    for (const double value : row.values) {
      EXPECT(!std::isinf(value));
      text += std::isnan(value) ? " -" : fmt::format(" {:a}", value);
    }
    text += '\n';
  }
  for (const std::string& warning : results.warnings) {
    ExpectOneLine(warning);
    text += warning + "\n";
  }
  return text;
}

void ExpectFinite(const analysis::Estimate& estimate) {
  EXPECT(std::isfinite(estimate.value));
  EXPECT(!(estimate.half_width < 0.0) && !std::isinf(estimate.half_width));
}

void ExpectTotals(const formats::KernelResults& results) {
  static const model::Plan plan = MakePlan();
  const Result<analysis::Match> match = analysis::MatchResults(plan, results, {});
  if (!match.ok()) return ExpectOneLine(match.error().message);
  EXPECT(match.value().matched + match.value().missing_count == match.value().samples);
  EXPECT(match.value().matched + match.value().unmatched_count + match.value().duplicate_count ==
         results.rows.size());
  for (const std::string& warning : match.value().warnings) ExpectOneLine(warning);
  const Result<analysis::Extrapolation> made =
      analysis::Extrapolate(plan, results, match.value(), {});
  if (!made.ok()) return ExpectOneLine(made.error().message);
  for (const analysis::MetricEstimate& metric : made.value().metrics) {
    EXPECT(metric.uncovered_fraction >= 0.0 && metric.uncovered_fraction <= 1.0);
    // A ratio with a zero denominator is undefined.
    if (metric.samples == 0 || (!metric.additive && std::isnan(metric.plain.value))) continue;
    ExpectFinite(metric.plain);
    ExpectFinite(metric.calibrated);
  }
  const analysis::ExtrapolationReport report{plan, results, match.value(), made.value(), 0.95};
  EXPECT(!analysis::ReportText(report).empty());
  EXPECT(analysis::ReportJson(report).ends_with("}\n"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  formats::DetectResults(content);
  const Result<formats::KernelResults> results = Read(content, kReadBytes, false);
  const Result<formats::KernelResults> again = Read(content, 7, false);
  const Result<formats::KernelResults> cut = Read(content, kReadBytes, true);
  EXPECT(results.ok() == again.ok());
  if (!cut.ok()) ExpectOneLine(cut.error(), "input");
  if (!results.ok()) {
    ExpectOneLine(results.error(), "input");
    EXPECT(results.error().message == again.error().message);
    if (cut.ok()) EXPECT(!cut.value().warnings.empty());  // the log is incomplete
    return 0;
  }
  const std::string text = Dump(results.value());
  EXPECT(text == Dump(again.value()));
  EXPECT(cut.ok() && text == Dump(cut.value()));
  if (Source() == formats::ResultsSource::kAccelsim) {  // complete: the log states how it ended
    EXPECT(content.find("exit detected") != std::string_view::npos ||
           content.find("break due to") != std::string_view::npos);
  }
  ExpectTotals(results.value());
  return 0;
}
