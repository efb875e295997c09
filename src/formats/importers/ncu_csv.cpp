// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "formats/importers/importers.h"
#include "formats/importers/ncu_page.h"
#include "formats/importers/recorded_launches.h"

namespace stemtap::formats {
namespace {

// Returns the metric that contains the launches' durations, or null if the page has none.
const NcuMetric* DurationOf(const NcuPage& page) {
  for (const char* name :
       {"gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max", "Duration"}) {
    for (const NcuMetric& metric : page.metrics) {
      if (metric.name == name) return &metric;
    }
  }
  return nullptr;
}

Status SetDurations(NcuPage& page, bool needs_duration) {
  const NcuMetric* const duration = DurationOf(page);
  if (duration == nullptr) {
    if (!needs_duration || page.launches.empty()) return Success{};
    return Error{
        fmt::format("{}: no durations; expected the metric gpu__time_duration.sum (or use the file "
                    "with --metrics and a profile)",
                    page.source)};
  }
  if (needs_duration && duration->unit != "ns") {
    return Error{fmt::format("{}: {} has the unit '{}'; expected a time", page.source,
                             ShownCell(duration->name), ShownCell(duration->unit))};
  }
  for (std::size_t i = 0; i < page.launches.size(); ++i) {
    const double ns = duration->values[i];
    NcuLaunch& launch = page.launches[i];
    if (ns >= 0.0 && ns < 0x1p63) {
      launch.record.duration_ns = static_cast<std::uint64_t>(std::llround(ns));
    } else if (needs_duration) {
      return Error{fmt::format("{}:{}: launch {} has no {}; expected its duration", page.source,
                               launch.line, launch.record.correlation_id,
                               ShownCell(duration->name))};
    }
  }
  if (needs_duration && duration->is_scaled) {
    page.warnings.push_back(
        fmt::format("{}: durations are not printed in ns, so they are rounded (ncu --print-units "
                    "base gives every digit)",
                    page.source));
  }
  return Success{};
}

Result<std::unique_ptr<model::ProfileReader>> Open(std::unique_ptr<ByteSource> source,
                                                   bool needs_duration) {
  NcuPage page = STEMTAP_TRY(ReadNcuPage(std::move(source)));
  STEMTAP_TRY(SetDurations(page, needs_duration));
  auto launches = std::make_unique<RecordedLaunches>();
  for (const NcuMetric& metric : page.metrics) launches->AddMetric(metric.name);
  for (std::string& warning : page.warnings) launches->Warn(std::move(warning));
  std::vector<double> row(page.metrics.size());
  for (std::size_t i = 0; i < page.launches.size(); ++i) {
    for (std::size_t m = 0; m < row.size(); ++m) row[m] = page.metrics[m].values[i];
    const shm::KernelRecord& record = page.launches[i].record;
    launches->Add(record, launches->Name(page.names.name(record.name_id)), row);
  }
  launches->Finish(page.source);
  return std::unique_ptr<model::ProfileReader>(std::move(launches));
}

}  // namespace

Result<std::unique_ptr<model::ProfileReader>> OpenNcuCsv(std::unique_ptr<ByteSource> source) {
  return Open(std::move(source), true);
}

Result<std::unique_ptr<model::ProfileReader>> OpenNcuMetrics(std::unique_ptr<ByteSource> source) {
  return Open(std::move(source), false);
}

}  // namespace stemtap::formats
