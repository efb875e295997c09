// SPDX-License-Identifier: Apache-2.0
//
// Tests stemtap/control.h in programs: captured launches have the ranges and steps that the program
// reports, and launches during pauses are not recorded. In tests/programs/ranges.c, the name of a
// kernel contains the range and step in which it is launched.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "injector/injected.h"
#include "injector/wait_until.h"
#include "shm/context_key.h"
#include "support/paths.h"

namespace stemtap::test {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kEach = 10;       // launches of a kernel per step
constexpr std::uint64_t kRareSteps = 10;  // of kernels that are launched in only one step
constexpr const char* kSteps = "40";
constexpr std::uint64_t kPaused = 1 + 10 * kEach;  // launches while paused
// Kernels take real time, so pauses and kernels use the same clock.
const Variables kVariables = {
    {"FAKE_GPU_CLOCK", "real"}, {"FAKE_GPU_CAPTURE_FACTOR", "1"}, {"STEMTAP_FLUSH_MS", "10"}};
constexpr const char* kRanges[] = {"prefill", "decode", "decode/attention", "worker", "none"};

// Place is the range and step of a launch.
struct Place {
  std::optional<std::string> range;
  std::optional<std::uint64_t> step;
  bool operator==(const Place&) const = default;
};

// Returns the place that the name of a kernel contains. If the occurrence of the launch in its
// process is unknown, the step is copied from `found`.
Place PlaceOf(const std::string& kernel, std::optional<std::uint64_t> occurrence,
              const Place& found) {
  Place place;
  const std::size_t at = kernel.find('@');
  const std::string range = kernel.substr(0, at);
  if (range != "none") place.range = range;
  if (at == std::string::npos) {
    place.step = occurrence ? *occurrence / kEach : found.step;
  } else if (kernel.substr(at + 1) != "none") {
    place.step = std::stoull(kernel.substr(at + 1));
  }
  return place;
}

Place PlaceOf(const Json& object) {
  Place place;
  if (object.contains("range")) place.range = object["range"].get<std::string>();
  if (object.contains("step")) place.step = object["step"].get<std::uint64_t>();
  return place;
}

Place PlaceOf(const Ring::Kernel& kernel) {
  Place place;
  if (!kernel.range.empty()) place.range = kernel.range;
  if (kernel.step != shm::kNoStep) place.step = kernel.step;
  return place;
}

std::vector<Json> Captures(const std::filesystem::path& session) {
  std::vector<Json> captures;
  std::istringstream lines(ReadFile(session / "mask.ndjson"));
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line);
    if (event["event"] == "capture") captures.push_back(std::move(event));
  }
  return captures;
}

// Returns the samples of a plan by launch index.
std::map<std::uint64_t, Json> Samples(const std::filesystem::path& plan) {
  std::map<std::uint64_t, Json> samples;
  const Json root = Json::parse(ReadFile(plan));
  for (const Json& kernel : root["kernels"]) {
    for (const Json& cluster : kernel["clusters"]) {
      for (const Json& sample : cluster["samples"]) {
        samples[sample["index"]] = sample;
        samples[sample["index"]]["kernel"] = kernel["name"];
      }
    }
  }
  return samples;
}

// Checks the captures of a session. Returns the captured kernels and their number of captures.
std::map<std::string, int> CheckSession(const std::filesystem::path& session,
                                        bool several_processes = false) {
  std::map<std::string, int> kernels;
  std::map<std::uint64_t, Place> places;
  for (const Json& event : Captures(session)) {
    CAPTURE(event.dump());
    const std::string kernel = event["kernel"];
    const Place place = PlaceOf(event);
    std::optional<std::uint64_t> occurrence;
    if (!several_processes) occurrence = event["occurrence"].get<std::uint64_t>();
    CHECK(place == PlaceOf(kernel, occurrence, place));
    places[event["index"]] = place;
    ++kernels[kernel];
  }
  for (const auto& [index, sample] : Samples(session / "plan.json")) {
    CAPTURE(sample.dump());
    REQUIRE(places.contains(index));
    CHECK(PlaceOf(sample) == places[index]);
  }
  return kernels;
}

