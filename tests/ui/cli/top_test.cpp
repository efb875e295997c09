// SPDX-License-Identifier: Apache-2.0
// Tests stemtap top without a terminal.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "support/check_failure.h"
#include "support/stemtap.h"
#include "ui/top/made_overview.h"

using namespace stemtap::test;

namespace {

ProcessResult Top(const TempDir& dir, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "top");
  return RunStemtap(arguments, {.env = {{"LC_ALL", "C"}, {"TERM", "xterm"}}, .cwd = dir.path()});
}

void MakeSession(const TempDir& dir, const char* name, const MadeOverview& made) {
  std::filesystem::create_directories(dir / name);
  WriteOverview(dir / name, JsonOf(made));
}

}  // namespace

TEST_CASE("without a terminal, a snapshot is printed") {
  const TempDir dir;
  MakeSession(dir, "s", {});
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"s"}, {"s", "--once"}, {}, {(dir / "s/overview.json").string()}}) {
    const ProcessResult result = Top(dir, arguments);
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    CHECK(result.out.starts_with("stemtap top  running 0:12  python3 decode.py\n"));
    CHECK(result.out.find("gemm_alpha") != std::string::npos);
    CHECK(result.out.find('\x1B') == std::string::npos);
    for (const char c : result.out) CHECK(static_cast<unsigned char>(c) < 0x80);
  }
}

TEST_CASE("the overview is printed unchanged") {
  const TempDir dir;
  MadeOverview made;
  MakeSession(dir, "s", made);
  CHECK(Top(dir, {"s", "--json"}).out == JsonOf(made));
  const std::string both = Top(dir, {"s", "s", "--json"}).out;
  CHECK(both == "[" + JsonOf(made) + "," + JsonOf(made) + "]\n");
}

TEST_CASE("options of the table do not apply to the overview as JSON") {
  const TempDir dir;
  MakeSession(dir, "s", {});
  CHECK(Top(dir, {"s", "--once", "--filter", "alpha"}).out.find("gemm_alpha") != std::string::npos);
  CHECK(Top(dir, {"s", "--once", "--filter", "omega"}).out.find("gemm_alpha") == std::string::npos);
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--sort", "name"}, {"--top", "1"}, {"--filter", "alpha"}}) {
    CheckFailure(Top(dir, {"s", "--json", option[0], option[1]}), 2,
                 {option[0] + ": applies to the table, and --json prints the whole overview.json"});
  }
}

TEST_CASE("a snapshot of several sessions shows the state of each session") {
  const TempDir dir;
  MakeSession(dir, "rank0", {});
  dir.Write("rank1/mask.ndjson", "");
  MadeOverview ended;
  ended.state = "ended";
  MakeSession(dir, "rank2", ended);
  dir.Write("rank2/plan.json", "{}");
  const ProcessResult result = Top(dir, {"rank0", "rank1", "rank2"});
  CHECK(result.exit_code == 0);
  for (const char* line :
       {"\n1 running  1 ended  1 waiting\n",
        "\nwaiting for the first overview: rank1/overview.json: No such file or directory\n",
        "\nended, the plan is rank2/plan.json\n", "gemm_alpha"}) {
    CAPTURE(line);
    CHECK(result.out.find(line) != std::string::npos);
  }
  // An array of overviews is printed only if it is complete.
  CheckFailure(Top(dir, {"rank0", "rank1", "--json"}), 1, {"rank1/overview.json: No such file"});
  CheckFailure(Top(dir, {"rank1", "rank1"}), 1, {"rank1/overview.json: No such file"});
}

TEST_CASE("a session that cannot be shown is a one-line error") {
  const TempDir dir;
  CheckFailure(Top(dir, {"none"}), 1,
               {"none: no such directory; expected a session directory or a pid"});
  CheckFailure(Top(dir, {"."}), 1, {"contains no overview.json"});
  CheckFailure(Top(dir, {"4194305"}), 1, {"4194305", "no session of process 4194305"});
  dir.Write("s/mask.ndjson", "");
  CheckFailure(Top(dir, {"s"}), 1, {"overview.json: No such file"});
  dir.Write("s/overview.json", "{\"schema\": \"stemtap.over");
  CheckFailure(Top(dir, {"s"}), 1, {"s/overview.json: ", "expected an overview.json"});
  CheckFailure(Top(dir, {"s", "--json"}), 1, {"expected an overview.json"});
  CheckFailure(Top(dir, {"s", "--interval", "0"}), 2, {"--interval"});
  CheckFailure(Top(dir, {"s", "--interval", "nan"}), 2, {"--interval"});
}

TEST_CASE("a session is found by the process id of its collector") {
  const TempDir dir;
  MadeOverview made;
  made.pid = 4194305;  // above the maximum pid
  MakeSession(dir, "deep/down/s", made);
  std::filesystem::last_write_time(
      dir / "deep/down/s/overview.json",
      std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  const ProcessResult result = Top(dir, {"4194305", "--once"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.starts_with("stemtap top  killed 0:12"));
  CHECK(result.out.find("killed: its collector, process 4194305, is gone") != std::string::npos);
}
