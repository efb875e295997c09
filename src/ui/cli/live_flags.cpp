// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/live_flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "shm/session_env.h"
#include "ui/cli/output.h"
#include "ui/cli/profiler_check.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {

namespace {

using session::TraceLevel;
using session::Word;

constexpr Word<TraceLevel> kLevels[] = {
    {TraceLevel::kGraph, NameOf(TraceLevel::kGraph), "every kernel; a graph launch counts as one"},
    {TraceLevel::kKernels, NameOf(TraceLevel::kKernels),
     "every kernel; what to capture is decided afterwards"},
    {TraceLevel::kGate, NameOf(TraceLevel::kGate),
     "every kernel; what to capture is decided at each launch"}};
constexpr Word<bool> kShareCaptures[] = {
    {true, "on", "sample a kernel once for all of them"},
    {false, "off", "sample each process's kernels separately"}};
constexpr Word<bool> kCapturedTimes[] = {
    {false, "slowed",
     "captures slow their launches and concurrent ones, which are imputed with the mean duration "
     "of similar launches"},
    {true, "native", "captures slow nothing; all launches count as recorded"}};
constexpr Word<spdlog::level::level_enum> kLogLevels[] = {
    {spdlog::level::off, "off"},
    {spdlog::level::err, "error"},
    {spdlog::level::warn, "warning"},
    {spdlog::level::info, "info", "processes that join and end"},
    {spdlog::level::debug, "debug", "also each step of the sampler"}};

// Returns the path in library:PATH, or nullopt for any other actuator.
std::optional<std::string> LibraryOf(std::string_view actuator) {
  if (!actuator.starts_with(shm::kLibraryActuator)) return std::nullopt;
  return std::string(actuator.substr(std::string_view(shm::kLibraryActuator).size()));
}

std::string IsActuator(const std::string& actuator) {
  const std::optional<std::string> library = LibraryOf(actuator);
  if (library ? !library->empty() : actuator == "log" || actuator == "profiler") return {};
  return fmt::format("is '{}'; expected log, profiler or library:PATH",
                     EscapeForTerminal(actuator));
}

}  // namespace

void LiveFlags::AddTo(session::CommandSpec& command) {
  command
      .Add("-o,--output", &options_.folder,
           "session directory to write (default: stemtap-<program>-<pid>)")
      .Directory();
  AddForce(command, &force_);
  command.Add("--level", Choice(&options_.level, kLevels), "what is timed:");
  command
      .Add("--actuator", &options_.actuator,
           "what a capture does:\nlog: nothing; the launch is listed in mask.ndjson\n"
           "profiler: cuProfilerStart/Stop around the launch\n"
           "library:PATH: call your own library (stemtap/actuator.h)")
      .OneOf({"log", "profiler", "library:PATH"})
      .check = IsActuator;
  command
      .Add("--max-overhead", &options_.max_overhead,
           "maximum cost in percent of the program's time: 5 or 5%; above it, recording stops; "
           "unlimited by default")
      .Percent(0.001, 100.0)
      .Env(shm::kEnvMaxOverhead.name);
  command.Add("-q,--quiet", &options_.quiet, "no progress line and no summary");
  command
      .Add("--max-captures-per-second", &captures_per_second_,
           "maximum captures per second and process, 0: unlimited; by default 100, or unlimited "
           "with --actuator log")
      .In(0, shm::kMaxCapturesPerSecond)
      .Env(shm::kEnvMaxCaptures.name)
      .Advanced()
      .take_last = true;  // the injected library's value for its own collector comes last
  command
      .Add("--share-captures", Choice(&options_.share_captures, kShareCaptures),
           "processes that run the same kernels, such as ranks:")
      .Advanced();
  command
      .Add("--captured-times", Choice(&options_.native_captures, kCapturedTimes),
           "durations recorded at --level gate with an actuator other than log:")
      .Advanced();
  command
      .Add("--log-level", Choice(&options_.log_level, kLogLevels),
           "what the collector writes to stemtap.log in the session directory:")
      .Advanced();
  command
      .Add("--require-kernels", &require_kernels_, "exit with 3 if no kernel launch was recorded")
      .Advanced();
  command.Add("--preload", &options_.preload, "also load the library with LD_PRELOAD").Advanced();
  command.Add("--chain", &options_.chain, "also load the library in CUDA_INJECTION64_PATH")
      .Advanced();
  sampling_.AddTo(command);
}

