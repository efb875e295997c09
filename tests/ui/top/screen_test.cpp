// SPDX-License-Identifier: Apache-2.0
// Tests what stemtap top shows on a terminal.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>

#include "support/temp_dir.h"
#include "ui/top/made_overview.h"
#include "ui/top/terminal.h"

using namespace stemtap::test;

namespace {

namespace fs = std::filesystem;

fs::path MakeSession(const TempDir& dir, const char* name, const MadeOverview& made) {
  fs::create_directories(dir / name);
  WriteOverview(dir / name, JsonOf(made));
  return dir / name;
}

// Returns the number of the line that contains `text`, or -1 if there is none.
int LineOf(const std::string& screen, const std::string& text) {
  std::istringstream lines(screen);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.find(text) != std::string::npos) return number;
  }
  return -1;
}

bool Has(const std::string& screen, const std::string& text) {
  return LineOf(screen, text) >= 0;
}

// Writer rewrites the overview ten times a second.
class Writer {
 public:
  Writer(fs::path directory, MadeOverview made)
      : thread_([this, directory = std::move(directory), made = std::move(made)]() mutable {
          while (!stop_) {
            made.elapsed_s += 1;
            for (MadeKernel& kernel : made.kernels) kernel.invocations += 1000;
            WriteOverview(directory, JsonOf(made));
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          }
        }) {}
  ~Writer() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;  // written by the test, read by the thread
  std::thread thread_;
};

}  // namespace

TEST_CASE("a session fills a terminal of 80 by 24, and of 200 by 60") {
  Terminal::SkipWithoutTmux();
  const TempDir dir;
  MadeOverview made;
  made.kernels.clear();
  std::string words;
  for (int i = 0; i < 30; ++i) words += "_word";
  for (int i = 0; i < 100; ++i) {
    made.kernels.push_back({"kernel_" + std::to_string(i) + words, 100,
                            static_cast<std::uint64_t>(1000 - i) * 1000, 1});
  }
  MakeSession(dir, "s", made);
  Terminal terminal(dir, 80, 24);
  terminal.Line("$TOP s");
  REQUIRE(terminal.WaitFor("q quit"));
  std::string screen = terminal.Screen();
  CHECK(LineOf(screen, "stemtap top  running 0:12  python3 decode.py") == 0);
  CHECK(LineOf(screen,
               "q quit  h help  Enter clusters  Tab processes  / filter  s sort  p pause") == 23);
  CHECK(LineOf(screen, "LAUNCHES") == 5);
  CHECK(LineOf(screen, "kernel_0_") == 6);
  CHECK(LineOf(screen, "kernel_16_") == 22);
  CHECK(!Has(screen, "kernel_17_"));
  CHECK(Has(screen, "\u2588"));
  CHECK(terminal.AlternateScreen());

  terminal.Resize(200, 60);
  REQUIRE(terminal.WaitFor("kernel_43_"));
  screen = terminal.Screen();
  CHECK(LineOf(screen, "q quit") == 59);
  CHECK(LineOf(screen, "launches per second") == 5);
  CHECK(LineOf(screen, "bound (log), requested: 5.00 %") == 5);
  CHECK(LineOf(screen, "LAUNCHES") == 14);
  CHECK(LineOf(screen, "kernel_43_") == 58);
  CHECK(!Has(screen, "kernel_44_"));
  CHECK(Has(screen, "DURATIONS"));
  CHECK(Has(screen, words.substr(0, 100)));

  // Shrinks the terminal to one cell and enlarges it again.
  for (const auto& [columns, rows] :
       {std::pair(80, 6), {40, 3}, {20, 2}, {5, 1}, {1, 1}, {200, 1}}) {
    terminal.Resize(columns, rows);
    terminal.Keys({"j", "Down", "PageDown", "End", "h", "h", "Enter", "Left", "Tab", "Tab"});
  }
  terminal.Resize(80, 24);
  terminal.Keys({"Home"});
  REQUIRE(terminal.WaitFor("kernel_0_"));
  CHECK(LineOf(terminal.Screen(), "q quit") == 23);
  terminal.Keys({"q"});
  REQUIRE(terminal.WaitUntilGone("q quit"));
}

