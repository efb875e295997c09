// SPDX-License-Identifier: Apache-2.0
// Runs stemtap export as a user does.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/stemtap.h"

namespace stemtap::formats {
namespace {

using test::CheckFailure;
using test::ProcessResult;
using test::ReadFile;
using test::RunProcess;
using test::RunStemtap;
using test::TempDir;

// Planned holds a profile of eight launches on one device and its plan. All four launches of `b`
// are planned.
class Planned {
 public:
  explicit Planned(const std::string& device = "0") {
    std::string csv = "start_ns,duration_ns,device,stream,name\n";
    for (int i = 0; i < 8; ++i) {
      csv += std::to_string(1000 * i) + "," + std::to_string(i % 2 == 0 ? 10 : 4000 + 900 * i) +
             "," + device + "," + (i % 2 == 0 ? "7,a" : "7,b") + "\n";
    }
    profile_ = directory_.Write("profile.csv", csv).string();
    plan_ = (directory_ / "plan.json").string();
    const auto made =
        RunStemtap({"plan", profile_, "--exclude", "a", "--min-samples", "4", "-o", plan_});
    CAPTURE(made.err);
    REQUIRE(made.exit_code == 0);
  }

  ProcessResult Export(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"export", "--plan", plan_});
    return RunStemtap(arguments);
  }
  std::string At(const char* name) const { return (directory_ / name).string(); }
  void LoseProfile() const { std::filesystem::remove(profile_); }

  TempDir directory_;
  std::string profile_;
  std::string plan_;
};

TEST_CASE("the selection is on stdout, and notes are on stderr; excluded kernels count") {
  const Planned planned;
  const auto sieve = planned.Export({"--to", "sieve"});
  CAPTURE(sieve.err);
  REQUIRE(sieve.exit_code == 0);
  CHECK(sieve.out == "1\n3\n5\n7\n");
  CHECK(sieve.err.find("4 launches for the Sieve tracer") != std::string::npos);
  CHECK(sieve.err.find("--weights-csv") != std::string::npos);
  CHECK(planned.Export({"--to", "accelsim", "-o", "-"}).out.find("RANGE=\"2 4 6 8\"\n") !=
        std::string::npos);
}

TEST_CASE("launches on several streams are numbered in launch order") {
  // `a` and `b` ran on separate streams, `a` before `b`. The program launched them alternately.
  const auto exported = [](bool with_ids) {
    std::string csv =
        "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Strm,Name\n";
    for (int i = 0; i < 8; ++i) {
      const bool is_b = i >= 4;
      const std::string id = with_ids ? std::to_string(1 + 2 * (i % 4) + is_b) : "";
      csv += std::to_string(1000 * i) + "," + std::to_string(10 + 900 * i) + "," + id +
             ",1,1,1,32,1,1,GPU (0)," + (is_b ? "9,b" : "7,a") + "\n";
    }
    const TempDir directory;
    const std::string profile = directory.Write("trace.csv", csv).string();
    const std::string plan = (directory / "plan.json").string();
    REQUIRE(RunStemtap({"plan", profile, "--exclude", "a", "--min-samples", "4", "-o", plan})
                .exit_code == 0);
    return RunStemtap({"export", "--plan", plan, "--to", "sieve"});
  };
  const auto launched = exported(true);
  CHECK(launched.out == "1\n3\n5\n7\n");
  CHECK(launched.err.find("order of start") == std::string::npos);
  const auto started = exported(false);
  CHECK(started.out == "4\n5\n6\n7\n");
  CHECK(started.err.find("numbered in order of start") != std::string::npos);
}

TEST_CASE("a plan of several ranks finds its files") {
  const TempDir directory;
  const std::string a =
      directory.Write("a.csv", "duration_ns,device,name\n9,0,k\n9,0,k\n").string();
  const std::string b =
      directory.Write("b, c.csv", "duration_ns,device,name\n7,0,k\n9,0,k\n").string();
  const std::string plan = (directory / "plan.json").string();
  REQUIRE(RunStemtap({"plan", a, b, "--min-samples", "4", "-o", plan}).exit_code == 0);
  const auto exported = [&] { return RunStemtap({"export", "--plan", plan, "--to", "accelsim"}); };
  // A comma in a name is ambiguous in a list of names. The command reports this, and --profile
  // resolves it.
  CHECK(exported().exit_code == 1);
  std::filesystem::rename(b, directory / "b.csv");
  REQUIRE(RunStemtap({"plan", a, (directory / "b.csv").string(), "--min-samples", "4", "-o", plan})
              .exit_code == 0);
  CHECK(exported().out.find("RANGE=\"1-2\"\n") != std::string::npos);
}

