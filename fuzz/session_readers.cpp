// SPDX-License-Identifier: Apache-2.0
#include "fuzz/session_readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "analysis/alignment/alignment.h"
#include "analysis/alignment/plan_transfer.h"
#include "analysis/extrapolation/extrapolate.h"
#include "formats/exporters/consumers.h"
#include "model/overview_reader.h"
#include "model/plan_cells.h"
#include "model/plan_reader.h"
#include "model/profile.h"
#include "model/session.h"
#include "session/merge/merge_sessions.h"
#include "session/replay.h"
#include "ui/report/session_report.h"

namespace stemtap {
namespace {

namespace fs = std::filesystem;

// Throws the first violated condition; Read catches it.
void Expect(bool holds, const std::string& condition) {
  if (!holds) throw std::logic_error(condition);
}

void ExpectOneLine(const Error& error, const std::string& reader) {
  Expect(!error.message.empty() && error.message.find('\n') == std::string::npos,
         reader + ": the error has one line: " + error.message);
}

bool Near(double a, double b) {
  return std::fabs(a - b) <= 1e-5 * std::max(std::fabs(a), std::fabs(b)) + 1e-9;
}

// Returns a profile of three kernels; the first has two modes. `more_ns` is added to each duration,
// to make another run of the same launches.
model::Profile MadeProfile(std::uint64_t more_ns) {
  model::Profile profile;
  for (const char* name : {"gemm", "softmax", "copy"}) profile.names.Intern(name);
  for (std::uint64_t i = 0; i < 240; ++i) {
    shm::KernelRecord record;
    record.name_id = static_cast<std::uint32_t>(i % 8 == 7 ? 2 : i % 2);
    record.start_ns = 100'000 * i;
    record.duration_ns = more_ns + (record.name_id == 0 && i % 3 == 0 ? 9000 : 1000) + i * 37 % 101;
    record.device = 0;
    record.stream = 7;
    for (std::size_t d = 0; d < 3; ++d) record.grid[d] = record.block[d] = 1;
    profile.records.push_back(record);
  }
  return profile;
}

void Replay(const model::Profile& profile, const std::string& directory) {
  session::ReplayOptions options;
  options.folder = directory;
  options.lag = 8;
  options.threads = 1;
  options.quiet = true;
  options.source = "run.csv";
  options.listed = {{"error_bound", 0.05}, {"confidence", 0.95}, {"weights", "calibrated"}};
  const auto replayed = session::RunReplay(*model::ReadProfile(profile), options);
  Expect(replayed.ok(), "a profile can be replayed");
}

std::string TextOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> TextsOf(const fs::path& directory) {
  std::vector<std::string> texts;
  for (const char* name : kEditedFiles) texts.push_back(TextOf(directory / name));
  return texts;
}

// PlanSums recomputes the sums over the plan; __int128 cannot overflow.
struct PlanSums {
  __extension__ using Sum = __int128;
  Sum invocations = 0;
  Sum duration_ns = 0;
  Sum sampled_ns = 0;
  std::uint64_t samples = 0;
  double weighted_ns = 0.0;
  double covered_ns = 0.0;
};

PlanSums SumsOf(const model::Plan& plan, const std::string& reader) {
  PlanSums sums;
  std::set<std::uint64_t> indices;
  for (const model::PlanKernel& kernel : plan.kernels) {
    PlanSums::Sum count = 0;
    for (const model::PlanCluster& cluster : kernel.clusters) {
      count += cluster.count;
      if (!cluster.samples.empty()) {
        sums.covered_ns += cluster.mean_ns * static_cast<double>(cluster.count);
      }
      for (const model::PlanSample& sample : cluster.samples) {
        Expect(std::isfinite(sample.weight) && sample.weight >= 0.0,
               reader + ": weights are valid");
        Expect(indices.insert(sample.index).second, reader + ": samples are unique");
        const auto duration = static_cast<double>(sample.record.duration_ns);
        sums.weighted_ns += sample.weight * duration;
        sums.sampled_ns += sample.record.duration_ns;
        ++sums.samples;
      }
    }
    Expect(count == kernel.invocations, reader + ": counts add up");
    sums.invocations += count;
    sums.duration_ns += kernel.duration_ns;
  }
  const model::PlanTotals& t = plan.totals;
  Expect(sums.invocations == t.invocations && sums.duration_ns == t.duration_ns &&
             sums.sampled_ns == t.sampled_duration_ns && sums.samples == t.samples &&
             plan.kernels.size() == t.kernels,
         reader + ": totals match the kernels");
  Expect(std::isnan(t.bound) || (std::isfinite(t.bound) && t.bound >= 0.0),
         reader + ": the bound is valid");
  Expect(Near(sums.weighted_ns, t.plain_estimate_ns) ||
             Near(sums.weighted_ns, t.calibrated_estimate_ns),
         reader + ": the weights give an estimate");
  return sums;
}

void ExpectExports(const model::Plan& plan, const PlanSums& sums) {
  for (const char* name : {"csv", "accelsim", "macsim", "sieve"}) {
    const formats::Consumer* consumer = formats::FindConsumer(name);
    if (consumer == nullptr || consumer->needs_timeline) continue;
    formats::ExportOptions options;
    options.counting.plain_launches = true;
    const Result<formats::CountedPlan> counted =
        formats::CountLaunches(plan, nullptr, "plan", consumer->model, name, options.counting);
    if (!counted.ok()) {
      ExpectOneLine(counted.error(), name);
      continue;
    }
    Expect(counted.value().samples.size() == sums.samples, "export: every sample is present");
    Expect(formats::Ids(counted.value()).size() == sums.samples, "export: samples are unique");
    const std::string weights = formats::WeightsCsv(counted.value());
    Expect(static_cast<std::uint64_t>(std::count(weights.begin(), weights.end(), '\n')) ==
               sums.samples + 1,
           "export: every sample has a weight");
    const Result<formats::Exported> written =
        consumer->write({counted.value(), options, nullptr, "plan"});
    if (!written.ok()) ExpectOneLine(written.error(), name);
    if (written.ok()) Expect(written.value().ids == sums.samples, "export: every sample has an id");
  }
}

// Results that equal the durations must extrapolate to the time of the clusters with samples.
void ExpectExtrapolation(const model::Plan& plan, const PlanSums& sums) {
  formats::KernelResults results;
  results.metrics = {{"time", "ns", formats::MetricKind::kSum}};
  for (const model::PlanKernel& kernel : plan.kernels) {
    for (const model::PlanCluster& cluster : kernel.clusters) {
      for (const model::PlanSample& sample : cluster.samples) {
        formats::KernelResult& row = results.rows.emplace_back();
        row.id = sample.index;
        row.values = {static_cast<double>(sample.record.duration_ns)};
      }
    }
  }
  const Result<analysis::Match> match = analysis::MatchResults(plan, results, {});
  if (!match.ok()) return ExpectOneLine(match.error(), "extrapolate");
  Expect(match.value().matched == sums.samples, "extrapolate: every sample has a result");
  const Result<analysis::Extrapolation> made =
      analysis::Extrapolate(plan, results, match.value(), {});
  if (!made.ok()) return ExpectOneLine(made.error(), "extrapolate");
  for (const analysis::MetricEstimate& metric : made.value().metrics) {
    Expect(std::isfinite(metric.plain.value) && std::isfinite(metric.calibrated.value),
           "extrapolate: totals are finite");
    Expect(Near(metric.planned, sums.weighted_ns), "extrapolate: the total of the weights");
    const double time = metric.calibrated.value +
                        metric.uncovered_fraction * static_cast<double>(plan.totals.duration_ns);
    if (std::isnan(plan.totals.bound) || sums.sampled_ns == 0) continue;
    Expect(Near(time, static_cast<double>(plan.totals.duration_ns)),
           fmt::format("extrapolate: the time of the run is {}, not {}", plan.totals.duration_ns,
                       time));
  }
}

void ExpectTransfer(const model::Plan& plan, const analysis::Run& run) {
  const Result<analysis::PlanTransfer> transfer = analysis::TransferPlan(
      plan, run, run, analysis::AlignRuns(run, run), {true, "plan", "run.csv"});
  if (!transfer.ok()) return ExpectOneLine(transfer.error(), "align");
  SumsOf(transfer.value().plan, "align");
  const Result<model::Plan> again =
      model::ParsePlan(model::PlanToJson(transfer.value().plan), "again");
  Expect(again.ok(), "align: the plan is valid: " + (again.ok() ? "" : again.error().message));
}

void ExpectPlan(const model::Plan& plan, const analysis::Run& run) {
  const PlanSums sums = SumsOf(plan, "plan");
  const std::string text = model::PlanToJson(plan);
  const Result<model::Plan> again = model::ParsePlan(text, "again");
  Expect(again.ok() && model::PlanToJson(again.value()) == text, "plan: a written plan is equal");
  ExpectExports(plan, sums);
  ExpectExtrapolation(plan, sums);
  ExpectTransfer(plan, run);
}

void ExpectOverview(const model::Overview& overview) {
  for (const model::OverviewKernel& kernel : overview.kernels) {
    PlanSums::Sum count = 0;
    for (const model::OverviewCluster& cluster : kernel.clusters) {
      count += cluster.count;
      Expect(cluster.mean_ns >= 0.0 && cluster.stddev_ns >= 0.0, "overview: durations are valid");
    }
    Expect(count <= kernel.invocations && kernel.captured <= kernel.invocations,
           "overview: clusters match the kernel's launches");
    count = 0;
    for (const model::HistogramBin& bin : kernel.histogram) count += bin.count;
    Expect(count <= kernel.invocations, "overview: bins match the kernel's launches");
  }
  const std::string text = model::OverviewToJson(overview);
  const Result<model::Overview> again = model::ParseOverview(text, "again");
  Expect(again.ok() && model::OverviewToJson(again.value()) == text,
         "overview: a written overview is equal");
}

}  // namespace

SessionReaders::SessionReaders(fs::path scratch) : scratch_(std::move(scratch)) {
  const model::Profile profile = MadeProfile(0);
  Replay(profile, (scratch_ / "a").string());
  Replay(MadeProfile(5), (scratch_ / "b").string());
  Expect(session::MergeSessions({(scratch_ / "a").string(), (scratch_ / "b").string()},
                                (scratch_ / "ab").string())
             .ok(),
         "sessions can be merged");
  Replay(MadeProfile(11), (scratch_ / "other").string());
  Result<analysis::Run> run = analysis::LoadRun(*model::ReadProfile(profile), "run.csv");
  Expect(run.ok(), "a run can be loaded");
  run_ = std::move(run).value();
  for (const char* name : {"a", "ab"}) {
    sessions_.push_back(TextsOf(scratch_ / name));
    fs::rename(scratch_ / name, scratch_ / std::to_string(sessions_.size() - 1));
  }
}

SessionReaders::Outcome SessionReaders::Read(std::size_t session,
                                             const std::vector<std::string>& texts) {
  const fs::path directory = scratch_ / std::to_string(session);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ofstream(directory / kEditedFiles[i]) << texts[i];
  }
  Outcome outcome;
  try {
    Result<model::Plan> plan = model::ParsePlan(texts[0], "plan");
    outcome.plan = plan.ok();
    if (!plan.ok()) ExpectOneLine(plan.error(), "plan");
    if (plan.ok()) ExpectPlan(plan.value(), run_);
    const Result<model::RecordedSession> counters = model::ParseSession(texts[1], "session");
    if (!counters.ok()) ExpectOneLine(counters.error(), "session");
    const Result<model::Overview> overview = model::ParseOverview(texts[2], "overview");
    if (!overview.ok()) ExpectOneLine(overview.error(), "overview");
    if (overview.ok()) ExpectOverview(overview.value());

    // LoadReport and the readers after it read the plan first and reject the same files, so only
    // some invalid plans are tried.
    if (!plan.ok() && texts[0].size() % 8 != 0) return outcome;
    const Result<ui::Report> report = ui::LoadReport(directory.string(), "");
    if (!report.ok()) ExpectOneLine(report.error(), "report");
    if (report.ok()) {
      Expect(plan.ok() && counters.ok() && overview.ok(), "report: accepts only valid files");
      Expect(report.value().totals.invocations == plan.value().totals.invocations,
             "report: totals match the plan");
    }

    const std::string out = (scratch_ / "m").string();
    const Result<session::MergeOutcome> merged =
        session::MergeSessions({directory.string(), (scratch_ / "other").string()}, out);
    outcome.merged = merged.ok();
    if (!merged.ok()) {
      ExpectOneLine(merged.error(), "merge");
      Expect(!fs::exists(out), "merge: a failed merge leaves no files");
      return outcome;
    }
    Expect(plan.ok() && counters.ok() && overview.ok(), "merge: accepts only valid files");
    const Result<model::Plan> read = model::LoadPlan(out + "/plan.json");
    Expect(read.ok(), "merge: the plan is valid: " + (read.ok() ? "" : read.error().message));
    SumsOf(read.value(), "merge");
    Expect(read.value().totals.invocations == plan.value().totals.invocations + 240,
           "merge: launches of both sessions");
    Expect(model::LoadOverview(out + "/overview.json").ok(), "merge: the overview is valid");
    Expect(model::ParseSession(TextOf(out + "/session.json"), "m").ok(),
           "merge: the session is valid");
    fs::remove_all(out);
  } catch (const std::logic_error& broken) {
    outcome.broken = broken.what();
    fs::remove_all(scratch_ / "m");
  }
  return outcome;
}

}  // namespace stemtap