TEST_CASE("keys sort and filter kernels, open clusters and the help, and quit") {
  const TempDir dir;
  MakeSession(dir, "s", {});
  Terminal terminal(dir, 80, 24);
  terminal.Line("$TOP s");
  REQUIRE(terminal.WaitFor("q quit"));
  const auto row_of = [&](const char* name) { return LineOf(terminal.Screen(), name); };
  CHECK(row_of("gemm_alpha") < row_of("Softmax_beta"));
  terminal.Keys({"l"});
  CHECK(terminal.WaitUntil(
      [](const std::string& s) { return LineOf(s, "gemm_alpha") > LineOf(s, "Softmax_beta"); }));
  terminal.Keys({"r"});
  CHECK(terminal.WaitUntil(
      [](const std::string& s) { return LineOf(s, "relu") < LineOf(s, "gemm_alpha"); }));
  terminal.Keys({"t"});
  CHECK(terminal.WaitUntil(
      [](const std::string& s) { return LineOf(s, "gemm_alpha") < LineOf(s, "Softmax_beta"); }));

  terminal.Keys({"/", "S", "O", "F"});
  CHECK(terminal.WaitFor("filter: SOF"));
  CHECK(terminal.WaitUntilGone("gemm_alpha"));
  CHECK(Has(terminal.Screen(), "1 of 3"));
  terminal.Keys({"Escape"});
  CHECK(terminal.WaitFor("gemm_alpha"));
  terminal.Keys({"/", "r", "e", "Enter"});
  CHECK(terminal.WaitFor("filter: re (1 of 3"));
  terminal.Keys({"Escape"});
  CHECK(terminal.WaitFor("gemm_alpha"));

  terminal.Keys({"Down", "Right"});
  CHECK(terminal.WaitFor("SPREAD"));
  CHECK(Has(terminal.Screen(), "Softmax_beta"));
  terminal.Keys({"Left"});
  CHECK(terminal.WaitFor("gemm_alpha"));
  terminal.Keys({"Tab"});
  CHECK(terminal.WaitFor("4242 recording"));
  terminal.Keys({"Tab", "?"});
  CHECK(terminal.WaitFor("this help"));
  terminal.Keys({"Escape"});
  CHECK(terminal.WaitUntilGone("this help"));
  terminal.Keys({"F1"});
  CHECK(terminal.WaitFor("this help"));
  terminal.Keys({"F10"});
  CHECK(terminal.WaitUntilGone("this help"));
}

TEST_CASE("figures update while the session runs, freeze while paused, and stop at its end") {
  const TempDir dir;
  MadeOverview made;
  const fs::path session = MakeSession(dir, "s", made);
  made.elapsed_s = 100;
  Writer writer(session, made);
  Terminal terminal(dir, 100, 24);
  terminal.Line("$TOP s --interval 0.1");
  CHECK(terminal.WaitFor("1:50"));
  CHECK(terminal.WaitFor("1:55"));
  terminal.Keys({"p"});
  REQUIRE(terminal.WaitFor("running paused"));
  const std::string still = terminal.Screen();
  terminal.Keys({"h"});
  CHECK(terminal.WaitFor("this help"));
  terminal.Keys({"h"});
  CHECK(terminal.WaitUntilGone("this help"));
  CHECK(terminal.Screen() == still);
  terminal.Keys({"p"});
  CHECK(terminal.WaitUntilGone("paused"));
  CHECK(terminal.WaitUntil([&](const std::string& s) { return s != still; }));

  writer.Stop();
  made.state = "ended";
  made.elapsed_s = 7263;
  dir.Write("s/plan.json", "{}");
  WriteOverview(session, JsonOf(made));
  CHECK(terminal.WaitFor("ended 2:01:03"));
  CHECK(Has(terminal.Screen(), "ended, the plan is s/plan.json"));
  CHECK(terminal.AlternateScreen());  // the screen stays open
  terminal.Keys({"q"});
  CHECK(terminal.WaitUntilGone("ended 2:01:03"));
}

TEST_CASE("Ctrl-L redraws the screen after other output, and a pause ends immediately") {
  const TempDir dir;
  MadeOverview made;
  const fs::path session = MakeSession(dir, "s", made);
  Terminal terminal(dir, 80, 24);
  terminal.Line(
      "(until [ -e go ]; do sleep 0.1; done; printf '\\033[2J') & $TOP s --interval 3600");
  REQUIRE(terminal.WaitFor("gemm_alpha"));
  dir.Write("go", "");
  REQUIRE(terminal.WaitUntilGone("gemm_alpha"));
  terminal.Keys({"C-l"});
  CHECK(terminal.WaitFor("gemm_alpha"));
  terminal.Keys({"p"});
  CHECK(terminal.WaitFor("running paused"));
  made.elapsed_s = 99;
  WriteOverview(session, JsonOf(made));
  terminal.Keys({"p"});
  CHECK(terminal.WaitFor("running 1:39"));
}

