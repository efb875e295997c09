// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/report_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "base/byte_sink.h"
#include "base/file.h"
#include "base/quoting.h"
#include "base/text.h"
#include "base/unix_ms.h"
#include "session/flags/sampling_flags.h"
#include "ui/cli/inputs.h"
#include "ui/cli/output.h"
#include "ui/report/page.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

// A user who owns the session directory or can write to it could have placed a symbolic link there.
Result<std::unique_ptr<ByteSink>> CreateSink(const std::string& path, ReportPlace place) {
  if (place == ReportPlace::kUserFile) return CreateByteSink(path);
  struct stat directory = {};
  const std::string session = fs::path(path).parent_path().string();
  if (::stat(session.empty() ? "." : session.c_str(), &directory) == 0 &&
      (directory.st_uid != ::geteuid() || (directory.st_mode & S_IWOTH) != 0)) {
    return Error{fmt::format("{}: other users can write there; expected -o FILE for the report",
                             EscapeForTerminal(session))};
  }
  const mode_t before = ::umask(0077);
  Result<std::unique_ptr<ByteSink>> sink = CreateByteSink(path);
  ::umask(before);
  return sink;
}

void PrintWritten(const Report& report, const std::string& path,
                  const std::optional<std::uint64_t>& bytes) {
  PrintMessage(fmt::format("stemtap: report of {} of {} in {}{}\n",
                           Plural(report.totals.samples, "sample"),
                           Plural(report.totals.kernels, "kernel"),
                           path == "-" ? "standard output" : EscapeForTerminal(path),
                           bytes ? ", " + ShownBytes(static_cast<double>(*bytes)) : ""));
  if (report.mask && report.mask->left_out != 0) {
    PrintMessage(fmt::format("stemtap: the report shows {} of {} decisions\n",
                             report.mask->events.size(),
                             report.mask->events.size() + report.mask->left_out));
  }
}

// Returns the absolute paths of the files of the run `source`. Empty if `source` has them already,
// or they do not exist.
std::vector<std::string> ProfilesOf(const std::string& source) {
  std::vector<std::string> profiles;
  for (const std::string& name : RunPaths(source)) {
    if (!Exists(name)) return {};
    profiles.push_back(AbsolutePath(name));
  }
  return source == RunName(profiles) ? std::vector<std::string>() : profiles;
}

}  // namespace

Status CheckReportPage() {
  if (!ReportPage().empty()) return Success{};
  return Error{
      "stemtap was built without the page of its reports; expected a build with Node.js and npm "
      "(Debian: apt-get install nodejs npm)"};
}

void PrintNextReport(const std::string& directory) {
  if (CheckReportPage().ok()) PrintNext("stemtap report " + ShellPath(directory));
}

void PrintNextReportOf(const std::string& plan) {
  if (CheckReportPage().ok()) PrintNextMaking("report.html", plan, "stemtap report");
}

Result<Report> ReportOfRun(const std::string& path) {
  if (!Exists(path) || STEMTAP_TRY(KindOfInput(path)) != RunInput::kProfile) {
    Report report = STEMTAP_TRY(LoadReport(path, ""));
    report.profiles = ProfilesOf(report.source);
    return report;
  }
  ReadProgress progress;
  const auto open = [&] { return OpenRun({path}, "", progress); };
  const sampling::TwoPassPlan planned = STEMTAP_TRY(PlanRun(open, path, session::SamplingFlags()));
  progress.Clear();
  Report report = STEMTAP_TRY(ReportOfPlan(planned.plan, path));
  report.warnings = planned.warnings;
  return report;
}

Result<std::optional<std::uint64_t>> WriteReportFile(Report& report,
                                                     const model::SimulatorRates& rates,
                                                     const std::string& path, ReportPlace place) {
  if (report.totals.samples > 0) report.cost = model::CostText(report.totals, rates);
  const std::unique_ptr<ByteSink> sink = STEMTAP_TRY(CreateSink(path, place));
  STEMTAP_TRY(WriteReport(report, UnixMs(), ReportPage(), *sink));
  STEMTAP_TRY(sink->Finish());
  std::optional<std::uint64_t> bytes;
  std::error_code error;
  if (path != "-" && fs::is_regular_file(path, error)) bytes = fs::file_size(path, error);
  PrintWritten(report, path, bytes);
  return bytes;
}

}  // namespace stemtap::ui
