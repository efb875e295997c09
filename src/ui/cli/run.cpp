// SPDX-License-Identifier: Apache-2.0
// stemtap run: records and samples a live program.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/text.h"
#include "fleet/background_member.h"
#include "session/engine.h"
#include "session/flags/command_line.h"
#include "session/flags/sampling_flags.h"
#include "session/live_session.h"
#include "session/metrics_server.h"
#include "shm/profiling_tools.h"
#include "shm/session_env.h"
#include "ui/cli/command_table.h"
#include "ui/cli/fleet_flags.h"
#include "ui/cli/job_merge.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;
using session::TraceLevel;

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

// Exit code if no kernel launch was recorded, for --require-kernels.
constexpr int kNothingRecorded = 3;

// Programs that run another program, which follows them and their options on the command line.
constexpr std::string_view kWrappers[] = {"chrt",    "env",     "ionice", "nice",
                                          "nohup",   "numactl", "setsid", "stdbuf",
                                          "taskset", "time",    "timeout"};

// Returns the profiling tool that the file is, by its name or the name of its link target.
const shm::ProfilingTool* ToolAt(const fs::path& program) {
  if (const shm::ProfilingTool* tool = shm::ToolOfProgram(program.c_str())) return tool;
  std::error_code ignored;
  return shm::ToolOfProgram(fs::canonical(program, ignored).c_str());
}

// Returns a usage error if `command` starts ncu, nsys or compute-sanitizer. A profiler and the
// injected library cannot be active together: nothing would be recorded, and ncu would not run its
// program. Looks through wrappers such as env and timeout. Accepts an empty command.
Status CheckNoProfiler(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const fs::path program = FindProgram(word);
    if (program.empty()) {
      if (&word == &command.front()) break;  // cannot be started; reported later
      continue;                              // an option or setting of a wrapper
    }
    if (const shm::ProfilingTool* tool = ToolAt(program)) {
      return Error{fmt::format("{}: {} does not work under stemtap; {}", EscapeForTerminal(word),
                               tool->name, tool->instead),
                   2};
    }
    if (std::find(std::begin(kWrappers), std::end(kWrappers), program.filename().string()) ==
        std::end(kWrappers)) {
      break;
    }
  }
  return Success{};
}

// LiveFlags contains the options of a live session.
class LiveFlags {
 public:
  void AddTo(session::CommandSpec& command);
  // Checks before the program starts that the options are compatible and that the files they name
  // exist.
  Status Check() const;
  Status CheckFleet() const;
  // Returns all live options except the command.
  session::LiveOptions Options() const;
  // Returns whether a session without a kernel launch is a failure.
  bool require_kernels() const { return require_kernels_; }
  const FleetFlags& fleet() const { return fleet_; }
  // Takes what the environment sets.
  void TakeVariables() { fleet_.TakeVariables(); }

 private:
  session::SamplingFlags sampling_;
  session::LiveOptions options_;  // without what Options() adds
  FleetFlags fleet_;
  std::string delay_;  // an Extent, as text
  std::string duration_;
  std::string window_;
  bool until_bound_ = false;
  std::string at_bound_ = "stop";  // stop, window or a command
  bool force_ = false;
  std::optional<std::uint32_t> captures_per_second_;
  std::string step_range_;
  bool require_kernels_ = false;
};

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

std::string IsExtent(const std::string& text) {
  const Result<session::Extent> extent = session::ParseExtent(text);
  return extent.ok() ? std::string() : extent.error().message;
}

std::string IsListenAddress(const std::string& text) {
  const Result<session::ListenAddress> address = session::ParseListenAddress(text);
  return address.ok() ? std::string() : address.error().message;
}