TEST_CASE("a killed session is reported") {
  const TempDir dir;
  MadeOverview made;
  const pid_t collector = ::fork();
  if (collector == 0) {
    ::pause();
    ::_exit(0);
  }
  made.pid = collector;
  MakeSession(dir, "s", made);
  Terminal terminal(dir, 80, 24);
  terminal.Line("$TOP s --interval 0.1");
  CHECK(terminal.WaitFor("running 0:12"));
  ::kill(collector, SIGKILL);
  ::waitpid(collector, nullptr, 0);
  CHECK(terminal.WaitFor("killed: its collector, process " + std::to_string(collector)));
}

TEST_CASE("top waits for the first overview") {
  const TempDir dir;
  dir.Write("s/mask.ndjson", "");
  Terminal terminal(dir, 80, 24);
  terminal.Line("$TOP s --interval 0.1");
  CHECK(terminal.WaitFor("waiting for the first overview"));
  MakeSession(dir, "s", {});
  CHECK(terminal.WaitFor("gemm_alpha"));
}

TEST_CASE("the terminal is restored after any exit") {
  const TempDir dir;
  MakeSession(dir, "s", {});
  struct End {
    std::vector<std::string> keys;
    const char* signal;
    int code;
  };
  for (const End& end : {End{{"q"}, nullptr, 0}, End{{"C-c"}, nullptr, 130}, End{{}, "TERM", 143},
                         End{{}, "HUP", 129}, End{{"/", "x", "C-c"}, nullptr, 130}}) {
    CAPTURE(end.code);
    Terminal terminal(dir, 80, 24);
    terminal.Line("stty -a >before; $TOP s; echo \"code=$?\"; stty -a >after");
    REQUIRE(terminal.WaitFor("q quit"));
    CHECK(terminal.AlternateScreen());
    if (end.signal != nullptr) {
      // The current directory identifies this process, because others may run the same program.
      const ProcessResult sent =
          RunProcess({"sh", "-c",
                      std::string("for p in /proc/[0-9]*; do [ \"$(readlink $p/cwd)\" = \"$0\" ] "
                                  "&& tr '\\0' ' ' <$p/cmdline "
                                  "2>/dev/null | grep -q 'stemtap top s' && kill -") +
                          end.signal + " ${p#/proc/} && echo sent; done",
                      dir.path().string()});
      CHECK(sent.out == "sent\n");
    } else {
      terminal.Keys(end.keys);
    }
    CHECK(terminal.WaitFor("code=" + std::to_string(end.code)));
    CHECK(!terminal.AlternateScreen());
    CHECK(terminal.WaitUntil(
        [](const std::string& s) { return s.rfind("ready>") > s.find("code="); }));
    CHECK(!ReadFile(dir / "before").empty());
    CHECK(ReadFile(dir / "before") == ReadFile(dir / "after"));
    CHECK(!Has(terminal.Screen(), "gemm_alpha"));
    terminal.Line("echo typed");  // the input is echoed
    CHECK(terminal.WaitFor("echo typed"));
  }
}