TEST_CASE("launches of a plan of ranks with unknown devices cannot be numbered") {
  const TempDir directory;
  const std::string a =
      directory.Write("a.csv", "duration_ns,device,name\n9,0,k\n9,0,k\n").string();
  const std::string b = directory.Write("b.csv", "duration_ns,name\n7,k\n9,k\n").string();
  const std::string plan = (directory / "plan.json").string();
  for (const std::string& first : {a, b}) {
    REQUIRE(RunStemtap({"plan", first, b, "--min-samples", "4", "-o", plan}).exit_code == 0);
    for (const char* to : {"accelsim", "macsim", "nvbit"}) {
      CAPTURE(to);
      const auto made = RunStemtap({"export", "--plan", plan, "--to", to, "--plain-launches"});
      CHECK(made.exit_code == 1);
      CHECK(made.out.empty());
      CHECK(made.err.find("the devices of the launches of 2 ranks are unknown") !=
            std::string::npos);
    }
  }
}

TEST_CASE("files of a larger export do not remain next to a smaller export") {
  const Planned planned;
  const std::string script = planned.At("sel");
  const auto exported = [&](const char* mode) {
    return planned.Export({"--to", "ncu", "-o", script, "--mode", mode});
  };
  REQUIRE(exported("windows").exit_code == 0);
  REQUIRE(std::filesystem::exists(script + ".4.rsp"));
  const std::string before = ReadFile(script);
  REQUIRE(exported("windows").exit_code == 0);  // the same files again
  const auto refused = exported("kernels");
  CHECK(refused.exit_code == 1);
  CHECK(refused.err.starts_with("stemtap: " + script + ".2.rsp: could be mistaken for one of"));
  // Nothing was written or removed.
  CHECK(ReadFile(script) == before);
  CHECK(std::filesystem::exists(script + ".4.rsp"));
  // Unrelated file names do not conflict.
  std::filesystem::remove(script + ".2.rsp");
  std::filesystem::remove(script + ".3.rsp");
  std::filesystem::rename(script + ".4.rsp", script + ".four.rsp");
  planned.directory_.Write("sel.7", "");
  planned.directory_.Write("sel2.7.rsp", "");
  CHECK(exported("kernels").exit_code == 0);

  // A single Accel-Sim setting is written next to an earlier export with several settings.
  const std::string setting = planned.At("range");
  planned.directory_.Write("range.2", "# Launches to trace with Accel-Sim, 2 of 2, by stemtap.\n");
  const auto beside = planned.Export({"--to", "accelsim", "-o", setting});
  CHECK(beside.exit_code == 1);
  CHECK(beside.err.find("range.2: could be mistaken") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(setting));
  std::filesystem::remove(planned.At("range.2"));
  CHECK(planned.Export({"--to", "accelsim", "-o", setting}).exit_code == 0);
  CHECK(planned.Export({"--to", "csv", "-o", setting}).exit_code == 0);
}

TEST_CASE("an export writes files, weights and totals") {
  const Planned planned;
  const auto made = planned.Export({"--to", "ncu", "-o", planned.At("ncu.sh"), "--json", "--mode",
                                    "windows", "--weights-csv", planned.At("weights.csv")});
  CAPTURE(made.err);
  REQUIRE(made.exit_code == 0);
  const auto totals = nlohmann::json::parse(made.out);
  CHECK(totals.at("consumer") == "ncu");
  CHECK(totals.at("launches") == 4);
  CHECK(totals.at("runs") == 4);
  CHECK(totals.at("profile") == planned.profile_);
  CHECK(totals.at("files").size() == 6);
  for (const auto& file : totals.at("files"))
    CHECK_FALSE(ReadFile(file.get<std::string>()).empty());
  CHECK(ReadFile(planned.At("ncu.sh.2.rsp")) == "--launch-skip\n3\n--launch-count\n1\n");
  CHECK(ReadFile(planned.At("weights.csv")).find("\n3,3,0,7,b,1,") != std::string::npos);
  CHECK(RunProcess({"sh", "-n", planned.At("ncu.sh")}).exit_code == 0);
}

TEST_CASE("every export format writes output") {
  const Planned planned;
  const std::string kernels =
      planned.directory_
          .Write("kernelslist.g",
                 "kernel-2.traceg\nkernel-4.traceg\nkernel-6.traceg\nkernel-8.traceg\n")
          .string();
  const std::string config =
      planned.directory_
          .Write("kernel_config.txt",
                 "nvbit\n14\n-1\n./Kernel1/trace.txt\n./Kernel3/trace.txt\n./Kernel5/trace.txt\n"
                 "./Kernel7/trace.txt\n")
          .string();
  for (const char* to : {"accelsim", "accelsim-kernelslist", "macsim", "macsim-config", "sieve",
                         "nvbit", "ncu", "csv", "perfetto"}) {
    CAPTURE(to);
    std::vector<std::string> arguments = {"--to", to, "-o", planned.At("out.txt")};
    if (std::string(to) == "accelsim-kernelslist")
      arguments.insert(arguments.end(), {"--list", kernels});
    if (std::string(to) == "macsim-config") arguments.insert(arguments.end(), {"--list", config});
    const auto made = planned.Export(arguments);
    CAPTURE(made.err);
    CHECK(made.exit_code == 0);
    CHECK(made.out.empty());
    CHECK_FALSE(ReadFile(planned.At("out.txt")).empty());
    std::filesystem::remove(planned.At("out.txt"));
    const auto explained = planned.Export({"--to", to, "--explain"});
    if (explained.exit_code == 0) CHECK(explained.out.rfind(std::string(to) + ": ", 0) == 0);
  }
}

