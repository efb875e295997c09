// SPDX-License-Identifier: Apache-2.0
#include "session/session_builder.h"

#include <unistd.h>

#include "model/kernel_groups.h"
#include "shm/session_env.h"

namespace stemtap::session {
namespace {

// Removes overviews that could neither be written nor removed, for example on a full disk.
void RemoveUnfinishedOverviews(const Directory& directory) {
  const std::string temporary = std::string(kOverviewFileName) + ".tmp.";
  std::vector<std::string> leftovers;
  directory.ForEach([&](const std::string& name, ino_t) {
    if (name.starts_with(temporary)) leftovers.push_back(name);
  });
  for (const std::string& name : leftovers) directory.Remove(name);
}

}  // namespace

SessionBuilder::SessionBuilder(SessionSetup setup, std::optional<Directory> directory)
    : setup_(std::move(setup)),
      directory_(std::move(directory)),
      timeline_([this] { return elapsed_s(); }) {
  if (directory_) overview_.emplace(*directory_, [this](model::Overview& o) { Describe(o); });
}

Result<std::unique_ptr<SessionBuilder>> SessionBuilder::Open(SessionSetup setup) {
  const Result<model::KernelGroups> groups =
      model::KernelGroups::Create(setup.sampling.group_by, setup.sampling.exclude);
  if (!groups.ok()) return groups.error();
  std::optional<Directory> directory;
  if (!setup.directory.empty()) {
    Result<Directory> claimed = ClaimSession(setup.directory, setup.place);
    if (!claimed.ok()) return claimed.error();
    directory = std::move(claimed).value();
  }
  return std::unique_ptr<SessionBuilder>(
      new SessionBuilder(std::move(setup), std::move(directory)));
}

Status SessionBuilder::Begin(Engine& engine, std::function<void(model::Overview&)> details) {
  engine_ = &engine;
  engine.AddObserver(mask_);
  engine.AddObserver(timeline_);
  details_ = std::move(details);
  if (!directory_) return Success{};
  Result<MaskWriter> mask = MaskWriter::Open(directory_->OpenForWriting(shm::kMaskFileName),
                                             directory_->PathOf(shm::kMaskFileName));
  if (!mask.ok()) {
    Discard();
    return mask.error();
  }
  mask_ = std::move(mask).value();
  return Success{};
}

void SessionBuilder::Describe(model::Overview& overview) const {
  overview.mode = NameOf(setup_.mode);
  // A replay is not a process that `stemtap top` can check.
  if (setup_.mode != SessionMode::kReplay) overview.pid = ::getpid();
  overview.started_unix_ms = started_unix_ms_;
  overview.elapsed_s = elapsed_s();
  overview.command = setup_.command;
  overview.error_bound = setup_.sampling.error_bound;
  overview.confidence = setup_.sampling.confidence;
  overview.timeline = timeline_.points();
  engine_->Describe(overview);
  if (details_) details_(overview);
  if (end_) end_(overview);
}

SessionReport SessionBuilder::Report() const {
  SessionReport report;
  report.mode = setup_.mode;
  report.command = setup_.command;
  report.options = setup_.listed;
  report.elapsed_s = elapsed_s();
  report.sampler = engine_->status();
  return report;
}

Status SessionBuilder::Finish(SessionReport& report, model::Plan& plan) {
  plan.options = setup_.listed;
  AddLosses(report, plan);
  if (!directory_) return Success{};
  // The last overview may reuse the mask's descriptor, if there are few.
  if (const Status mask = mask_.Close(); !mask.ok()) {
    report.incomplete.push_back(mask.error().message);
  }
  report.mask_events_missing = mask_.missing();
  timeline_.SetDropped(plan.totals.dropped);
  timeline_.End(engine_->status());
  end_ = [&](model::Overview& overview) { EndOverview(report, plan, overview); };
  overview_->Write();
  end_ = nullptr;
  if (const std::string warning = overview_->Warning(); !warning.empty()) {
    (overview_->is_current() ? report.warnings : report.incomplete).push_back(warning);
  }
  report.warnings.insert(report.warnings.end(), report.incomplete.begin(), report.incomplete.end());
  const Status written =
      WriteResults(*directory_, plan, SessionToJson(report, plan), SessionSummary(report, plan));
  RemoveUnfinishedOverviews(*directory_);
  return written;
}

void SessionBuilder::Discard() {
  if (!directory_) return;
  directory_->Remove(shm::kMaskFileName);
  if (setup_.place == SessionPlace::kExisting) return;
  directory_->Remove(shm::kGateFileName);
  directory_->RemoveSelf();
}

}  // namespace stemtap::session
