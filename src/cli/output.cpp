// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/byte_sink.h"
#include "base/text.h"

namespace stemtap::cli {

void Tell(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

int Fail(const Error& error) {
  Tell(fmt::format("stemtap: {}\n", error.message));
  return error.exit_code;
}

void Warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    Tell(fmt::format("stemtap: warning: {}\n", EscapeForTerminal(warning)));
  }
}

int Print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return 0;
  }
  return Fail({fmt::format("standard output cannot be written: {}", std::strerror(errno))});
}

Status WriteOutput(const std::string& path, std::string_view content) {
  Result<std::unique_ptr<ByteSink>> sink = CreateByteSink(path);
  if (!sink.ok()) return sink.error();
  const Status written = sink.value()->Write(content);
  return written.ok() ? sink.value()->Finish() : written;
}

Status CheckOutput(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code error;
  for (const std::string& input : inputs) {
    // What is read as a stream (a terminal, a pipe) may be written as one.
    if (!std::filesystem::is_regular_file(input, error) ||
        !std::filesystem::equivalent(input, output, error)) {
      continue;
    }
    return Error{fmt::format("{}: is what the result is made of, expected another file to write",
                             EscapeForTerminal(output)),
                 2};
  }
  return Success{};
}

std::string TotalsJson(const Plan& plan) {
  const PlanTotals& t = plan.totals;
  const nlohmann::ordered_json json = {{"invocations", t.invocations},
                                       {"duration_ns", t.duration_ns},
                                       {"kernels", t.kernels},
                                       {"clusters", t.clusters},
                                       {"samples", t.samples},
                                       {"sampled_duration_ns", t.sampled_duration_ns},
                                       {"speedup", t.speedup},
                                       {"bound", t.bound},
                                       {"observed_error", t.observed_error},
                                       {"uncovered_fraction", t.uncovered_fraction},
                                       {"dropped", t.dropped},
                                       {"gaps", t.gaps},
                                       {"zero_duration", t.zero_duration}};
  return json.dump() + "\n";
}

std::string DefaultFolder(const std::string& name) {
  return fmt::format("stemtap-{}-{}", name.empty() ? "session" : name, ::getpid());
}

std::string InstalledLibrary(const std::string& name) {
  // Debian's folder for libraries of one machine; other systems call it lib or lib64.
  for (const char* folder : {"lib", "lib64", "lib/" STEMTAP_MULTIARCH}) {
    const std::string path = InstalledPath(fmt::format("{}/{}", folder, name));
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return InstalledPath("lib/" + name);
}

std::string InstalledPath(const std::string& relative) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path().parent_path() / relative).string();
}

}  // namespace stemtap::cli