// Checks that each kernel that is launched once was captured `times` times.
void CheckRare(const std::map<std::string, int>& kernels, int times) {
  std::vector<std::string> rare = {"setup@none", "none@none"};
  for (const std::string range : kRanges) {
    for (std::uint64_t step = 0; step < std::stoull(kSteps); step += kRareSteps) {
      rare.push_back(range + "@" + std::to_string(step));
    }
  }
  for (const std::string& kernel : rare) {
    CAPTURE(kernel);
    CHECK(kernels.contains(kernel));
    if (kernels.contains(kernel)) CHECK(kernels.at(kernel) == times);
  }
  CHECK_FALSE(kernels.contains("paused"));
}

Variables AtGate(const Variables& more = {}) {
  Variables variables = kVariables;
  variables.emplace_back("STEMTAP_LEVEL", "gate");
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

struct Run {
  explicit Run(const std::vector<std::string>& options = {"--level", "gate"},
               const std::vector<std::string>& arguments = {kSteps}) {
    std::vector<std::string> argv = {StemtapProgram(), "run", "-o", session().string()};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.emplace_back("--");
    for (const std::string& word : Command("ranges", arguments)) argv.push_back(word);
    ProcessOptions process = BareOptions(kVariables);
    process.cwd = dir.path();
    result = RunProcess(argv, process);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
  }
  std::filesystem::path session() const { return dir / "session"; }
  Json report() const { return Json::parse(ReadFile(session() / "session.json")); }

  TempDir dir;
  ProcessResult result;
};

TEST_CASE("every captured launch has the range and step of its thread") {
  Injected injected;
  constexpr std::uint32_t kFirstSlot = 7;
  std::uint32_t slot = kFirstSlot;
  for (const std::string range : kRanges) {
    const std::uint64_t hash = shm::NameHash(range.data(), range.size());
    REQUIRE(injected.gate().Publish(shm::NameKey(hash), slot));
    injected.gate().Grant(slot++, 1'000'000);
  }
  const ProcessResult result = injected.Run("ranges", {kSteps}, AtGate());
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.seen() == ring.kept() + ring.lost_records());
  CHECK(ring.paused() == kPaused);
  std::map<std::string, std::vector<const Ring::Kernel*>> kernels;
  for (const Ring::Kernel& kernel : ring.kernels()) kernels[kernel.name].push_back(&kernel);
  std::uint64_t captured = 0;
  for (auto& [name, launches] : kernels) {
    std::sort(launches.begin(), launches.end(), [](const auto* a, const auto* b) {
      return a->record.correlation_id < b->record.correlation_id;
    });
    for (std::uint64_t i = 0; i < launches.size(); ++i) {
      const Place place = PlaceOf(*launches[i]);
      CAPTURE(name);
      CAPTURE(i);
      if ((launches[i]->record.flags & shm::kFlagCaptured) == 0) {
        REQUIRE(place == Place{});
        continue;
      }
      ++captured;
      REQUIRE(place == PlaceOf(name, i, place));
    }
  }
  CHECK(captured == ring.captured());
  // All launches of five kernels, unless too many are in flight.
  CHECK(captured + ring.lost(shm::Loss::kCapturesDenied) >= 5 * kEach * std::stoull(kSteps));
  CHECK(captured > 500);
}

TEST_CASE("the mask and the plan contain the range and step of captured launches") {
  const Run run;
  CheckRare(CheckSession(run.session()), 1);
}

