// SPDX-License-Identifier: Apache-2.0
// Tests that each tool selects exactly the planned launches, for generated and real runs.
#include "stand_ins.h"

namespace stemtap::formats {
namespace {

using namespace stemtap::test;

// Returns 24 launches of three kernels. If `devices` is 2, every third launch is on the second
// device. If `graphs` is true, launches 8 to 15 are in a graph.
model::Profile Made(int devices = 1, bool graphs = false) {
  model::Profile profile;
  for (std::uint32_t i = 0; i < 24; ++i) {
    shm::KernelRecord r;
    const char* names[] = {"axpy", "void gemm<float>(float *, int)", "reduce"};
    r.name_id = profile.names.Intern(names[i % 5 % 3]);
    r.start_ns = 1000 * i;
    r.duration_ns = 100 + i;
    r.device = static_cast<std::uint16_t>(devices == 2 && i % 3 == 2 ? 1 : 0);
    r.stream = 7;
    r.grid[0] = r.grid[1] = r.grid[2] = 1;
    r.block[0] = r.block[1] = r.block[2] = 1;
    if (graphs && i >= 8 && i < 16) r.graph_id = 3;
    profile.records.push_back(r);
  }
  return profile;
}

// Checks every consumer that supports one counter per process, and Accel-Sim, for one process or
// for the process of one device.
void CheckNumbers(const model::Profile& profile, const model::Plan& plan, const Indices& planned,
                  const formats::ExportOptions& options, const Run& run) {
  CHECK_FALSE(planned.empty());
  CHECK(MacSimTraces(Exports("macsim", profile, plan, options).files[0].content, run) == planned);
  CHECK(SieveTraces(Exports("sieve", profile, plan, options).files[0].content, run) == planned);

  Indices traced;
  const formats::Exported nvbit = Exports("nvbit", profile, plan, options);
  const auto windows = WindowsSeen(nvbit.files[0].content, "START_GRID_NUM", "END_GRID_NUM");
  CHECK(windows.size() == nvbit.runs);
  for (const auto& [begin, end] : windows) {
    const Indices one = ProcessSelects(
        run, 0, [b = begin, e = end](std::uint64_t id) { return b <= id && id < e; });
    traced.insert(one.begin(), one.end());
  }
  CHECK(traced == planned);
}

Indices AccelSimUnion(const formats::Exported& exported, const Run& run) {
  Indices traced;
  for (const formats::ExportedFile& file : exported.files) {
    const std::string value = SourcedRange(file.content);
    CHECK_FALSE(value.empty());
    CHECK(value.find_first_not_of("0123456789- ") == std::string::npos);
    CHECK(value.size() <= 131050);
    const Indices one = AccelSimTraces(value, run);
    traced.insert(one.begin(), one.end());
  }
  return traced;
}

TEST_CASE("a run with one device and no graph is exported") {
  const model::Profile profile = Made();
  for (const Indices& planned : {Indices{0}, Indices{23}, Indices{0, 1, 2, 9, 11, 12, 23}}) {
    const model::Plan plan = PlanOf(profile, planned);
    CheckNumbers(profile, plan, planned, {}, {profile});
    CHECK(AccelSimUnion(Exports("accelsim", profile, plan), {profile}) == planned);
  }
  const formats::Exported merged =
      Exports("accelsim", profile, PlanOf(profile, {0, 1, 2, 9, 11, 12, 23}));
  CHECK(SourcedRange(merged.files[0].content) == "1-3 10 12-13 24");
  CHECK(merged.ids == 7);
  CHECK(merged.runs == 1);
}

TEST_CASE("a plan grouped by function selects the same launches for every tool") {
  const model::Profile profile = Made();
  const Indices planned = {0, 1, 2, 9, 11, 12, 23};
  const model::Plan by_name = PlanOf(profile, planned);
  const model::Plan plan = ByFunction(by_name);
  CheckNumbers(profile, plan, planned, {}, {profile});
  CHECK(AccelSimUnion(Exports("accelsim", profile, plan), {profile}) == planned);
  for (const char* to : {"accelsim", "macsim", "sieve", "nvbit", "ncu"}) {
    CAPTURE(to);
    const formats::Exported one = Exports(to, profile, by_name);
    const formats::Exported other = Exports(to, profile, plan);
    REQUIRE(one.files.size() == other.files.size());
    for (std::size_t i = 0; i < one.files.size(); ++i) {
      CHECK(one.files[i].content == other.files[i].content);
    }
  }
  CHECK(Exports("csv", profile, plan).files[0].content.find(",gemm,") != std::string::npos);
  CHECK(Exports("perfetto", profile, plan).files[0].content.find("\"gemm\"") != std::string::npos);
  model::Plan other = plan;
  other.kernels[0].name = "another";
  CHECK(RefusalOf("sieve", profile, other).find("the plan is from another run") !=
        std::string::npos);
}

TEST_CASE("each device has a context with its own counter") {
  const model::Profile profile = Made(2);
  // Launch 0 is the first launch on device 0, and launch 2 the first on device 1, so one setting
  // selects exactly these two.
  const Indices both = {0, 2};
  CHECK(AccelSimUnion(Exports("accelsim", profile, PlanOf(profile, both)), {profile}) == both);

  const Indices planned = {0, 5, 6, 8, 22};
  const model::Plan plan = PlanOf(profile, planned);
  CHECK(RefusalOf("accelsim", profile, plan).find("--device") != std::string::npos);
  for (const std::uint16_t device : {std::uint16_t{0}, std::uint16_t{1}}) {
    formats::ExportOptions options;
    options.counting.device = device;
    const formats::Exported exported = Exports("accelsim", profile, plan, options);
    const Indices traced = AccelSimUnion(exported, {profile});
    CHECK(OnDevice(profile, traced, device) == OnDevice(profile, planned, device));
    const std::size_t besides = traced.size() - OnDevice(profile, traced, device).size();
    CHECK(besides > 0);
    REQUIRE(exported.notes.size() == exported.files.size());
    CHECK(exported.notes[0].find(std::to_string(besides) + " launches") != std::string::npos);

    options.counting.processes = formats::Processes::kPerDevice;
    CheckNumbers(profile, plan, OnDevice(profile, planned, device), options,
                 {profile, false, device});
    options.counting.processes = formats::Processes::kOne;
    CheckNumbers(profile, plan, OnDevice(profile, planned, device), options, {profile});
  }
  formats::ExportOptions one;
  one.counting.processes = formats::Processes::kOne;
  CheckNumbers(profile, plan, planned, one, {profile});
}

TEST_CASE("a setting for several contexts of a process never contains two consecutive numbers") {
  const model::Profile profile = Made(2);
  // Device 0 launches 0, 1, 3, 4, 6, 7, ...; device 1 launches 2, 5, 8, ... Numbers 2 to 4 on each
  // device are planned.
  const Indices planned = {1, 3, 4, 5, 8, 11};
  const formats::Exported exported = Exports("accelsim", profile, PlanOf(profile, planned));
  REQUIRE(exported.files.size() == 2);
  CHECK(exported.runs == 2);
  CHECK(SourcedRange(exported.files[0].content) == "2 4");
  CHECK(SourcedRange(exported.files[1].content) == "3");
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0].starts_with("consecutive numbers are in different settings"));
  CHECK(AccelSimUnion(exported, {profile}) == planned);
  // Separate processes have separate settings.
  formats::ExportOptions options;
  options.counting.device = 0;
  options.counting.processes = formats::Processes::kPerDevice;
  const formats::Exported ranks = Exports("accelsim", profile, PlanOf(profile, planned), options);
  CHECK(ranks.files.size() == 1);
  CHECK(AccelSimUnion(ranks, {profile, false, 0}) == OnDevice(profile, planned, 0));
}

