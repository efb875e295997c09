// SPDX-License-Identifier: Apache-2.0
// Tests that the ncu runs of the script profile exactly the planned launches, whatever ncu counts.
#include <algorithm>

#include "stand_ins.h"

namespace stemtap::formats {
namespace {

using namespace stemtap::test;

shm::KernelRecord Launch(model::Profile& profile, const std::string& name, std::uint32_t grid = 1) {
  shm::KernelRecord r;
  r.name_id = profile.names.Intern(name);
  r.duration_ns = 10;
  r.stream = 7;
  r.grid[0] = grid;
  r.grid[1] = r.grid[2] = 1;
  r.block[0] = 32;
  r.block[1] = r.block[2] = 1;
  return r;
}

model::Profile Of(const std::vector<std::string>& names) {
  model::Profile profile;
  for (const std::string& name : names) profile.records.push_back(Launch(profile, name));
  return profile;
}

std::string KernelId(const Arguments& call) {
  const auto at = std::find(call.begin(), call.end(), "--kernel-id");
  return at == call.end() ? std::string() : *(at + 1);
}

// Runs the script and collects the launches that its ncu runs profile.
Indices Profiled(const formats::Exported& exported, const Run& run, NcuCount count) {
  Indices all;
  const auto calls = NcuCalls(exported.files[0].content);
  CHECK(calls.size() == exported.runs);
  REQUIRE(exported.files.size() == 1 + calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    // The response file contains the same options, one per line.
    std::string lines;
    for (const std::string& argument : calls[i]) {
      CHECK(argument.find_first_of(" \t\n\"'\\") == std::string::npos);
      lines += argument + "\n";
    }
    CHECK(exported.files[i + 1].content == lines);
    const Indices one = NcuProfiles(calls[i], run, count);
    for (const std::uint64_t index : one) CHECK(all.insert(index).second);
  }
  return all;
}

formats::ExportOptions Demangled() {
  formats::ExportOptions options;
  options.ncu_names = formats::NcuNames::kDemangled;
  return options;
}

void CheckEveryWay(const model::Profile& profile, const Indices& planned,
                   const formats::ExportOptions& options = {}, int device = -1) {
  const formats::Exported exported = Exports("ncu", profile, PlanOf(profile, planned), options);
  const Indices expected =
      device < 0 ? planned : OnDevice(profile, planned, static_cast<std::uint16_t>(device));
  for (const NcuCount count : kNcuCounts) {
    CHECK(Profiled(exported, {profile, true, device}, count) == expected);
  }
}

TEST_CASE("each kernel has its own run if every ncu version reads its filter correctly") {
  const model::Profile profile = Of({"_Z3fooPf", "_Z3barv", "_Z3fooPf", "_Z3fooPf", "_Z3barv"});
  const formats::Exported exported = Exports("ncu", profile, PlanOf(profile, {0, 1, 3}));
  const auto calls = NcuCalls(exported.files[0].content);
  REQUIRE(calls.size() == 2);
  CHECK(calls[0] ==
        Arguments{"--kernel-name-base", "mangled", "--kernel-id", "::regex:^_Z3barv$:^(1)$"});
  CHECK(KernelId(calls[1]) == "::regex:^_Z3fooPf$:^(1|3)$");
  CheckEveryWay(profile, {0, 1, 3});
}

TEST_CASE("a kernel never shares a run, because ncu counts all launches that match the filter") {
  const model::Profile profile = Of({"a", "b", "c", "a", "b", "c", "a", "b(int)"});
  const formats::Exported exported =
      Exports("ncu", profile, PlanOf(profile, {0, 1, 3, 4, 5}), Demangled());
  const auto calls = NcuCalls(exported.files[0].content);
  REQUIRE(calls.size() == 3);
  CHECK(KernelId(calls[0]) == "::regex:^a$:^(1|2)$");
  CHECK(calls[0][2] == "--rename-kernels");
  CHECK(calls[0][3] == "no");
  CHECK(KernelId(calls[1]) == "::regex:^b$:^(1|2)$");
  CHECK(KernelId(calls[2]) == "::regex:^c$:^(2)$");
  // ncu may rename demangled names.
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0].find("--rename-kernels no") != std::string::npos);
  CheckEveryWay(profile, {0, 1, 3, 4, 5}, Demangled());
  CheckEveryWay(profile, {0, 1, 2, 7}, Demangled());
  const model::Profile mangled = Of({"_Z1av"});
  CHECK(Exports("ncu", mangled, PlanOf(mangled, {0})).notes.empty());
}

