// SPDX-License-Identifier: Apache-2.0
#include "session/replay.h"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "session/device_use.h"
#include "session/engine.h"
#include "session/progress.h"
#include "session/session_builder.h"

namespace stemtap::session {
namespace {

// Launches decoded at a time: 1 MiB of records, enough to make the handover between the two threads
// (some microseconds) negligible.
constexpr std::size_t kBatch = 16384;

using ReadResult = Result<std::size_t>;

// Pushes all launches of the profile to the engine. Fails if there is none to sample.
Status Play(model::ProfileReader& reader, const ReplayOptions& options,
            const SessionBuilder& session, Engine& engine, DeviceUse& devices) {
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
      if (engine.Push(record)) devices.Add(record, 0);
    }
    const auto now_ms = static_cast<std::int64_t>(session.elapsed_s() * 1e3) + 1;
    progress.Update(engine.status(), engine.launches(), 0, now_ms);
    read = next.get();
    std::swap(batch, ahead);
  }
  if (!read.ok()) return read.error();
  if (engine.launches() != engine.excluded().invocations) return Success{};
  return Error{fmt::format("{}: contains no kernel launch{}; expected at least one", options.source,
                           engine.launches() == 0 ? "" : " that is not excluded")};
}

}  // namespace

Result<ReplayOutcome> RunReplay(model::ProfileReader& reader, const ReplayOptions& options) {
  Result<std::unique_ptr<SessionBuilder>> opened = SessionBuilder::Open(
      {.mode = SessionMode::kReplay,
       .sampling = options.sampling,
       .listed = options.listed,
       .command = {},
       .directory = options.folder,
       .place = options.default_folder ? SessionPlace::kDefault : SessionPlace::kNamed});
  if (!opened.ok()) return opened.error();
  SessionBuilder& session = *opened.value();
  auto gate = std::make_unique<shm::GateTable>();
  WorkerPool pool(options.threads);
  Engine engine(options.sampling, *gate, GateAsked::kByEngine, options.lag, pool);
  DeviceUse devices;
  const Status begun = session.Begin(engine);
  if (!begun.ok()) return begun.error();
  const Status played = Play(reader, options, session, engine, devices);
  if (!played.ok()) {
    session.Discard();
    return played.error();
  }

  ReplayOutcome outcome;
  outcome.folder = session.path();
  outcome.plan = engine.Finish();
  outcome.plan.source = options.source;
  SessionReport& report = outcome.report;
  report = session.Report();
  report.devices = devices.Totals();
  report.warnings = reader.warnings();
  outcome.seconds = report.elapsed_s;
  const Status closed = session.CloseMask();
  if (!closed.ok()) return closed.error();
  const Status written = session.Finish(report, outcome.plan);
  if (!written.ok()) return written.error();
  return outcome;
}

}  // namespace stemtap::session