TEST_CASE("launches during a pause are counted and not recorded") {
  for (const std::string level : {"gate", "kernels"}) {
    CAPTURE(level);
    const Run run({"--level", level});
    const Json report = run.report();
    CHECK(report["counters"]["paused"] == kPaused);
    CHECK(report["processes"][0]["paused"] == kPaused);
    CHECK(report["counters"]["dropped"] == 0);
    CHECK(report["counters"]["gaps"] == 0);
    CHECK(ReadFile(run.session() / "plan.json").find("\"paused\"") == std::string::npos);
    CHECK(ReadFile(run.session() / "summary.txt")
              .find("101 launches were not recorded: the program had paused recording") !=
          std::string::npos);
  }
}

TEST_CASE("at the other levels, ranges and steps are not recorded") {
  const Run run({"--level", "kernels"});
  const std::vector<Json> captures = Captures(run.session());
  REQUIRE_FALSE(captures.empty());
  for (const Json& event : captures) REQUIRE(PlaceOf(event) == Place{});
  for (const auto& [index, sample] : Samples(run.session() / "plan.json")) {
    REQUIRE(PlaceOf(sample) == Place{});
  }
}

// Returns the launches of a plan by kernel and range.
std::map<std::pair<std::string, std::string>, std::uint64_t> Launches(const Json& plan) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> launches;
  for (const Json& kernel : plan["kernels"]) {
    launches[{kernel["name"], kernel.value("range", "")}] += kernel["invocations"].get<int>();
  }
  return launches;
}

constexpr std::uint64_t kStepCount = 40;

TEST_CASE("with --ranges, every launch counts to its range, at the levels gate and kernels") {
  for (const std::string level : {"gate", "kernels"}) {
    CAPTURE(level);
    const Run run({"--level", level, "--ranges"});
    const Json plan = Json::parse(ReadFile(run.session() / "plan.json"));
    std::map<std::string, std::uint64_t> by_range;
    for (const auto& [kernel, count] : Launches(plan)) {
      const auto& [name, range] = kernel;
      CAPTURE(name);
      const std::string expected = name.substr(0, name.find('@'));
      CHECK((range.empty() ? "none" : range) == expected);
      by_range[range] += count;
    }
    const std::uint64_t each = kEach * kStepCount + kStepCount / kRareSteps;
    const std::map<std::string, std::uint64_t> expected = {
        {"", each + 1},   {"prefill", each}, {"decode", each}, {"decode/attention", each},
        {"worker", each}, {"setup", 1}};
    CHECK(by_range == expected);
    REQUIRE(plan["ranges"].size() == expected.size());
    for (const Json& range : plan["ranges"]) {
      CHECK(range["invocations"] == by_range[range["range"]]);
      CHECK(range["observed_error"].get<double>() <= range["bound"].get<double>());
    }
    const Json report = run.report();
    CHECK(report["counters"]["dropped"] == 0);
    CHECK(report["counters"]["losses"].value("ranges_refused", 0) == 0);
    CHECK(report["processes"][0]["launches_gated"].get<std::uint64_t>() > 0);
    const std::string summary = ReadFile(run.session() / "summary.txt");
    CHECK(summary.find("decode/attention") != std::string::npos);
    CHECK(summary.find("(none)") != std::string::npos);
  }
}

TEST_CASE("--only-range samples the launches inside of the listed ranges, and counts the others") {
  for (const std::string level : {"gate", "kernels"}) {
    CAPTURE(level);
    const Run run({"--level", level, "--only-range", "decode,worker"});
    const Json plan = Json::parse(ReadFile(run.session() / "plan.json"));
    const std::uint64_t rare = kStepCount / kRareSteps;
    std::map<std::string, std::uint64_t> by_range;
    for (const auto& [kernel, count] : Launches(plan)) {
      const std::string& name = kernel.first;
      CAPTURE(name);
      CHECK(kernel.second == (name.starts_with("worker") ? "worker" : "decode"));
      by_range[kernel.second] += count;
    }
    CHECK(by_range["decode"] == 2 * (kEach * kStepCount + rare));
    CHECK(by_range["worker"] == kEach * kStepCount + rare);
    // Launches outside of the ranges: of prefill and of none, and one each of setup and none.
    CHECK(plan["totals"]["excluded_invocations"] == 2 * (kEach * kStepCount + rare) + 2);
    for (const Json& event : Captures(run.session())) {
      CAPTURE(event.dump());
      const std::string kernel = event["kernel"];
      CHECK((kernel.starts_with("decode") || kernel.starts_with("worker")));
    }
    CHECK(ReadFile(run.session() / "summary.txt").find("excluded by --only-range") !=
          std::string::npos);
  }
}

