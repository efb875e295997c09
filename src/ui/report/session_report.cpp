// SPDX-License-Identifier: Apache-2.0
#include "ui/report/session_report.h"

#include <fmt/format.h>

#include <cassert>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/byte_source.h"
#include "base/file.h"
#include "base/text.h"
#include "model/brief_name.h"
#include "model/json_text.h"
#include "model/overview_check.h"
#include "model/overview_reader.h"
#include "model/plan_reader.h"
#include "model/plan_summary.h"
#include "model/session.h"
#include "stemtap/version.h"
#include "ui/report/page.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

// Number of events written at a time.
constexpr std::size_t kEventsAtOnce = 1024;

// Checks the size of a part that was made for the run at `path`.
Status CheckSize(const std::string& text, const std::string& path, const char* part) {
  if (text.size() <= kMaxPartBytes) return Success{};
  return Error{fmt::format("{}: the {} for the report has {}; expected at most {} (fewer kernels)",
                           EscapeForTerminal(path), part,
                           ShownBytes(static_cast<double>(text.size())),
                           ShownBytes(static_cast<double>(kMaxPartBytes)))};
}

// Reads a JSON part. `check` validates the text and uses the file name in its error.
template <typename Check>
Result<std::string> ReadPart(const std::string& path, const char* expected, const Check& check) {
  std::string text = STEMTAP_TRY(model::ReadJsonFile(path, kMaxPartBytes, expected));
  STEMTAP_TRY(check(text, model::NameOfSource(path)));
  return text;
}

// Reads the part `name` of a session directory; empty if the file does not exist.
template <typename Check>
Result<std::string> ReadPartOf(const fs::path& directory, const char* name, const char* expected,
                               const Check& check, Report& report) {
  const fs::path path = directory / name;
  if (Exists(path)) return ReadPart(path.string(), expected, check);
  report.warnings.push_back(
      fmt::format("{}: has no {}; the report omits it", directory.string(), name));
  return std::string();
}

// Describes a directory without a plan.json. REQUIRES: it has none.
Error NoPlan(const fs::path& directory) {
  const std::string shown = EscapeForTerminal(directory.string());
  for (const char* file : {"overview.json", "mask.ndjson", "session.json"}) {
    if (!Exists(directory / file)) continue;
    return Error{
        fmt::format("{}: has no plan.json: the session is still running ('stemtap top' shows it) "
                    "or was killed ('stemtap recover' completes it); expected a finished session",
                    shown)};
  }
  return Error{
      fmt::format("{}: is not a session directory; expected one that contains plan.json", shown)};
}

// Returns the last component of the path, also for "run/" and ".".
std::string NameOf(const std::string& path) {
  std::error_code error;
  fs::path whole = fs::canonical(path, error);
  if (error) whole = fs::path(path).lexically_normal();
  return whole.filename().empty() ? whole.string() : whole.filename().string();
}

std::string JsonText(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Each kernel has an index into the names.
std::string CategoriesJson(const std::vector<model::KernelCategory>& categories) {
  std::vector<std::size_t> kernels;
  for (const model::KernelCategory category : categories) {
    kernels.push_back(static_cast<std::size_t>(category));
  }
  return JsonText({{"names", model::kKernelCategoryNames}, {"kernels", kernels}});
}

void Append(std::string& text, const ShownEvent& event) {
  const auto or_null = [](const auto& value) {
    return value.has_value() ? std::to_string(*value) : std::string("null");
  };
  fmt::format_to(std::back_inserter(text), "[\"{}\",{},{},{},{},{}]", kMaskEventNames[event.kind],
                 event.index, or_null(event.kernel), event.occurrence, event.cluster,
                 or_null(event.time_ns));
}

Status WriteMask(const MaskEvents& mask, PackedText& packed) {
  std::string text = "{\"events\":[";
  for (std::size_t i = 0; i < mask.events.size(); ++i) {
    if (i != 0) text += ',';
    Append(text, mask.events[i]);
    if (i % kEventsAtOnce != 0) continue;
    STEMTAP_TRY(packed.Write(text));
    text.clear();
  }
  return packed.Write(text + fmt::format("],\"left_out\":{}}}", mask.left_out));
}

// Adds names to those that the report shows, and makes the brief names of all of them distinct.
void AddNames(std::span<const std::string_view> more, Report& report) {
  const std::size_t known = report.names.size();
  report.names.insert(more.begin(), more.end());
  if (report.names.size() == known) return;
  const std::vector<std::string_view> names(report.names.begin(), report.names.end());
  std::vector<std::string> briefs = model::BriefNames(names);
  report.brief_names.clear();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (briefs[i] != names[i]) report.brief_names.emplace(names[i], std::move(briefs[i]));
  }
}

