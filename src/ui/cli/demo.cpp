// SPDX-License-Identifier: Apache-2.0
// stemtap demo: runs the full workflow on the built-in simulated GPU. A small CUDA program plays a
// profile, kernel by kernel, under the injected library. Captures have the cost of a real tracer,
// and the session shows the savings. Without CUPTI headers at build time, the profile is replayed
// instead.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "formats/importers/ranks.h"
#include "formats/importers/registry.h"
#include "model/plan_summary.h"
#include "model/profile_writer.h"
#include "research/workloads/llm_decode.h"
#include "session/flags/sampling_flags.h"
#include "session/live_session.h"
#include "session/replay.h"
#include "shm/session_env.h"
#include "ui/cli/command_table.h"
#include "ui/cli/output.h"
#include "ui/cli/report_file.h"

namespace stemtap::ui {
namespace {

struct DemoArguments {
  session::SamplingFlags sampling;
  std::string profile;
  std::string output;
  std::optional<bool> real_time;  // nullopt: depends on the profile
  std::uint64_t launches = 400'000;
  double capture_factor = 1000.0;
  bool force = false;
  bool quiet = false;
};

constexpr Word<bool> kSpeeds[] = {{true, "real"}, {false, "full"}};

constexpr std::size_t kBatch = 65536;

// The player needs glibc, which musl-based systems such as Alpine do not have.
constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";

// Writes the launches as a binary profile, which the player reads.
Status WriteProfile(model::ProfileReader& reader, const std::string& path) {
  auto writer = STEMTAP_TRY(model::CreateProfileWriter(path));
  for (model::ProfileBatch batch;;) {
    if (STEMTAP_TRY(reader.Read(batch, kBatch)) == 0) break;
    STEMTAP_TRY(writer->Write(batch, reader.names(), reader.metric_names()));
  }
  return writer->Finish();
}

// Reports what tracing cost and what full tracing would have cost. `elapsed_s` is the duration of a
// real-time run, or 0 if kernels and captures took no real time.
std::string Story(const model::Plan& plan, const online::SamplerStatus& sampler, double elapsed_s,
                  double factor) {
  const double all = static_cast<double>(plan.totals.duration_ns) * 1e-9 * factor;
  const double captured = static_cast<double>(sampler.captured_duration_ns) * 1e-9 * factor;
  const std::string ran = elapsed_s > 0.0 ? fmt::format("the program ran {} with sampled tracing; ",
                                                        ShownSeconds(elapsed_s))
                                          : "";
  return fmt::format(
      "{}a capture slows its kernel {:.0f}x: {} captures cost {}\n"
      "tracing every kernel would have cost {} (computed, not run)\n",
      ran, factor, sampler.captured, ShownSeconds(captured), ShownSeconds(all));
}

Result<int> DemoByReplay(const DemoArguments& arguments, const std::string& profile,
                         const std::string& directory) {
  PrintMessage(
      "stemtap: the simulated GPU is not installed, or cannot run without glibc; the demo uses "
      "'stemtap replay' instead\n");
  const std::unique_ptr<model::ProfileReader> reader = STEMTAP_TRY(formats::OpenProfile(profile));
  session::ReplayOptions options;
  options.sampling = arguments.sampling.Options();
  options.listed = arguments.sampling.Listed();
  options.source = arguments.profile.empty() ? profile : arguments.profile;
  options.folder = directory;
  options.place = session::PlaceOf(!arguments.output.empty(), arguments.force);
  options.threads = arguments.sampling.threads();
  options.quiet = arguments.quiet;
  const session::SessionResult done = STEMTAP_TRY(session::RunReplay(*reader, options));
  const int printed =
      PrintText(fmt::format("{}\n{}session in {}\n", model::PlanSummary(done.plan),
                            Story(done.plan, done.sampler, 0.0, arguments.capture_factor),
                            EscapeForTerminal(done.folder)));
  if (!arguments.quiet) PrintNextReport(done.folder);
  return printed;
}

Result<int> DemoLive(const DemoArguments& arguments, const std::string& profile,
                     const std::string& directory) {
  const std::string fake_gpu = InstalledPath("lib/fake_gpu");
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const bool real = arguments.real_time.value_or(arguments.profile.empty());
  session::LiveOptions options;
  options.sampling = arguments.sampling.Options();
  options.listed = arguments.sampling.Listed();
  options.listed.emplace_back("level", std::string("gate"));
  options.listed.emplace_back("actuator", std::string("profiler"));
  // The simulated GPU records native durations, whether or not a launch is captured.
  options.listed.emplace_back("captured_times", std::string("native"));
  options.native_captures = true;
  options.command = {InstalledPath("lib/fake_gpu/stemtap_play"), profile};
  options.folder = directory;
  options.place = session::PlaceOf(!arguments.output.empty(), arguments.force);
  options.level = session::TraceLevel::kGate;
  options.actuator = "profiler";
  options.injector = InstalledLibrary("libstemtap_inject.so");
  options.threads = arguments.sampling.threads();
  options.quiet = arguments.quiet;
  options.environment = {
      // No rate limit: wall-clock seconds do not match the simulated time.
      fmt::format("{}=0", shm::kEnvMaxCaptures.name),
      fmt::format("LD_LIBRARY_PATH={}{}{}", fake_gpu, before != nullptr ? ":" : "",
                  before != nullptr ? before : ""),
      fmt::format("FAKE_GPU_CLOCK={}", real ? "real" : "virtual"),
      fmt::format("FAKE_GPU_CAPTURE_FACTOR={}", real ? arguments.capture_factor : 0.0)};
  const session::SessionResult done = STEMTAP_TRY(session::RunLive(options));
  if (!done.failure.empty()) return Error{done.failure};
  const int printed = PrintText(fmt::format(
      "\n{}\n{}session in {}\n", session::SessionSummary(done.session, done.plan),
      Story(done.plan, done.sampler, real ? done.session.elapsed_s : 0.0, arguments.capture_factor),
      EscapeForTerminal(done.folder)));
  if (!arguments.quiet) PrintNextReport(done.folder);
  return done.session.exit_code != 0 ? done.session.exit_code : printed;
}

Result<int> Demo(const DemoArguments& arguments) {
  STEMTAP_TRY(arguments.sampling.CheckOnline());
  const std::string directory =
      arguments.output.empty() ? DefaultDirectory("demo") : arguments.output;
  const std::string profile =
      (std::filesystem::temp_directory_path() / fmt::format("stemtap-demo-{}.stemtap", ::getpid()))
          .string();
  std::unique_ptr<model::ProfileReader> reader;
  if (arguments.profile.empty()) {
    PrintMessage(fmt::format("stemtap: an LLM decode loop of {}\n",
                             Plural(arguments.launches, "launch", "launches")));
    research::LlmDecodeOptions generated;
    generated.launches = arguments.launches;
    reader = research::MakeLlmDecode(generated);
  } else {
    reader = STEMTAP_TRY(formats::OpenRanks({&arguments.profile, 1}));
  }
  STEMTAP_TRY(WriteProfile(*reader, profile));
  const bool live = Exists(InstalledLibrary("libstemtap_inject.so")) &&
                    Exists(InstalledPath("lib/fake_gpu/stemtap_play")) && Exists(kLoader);
  const Result<int> code =
      live ? DemoLive(arguments, profile, directory) : DemoByReplay(arguments, profile, directory);
  std::filesystem::remove(profile);
  return code;
}

}  // namespace

CommandSpec DemoCommand() {
  CommandSpec command("demo", "run the full workflow on a built-in simulated GPU");
  auto arguments = std::make_shared<DemoArguments>();
  command
      .Add("--profile", &arguments->profile,
           "recorded run to play, see 'stemtap formats' (default: a generated LLM decode loop)")
      .File();
  command
      .Add("-o,--output", &arguments->output,
           "session directory to write (default: stemtap-demo-<pid>)")
      .Directory();
  AddForce(command, &arguments->force);
  command.Add("--speed", Choice(&arguments->real_time, kSpeeds),
              "real: kernels and captures take their real time; full: as fast as the CPU allows "
              "(default: real for the generated loop, full for a profile)");
  command.Add("-q,--quiet", &arguments->quiet, "no progress line and no next command");
  command.Add("--launches", &arguments->launches, "length of the generated loop")
      .In(1, 1'000'000'000)
      .Advanced()
      .excludes = "--profile";
  command
      .Add("--capture-factor", &arguments->capture_factor,
           "cost of a capture, as a multiple of its kernel's duration")
      .In(0.0, 1e6)
      .Advanced();
  arguments->sampling.AddTo(command);
  command.run = [arguments](const CommandSpec&) { return Demo(*arguments); };
  return command;
}

}  // namespace stemtap::ui
