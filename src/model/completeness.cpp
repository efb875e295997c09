// SPDX-License-Identifier: Apache-2.0
#include "model/completeness.h"

#include <fmt/format.h>

#include <algorithm>

namespace stemtap::model {
namespace {

// Returns a - b, or 0 if b is larger.
std::uint64_t Minus(std::uint64_t a, std::uint64_t b) {
  return a - std::min(a, b);
}

std::string WhyMissing(const Completeness& c) {
  if (c.has_gaps) return "another profiler used CUPTI, or recording was stopped";
  if (c.is_unclean) return "a process did not shut down cleanly";
  return "CUPTI delivered no record and reported no loss";
}

// Returns what is known where the launch callback did not run.
std::string UncountedLine(const Completeness& c, std::uint64_t seen) {
  return fmt::format(
      "{} kernel records were received, {} of them were dropped; launches were not counted, so "
      "records that CUPTI lost without reporting it are unknown (--level gate counts launches)",
      seen, c.dropped);
}

}  // namespace

Completeness CompareLaunches(std::span<const ProcessReport> processes) {
  Completeness sum;
  for (const ProcessReport& p : processes) {
    sum.dropped += p.dropped();
    sum.paused += p.paused;
    sum.graph_records += p.graph_records;
    const std::uint64_t graph_launches =
        p.losses[static_cast<std::uint32_t>(shm::Loss::kGraphLaunches)];
    if (p.launches_gated + p.launches_added + graph_launches == 0) continue;
    sum.is_counted = true;
    const std::uint64_t launches = Minus(p.launches_gated, p.launches_failed);
    // Records that CUPTI dropped are in `seen`, but never were in a buffer.
    const std::uint64_t cupti = p.losses[static_cast<std::uint32_t>(shm::Loss::kCuptiDropped)];
    const std::uint64_t records = Minus(Minus(p.seen, cupti) + p.paused, p.graph_records);
    sum.launches += launches;
    sum.records += std::min(records, launches);
    const std::uint64_t missing = Minus(launches, records + cupti);
    sum.missing += missing;
    sum.surplus += Minus(records, launches);
    sum.is_unclean |= missing != 0 && p.state == ProcessState::kRecording;
    sum.has_gaps |= missing != 0 && p.gaps() != 0;
  }
  return sum;
}

std::string CompletenessLine(std::span<const ProcessReport> processes) {
  const Completeness c = CompareLaunches(processes);
  std::uint64_t seen = 0;
  for (const ProcessReport& p : processes) seen += p.seen;
  if (!c.is_counted) return seen == 0 ? "" : UncountedLine(c, seen);
  std::string line = c.launches == 0 ? "no kernel was launched outside of graphs"
                     : c.launches == 1 && c.records == 1 && c.dropped == 0 && c.paused == 0
                         ? "the only launch was recorded"
                     : c.missing == 0 && c.dropped == 0 && c.paused == 0
                         ? fmt::format("all {} launches were recorded", c.launches)
                     : c.missing == 0 ? fmt::format("all {} launches have a record", c.launches)
                                      : fmt::format("{} of {} launches have no record ({})",
                                                    c.missing, c.launches, WhyMissing(c));
  if (c.dropped != 0) line += fmt::format("; {} records were dropped and counted", c.dropped);
  if (c.paused != 0) line += fmt::format("; {} kernels ran while recording was paused", c.paused);
  if (c.graph_records != 0) {
    line += fmt::format("; {} kernels of CUDA graphs cannot be compared with launches",
                        c.graph_records);
  }
  if (c.surplus != 0) {
    line +=
        fmt::format("; {} records belong to launches that the callback does not see", c.surplus);
  }
  return line;
}

}  // namespace stemtap::model