// Adds what the report derives from the plan.
void AddDerived(const model::Plan& plan, Report& report) {
  report.totals = plan.totals;
  if (!model::IsOfLiveSession(plan)) report.source = plan.source;
  report.spread = model::SampleSpread(plan);
  std::vector<std::string_view> names;
  for (const model::PlanKernel& kernel : plan.kernels) {
    report.categories.push_back(model::CategoryOf(kernel.name));
    names.push_back(kernel.name);
    for (const model::PooledKernel& pooled : kernel.pooled) names.push_back(pooled.name);
  }
  AddNames(names, report);
}

// Returns the kernels before and after the longest gaps. Some may be excluded from the plan.
std::vector<std::string_view> GapKernels(const model::RecordedSession& session) {
  std::vector<std::string_view> names;
  for (const model::DeviceTotals& device : session.devices) {
    for (const model::IdleGap& gap : device.longest_gaps) {
      for (const std::string* name : {&gap.before, &gap.after}) {
        if (!name->empty()) names.push_back(*name);
      }
    }
  }
  return names;
}

Result<model::Plan> ReadPlan(const fs::path& path, Report& report) {
  model::Plan plan;
  const auto check = [&](const std::string& json, const std::string& name) -> Status {
    plan = STEMTAP_TRY(model::ParsePlan(json, name));
    return Success{};
  };
  report.plan = STEMTAP_TRY(ReadPart(path.string(), "a plan.json", check));
  AddDerived(plan, report);
  return plan;
}

// Reads the other files of the session directory. A file that disagrees with the plan is a warning:
// a damaged ring may contain any counts.
Status ReadSessionFiles(const std::string& session, const model::Plan& plan, Report& report) {
  const fs::path directory(session);
  const auto compare = [&](const std::string& differs) {
    if (!differs.empty()) report.warnings.push_back(fmt::format("{}: {}", session, differs));
  };
  const auto check_session = [&](const std::string& json, const std::string& name) -> Status {
    const model::RecordedSession read = STEMTAP_TRY(model::ParseSession(json, name));
    compare(model::CompareWithPlan(read, plan.totals));
    AddNames(GapKernels(read), report);
    return Success{};
  };
  report.session =
      STEMTAP_TRY(ReadPartOf(directory, "session.json", "a session.json", check_session, report));
  const auto check_overview = [&](const std::string& json, const std::string& name) -> Status {
    const model::Overview read = STEMTAP_TRY(model::ParseOverview(json, name));
    compare(model::CompareWithPlan(read, plan));
    return Success{};
  };
  report.overview = STEMTAP_TRY(
      ReadPartOf(directory, "overview.json", "an overview.json", check_overview, report));
  if (const fs::path path = directory / "ranks.json"; Exists(path)) {
    const auto check_ranks = [](const std::string& json, const std::string& name) {
      return model::CheckJsonText(json, name, "stemtap.ranks/1", "a ranks.json");
    };
    report.ranks = STEMTAP_TRY(ReadPart(path.string(), "a ranks.json", check_ranks));
  }
  const std::string mask_path = (directory / "mask.ndjson").string();
  if (!Exists(mask_path)) {
    report.warnings.push_back(fmt::format("{}: has no mask.ndjson; the report omits it", session));
    return Success{};
  }
  std::unique_ptr<ByteSource> source = STEMTAP_TRY(OpenByteSource(mask_path));
  report.mask = STEMTAP_TRY(ReadMask(std::move(source), PlanPositions(plan)));
  if (report.mask->is_cut) {
    report.warnings.push_back(
        fmt::format("{}: the last line is incomplete; the report omits 1 decision", mask_path));
  }
  return Success{};
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  return error ? path : absolute.string();
}