TEST_CASE("a list that is truncated in a line is an error") {
  const Planned planned;
  const std::string whole =
      "MemcpyHtoD,0x7f0000000000,64\nkernel-2.traceg\nkernel-4.traceg\nkernel-6.traceg\n"
      "kernel-8.traceg\nMemcpyDtoH,0x7f0000000000,64\n";
  const auto taken = [&](const std::string& list) {
    return planned.Export({"--to", "accelsim-kernelslist", "--list",
                           planned.directory_.Write("kernelslist.g", list).string()});
  };
  CHECK(taken(whole).exit_code == 0);
  // The list is truncated in the last two lines.
  for (std::size_t size = whole.size() - 1; size > whole.rfind("kernel"); --size) {
    if (whole[size - 1] == '\n') continue;
    CAPTURE(size);
    CheckFailure(taken(whole.substr(0, size)), 1, {"kernelslist.g", "may be cut"});
  }
  const std::string config =
      "nvbit\n14\n-1\n./Kernel1/trace.txt\n./Kernel3/trace.txt\n"
      "./Kernel5/trace.txt\n./Kernel7/trace.txt\n./Kernel9/tr";
  CheckFailure(planned.Export({"--to", "macsim-config", "--list",
                               planned.directory_.Write("kernel_config.txt", config).string()}),
               1, {"kernel_config.txt", "may be cut"});
}

TEST_CASE("--weights-csv is not suggested if it was given") {
  const Planned planned;
  for (const char* to : {"macsim", "sieve"}) {
    CAPTURE(to);
    const auto without = planned.Export({"--to", to});
    CHECK(without.err.find("--weights-csv") != std::string::npos);
    const auto with = planned.Export({"--to", to, "--weights-csv", planned.At("weights.csv")});
    CHECK(with.exit_code == 0);
    CHECK(with.err.find("--weights-csv") == std::string::npos);
  }
}

TEST_CASE("without the profile, some formats are written and others ask for the profile") {
  const Planned planned;
  planned.LoseProfile();
  CHECK(planned.Export({"--to", "csv"}).exit_code == 0);
  CheckFailure(planned.Export({"--to", "sieve"}), 1,
               {"plan.json", "--profile", "--plain-launches"});
  CheckFailure(planned.Export({"--to", "perfetto", "--plain-launches"}), 1, {"--profile FILE"});
  const auto plain = planned.Export({"--to", "sieve", "--plain-launches"});
  CHECK(plain.exit_code == 0);
  CHECK(plain.out == "1\n3\n5\n7\n");
  CheckFailure(planned.Export({"--to", "sieve", "--plain-launches", "--profile", "/nowhere/x.csv"}),
               1, {"/nowhere/x.csv"});
}

TEST_CASE("usage errors are reported") {
  const Planned planned;
  CheckFailure(planned.Export({"--to", "sieve", "--json"}), 2, {"-o FILE"});
  CheckFailure(planned.Export({"--to", "sieve", "--list", "x"}), 2, {"--list"});
  CheckFailure(planned.Export({"--to", "macsim-config"}), 2, {"--list FILE"});
  CheckFailure(planned.Export({"--to", "sieve", "--mode", "windows"}), 2,
               {"--mode applies to --to ncu"});
  CheckFailure(planned.Export({"--to", "csv", "--timeline-launches", "3"}), 2, {"perfetto"});
  CheckFailure(planned.Export({"--to", "nobody"}), 2, {"--to"});
  CheckFailure(
      planned.Export({"--to", "macsim-config", "--list", planned.plan_, "-o", planned.At("x")}), 2,
      {"'.'"});
  CheckFailure(planned.Export({"--to", "macsim-config", "--list", planned.plan_}), 1,
               {"plan.json:1", "expected nvbit"});
  CheckFailure(planned.Export({"--to", "sieve", "--device", "1"}), 1, {"no sample"});
  CheckFailure(planned.Export({"--to", "sieve", "-o", "/nowhere/ids.txt"}), 1,
               {"/nowhere/ids.txt"});
  CheckFailure(RunStemtap({"export", "--plan", planned.profile_, "--to", "csv"}), 1,
               {"expected a plan.json"});
}

}  // namespace
}  // namespace stemtap::formats
