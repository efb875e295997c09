// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/comparison/compared_run.h"
#include "base/byte_source.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "base/worker_pool.h"
#include "formats/importers/metric_join.h"
#include "formats/importers/ranks.h"
#include "model/finished_session.h"
#include "model/json_text.h"
#include "model/plan_reader.h"
#include "model/session_files.h"
#include "session/control.h"
#include "shm/session_env.h"
#include "ui/cli/output.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

// When ReadProgress shows its line, and how often it updates it.
constexpr std::chrono::milliseconds kFirst{500};
constexpr std::chrono::milliseconds kPeriod{100};

// Snapshots are the snapshots of running sessions that this process reads.
class Snapshots {
 public:
  Snapshots() = default;
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;
  ~Snapshots() {
    std::error_code ignored;
    if (!directory_.empty()) fs::remove_all(directory_, ignored);
  }

  // Returns the snapshot of the session in `path`, with the name of the session's directory, which
  // reports and merged plans show.
  Result<std::string> Of(const std::string& path) {
    const auto [at, is_new] = taken_.emplace(path, "");
    if (!is_new) return at->second;
    if (directory_.empty()) {
      std::string name = (fs::temp_directory_path() / "stemtap-XXXXXX").string();
      if (::mkdtemp(name.data()) == nullptr) {
        return Error{fmt::format("{}: cannot be created: {}", name, std::strerror(errno))};
      }
      directory_ = name;
    }
    const fs::path parent = directory_ / std::to_string(taken_.size());
    fs::create_directory(parent);
    const std::string to = (parent / fs::canonical(path).filename()).string();
    at->second = STEMTAP_TRY(session::SendRequest(path, "snapshot new " + to));
    of_[at->second] = path;
    return at->second;
  }
  // Returns the session of the snapshot in `path`; any other path unchanged.
  std::string SessionOf(const std::string& path) const {
    const auto at = of_.find(path);
    return at == of_.end() ? path : at->second;
  }

 private:
  fs::path directory_;
  std::map<std::string, std::string> taken_;  // by session
  std::map<std::string, std::string> of_;     // by snapshot
};

Snapshots& TakenSnapshots() {
  static Snapshots snapshots;
  return snapshots;
}

Result<analysis::ComparedRun> LoadCompared(const std::string& path) {
  if (STEMTAP_TRY(KindOfInput(path)) != RunInput::kProfile) {
    const model::FinishedSession run = STEMTAP_TRY(model::LoadFinished(path));
    return analysis::ComparedPlan(run, ShownPath(path));
  }
  ReadProgress progress;
  std::unique_ptr<model::ProfileReader> reader = STEMTAP_TRY(OpenRun({path}, "", progress));
  Result<analysis::ComparedRun> run = analysis::ComparedProfile(*reader, path);
  progress.Clear();
  Warn(reader->warnings());
  if (run.ok()) STEMTAP_TRY(CheckNotEmpty(run.value().launches, path));
  return run;
}

}  // namespace

std::string PlanPath(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  return (fs::path(FinishedPath(path)) / "plan.json").string();
}

std::string SessionPath(const std::string& path) {
  const fs::path file(path);
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code ignored;
  const bool is_session_file = std::ranges::find(model::kSessionFiles, file.filename().string()) !=
                                   std::end(model::kSessionFiles) &&
                               fs::is_regular_file(file, ignored) &&
                               Exists(directory / shm::kSessionFileName);
  return is_session_file ? directory.string() : path;
}

std::string ShownPath(const std::string& path) {
  return TakenSnapshots().SessionOf(path);
}

std::string FinishedPath(const std::string& path) {
  const std::string session = SessionPath(path);
  const fs::path directory(session);
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored) || Exists(directory / shm::kSessionFileName) ||
      !session::IsControlled(session)) {
    return session;
  }
  const Result<std::string> taken = TakenSnapshots().Of(session);
  if (taken.ok()) {
    PrintMessage(fmt::format("stemtap: {} still runs; this is its state as of now\n",
                             EscapeForTerminal(session)));
    return taken.value();
  }
  Warn({taken.error().message});
  return session;
}

void AddPlan(session::CommandSpec& command, std::string* plan, const std::string& help) {
  command.Add("plan", plan, help).File(PlanPath);
  command.Add("--plan", plan, "the same, as an option").File(PlanPath).excludes = "plan";
}

Result<RunInput> KindOfInput(const std::string& path) {
  std::error_code ignored;
  if (path == "-") return RunInput::kProfile;
  if (fs::is_directory(path, ignored)) return RunInput::kSession;
  // A stream can be read only once, by the reader of profiles.
  if (Exists(path) && !fs::is_regular_file(path, ignored)) return RunInput::kProfile;
  std::unique_ptr<ByteSource> source = STEMTAP_TRY(OpenByteSource(path));
  const std::string_view leading = STEMTAP_TRY(source->Peek(model::kPlanSchemaWithin));
  return model::LooksLikePlan(leading) ? RunInput::kPlan : RunInput::kProfile;
}