Result<Report> LoadReport(const std::string& session, const std::string& evaluation) {
  Report report;
  std::error_code error;
  const bool is_directory = fs::is_directory(session, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return Error{
        fmt::format("{}: cannot be opened: {}", EscapeForTerminal(session), error.message())};
  }
  if (!is_directory && !Exists(session)) {
    return Error{fmt::format("{}: does not exist; expected a session directory",
                             EscapeForTerminal(session))};
  }
  report.name = NameOf(session);
  report.plan_file = is_directory ? report.name + "/plan.json" : report.name;
  const fs::path plan_path = is_directory ? fs::path(session) / "plan.json" : fs::path(session);
  report.plan_path = AbsolutePath(plan_path.string());
  if (is_directory) STEMTAP_TRY(CheckReadable(session));
  if (!Exists(plan_path)) return NoPlan(session);
  const model::Plan plan = STEMTAP_TRY(ReadPlan(plan_path, report));
  if (is_directory) STEMTAP_TRY(ReadSessionFiles(session, plan, report));
  if (!evaluation.empty()) STEMTAP_TRY(AddEvaluation(evaluation, report));
  return report;
}

Status AddEvaluation(const std::string& evaluation, Report& report) {
  constexpr const char* kExpected = "what 'stemtap evaluate --json' prints";
  const auto check = [](const std::string& json, const std::string& name) {
    return model::CheckJsonText(json, name, "stemtap.evaluation/1", kExpected);
  };
  report.evaluation = STEMTAP_TRY(ReadPart(evaluation, kExpected, check));
  return Success{};
}

Result<Report> ReportOfPlan(const model::Plan& plan, const std::string& profile) {
  Report report;
  report.name = NameOf(profile);
  report.plan_file = "plan.json";
  report.profile_path = AbsolutePath(profile);
  report.plan = model::PlanToJson(plan);
  STEMTAP_TRY(CheckSize(report.plan, profile, "plan"));
  AddDerived(plan, report);
  return report;
}

Status AddDiff(const analysis::RunDiff& diff, Report& report) {
  report.diff = analysis::DiffJson(diff);
  STEMTAP_TRY(CheckSize(report.diff, diff.a.source, "comparison"));
  std::vector<std::string_view> names;
  for (const analysis::KernelDiff& kernel : diff.kernels) names.push_back(kernel.name);
  AddNames(names, report);
  return Success{};
}

Status WriteReport(const Report& report, std::uint64_t made_unix_ms, std::string_view page,
                   ByteSink& sink) {
  const std::size_t at = page.find(kDataPlaceholder);
  assert(at != std::string_view::npos);
  PackedText packed(sink);
  const auto or_null = [](const std::string& text) -> std::string_view {
    return text.empty() ? std::string_view("null") : std::string_view(text);
  };
  const auto write_data = [&]() -> Status {
    const std::string head = fmt::format(
        "{{\"schema\":\"stemtap.report/1\",\"tool\":\"stemtap "
        "{}\",\"folder\":{},\"plan_file\":{},\"plan_path\":{},\"profile_path\":{},\"profiles\":{},"
        "\"made_unix_ms\":{},\"brief_names\":{},\"categories\":{},\"spread\":{},\"cost\":{}",
        kVersion, JsonText(report.name), JsonText(report.plan_file), JsonText(report.plan_path),
        JsonText(report.profile_path), JsonText(report.profiles), made_unix_ms,
        JsonText(report.brief_names), CategoriesJson(report.categories), JsonText(report.spread),
        JsonText(report.cost));
    for (const std::string_view piece :
         {std::string_view(head), std::string_view(",\"session\":"), or_null(report.session),
          std::string_view(",\"plan\":"), or_null(report.plan), std::string_view(",\"overview\":"),
          or_null(report.overview), std::string_view(",\"evaluation\":"),
          or_null(report.evaluation), std::string_view(",\"diff\":"), or_null(report.diff),
          std::string_view(",\"ranks\":"), or_null(report.ranks), std::string_view(",\"mask\":")}) {
      STEMTAP_TRY(packed.Write(piece));
    }
    STEMTAP_TRY(report.mask.has_value() ? WriteMask(*report.mask, packed) : packed.Write("null"));
    return packed.Write("}");
  };
  STEMTAP_TRY(sink.Write(page.substr(0, at)));
  STEMTAP_TRY(write_data());
  STEMTAP_TRY(packed.Finish());
  return sink.Write(page.substr(at + kDataPlaceholder.size()));
}

}  // namespace stemtap::ui
