// SPDX-License-Identifier: Apache-2.0
#include "cli/live_flags.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/output.h"

namespace stemtap::cli {

void LiveFlags::AddTo(CLI::App& command) {
  command.add_option("-o,--output", output_,
                     "session folder to write (default: stemtap-<program>-<pid>)");
  command
      .add_option("--level", level_,
                  "graph: time a graph launch as one; kernels: time every kernel, decide "
                  "afterwards; gate: also decide at each launch")
      ->check(CLI::IsMember({"graph", "kernels", "gate"}))
      ->capture_default_str();
  command
      .add_option("--actuator", actuator_,
                  "what a capture does: log only, or bracket the launch with cuProfilerStart/Stop")
      ->check(CLI::IsMember({"log", "profiler"}))
      ->capture_default_str();
  command
      .add_option("--max-overhead", max_overhead_,
                  "percent of the program's time; recording stops when it costs more (default: no "
                  "limit)")
      ->check(CLI::Range(0.001, 100.0));
  command.add_flag("--preload", preload_, "load the library by LD_PRELOAD too");
  command.add_flag("--chain", chain_, "load the library that CUDA_INJECTION64_PATH names as well");
  command.add_flag("-q,--quiet", quiet_, "no progress line and no summary");
  sampling_.AddTo(command);
}

LiveOptions LiveFlags::Options() const {
  LiveOptions options;
  options.sampling = sampling_.Options();
  options.listed = sampling_.Listed();
  options.listed.emplace_back("level", level_);
  options.listed.emplace_back("actuator", actuator_);
  if (max_overhead_ > 0) options.listed.emplace_back("max_overhead", max_overhead_);
  options.folder = output_;
  options.level = level_;
  options.actuator = actuator_;
  options.max_overhead = max_overhead_;
  options.preload = preload_;
  options.chain = chain_;
  options.threads = sampling_.threads();
  options.quiet = quiet_;
  options.injector = InstalledPath("lib/libstemtap_inject.so");
  return options;
}

int RunAndReport(const LiveOptions& options) {
  if (!std::filesystem::exists(options.injector)) {
    return Fail(
        {fmt::format("{}: not found; this build has no injector (it needs CUPTI headers, see "
                     "README)",
                     options.injector)});
  }
  Result<LiveOutcome> outcome = RunLive(options);
  if (!outcome.ok()) return Fail(outcome.error());
  const LiveOutcome& done = outcome.value();
  if (!options.quiet && !done.gave_up) {
    Tell(fmt::format("\n{}\nstemtap: session in {}\n", SessionSummary(done.report, done.plan),
                     options.folder));
  }
  // The exit code is the program's, whatever became of the session.
  if (!done.failure.empty()) Fail({done.failure});
  return done.report.exit_code;
}

}  // namespace stemtap::cli