TEST_CASE("kernels in graphs shift later numbers, or are counted if graphs are off") {
  const model::Profile profile = Made(1, true);
  const Indices around = {1, 7, 16, 20};
  formats::ExportOptions options;
  options.counting.graphs = formats::Graphs::kUncounted;
  CheckNumbers(profile, PlanOf(profile, around), around, options, {profile});
  CHECK(SourcedRange(
            Exports("accelsim", profile, PlanOf(profile, around), options).files[0].content) ==
        "2 8-9 13");

  const Indices inside = {1, 9, 15, 20};
  options.counting.graphs = formats::Graphs::kOff;
  const model::Plan plan = PlanOf(profile, inside);
  CheckNumbers(profile, plan, inside, options, {profile, true});
  CHECK(AccelSimUnion(Exports("accelsim", profile, plan, options), {profile, true}) == inside);
}

TEST_CASE("a setting that does not fit into an environment variable is split") {
  const model::Profile profile = Made();
  const Indices planned = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22};
  formats::ExportOptions options;
  options.max_value_bytes = 9;
  const formats::Exported exported =
      Exports("accelsim", profile, PlanOf(profile, planned), options);
  CHECK(exported.files.size() == 4);
  CHECK(exported.runs == 4);
  CHECK(exported.files[0].suffix == ".1");
  CHECK(SourcedRange(exported.files[0].content) == "1 3 5 7 9");
  CHECK(SourcedRange(exported.files[1].content) == "11 13 15");
  CHECK(AccelSimUnion(exported, {profile}) == planned);
}