TEST_CASE("a plan grouped by function has a filter for each name, with the launches of that name") {
  const model::Profile profile =
      Of({"f<a>(b)", "f<c>(b)", "f<a>(b)", "f<c>(b)", "g(b)", "f<c>(b)"});
  formats::ExportOptions options = Demangled();
  options.ncu_runs = formats::NcuRuns::kKernels;
  const Indices planned = {2, 3, 4, 5};
  const model::Plan plan = ByFunction(PlanOf(profile, planned));
  const formats::Exported exported = Exports("ncu", profile, plan, options);
  const auto calls = NcuCalls(exported.files[0].content);
  REQUIRE(calls.size() == 3);
  CHECK(KernelId(calls[0]) == "::regex:^f<a>[(]b[)]$:^(2)$");
  CHECK(KernelId(calls[1]) == "::regex:^f<c>[(]b[)]$:^(2|3)$");
  CHECK(Profiled(exported, {profile, true, -1}, NcuCount::kName) == planned);
}

TEST_CASE("a name that does not fit into one argument with its launches is profiled by window") {
  const model::Profile profile = Of({"kernel", std::string(300, 'x'), "kernel"});
  formats::ExportOptions options;
  options.max_value_bytes = 400;
  const formats::Exported exported = Exports("ncu", profile, PlanOf(profile, {1, 2}), options);
  for (const Arguments& call : NcuCalls(exported.files[0].content)) {
    for (const std::string& argument : call) CHECK(argument.size() <= 400);
  }
  CheckEveryWay(profile, {1, 2}, options);
}

TEST_CASE("kernels with different or unknown launch configurations are profiled by window") {
  model::Profile profile = Of({"foo", "foo", "bar", "foo", "bar"});
  profile.records[3].grid[0] = 2;
  const formats::Exported exported = Exports("ncu", profile, PlanOf(profile, {0, 1, 3, 4}));
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0].starts_with("2 of the runs are windows"));
  const auto calls = NcuCalls(exported.files[0].content);
  REQUIRE(calls.size() == 3);
  CHECK(KernelId(calls[0]) == "::regex:^bar$:^(2)$");
  CHECK(calls[1] == Arguments{"--launch-skip", "0", "--launch-count", "2"});
  CHECK(calls[2] == Arguments{"--launch-skip", "3", "--launch-count", "1"});
  CheckEveryWay(profile, {0, 1, 3, 4});

  model::Profile unknown = Of({"foo", "foo"});
  unknown.records[1].grid[0] = shm::kUnknownExtent;
  CHECK(NcuCalls(Exports("ncu", unknown, PlanOf(unknown, {1})).files[0].content)[0][0] ==
        "--launch-skip");
}

TEST_CASE("kernels in graphs are counted like other kernels") {
  model::Profile profile = Of({"foo", "foo", "foo", "bar"});
  profile.records[1].graph_id = 4;
  CheckEveryWay(profile, {1, 2, 3});
}

TEST_CASE("hostile names reach ncu as data") {
  const std::vector<std::string> names = {"void ns::f<int>(float *, char)",
                                          "void ns::f<int>(float *, int)",
                                          "$(touch gone)'\"`id`",
                                          "a b;c|d&e",
                                          "x[1]*2.5+{y}^z\\w?",
                                          "caf\xC3\xA9(int)",
                                          "bad\xFFutf(int)",
                                          "line\nbreak(int)",
                                          "-f",
                                          "@rsp"};
  const model::Profile profile = Of(names);
  Indices all;
  for (std::uint64_t i = 0; i < names.size(); ++i) {
    CheckEveryWay(profile, {i});
    all.insert(i);
  }
  CheckEveryWay(profile, all);
  formats::ExportOptions kernels;
  kernels.ncu_runs = formats::NcuRuns::kKernels;
  CheckEveryWay(profile, {0, 1, 2, 3, 4, 7, 8, 9}, kernels);
  CHECK(RefusalOf("ncu", profile, PlanOf(profile, {5}), kernels).find("--mode windows") !=
        std::string::npos);
}

TEST_CASE("kernels that no filter can distinguish are not profiled by kernel") {
  // Only a wildcard can match colons, blanks and quotes.
  const model::Profile profile = Of({"a::b(int)", "a:'b(int)", "a::c(int)"});
  CheckEveryWay(profile, {0, 1, 2});
  formats::ExportOptions kernels;
  kernels.ncu_runs = formats::NcuRuns::kKernels;
  CHECK(RefusalOf("ncu", profile, PlanOf(profile, {0}), kernels).find("distinguishes") !=
        std::string::npos);
  CheckEveryWay(profile, {2}, kernels);
}

TEST_CASE("demangled names are matched only in NVIDIA's spelling") {
  const auto by_kernel = [](const std::string& name) {
    const model::Profile profile = Of({name});
    return !KernelId(NcuCalls(Exports("ncu", profile, PlanOf(profile, {0})).files[0].content)[0])
                .empty();
  };
  CHECK(by_kernel("void f<(int)128, float>(const float *, T2)"));
  CHECK_FALSE(by_kernel("void f<128, float>(float)"));
  CHECK_FALSE(by_kernel("void f<float, -4>(float)"));
  CHECK_FALSE(by_kernel("f(float*, int)"));
  CHECK_FALSE(by_kernel("void (anonymous namespace)::f(int)"));
  CHECK_FALSE(by_kernel("void f<g<int> >(int)"));
  CHECK_FALSE(by_kernel("void f<int>"));
}

