// SPDX-License-Identifier: Apache-2.0
//
// Reads a CSV page of ncu (formats/importers/ncu_page.h) as results: one row per launch.
// SOURCE: docs/formats/results.md.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/importers/ncu_page.h"
#include "formats/results/results_reader.h"

namespace stemtap::formats {

Result<KernelResults> ReadNcuResults(std::unique_ptr<ByteSource> source) {
  NcuPage page = STEMTAP_TRY(ReadNcuPage(std::move(source)));
  KernelResults results;
  results.source = ResultsSource::kNcu;
  results.warnings = std::move(page.warnings);
  for (const NcuMetric& metric : page.metrics) {
    // The full name contains the section, which would mislead: "GPU Speed Of Light Throughput:
    // Duration".
    results.metrics.push_back({metric.name, metric.unit, GuessKind(metric.label, metric.unit)});
  }
  for (std::size_t i = 0; i < page.launches.size(); ++i) {
    const NcuLaunch& launch = page.launches[i];
    KernelResult row;
    row.id = launch.id;
    row.name = page.names.name(launch.record.name_id);
    row.where = fmt::format("{}:{}", page.source, launch.line);
    std::copy_n(launch.record.grid, 3, row.config.grid);
    std::copy_n(launch.record.block, 3, row.config.block);
    for (const NcuMetric& metric : page.metrics) row.values.push_back(metric.values[i]);
    results.rows.push_back(std::move(row));
  }
  return results;
}

}  // namespace stemtap::formats
