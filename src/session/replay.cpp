// SPDX-License-Identifier: Apache-2.0
#include "session/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "model/json_text.h"
#include "session/device_use.h"
#include "session/engine.h"
#include "session/progress.h"
#include "session/session.h"

namespace stemtap::session {
namespace {

using ReadResult = Result<std::size_t>;

using Records = std::vector<shm::KernelRecord>;

// Returns the first `count` launches of the profile, or all of a shorter one.
Result<Records> ReadFirst(model::ProfileReader& reader, std::size_t count) {
  Records first;
  first.reserve(count);
  for (model::ProfileBatch batch; first.size() < count;) {
    if (STEMTAP_TRY(reader.Read(batch, std::min(model::kBatchLaunches, count - first.size()))) == 0)
      break;
    first.insert(first.end(), batch.records.begin(), batch.records.end());
  }
  return first;
}

// Pushes all launches of the profile to the engine: `first`, which have been read, and the rest.
// Fails if there is no launch to sample.
Status Play(model::ProfileReader& reader, Records first, const ReplayOptions& options,
            const Session& session, Engine& engine, DeviceUse& devices) {
  ProgressLine progress(options.quiet);
  std::vector<std::uint32_t> engine_ids;  // indexed by the reader's name id
  const auto add_names = [&] {
    const model::NameTable& names = reader.names();
    for (auto id = static_cast<std::uint32_t>(engine_ids.size()); id < names.size(); ++id) {
      engine_ids.push_back(engine.AddKernel(names.name(id), 0, names.range(id)));
    }
  };
  const auto push = [&](Records& records) {
    for (shm::KernelRecord& record : records) {
      record.name_id = engine_ids[record.name_id];
      if (engine.Push(record)) devices.Add(record, 0);
    }
    const auto now_ms = static_cast<std::int64_t>(session.elapsed_s() * 1e3) + 1;
    progress.Update(engine.status(), engine.launches(), 0, now_ms);
  };
  add_names();
  push(first);
  Records().swap(first);

  model::ProfileBatch batch;
  model::ProfileBatch ahead;
  ReadResult read = reader.Read(batch, model::kBatchLaunches);
  while (read.ok() && read.value() != 0) {
    add_names();  // before the reading thread adds more
    std::future<ReadResult> next =
        std::async(std::launch::async | std::launch::deferred,
                   [&reader, &ahead] { return reader.Read(ahead, model::kBatchLaunches); });
    push(batch.records);
    read = next.get();
    std::swap(batch, ahead);
  }
  if (!read.ok()) return read.error();
  if (engine.launches() != engine.excluded().invocations) return Success{};
  return Error{fmt::format("{}: contains no kernel launch{}; expected at least one",
                           model::NameOfSource(options.source),
                           engine.launches() == 0 ? "" : " that is not excluded")};
}

// Returns a warning if the run was too short for random captures, otherwise an empty string. The
// first credits open after two lags. They are spent in a window of up to 1.25 lags, or over about
// half a lag if nothing predicts the cluster (release_policy.cpp).
std::string TooShort(const online::SamplerStatus& status, std::uint64_t lag) {
  const bool is_short = status.observed < 3 * std::max(lag, kMinDefaultLag);
  const bool only_explored = status.captured == status.explored;
  if (!is_short || !only_explored || status.captured == status.observed) return {};
  return fmt::format(
      "{} launches are too few for the online sampler at a lag of {}, so only the first launch of "
      "each kernel was captured; use 'stemtap plan' to sample this recording",
      status.observed, lag);
}

}  // namespace

Result<SessionResult> RunReplay(model::ProfileReader& reader, const ReplayOptions& options) {
  const std::unique_ptr<Session> opened = STEMTAP_TRY(Session::Open(SessionMode::kReplay, options));
  Session& session = *opened;
  // Without a lag, the launches are held until the run is known to be short or long.
  Result<Records> first = ReadFirst(reader, options.lag ? 0 : kLongRun);
  if (!first.ok()) {
    session.Discard();
    return first.error();
  }
  const std::uint64_t lag = options.lag.value_or(DefaultLag(first.value().size()));
  session.AddOption("lag", lag);
  auto gate = std::make_unique<shm::GateTable>();
  WorkerPool pool(options.threads);
  Engine engine(options.sampling, *gate, GateAsked::kByEngine, lag, pool);
  if (options.director) {
    const Result<online::Director*> director = options.director(lag);
    if (!director.ok()) {
      session.Discard();
      return director.error();
    }
    if (director.value() != nullptr) engine.SetDirector(*director.value());
  }
  DeviceUse devices;
  const Status begun = session.Begin(
      engine, [&](model::Overview& overview) { overview.activity = devices.Activity(); });
  if (!begun.ok()) return begun.error();
  const Status played = Play(reader, std::move(first).value(), options, session, engine, devices);
  if (!played.ok()) {
    session.Discard();
    return played.error();
  }

  model::Plan plan = engine.Finish();
  SessionResult result = session.Draft(std::move(plan), engine.status());
  result.plan.source = options.source;
  result.session.devices = devices.Totals(engine.names());
  std::vector<std::string>& warnings = result.session.warnings;
  warnings = reader.warnings();
  engine.AddWarnings(warnings);
  if (std::string warning = TooShort(result.sampler, lag); !warning.empty()) {
    warnings.push_back(std::move(warning));
  }
  STEMTAP_TRY(session.Finish(result));
  if (result.session.counters.mask_events_missing != 0) return Error{result.incomplete.front()};
  return result;
}

}  // namespace stemtap::session