TEST_CASE("many launches of a kernel are divided into runs that fit into an argument") {
  const model::Profile profile = Of(std::vector<std::string>(2000, "foo"));
  Indices planned;
  for (std::uint64_t i = 0; i < 2000; i += 3) planned.insert(i);
  formats::ExportOptions options;
  options.max_value_bytes = 1000;
  const formats::Exported exported = Exports("ncu", profile, PlanOf(profile, planned), options);
  CHECK(exported.runs == 4);
  for (const Arguments& call : NcuCalls(exported.files[0].content)) {
    for (const std::string& argument : call) CHECK(argument.size() <= 1000);
  }
  CheckEveryWay(profile, planned, options);
}

TEST_CASE("the script requires a program and stops at the first run that fails") {
  const model::Profile profile = Of({"foo", "bar"});
  TempDir directory;
  const std::string script =
      directory.Write("script", Exports("ncu", profile, PlanOf(profile, {0, 1})).files[0].content)
          .string();
  const auto bare = RunProcess({"sh", script});
  CHECK(bare.exit_code == 2);
  CHECK(bare.err.find("usage") != std::string::npos);
  const auto failed = RunProcess({"sh", script, "app"}, {.env = {{"NCU", "false"}}});
  CHECK(failed.exit_code == 1);
}

TEST_CASE("the script prints a table of each report, with the names of the plan") {
  for (const auto& [name, options] :
       {std::pair<std::string, std::string>{"_Z3foov", "--print-kernel-base mangled"},
        {"void foo<4>(int)", "--rename-kernels no"},
        {"foo", "--print-kernel-base function"}}) {
    CAPTURE(name);
    const model::Profile profile = Of({name, "bar", name});
    formats::ExportOptions windows;
    windows.ncu_runs = formats::NcuRuns::kWindows;
    const TempDir directory;
    directory.Write("script",
                    Exports("ncu", profile, PlanOf(profile, {0, 2}), windows).files[0].content);
    // The second run profiles nothing. --import prints its options.
    directory.Write("ncu",
                    "#!/bin/sh\nif [ \"$1\" = --import ]; then echo \"$LC_ALL $*\"; exit; fi\n"
                    "[ \"$2\" != 0 ] || : >stemtap.1.ncu-rep\n");
    std::filesystem::permissions(directory / "ncu", std::filesystem::perms::owner_all);
    for (const char* old : {"stemtap.2.ncu-rep", "stemtap.2.csv", "stemtap.3.csv"}) {
      directory.Write(old, "of an earlier run");
    }
    const auto ran =
        RunProcess({"sh", "script", "app"}, {.env = {{"NCU", "./ncu"}}, .cwd = directory.path()});
    CAPTURE(ran.err);
    REQUIRE(ran.exit_code == 0);
    CHECK(ReadFile(directory / "stemtap.1.csv") ==
          "C --import stemtap.1.ncu-rep --csv --page raw --print-units base " + options + "\n");
    CHECK(ran.err == "script: run 2 profiled none of its launches\n");
    for (const char* old : {"stemtap.2.ncu-rep", "stemtap.2.csv", "stemtap.3.csv"}) {
      CHECK_FALSE(std::filesystem::exists(directory / old));
    }
  }
}

TEST_CASE("recorded runs are exported for ncu exactly") {
  for (const char* name :
       {"assignment_bg_r19", "cloverleaf_nsys", "rodinia_gaussian_8k_a", "hta_trace_diff_control",
        "nsysai_mfu_2gpu_before", "hta_sampled_2rank", "tracelens_vllm_prefilldecode_mi300x"}) {
    const auto path = SharedPath(std::string("data/profiles/") + name + ".csv.gz");
    STEMTAP_SKIP_WITHOUT(path);
    CAPTURE(name);
    const model::Profile profile = Load(path.string());
    const Indices planned = Planned(MakePlan(profile));
    formats::ExportOptions options;
    options.counting.processes = formats::Processes::kOne;
    CheckEveryWay(profile, planned, options);
    formats::ExportOptions kernels = options;
    kernels.ncu_runs = formats::NcuRuns::kKernels;
    const formats::Exported filters = Exports("ncu", profile, PlanOf(profile, planned), kernels);
    for (const NcuCount count : {NcuCount::kMatches, NcuCount::kName}) {
      CHECK(Profiled(filters, {profile}, count) == planned);
    }
    if (OnDevice(profile, planned, 1).empty()) continue;
    options.counting.processes = formats::Processes::kPerDevice;
    options.counting.device = 1;
    CheckEveryWay(profile, planned, options, 1);
  }
}

}  // namespace
}  // namespace stemtap::formats