TEST_CASE("recorded runs with one device are exported exactly") {
  for (const char* name :
       {"assignment_bg_r19", "cloverleaf_nsys", "gtls_transit_search_a", "rodinia_gaussian_8k_a",
        "hta_trace_diff_control", "tracelens_vllm_prefilldecode_mi300x", "triosim_vgg13_h100"}) {
    const auto path = SharedPath(std::string("data/profiles/") + name + ".csv.gz");
    STEMTAP_SKIP_WITHOUT(path);
    CAPTURE(name);
    const model::Profile profile = Load(path.string());
    const model::Plan plan = MakePlan(profile);
    CheckNumbers(profile, plan, Planned(plan), {}, {profile});
    CHECK(AccelSimUnion(Exports("accelsim", profile, plan), {profile}) == Planned(plan));
    // With plain weights, the cluster sizes add up to the run.
    const MacSimList list = ReadMacSim(Exports("macsim", profile, plan).files[0].content);
    CHECK(list.launches == doctest::Approx(static_cast<double>(profile.records.size())));
  }
}

TEST_CASE("recorded runs with two devices are exported exactly") {
  for (const char* name : {"nsysai_mfu_2gpu_before", "hta_sampled_2rank"}) {
    const auto path = SharedPath(std::string("data/profiles/") + name + ".csv.gz");
    STEMTAP_SKIP_WITHOUT(path);
    CAPTURE(name);
    const model::Profile profile = Load(path.string());
    const model::Plan plan = MakePlan(profile);
    CHECK(RefusalOf("accelsim", profile, plan).find("--device") != std::string::npos);
    CHECK(RefusalOf("macsim", profile, plan).find("--processes") != std::string::npos);
    formats::ExportOptions options;
    options.counting.processes = formats::Processes::kOne;
    CheckNumbers(profile, plan, Planned(plan), options, {profile});
    options.counting.processes = formats::Processes::kPerDevice;
    for (const std::uint16_t device : {std::uint16_t{0}, std::uint16_t{1}}) {
      options.counting.device = device;
      const Indices planned = OnDevice(profile, Planned(plan), device);
      CheckNumbers(profile, plan, planned, options, {profile, false, device});
      const formats::Exported exported = Exports("accelsim", profile, plan, options);
      CHECK(AccelSimUnion(exported, {profile, false, device}) == planned);
    }
  }
}

TEST_CASE("a recorded run with graphs is exported exactly") {
  const auto path = SharedPath("data/profiles/cloverleaf_nsys.csv.gz");
  STEMTAP_SKIP_WITHOUT(path);
  model::Profile profile = Load(path.string());
  const model::Plan plan = MakePlan(profile);
  const Indices planned = Planned(plan);
  // These are all unplanned launches in the second quarter of the run.
  for (std::size_t i = profile.records.size() / 4; i < profile.records.size() / 2; ++i) {
    if (!planned.contains(i)) profile.records[i].graph_id = 1;
  }
  formats::ExportOptions options;
  options.counting.graphs = formats::Graphs::kUncounted;
  CheckNumbers(profile, plan, planned, options, {profile});
  CHECK(AccelSimUnion(Exports("accelsim", profile, plan, options), {profile}) == planned);
  options.counting.graphs = formats::Graphs::kOff;
  CheckNumbers(profile, plan, planned, options, {profile, true});
}

TEST_CASE("a recorded run with more ids than fit into a variable is exported exactly") {
  const auto path = SharedPath("data/profiles/particle_transformer_bs4.csv.gz");
  STEMTAP_SKIP_WITHOUT(path);
  const model::Profile profile = Load(path.string());
  Indices planned;
  for (std::uint64_t i = 0; i < profile.records.size(); i += 2) planned.insert(i);
  const model::Plan plan = PlanOf(profile, planned);
  const formats::Exported exported = Exports("accelsim", profile, plan);
  CHECK(exported.files.size() == 2);
  CHECK(exported.ids == planned.size());
  CHECK(AccelSimUnion(exported, {profile}) == planned);
}

}  // namespace
}  // namespace stemtap::formats