ReadProgress::ReadProgress(bool quiet)
    : terminal_(!quiet && ::isatty(STDERR_FILENO) == 1), next_(Clock::now() + kFirst) {}

ReadWatch ReadProgress::Of(const std::string& path) {
  if (!terminal_) return {};
  return [this, what = "reading " + EscapeForTerminal(path)](
             std::uint64_t read, std::uint64_t size) { Show(what, read, size); };
}

void ReadProgress::Show(const std::string& what, std::uint64_t done, std::uint64_t all) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now < next_) return;
  next_ = now + kPeriod;
  shown_ = true;
  const std::string how_far =
      all == 0
          ? fmt::format("{:.0f} MB", static_cast<double>(done) * 1e-6)
          : fmt::format("{:.0f} %", 100.0 * static_cast<double>(done) / static_cast<double>(all));
  // Rewritten in place and never wrapped, like the progress line of a run.
  std::fputs(fmt::format("\r\x1b[?7l{}  {}\x1b[K\x1b[?7h", how_far, what).c_str(), stderr);
}

void ReadProgress::Clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

bool CanReadAgain(const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code error;
    // A missing path is reported when it is opened.
    return path != "-" && (fs::is_regular_file(path, error) || !Exists(path));
  });
}

std::string RunName(const std::vector<std::string>& paths) {
  std::string name;
  for (const std::string& path : paths) name += (name.empty() ? "" : ", ") + path;
  return name;
}

std::vector<std::string> RunPaths(const std::string& name) {
  constexpr std::string_view kBetween = ", ";
  std::vector<std::string> paths;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos && !Exists(name);
       begin = end + kBetween.size()) {
    end = name.find(kBetween, begin);
    paths.push_back(name.substr(begin, end - begin));
    if (!Exists(paths.back())) return {name};
  }
  return paths.empty() ? std::vector<std::string>{name} : paths;
}

Result<std::unique_ptr<model::ProfileReader>> OpenRun(const std::vector<std::string>& paths,
                                                      const std::string& metrics,
                                                      ReadProgress& progress,
                                                      const model::LaunchSelection& selection) {
  if (std::count(paths.begin(), paths.end(), "-") + (metrics == "-" ? 1 : 0) > 1) {
    return Error{"standard input is named twice; expected once", 2};
  }
  const auto watch_of = [&progress](const std::string& path) { return progress.Of(path); };
  Result<std::unique_ptr<model::ProfileReader>> run =
      formats::OpenRanks(paths, watch_of, selection);
  if (!run.ok() || metrics.empty()) return run;
  return formats::JoinMetricsFile(std::move(run).value(), RunName(paths), metrics);
}

Result<model::Profile> LoadRun(const std::vector<std::string>& paths, const std::string& metrics,
                               ReadProgress& progress, const model::LaunchSelection& selection) {
  const std::unique_ptr<model::ProfileReader> reader =
      STEMTAP_TRY(OpenRun(paths, metrics, progress, selection));
  Result<model::Profile> profile = model::LoadProfile(*reader);
  progress.Clear();
  return profile;
}

Status CheckNotEmpty(std::uint64_t launches, const std::string& name) {
  if (launches != 0) return Success{};
  return Error{fmt::format("{}: contains no kernel launch; expected at least one",
                           model::NameOfSource(name))};
}

void AddMethodInputs(session::CommandSpec& command, std::string* bbv, std::string* metrics) {
  command.Add("--bbv", bbv, "basic-block vectors of the profile's launches; photon needs them")
      .File()
      .Advanced();
  command
      .Add("--metrics", metrics,
           "Nsight Compute metrics of the profile's launches; pka, sieve and tbpoint need them")
      .File()
      .Advanced();
}

Result<sampling::TwoPassPlan> PlanRun(const sampling::OpenReader& open, const std::string& name,
                                      const session::SamplingFlags& sampling) {
  WorkerPool pool(sampling.threads());
  const ParallelFor parallel = [&](std::size_t count, const auto& part) {
    pool.ForEach(count, part);
  };
  sampling::TwoPassPlan planned =
      STEMTAP_TRY(sampling::PlanTwoPass(open, name, sampling.Options(), parallel));
  planned.plan.source = name;
  planned.plan.options = sampling.Listed();
  return planned;
}

Result<analysis::RunDiff> CompareRuns(const std::string& a, const std::string& b,
                                      const analysis::DiffOptions& options) {
  if (a == "-" && b == "-") {
    return Error{"both runs are standard input; expected a file for one", 2};
  }
  analysis::ComparedRun run_a = STEMTAP_TRY(LoadCompared(a));
  analysis::ComparedRun run_b = STEMTAP_TRY(LoadCompared(b));
  return analysis::DiffRuns(std::move(run_a), std::move(run_b), options);
}

}  // namespace stemtap::ui
