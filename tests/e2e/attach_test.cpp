// SPDX-License-Identifier: Apache-2.0
//
// Processes that begin to record late: they wait for 'stemtap start' (STEMTAP_PAUSED), or were not
// prepared at all ('stemtap attach').
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "e2e/session.h"
#include "support/paths.h"
#include "support/process.h"

namespace stemtap::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLaunches = 60'000;

ProcessResult Stemtap(const std::vector<std::string>& words, const TempDir& scratch) {
  std::vector<std::string> argv = {StemtapProgram().string()};
  argv.insert(argv.end(), words.begin(), words.end());
  ProcessOptions options;
  options.cwd = scratch.path();
  return RunProcess(argv, options);
}

// A program that launches kernels for two seconds, and reports the truth of its launches.
class Program {
 public:
  explicit Program(const TempDir& scratch,
                   const std::vector<std::pair<std::string, std::string>>& variables = {})
      : scratch_(scratch) {
    const std::string profile = (scratch / "run.stemtap").string();
    if (!fs::exists(profile)) {
      REQUIRE(Stemtap({"generate", "llm-serve", "--launches", std::to_string(kLaunches), "-q", "-o",
                       profile},
                      scratch)
                  .exit_code == 0);
    }
    ProcessOptions options = OnFakeGpu(scratch);
    options.env.emplace_back("FAKE_GPU_CLOCK", "real");
    options.env.emplace_back("FAKE_GPU_TRUTH", (scratch / "truth").string());
    options.env.insert(options.env.end(), variables.begin(), variables.end());
    process_.emplace(std::vector<std::string>{(FakeGpuDir() / "stemtap_play").string(), profile,
                                              "--rate", "30000"},
                     options);
    // Until it launches kernels.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }

  std::string pid() const { return std::to_string(process_->pid()); }
  // Waits for the library's thread, which cuInit starts.
  bool WaitsForStart() const {
    for (int i = 0; i < 500 && threads() != 2; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return threads() == 2;
  }
  std::size_t threads() const {
    const fs::directory_iterator tasks("/proc/" + pid() + "/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
  }
  void Signal(int signal) { process_->Signal(signal); }
  void End() {
    const ProcessResult& result = process_->Wait();
    CHECK(result.exit_code == 0);
    CHECK(result.err.find("warning: nothing") == std::string::npos);
  }
  std::uint64_t OfTruth(const std::string& name) const {
    std::string text = ReadFile(scratch_ / "truth");
    text.resize(text.find('\n'));
    const std::size_t at = text.find(" " + name + " ");
    REQUIRE(at != std::string::npos);
    return std::stoull(text.substr(at + name.size() + 2));
  }

 private:
  const TempDir& scratch_;
  std::optional<Process> process_;
};

const std::pair<std::string, std::string> kPaused = {"STEMTAP_PAUSED", "1"};
const std::pair<std::string, std::string> kPreload = {"LD_PRELOAD", InjectorLibrary()};

// Waits until the collector that a library started has completed its session.
nlohmann::json SessionIn(const fs::path& session) {
  for (int i = 0; i < 500 && !fs::exists(session / "summary.txt"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return ReadJson(session / "session.json");
}

// Checks that the session contains all launches that the process made while it recorded.
void CheckComplete(const Program& program, const fs::path& session) {
  const auto report = SessionIn(session);
  REQUIRE(report.is_object());
  const std::uint64_t unrecorded = program.OfTruth("unrecorded");
  CHECK(program.OfTruth("launches") == kLaunches);
  CHECK(unrecorded > 0);
  CHECK(unrecorded < kLaunches);
  CHECK(report["counters"]["kept"] == kLaunches - unrecorded);
  CHECK(report["counters"]["dropped"] == 0);
}

TEST_CASE("a process that waits has one more thread and no files, until it is started") {
  for (const char* level : {"kernels", "gate"}) {
    CAPTURE(level);
    TempDir scratch;
    Program program(scratch, {kPaused, kPreload, {"STEMTAP_LEVEL", level}});
    CHECK(program.WaitsForStart());
    int files = 0;
    for (const auto& file : fs::directory_iterator(scratch.path())) {
      files += file.path().filename() != "run.stemtap";
    }
    CHECK(files == 0);
    const auto started = Stemtap({"start", program.pid(), "-o", "late"}, scratch);
    CHECK(started.exit_code == 0);
    CHECK(started.err == "stemtap: recording of " + program.pid() + ": on, session in " +
                             (scratch / "late").string() + "\n");
    // It is recorded now, as other processes are.
    CHECK(Stemtap({"stop", program.pid(), "-q"}, scratch).exit_code == 0);
    CHECK(Stemtap({"start", program.pid(), "-q"}, scratch).exit_code == 0);
    CHECK(Stemtap({"snapshot", "late", "-q"}, scratch).exit_code == 0);
    program.End();
    CheckComplete(program, scratch / "late");
  }
}

TEST_CASE("a process that cannot record says so when it is started") {
  TempDir scratch;
  Program program(scratch, {kPaused, kPreload, {"FAKE_CUPTI_OCCUPIED", "othertool"}});
  REQUIRE(program.WaitsForStart());
  const auto started = Stemtap({"start", program.pid(), "-o", "late"}, scratch);
  CHECK(started.exit_code == 1);
  CHECK(started.err == "stemtap: process " + program.pid() +
                           " does not record: CUPTI is in use by another tool: othertool\n");
  program.End();
  const auto report = SessionIn(scratch / "late");
  REQUIRE(report.is_object());
  CHECK(report["processes"][0]["state"] == "disabled");
}

TEST_CASE("a process that waits and is never started is not affected") {
  TempDir scratch;
  Program program(scratch, {kPaused, kPreload});
  program.End();
  CHECK(program.OfTruth("unrecorded") == kLaunches);
  CHECK(Stemtap({"start", program.pid()}, scratch).err ==
        "stemtap: there is no process " + program.pid() + "\n");
  // The end of the last thread ends the process, although the library's thread waits.
  ProcessOptions options = OnFakeGpu(scratch);
  options.env.insert(options.env.end(), {kPaused, kPreload});
  options.timeout = std::chrono::seconds(20);
  const auto alone =
      RunProcess({TestProgram("main_thread_gone").string(), "100", "return"}, OnFakeGpu(scratch));
  const auto waiting =
      RunProcess({TestProgram("main_thread_gone").string(), "100", "return"}, options);
  CHECK_FALSE(waiting.timed_out);
  CHECK(waiting.exit_code == alone.exit_code);
  CHECK(waiting.out == alone.out);
  CHECK(waiting.err == alone.err);
}

TEST_CASE("a process that was not prepared is attached to, and records from then on") {
  for (int i = 0; i < 3; ++i) {
    TempDir scratch;
    Program program(scratch);
    const auto attached = Stemtap(
        {"attach", program.pid(), "-o", "late", "--level", i == 0 ? "gate" : "kernels"}, scratch);
    CAPTURE(attached.err);
    if (attached.err.find("cannot be traced") != std::string::npos) {
      MESSAGE("SKIPPED: this machine does not allow tracing");
      return;
    }
    CHECK(attached.exit_code == 0);
    CHECK(attached.err.starts_with("stemtap: warning: the main thread of process "));
    CHECK(attached.err.ends_with("stemtap: recording of " + program.pid() + ": on, session in " +
                                 (scratch / "late").string() + "\n"));
    const auto again = Stemtap({"attach", program.pid()}, scratch);
    CHECK(again.exit_code == 1);
    CHECK(again.err.ends_with("it has the injected library already; 'stemtap start' starts it\n"));
    program.End();
    CheckComplete(program, scratch / "late");
  }
}

// A Python program that launches kernels until a file `done` exists, and prints their number.
constexpr const char* kPythonProgram = R"(
import os, sys
sys.path.insert(0, sys.argv.pop(1))
import victim
launches = 0
while not os.path.exists("done"):
    victim.launch(100)
    launches += 100
print(launches)
)";

// Attaches to a process of `interpreter`. Returns the messages of stemtap attach, without the
// session, or nothing if this machine does not allow tracing.
std::optional<std::string> AttachToPython(
    const fs::path& interpreter, const TempDir& scratch,
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::ofstream(scratch / "program.py") << kPythonProgram;
  ProcessOptions options = OnFakeGpu(scratch);
  options.env.emplace_back("FAKE_GPU_CLOCK", "real");
  options.env.emplace_back("FAKE_GPU_TRUTH", (scratch / "truth").string());
  options.env.insert(options.env.end(), variables.begin(), variables.end());
  Process program({interpreter.string(), "program.py", (SourceDir() / "tests/chaos").string()},
                  options);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const std::string pid = std::to_string(program.pid());
  const auto attached = Stemtap({"attach", pid, "-o", "late"}, scratch);
  CAPTURE(attached.err);
  std::ofstream(scratch / "done").close();
  const ProcessResult& result = program.Wait();
  CHECK(result.exit_code == 0);
  // Only the collector may print, its summary: Python would report an error of the script so.
  CHECK(result.err.find("Traceback") == std::string::npos);
  CHECK(result.err.find("Exception ignored") == std::string::npos);
  if (attached.err.find("cannot be traced") != std::string::npos) return {};
  CHECK(attached.exit_code == 0);
  const std::string end =
      "stemtap: recording of " + pid + ": on, session in " + (scratch / "late").string() + "\n";
  CHECK(attached.err.ends_with(end));
  const auto report = SessionIn(scratch / "late");
  REQUIRE(report.is_object());
  const std::uint64_t kept = report["counters"]["kept"];
  const std::string truth = ReadFile(scratch / "truth");
  const std::size_t at = truth.find(" unrecorded ");
  REQUIRE(at != std::string::npos);
  CHECK(kept > 0);
  CHECK(kept + std::stoull(truth.substr(at + 12)) == std::stoull(result.out));
  return attached.err.substr(0, attached.err.size() - std::min(attached.err.size(), end.size()));
}

TEST_CASE("a process of Python 3.14 or later loads the library itself") {
  fs::path interpreter;
  for (int minor = 14; minor < 20 && interpreter.empty(); ++minor) {
    interpreter = FindProgram("python3." + std::to_string(minor));
  }
  if (interpreter.empty()) {
    MESSAGE("SKIPPED: no Python 3.14 or later");
    return;
  }
  TempDir scratch;
  CHECK(AttachToPython(interpreter, scratch, {}) == "");
}

TEST_CASE("a process of Python that does not take requests is attached to as others are") {
  // An older Python with the name of a newer one.
  TempDir scratch;
  const auto prefix = RunProcess({"python3", "-c", "import sys; print(sys.prefix)"}, {});
  REQUIRE(prefix.exit_code == 0);
  const fs::path interpreter = scratch / "python3.14";
  const auto path =
      RunProcess({"python3", "-c", "import os, sys; print(os.path.realpath(sys.executable))"}, {});
  REQUIRE(path.exit_code == 0);
  fs::copy_file(path.out.substr(0, path.out.find('\n')), interpreter);
  const auto messages = AttachToPython(
      interpreter, scratch, {{"PYTHONHOME", prefix.out.substr(0, prefix.out.find('\n'))}});
  if (!messages) {
    MESSAGE("SKIPPED: this machine does not allow tracing");
    return;
  }
  CHECK(messages->starts_with("stemtap: warning: the main thread of process "));
  CHECK(messages->find('\n') == messages->size() - 1);
}

// Its main thread is often between two programs, or in one that has not begun yet.
TEST_CASE("a program that starts itself again and again survives being attached to") {
  TempDir scratch;
  Process program({TestProgram("exec_chain").string(), "40"}, OnFakeGpu(scratch));
  const std::string pid = std::to_string(program.pid());
  std::set<std::string> answers;
  for (bool runs = true; runs;) {
    const auto attached = Stemtap({"attach", "-q", pid}, scratch);
    CAPTURE(attached.err);
    if (attached.err.find("cannot be traced") != std::string::npos) {
      MESSAGE("SKIPPED: this machine does not allow tracing");
      return;
    }
    runs = attached.err.find("there is no such process") == std::string::npos &&
           attached.err.find("it has ended") == std::string::npos;
    answers.insert(attached.err);
  }
  const ProcessResult& result = program.Wait();
  CHECK(result.exit_code == 0);
  CHECK(result.out == "end\n");
  CHECK(result.err == "");
  CHECK(answers.size() > 2);
}

TEST_CASE("a process that is stopped is not attached to, and stays as it is") {
  TempDir scratch;
  Program program(scratch);
  program.Signal(SIGSTOP);
  const auto state = [&] {
    const std::string text = ReadFile("/proc/" + program.pid() + "/stat");
    return text.at(text.rfind(')') + 2);
  };
  while (state() != 'T') std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto attached = Stemtap({"attach", "-q", program.pid()}, scratch);
  CAPTURE(attached.err);
  if (attached.err.find("cannot be traced") == std::string::npos) {
    CHECK(attached.exit_code == 1);
    CHECK(attached.err == "stemtap: process " + program.pid() +
                              " was stopped; expected one that runs (kill -CONT " + program.pid() +
                              ")\n");
  }
  CHECK(state() == 'T');
  program.Signal(SIGCONT);
  program.End();
  CHECK(program.OfTruth("unrecorded") == kLaunches);
}

TEST_CASE("attaching is refused with the reason") {
  TempDir scratch;
  const auto refused = [&](const std::string& pid, const std::string& why) {
    const auto attached = Stemtap({"attach", pid}, scratch);
    CAPTURE(attached.err);
    CHECK(attached.exit_code == 1);
    CHECK(attached.err == "stemtap: process " + pid + " cannot be attached to: " + why + "\n");
  };
  refused(std::to_string(::getpid()),
          "it has not loaded CUDA (libcuda.so); attach when it uses the GPU");
  Program profiled(scratch, {{"NSYS_PROFILING_SESSION_ID", "1"}});
  refused(profiled.pid(), "Nsight Systems (nsys) is in it");
  refused("4194305", "there is no such process");
  CHECK(Stemtap({"attach", "x"}, scratch).exit_code == 2);
  CHECK(Stemtap({"start", std::to_string(::getpid())}, scratch).exit_code == 1);
}

}  // namespace
}  // namespace stemtap::test