Status LiveFlags::Check() const {
  STEMTAP_TRY(sampling_.CheckOnline());
  if (options_.actuator != "log" && options_.level != session::TraceLevel::kGate) {
    return Error{
        fmt::format("--actuator {} acts at launches; expected --level gate", options_.actuator), 2};
  }
  const std::optional<std::string> library = LibraryOf(options_.actuator);
  std::error_code ignored;
  if (library && (!std::filesystem::is_regular_file(*library, ignored) ||
                  ::access(library->c_str(), R_OK) != 0)) {
    return Error{fmt::format("{}: cannot be read; expected a shared library", *library)};
  }
  return Success{};
}

session::LiveOptions LiveFlags::Options() const {
  session::LiveOptions options = options_;
  if (const std::optional<std::string> library = LibraryOf(options.actuator)) {
    // The program may change its directory, and the loader searches for a name without a slash.
    std::error_code ignored;
    const auto absolute = std::filesystem::absolute(*library, ignored);
    if (!ignored) options.actuator = shm::kLibraryActuator + absolute.string();
  }
  const std::uint32_t captures =
      captures_per_second_.value_or(options.actuator == "log" ? 0 : shm::kDefaultCapturesPerSecond);
  options.sampling = sampling_.Options();
  options.listed = sampling_.Listed();
  options.listed.emplace_back("level", session::NameOf(options.level));
  options.listed.emplace_back("actuator", options.actuator);
  options.listed.emplace_back("max_captures_per_second", std::uint64_t{captures});
  options.listed.emplace_back("share_captures", NameIn(kShareCaptures, options.share_captures));
  options.listed.emplace_back("captured_times", NameIn(kCapturedTimes, options.native_captures));
  if (options.max_overhead > 0) options.listed.emplace_back("max_overhead", options.max_overhead);
  options.place = session::PlaceOf(!options.folder.empty(), force_);
  options.environment.push_back(fmt::format("{}={}", shm::kEnvMaxCaptures.name, captures));
  options.threads = sampling_.threads();
  options.injector = InstalledLibrary("libstemtap_inject.so");
  return options;
}

namespace {

// Returns why a session contains no kernel launch, as far as is known.
std::string WhyNothing(const session::LiveOutcome& done) {
  if (!done.failure.empty()) return done.failure;
  for (const session::ProcessReport& process : done.report.processes) {
    if (!process.reason.empty()) return process.reason;
  }
  return done.report.warnings.empty() ? "the program launched no kernel"
                                      : done.report.warnings.front();
}

}  // namespace

Result<int> RunAndReport(const session::LiveOptions& options, bool require_kernels) {
  STEMTAP_TRY(CheckNoProfiler(options.command));
  // If a program already has the injector loaded, the file is not needed (and without /proc it
  // cannot be found).
  if (!options.command.empty() && ::access(options.injector.c_str(), R_OK) != 0) {
    if (errno != ENOENT) {
      return Error{fmt::format("{}: cannot be read: {}", options.injector, std::strerror(errno))};
    }
    return Error{
        fmt::format("{}: not found; this build has no injector (it needs CUPTI headers, see "
                    "docs/guide/install.md)",
                    options.injector)};
  }
  if (options.preload && options.injector.find_first_of(" :") != std::string::npos) {
    return Error{
        fmt::format("{}: LD_PRELOAD accepts no path with a space or colon; move stemtap to "
                    "another directory, or omit --preload",
                    options.injector)};
  }
  const session::LiveOutcome done = STEMTAP_TRY(session::RunLive(options));
  try {
    if (done.gave_up) {
      Fail({fmt::format("session given up: {}", done.failure)});
      return require_kernels ? kNothingRecorded : done.report.exit_code;
    }
    if (options.quiet) {
      Warn(done.report.incomplete);
    } else {
      PrintMessage(fmt::format("\n{}\nstemtap: session in {}\n",
                               session::SessionSummary(done.report, done.plan),
                               EscapeForTerminal(done.folder)));
      if (done.failure.empty() && done.plan.totals.samples != 0) {
        PrintNextReport(done.folder);
      }
    }
    if (!done.failure.empty()) Fail({done.failure});
    const model::PlanTotals& totals = done.plan.totals;
    if (require_kernels && totals.invocations + totals.excluded_invocations == 0) {
      return Error{
          fmt::format(
              "--require-kernels: no kernel launch was recorded (the program's exit code: {}): {}",
              done.report.exit_code, WhyNothing(done)),
          kNothingRecorded};
    }
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kWhat = "stemtap: out of memory at the end of the session\n";
    [[maybe_unused]] const auto told = ::write(STDERR_FILENO, kWhat.data(), kWhat.size());
  }
  // Return the program's exit code, regardless of the session's outcome.
  return done.report.exit_code;
}

}  // namespace stemtap::ui