void LiveFlags::AddTo(session::CommandSpec& command) {
  command
      .Add("-o,--output", &options_.folder,
           "session directory to write (default: stemtap-<program>-<pid>)")
      .Directory();
  AddForce(command, &force_);
  command.Add("--level", Choice(&options_.level, kLevels), "what is timed:");
  fleet_.AddWithRankTo(command);
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
  command.Add("--paused", &options_.recording.paused,
              "record nothing until 'stemtap start' or the program's stemtap_start()");
  command
      .Add("--delay", &delay_,
           "begin to record after a time (30s, 5min) or after as many launches "
           "(20000launches)")
      .Type("TIME|LAUNCHES")
      .check = IsExtent;
  command.options.back().excludes = "--paused";
  command
      .Add("--duration", &duration_,
           "after this time, or as many launches, stop recording; the program continues")
      .Type("TIME|LAUNCHES")
      .check = IsExtent;
  command
      .Add("--window", &window_,
           "divide the run into windows of this time, or of as many launches: when one ends, its "
           "plan and results are written into window-NNNN in the session directory")
      .Type("TIME|LAUNCHES")
      .check = IsExtent;
  command.Add("--keep", &options_.keep, "with --window: keep the last N windows; 0: all")
      .In(0, 1e9)
      .Type("N");
  command.Add("--until-bound", &until_bound_,
              "when the error bound is met and has stayed met, say so and do what --then says");
  command
      .Add("--then", &at_bound_,
           "with --until-bound:\nstop: stop recording; the program continues\n"
           "window: end the window and begin the next one\n"
           "COMMAND: run a shell command, with the session directory as $1")
      .Type("stop|window|COMMAND");
  command
      .Add("--count-while-off", &options_.recording.count_while_off,
           "while recording is stopped, count the launches; this costs the same as recording them")
      .Advanced();
  command
      .Add("--metrics-address", &options_.metrics_address,
           "serve Prometheus metrics of the running session at http://HOST:PORT/metrics; without "
           "HOST only on this machine, with port 0 at any free port")
      .Type("HOST:PORT")
      .check = IsListenAddress;
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
      .Add("--step-range", &step_range_,
           "the ranges called NAME, or NAME#1, NAME#2, ..., begin the steps of the program; needs "
           "--level gate")
      .Type("NAME")
      .Advanced();
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
  const bool has_windows = !window_.empty() || (until_bound_ && at_bound_ == "window");
  if (options_.keep != 0 && !has_windows) {
    return Error{"--keep: keeps windows; expected --window TIME or LAUNCHES", 2};
  }
  if (at_bound_ != "stop" && !until_bound_) {
    return Error{"--then: says what to do when the bound is met; expected --until-bound", 2};
  }
  if (at_bound_.empty()) {
    return Error{"--then: is empty; expected stop, window or a command", 2};
  }
  const bool selects = sampling_.Options().launches.is_set();
  if (selects && options_.level == session::TraceLevel::kGraph) {
    return Error{
        "--ranges, --only-range, --skip-steps and --steps: not supported at level graph; expected "
        "--level kernels or --level gate",
        2};
  }
  if (!step_range_.empty() && options_.level != session::TraceLevel::kGate && !selects) {
    return Error{"--step-range numbers the steps of captured launches; expected --level gate", 2};
  }
  if (fleet_.is_set()) STEMTAP_TRY(CheckFleet());
  const std::optional<std::string> library = LibraryOf(options_.actuator);
  std::error_code ignored;
  if (library &&
      (!fs::is_regular_file(*library, ignored) || ::access(library->c_str(), R_OK) != 0)) {
    return Error{fmt::format("{}: cannot be read; expected a shared library", *library)};
  }
  return Success{};
}

Status LiveFlags::CheckFleet() const {
  STEMTAP_TRY(fleet_.Check(sampling_.Options()));
  if (!window_.empty() || (until_bound_ && at_bound_ == "window")) {
    return Error{"--fleet: the sessions of windows are not shared; expected no --window", 2};
  }
  if (!options_.share_captures) {
    return Error{"--fleet shares kernels; expected --share-captures on", 2};
  }
  return Success{};
}

