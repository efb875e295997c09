// SPDX-License-Identifier: Apache-2.0
#include "session/replay.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/unix_ms.h"
#include "session/engine.h"
#include "session/overview_file.h"
#include "session/progress.h"
#include "session/timeline.h"

namespace stemtap::session {
namespace {

// Launches decoded at a time: 1 MiB of records, enough to make the handover between the two threads
// (some microseconds) negligible.
constexpr std::size_t kBatch = 16384;

using ReadResult = Result<std::size_t>;

}  // namespace

Result<ReplayOutcome> RunReplay(model::ProfileReader& reader, const ReplayOptions& options) {
  const Result<model::KernelGroups> groups =
      model::KernelGroups::Create(options.sampling.group_by, options.sampling.exclude);
  if (!groups.ok()) return groups.error();
  std::optional<SessionWriter> writer;
  MaskWriter mask;
  if (!options.folder.empty()) {
    Result<SessionWriter> made = SessionWriter::Create(
        options.folder, options.default_folder ? SessionPlace::kDefault : SessionPlace::kNamed);
    if (!made.ok()) return made.error();
    writer = std::move(made).value();
    Result<MaskWriter> opened = writer->OpenMask();
    if (!opened.ok()) return opened.error();
    mask = std::move(opened).value();
  }
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t started_unix_ms = UnixMs();
  const auto elapsed_s = [&start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };

  auto gate = std::make_unique<shm::GateTable>();
  WorkerPool pool(options.threads);
  Timeline timeline(elapsed_s);
  Engine engine(options.sampling, *gate, GateAsked::kByEngine, options.lag, pool, mask);
  engine.KeepTimeline(&timeline);
  ProgressLine progress(options.quiet);
  std::vector<std::uint32_t> engine_ids;  // indexed by the reader's name id

  model::ProfileBatch batch;
  model::ProfileBatch ahead;
  ReadResult read = reader.Read(batch, kBatch);
  while (read.ok() && read.value() != 0) {
    // The reading thread interns names, so the names of this batch are looked up before it
    // continues.
    for (std::size_t id = engine_ids.size(); id < reader.names().size(); ++id) {
      engine_ids.push_back(engine.AddKernel(reader.names().name(static_cast<std::uint32_t>(id))));
    }
    std::future<ReadResult> next =
        std::async(std::launch::async | std::launch::deferred,
                   [&reader, &ahead] { return reader.Read(ahead, kBatch); });
    for (shm::KernelRecord& record : batch.records) {
      record.name_id = engine_ids[record.name_id];
      engine.Push(record);
    }
    const auto now_ms = static_cast<std::int64_t>(elapsed_s() * 1e3) + 1;
    progress.Update(engine.status(), engine.launches(), 0, now_ms);
    read = next.get();
    std::swap(batch, ahead);
  }
  progress.Clear();
  const bool all_excluded = engine.launches() == engine.excluded().invocations;
  if (!read.ok() || all_excluded) {
    // The session failed: remove its directory, so that the next attempt can use the name.
    if (writer) writer->Discard();
    if (!read.ok()) return read.error();
    return Error{fmt::format("{}: holds no kernel invocation{}, expected at least one",
                             options.source,
                             engine.launches() == 0 ? "" : " beside what is excluded")};
  }

  ReplayOutcome outcome;
  if (writer) outcome.folder = writer->directory().path();
  outcome.plan = engine.Finish();
  outcome.plan.source = options.source;
  outcome.plan.options = options.listed;
  outcome.seconds = elapsed_s();
  SessionReport& report = outcome.report;
  report.mode = "replay";
  report.options = options.listed;
  report.elapsed_s = outcome.seconds;
  report.sampler = engine.status();
  report.devices = engine.devices();
  report.warnings = reader.warnings();
  const Status closed = mask.Close();
  if (!closed.ok()) return closed.error();
  if (writer) {
    timeline.End(engine.status());
    OverviewFile overview(writer->directory(), [&](model::Overview& o) {
      engine.Describe(o);
      o.started_unix_ms = started_unix_ms;
      o.error_bound = options.sampling.error_bound;
      o.confidence = options.sampling.confidence;
      o.timeline = timeline.points();
      EndOverview(report, outcome.plan, o);
    });
    overview.Write();
    if (!overview.Warning().empty()) report.warnings.push_back(overview.Warning());
    const Status written = writer->Finish(report, outcome.plan);
    if (!written.ok()) return written.error();
  }
  return outcome;
}

}  // namespace stemtap::session