TEST_CASE("top exits if its terminal closes, even without a signal") {
  const TempDir dir;
  MakeSession(dir, "s", {});
  {
    Terminal terminal(dir, 80, 24);
    // Programs inherit the signals that the shell ignores. After the terminal closes, only the file
    // contains the result. A shell with job control would not run that command.
    terminal.Line("sh -c \"trap '' HUP; $TOP s --interval 0.1; echo code=\\$? >ended\"");
    REQUIRE(terminal.WaitFor("q quit"));
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  while (ReadFile(dir / "ended").empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(ReadFile(dir / "ended") == "code=0\n");
}

TEST_CASE("keys are read from the terminal if stdin is a pipe") {
  const TempDir dir;
  MakeSession(dir, "s", {});
  Terminal terminal(dir, 80, 24);
  terminal.Line("echo word | $TOP s; echo \"code=$?\"");
  REQUIRE(terminal.WaitFor("q quit"));
  terminal.Keys({"?"});
  CHECK(terminal.WaitFor("this help"));
  terminal.Keys({"q"});
  CHECK(terminal.WaitFor("code=0"));
}

TEST_CASE("top stops and continues under job control") {
  const TempDir dir;
  MakeSession(dir, "s", {});
  Terminal terminal(dir, 80, 24);
  terminal.Line("stty -a >before; set -m");
  terminal.Line("$TOP s");
  REQUIRE(terminal.WaitFor("q quit"));
  terminal.Keys({"C-z"});
  REQUIRE(terminal.WaitFor("ready>"));
  CHECK(!terminal.AlternateScreen());
  terminal.Line("stty -a >after; echo \"stop\"ped");
  CHECK(terminal.WaitFor("stopped"));
  CHECK(ReadFile(dir / "before") == ReadFile(dir / "after"));
  terminal.Line("fg");
  CHECK(terminal.WaitFor("gemm_alpha"));
  CHECK(terminal.WaitFor("q quit"));
  terminal.Keys({"q"});
  CHECK(terminal.WaitUntilGone("q quit"));
}

TEST_CASE("names cannot control the terminal or shift other columns") {
  const TempDir dir;
  MadeOverview made;
  made.kernels[0].name = "\\u001b[2J\\u001b]0;owned\\u0007\\u0000";
  made.kernels[1].name =
      "\\u4e2d\\u6587\\u4e2d\\u6587\\u4e2d\\u6587\\u4e2d\\u6587\\u4e2d\\u6587\\u4e2d\\u6587\\u4e2d"
      "\\u6587\\u4e2d\\u6587";
  made.kernels[2].name = "\\u202eevil\\u0301\\u009b";
  MakeSession(dir, "s", made);
  Terminal terminal(dir, 80, 24);
  terminal.Line("$TOP s");
  REQUIRE(terminal.WaitFor("q quit"));
  const std::string screen = terminal.Screen();
  CHECK(Has(screen, "\\x1B[2J"));
  CHECK(Has(screen, "\u4e2d\u6587"));
  CHECK(Has(screen, "\\u{202E}evil"));
  CHECK(LineOf(screen, "q quit") == 23);
  CHECK(LineOf(screen, "\\x1B[2J") == 6);
  CHECK(LineOf(screen, "\u4e2d\u6587") == 7);
  CHECK(LineOf(screen, "\\u{202E}") == 8);
}

TEST_CASE("several ranks are shown together and separately") {
  const TempDir dir;
  MadeOverview first;
  MadeOverview second;
  second.kernels = {{"only_in_rank_1", 10, 10000, 1}};
  second.processes =
      R"([{"pid":4299,"program":"python3","state":"disabled","reason":"another profiler"}])";
  MakeSession(dir, "rank0", first);
  MakeSession(dir, "rank1", second);
  Terminal terminal(dir, 100, 24);
  terminal.Line("$TOP rank0 rank1");
  REQUIRE(terminal.WaitFor("2 sessions"));
  CHECK(Has(terminal.Screen(), "only_in_rank_1"));
  CHECK(Has(terminal.Screen(), "gemm_alpha"));
  CHECK(Has(terminal.Screen(), "1 of 2 processes are not recorded"));
  terminal.Keys({"]", "]"});
  CHECK(terminal.WaitFor("session 2 of 2, rank1"));
  CHECK(!Has(terminal.Screen(), "gemm_alpha"));
  terminal.Keys({"Tab"});
  CHECK(terminal.WaitFor("disabled"));
  CHECK(Has(terminal.Screen(), "another profiler"));
}

TEST_CASE("losses are colored unless colors are disabled, and the screen is ASCII without UTF-8") {
  const TempDir dir;
  MadeOverview made;
  made.dropped = 12;
  made.losses = R"({"ring_full":12})";
  MakeSession(dir, "s", made);
  {
    Terminal terminal(dir, 80, 24);
    terminal.Line("$TOP s");
    REQUIRE(terminal.WaitFor("ring_full"));
    CHECK(terminal.Colored().find("\x1B[31m") != std::string::npos);
  }
  {
    Terminal terminal(dir, 80, 24, "NO_COLOR=1");
    terminal.Line("$TOP s");
    REQUIRE(terminal.WaitFor("ring_full"));
    const std::string text = terminal.Colored();
    CHECK(text.find("\x1B[1m") != std::string::npos);
    for (const char* color : {"[31m", "[32m", "[33m", "[42m", "[46m", ";31", ";32"}) {
      CHECK(text.find(color) == std::string::npos);
    }
  }
  {
    Terminal terminal(dir, 80, 24, "LC_ALL=C");
    terminal.Line("$TOP s");
    REQUIRE(terminal.WaitFor("ring_full"));
    const std::string screen = terminal.Screen();
    CHECK(std::all_of(screen.begin(), screen.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
    CHECK(Has(screen, "@"));
  }
  {
    for (const char* name : {"TERM=dumb", "TERM=no_such_terminal", "TERM="}) {
      CAPTURE(name);
      Terminal terminal(dir, 80, 24, name);
      terminal.Line("$TOP s; echo code=$?");
      CHECK(terminal.WaitFor("code=0"));
      CHECK(Has(terminal.Screen(), "ring_full"));
      CHECK(!terminal.AlternateScreen());
    }
  }
}