session::LiveOptions LiveFlags::Options() const {
  session::LiveOptions options = options_;
  if (const std::optional<std::string> library = LibraryOf(options.actuator)) {
    // The program may change its directory, and the loader searches for a name without a slash.
    std::error_code ignored;
    const auto absolute = fs::absolute(*library, ignored);
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
  const auto list = [&](const char* name, const std::string& text, session::Extent& extent) {
    if (text.empty()) return;
    extent = session::ParseExtent(text).value();  // checked by the parser
    options.listed.emplace_back(name, text);
  };
  list("delay", delay_, options.recording.delay);
  list("duration", duration_, options.recording.duration);
  list("window", window_, options.window);
  for (const auto& [name, value] :
       {std::pair("paused", options.recording.paused),
        std::pair("count_while_off", options.recording.count_while_off)}) {
    if (value) options.listed.emplace_back(name, "on");
  }
  if (until_bound_) {
    using session::BoundAction;
    options.at_bound = at_bound_ == "stop"     ? BoundAction::kStop
                       : at_bound_ == "window" ? BoundAction::kWindow
                                               : BoundAction::kCommand;
    options.at_bound_command = at_bound_;
    options.listed.emplace_back("until_bound", at_bound_);
  }
  options.place = session::PlaceOf(!options.folder.empty(), force_);
  options.environment.push_back(fmt::format("{}={}", shm::kEnvMaxCaptures.name, captures));
  if (!step_range_.empty()) {
    options.environment.push_back(fmt::format("{}={}", shm::kEnvStepRange.name, step_range_));
  }
  options.threads = sampling_.threads();
  options.injector = InstalledLibrary("libstemtap_inject.so");
  return options;
}

// Returns why a session contains no kernel launch, as far as is known.
std::string WhyNothing(const session::SessionResult& done) {
  if (!done.failure.empty()) return done.failure;
  for (const session::ProcessReport& process : done.session.processes) {
    if (!process.reason.empty()) return process.reason;
  }
  return done.session.warnings.empty() ? "the program launched no kernel"
                                       : done.session.warnings.front();
}

// FleetMembership is the part of a run in the job of --fleet. The member is destroyed before the
// server that it talks to.
struct FleetMembership {
  std::string job;
  std::string note;                                 // BoundNote; empty: in no job
  std::unique_ptr<fleet::PrivateServer> server;     // null: not of this run
  std::unique_ptr<fleet::BackgroundMember> member;  // null: in no job
};

// Leaves the job with the session of this run.
void LeaveFleet(FleetMembership& fleet, const session::SessionResult& done) {
  if (fleet.member == nullptr) return;
  Status left = Success{};
  bool is_in_job = false;
  if (!done.gave_up) {
    left = fleet.member->Leave(done.folder);
    is_in_job = left.ok() && fleet.member->has_entered();
    if (is_in_job && !fleet.member->alone().empty()) Warn({fleet.member->alone()});
  }
  fleet.member.reset();  // ends its thread, so that the job does not wait for this run
  if (!is_in_job) fleet.note.clear();
  if (!left.ok()) {
    Warn(std::vector<std::string>{"the job lacks this run: " + left.error().message});
  }
}

// If this run has started the server of the job, waits for the other runs and merges the job.
void EndFleet(const FleetMembership& fleet, const session::SessionResult& done, bool quiet) {
  if (fleet.server == nullptr) return;
  const Status ended = EndJob(*fleet.server, fleet.job, done.folder, quiet);
  if (!ended.ok()) Fail(ended.error());
}

// Runs the session and prints its summary. Returns the exit code of `stemtap run`, which is the
// program's. Error (exit code kNothingRecorded): `require_kernels` is set and no kernel launch was
// recorded.
Result<int> RunAndReport(const session::LiveOptions& options, bool require_kernels,
                         FleetMembership& fleet) {
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
  const session::SessionResult done = STEMTAP_TRY(session::RunLive(options));
  try {
    LeaveFleet(fleet, done);
    if (done.gave_up) {
      Fail({fmt::format("session given up: {}", done.failure)});
      EndFleet(fleet, done, options.quiet);
      return require_kernels ? kNothingRecorded : done.session.exit_code;
    }
    if (options.quiet) {
      Warn(done.incomplete);
    } else {
      PrintMessage(fmt::format("\n{}\nstemtap: session in {}\n",
                               session::SessionSummary(done.session, done.plan),
                               EscapeForTerminal(done.folder)));
      if (done.failure.empty() && done.plan.totals.samples != 0) {
        PrintNextReport(done.folder);
      }
      if (fleet.server == nullptr && !fleet.note.empty()) PrintMessage(fleet.note);
    }
    if (!done.failure.empty()) Fail({done.failure});
    EndFleet(fleet, done, options.quiet);
    const model::PlanTotals& totals = done.plan.totals;
    if (require_kernels && totals.invocations + totals.excluded_invocations == 0) {
      return Error{
          fmt::format(
              "--require-kernels: no kernel launch was recorded (the program's exit code: {}): {}",
              done.session.exit_code, WhyNothing(done)),
          kNothingRecorded};
    }
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kWhat = "stemtap: out of memory at the end of the session\n";
    [[maybe_unused]] const auto told = ::write(STDERR_FILENO, kWhat.data(), kWhat.size());
  }
  // Return the program's exit code, regardless of the session's outcome.
  return done.session.exit_code;
}

void WarnAlone(const Error& error) {
  PrintMessage(fmt::format("stemtap: warning: {}; this run decides alone, and is not in the job\n",
                           error.message));
}

// Returns a function that enters the job at the server that `flags` name, as `make` returns it.
// Further tries are of the same run, because an earlier one may have reached the server.
template <typename Make>
fleet::BackgroundMember::Enter EntererOf(const FleetFlags& flags, const Make& make) {
  struct Tried {
    fleet::RedisUrl server;
    std::unique_ptr<fleet::Member> member;
  };
  const auto tried = std::make_shared<Tried>();
  return [&flags, make, tried]() -> Result<std::unique_ptr<fleet::Member>> {
    fleet::RedisUrl server = STEMTAP_TRY(flags.Server());
    if (tried->member == nullptr || tried->server != server) {
      tried->server = server;
      tried->member = make(std::move(server));
    }
    STEMTAP_TRY(tried->member->Join());
    return std::move(tried->member);
  };
}

// Enters the job of --fleet, or starts to. The program of a run whose server is elsewhere does not
// wait for it.
Result<FleetMembership> EnterFleet(const FleetFlags& flags, const session::LiveOptions& options) {
  FleetMembership fleet;
  fleet.job = flags.Job();
  fleet.note = flags.BoundNote();
  fleet.server = STEMTAP_TRY(flags.StartServer(options.quiet));
  constexpr std::uint64_t kFirst = session::Engine::kLiveObserveFirst;
  const fleet::AskingPace pace = session::CapturesOf(options) == session::Captures::kPerturb
                                     ? fleet::AskingPace::OfPerturbing(kFirst)
                                     : fleet::AskingPace{kFirst};
  const auto make = [&flags, sampling = options.sampling, pace](fleet::RedisUrl server) {
    return flags.NewMember(std::move(server), sampling, pace);
  };
  if (fleet.server == nullptr) {
    fleet.member = std::make_unique<fleet::BackgroundMember>(EntererOf(flags, make), WarnAlone);
    return fleet;
  }
  std::unique_ptr<fleet::Member> member = make(fleet.server->url());
  STEMTAP_TRY(member->Join());
  fleet.member = std::make_unique<fleet::BackgroundMember>(std::move(member));
  return fleet;
}

// Enters the job of --fleet. A run that cannot goes on alone, since its program must run.
FleetMembership JoinFleet(const LiveFlags& flags, const session::LiveOptions& options) {
  if (!flags.fleet().is_set()) return {};
  // A collector that the library has started did not check its options.
  const Status checked = flags.CheckFleet();
  Result<FleetMembership> fleet =
      checked.ok() ? EnterFleet(flags.fleet(), options) : Result<FleetMembership>(checked.error());
  if (fleet.ok()) return std::move(fleet).value();
  WarnAlone(fleet.error());
  return {};
}

struct RunArguments {
  LiveFlags live;
  std::vector<std::string> command;
  std::int32_t attach = 0;
};

Result<int> Run(RunArguments& arguments) {
  if (arguments.command.empty() == (arguments.attach == 0)) {
    return Error{"run: no program; expected stemtap run [options] -- PROGRAM [ARGUMENTS]", 2};
  }
  arguments.live.TakeVariables();
  // With --attach, the options come from the library's environment and are not checked.
  STEMTAP_TRY(arguments.attach == 0 ? arguments.live.Check() : Success{});
  session::LiveOptions options = arguments.live.Options();
  options.command = arguments.command;
  options.attach_pid = arguments.attach;
  if (options.folder.empty()) {
    options.folder = DefaultDirectory(
        arguments.command.empty() ? "session"
                                  : fs::path(arguments.command.front()).filename().string());
  }
  FleetMembership fleet = JoinFleet(arguments.live, options);
  if (fleet.member != nullptr) {
    options.director = [&fleet]() -> online::Director& {
      fleet.member->Start();
      return *fleet.member;
    };
  }
  return RunAndReport(options, arguments.live.require_kernels(), fleet);
}

}  // namespace

CommandSpec RunCommand() {
  CommandSpec command("run", "run a program and sample its kernels live");
  auto arguments = std::make_shared<RunArguments>();
  arguments->live.AddTo(command);
  // For the injected library, which starts a collector if 'stemtap run' did not.
  command.Add("--attach", &arguments->attach, "").Hidden();
  command.Add("program", &arguments->command,
              "the program and its arguments; all words after the program belong to it");
  command.ends_with_program = true;
  command.run = [arguments](const CommandSpec&) { return Run(*arguments); };
  return command;
}

}  // namespace stemtap::ui