TEST_CASE("--skip-steps and --steps sample the launches of these steps exactly") {
  for (const std::string level : {"gate", "kernels"}) {
    CAPTURE(level);
    const Run run({"--level", level, "--skip-steps", "10", "--steps", "5"});
    const Json plan = Json::parse(ReadFile(run.session() / "plan.json"));
    std::map<std::string, std::uint64_t> expected;
    for (const std::string range : kRanges) {
      expected[range] = kEach * 5;
      expected[range + "@10"] = 1;
    }
    std::map<std::string, std::uint64_t> found;
    for (const auto& [kernel, count] : Launches(plan)) {
      CHECK(kernel.second.empty());
      found[kernel.first] += count;
    }
    CHECK(found == expected);
    for (const Json& event : Captures(run.session())) {
      CAPTURE(event.dump());
      if (level == "gate") CHECK((event["step"] >= 10 && event["step"] < 15));
      // Occurrences count the launches of all steps.
      const std::string kernel = event["kernel"];
      if (kernel.find('@') != std::string::npos) continue;
      const auto occurrence = event["occurrence"].get<std::uint64_t>();
      CHECK((occurrence >= kEach * 10 && occurrence < kEach * 15));
    }
  }
}

TEST_CASE("level graph has no ranges") {
  TempDir dir;
  ProcessOptions process = BareOptions(kVariables);
  process.cwd = dir.path();
  const ProcessResult result =
      RunProcess({StemtapProgram(), "run", "--level", "graph", "--ranges", "--", "true"}, process);
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("not supported at level graph") != std::string::npos);
}

TEST_CASE("launches in ranges beyond the maximum share one range and are counted") {
  const Run run({"--level", "gate"}, {kSteps, "many"});
  std::uint64_t others = 0;
  for (const Json& event : Captures(run.session())) {
    CAPTURE(event.dump());
    const bool in_range = !event["kernel"].get<std::string>().starts_with("none");
    CHECK(event.contains("range") == in_range);
    if (in_range) CHECK(event["range"] == "(other)");
    others += in_range;
  }
  CHECK(others > 16);
  CHECK(run.report()["counters"]["losses"]["ranges_refused"] == others);
  CHECK(run.report()["counters"]["dropped"] == 0);
}

TEST_CASE("the calls of a forked child have no effect") {
  const Run run({"--level", "gate"}, {kSteps, "fork"});
  CheckRare(CheckSession(run.session()), 1);
  CHECK(run.report()["counters"]["paused"] == kPaused);
}

TEST_CASE("a child that is forked before cuInit reports its own ranges and steps") {
  const Run run({"--level", "gate"}, {kSteps, "child"});
  const Json report = run.report();
  CHECK(report["processes"].size() == 2);
  CHECK(report["counters"]["paused"] == 2 * kPaused);
  const std::map<std::string, int> kernels = CheckSession(run.session(), true);
  CHECK(kernels.contains("setup@none"));
  CHECK(kernels.contains("decode/attention@30"));
  CHECK_FALSE(kernels.contains("paused"));
}

