// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "formats/importers/metric_join.h"
#include "formats/importers/ranks.h"
#include "model/json_text.h"

namespace stemtap::ui {

bool CanReadAgain(const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code error;
    // A missing path is reported when it is opened.
    return path != "-" && (std::filesystem::is_regular_file(path, error) || !Exists(path));
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
                                                      ReadProgress& progress) {
  if (std::count(paths.begin(), paths.end(), "-") + (metrics == "-" ? 1 : 0) > 1) {
    return Error{"standard input is named twice; expected once", 2};
  }
  const auto watch_of = [&progress](const std::string& path) { return progress.Of(path); };
  Result<std::unique_ptr<model::ProfileReader>> run = formats::OpenRanks(paths, watch_of);
  if (!run.ok() || metrics.empty()) return run;
  return formats::JoinMetricsFile(std::move(run).value(), RunName(paths), metrics);
}

Result<model::Profile> LoadRun(const std::vector<std::string>& paths, const std::string& metrics,
                               ReadProgress& progress) {
  Result<std::unique_ptr<model::ProfileReader>> reader = OpenRun(paths, metrics, progress);
  Result<model::Profile> profile =
      reader.ok() ? model::LoadProfile(*reader.value()) : reader.error();
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

}  // namespace stemtap::ui