TEST_CASE("with only LD_PRELOAD, ranges are also recorded") {
  const TempDir dir;
  ProcessOptions process = BareOptions(AtGate({{"LD_PRELOAD", InjectorLibrary().string()},
                                               {"STEMTAP_COLLECTOR", StemtapProgram().string()},
                                               {"STEMTAP_OPTIONS", "-o session"}}));
  process.cwd = dir.path();
  const std::filesystem::path session = dir / "session";
  // Launches before the collector has started are not captured.
  Process program(Command("ranges", {"100000", "until", (dir / "end").string()}), process);
  CHECK(WaitUntil([&] {
    return std::filesystem::exists(session / "mask.ndjson") &&
           ReadFile(session / "mask.ndjson").find("decode/attention") != std::string::npos;
  }));
  std::ofstream(dir / "end") << "end";
  INFO(program.Wait().err);
  REQUIRE(program.Wait().exit_code == 0);
  REQUIRE(WaitUntil([&] { return std::filesystem::exists(session / "summary.txt"); }));
  CHECK_FALSE(CheckSession(session).empty());
}

TEST_CASE("in a process that is not recorded, the calls have no effect") {
  const TempDir dir;
  for (const Variables& variables :
       {Variables{}, Variables{{"CUDA_INJECTION64_PATH", "none"}},
        Variables{{"CUDA_INJECTION64_PATH", "/nowhere/libstemtap_inject.so"}}}) {
    ProcessOptions process = BareOptions(variables);
    process.cwd = dir.path();
    const ProcessResult result = RunProcess(Command("ranges", {"4"}), process);
    CHECK(result.exit_code == 0);
    CHECK(result.out.empty());
    CHECK(result.err.empty());
  }
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("the header finds the library by its exact name in both variables") {
  const TempDir dir;
  const auto copy = [&](const char* name) {
    std::filesystem::create_directories((dir / name).parent_path());
    std::filesystem::copy_file(STEMTAP_TEST_CONTROL_CALLS, dir / name);
    return (dir / name).string();
  };
  const std::string library = copy("here/libstemtap_inject.so");
  const std::string other = copy("here/not_libstemtap_inject.so");
  const std::string longer = copy("here/libstemtap_inject.so.1");
  const std::string calls = "step \npush outer\npush inner\npop \npop \nstop \nstart \n";
  struct Case {
    Variables variables;
    bool is_found;
  };
  for (const Case& c :
       {Case{{{"CUDA_INJECTION64_PATH", library}}, true},
        Case{{{"CUDA_INJECTION64_PATH", other}}, false},
        Case{{{"CUDA_INJECTION64_PATH", longer}}, false},
        Case{{{"CUDA_INJECTION64_PATH", ""}}, false}, Case{{{"LD_PRELOAD", library}}, true},
        Case{{{"LD_PRELOAD", other + ":" + library}}, true},
        Case{{{"LD_PRELOAD", ": " + longer + "  " + library + " "}}, true},
        Case{{{"LD_PRELOAD", other + " " + longer}}, false},
        Case{{{"LD_PRELOAD", library}, {"CUDA_INJECTION64_PATH", other}}, true}, Case{{}, false}}) {
    INFO((c.variables.empty() ? std::string() : c.variables[0].second));
    const ProcessResult result =
        RunProcess({STEMTAP_TEST_CONTROL_CALLER}, BareOptions(c.variables));
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    CHECK(result.out == (c.is_found ? calls + calls : ""));  // from C and from C++
  }
}

TEST_CASE("a merged session keeps ranges and steps") {
  const Run first;
  const Run second;
  const std::filesystem::path merged = first.dir / "merged";
  const ProcessResult result = RunProcess({StemtapProgram(), "merge", first.session().string(),
                                           second.session().string(), "-o", merged.string()});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  std::size_t marked = 0;
  for (const auto& [index, sample] : Samples(merged / "plan.json")) {
    const Place place = PlaceOf(sample);
    CAPTURE(sample.dump());
    CHECK(place == PlaceOf(sample["kernel"], std::nullopt, place));
    marked += place.range.has_value();
  }
  CHECK(marked > 2 * 16);
  CHECK(Json::parse(ReadFile(merged / "session.json"))["counters"]["paused"] == 2 * kPaused);
}

}  // namespace
}  // namespace stemtap::test
