// SPDX-License-Identifier: Apache-2.0
// Tests tool-independent selections and the timeline.
#include <cmath>
#include <nlohmann/json.hpp>

#include "stand_ins.h"

namespace stemtap::formats {
namespace {

using namespace stemtap::test;
using nlohmann::json;

model::Profile TwoDevices() {
  model::Profile profile;
  for (std::uint32_t i = 0; i < 6; ++i) {
    shm::KernelRecord r;
    r.name_id = profile.names.Intern(i % 2 == 0 ? "void f<int, 2>(\"a\")" : "bad\xFFname\n");
    r.start_ns = 5000 + 1987 * i;
    r.duration_ns = 1310 * i + 1;
    r.device = static_cast<std::uint16_t>(i % 2);
    r.stream = 7 + i / 4;
    r.grid[0] = r.grid[1] = r.grid[2] = 4;
    profile.records.push_back(r);
  }
  return profile;
}

TEST_CASE("csv contains one row per sample of the plan") {
  const model::Profile profile = TwoDevices();
  const formats::Exported exported = Exports("csv", profile, PlanOf(profile, {2, 5}));
  CHECK(exported.files[0].content ==
        "id,index,device,stream,kernel,occurrence,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
        "duration_ns,cluster,cluster_launches,cluster_samples,weight,plain_weight\n"
        "0,2,0,7,\"void f<int, 2>(\"\"a\"\")\",1,4,4,4,,,,2621,0,3,1,3,3\n"
        "1,5,1,8,\"bad\xFFname\n\",2,4,4,4,,,,6551,1,3,1,3,3\n");
}

TEST_CASE("csv protects names that a spreadsheet would evaluate") {
  for (const std::string name :
       {"=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1,1)", "\t=1", "\r=1"}) {
    CAPTURE(name);
    model::Profile profile;
    shm::KernelRecord r;
    r.name_id = profile.names.Intern(name);
    r.duration_ns = 1;
    profile.records.assign(2, r);
    const std::string csv = Exports("csv", profile, PlanOf(profile, {1})).files[0].content;
    CAPTURE(csv);
    const std::size_t cell = csv.find('\'');
    REQUIRE(cell != std::string::npos);
    CHECK(csv.find("'" + name.substr(0, 2)) == cell);
    CHECK((csv[cell - 1] == ',' || csv.substr(cell - 2, 2) == ",\""));
  }
}

TEST_CASE("weights of a selection have the ids of the tool") {
  const model::Profile profile = TwoDevices();
  const model::Plan plan = PlanOf(profile, {2, 5});
  const auto reader = model::ReadProfile(profile);
  const auto counted = formats::CountLaunches(plan, reader.get(), "",
                                              formats::FindConsumer("accelsim")->model, "it", {});
  REQUIRE(counted.ok());
  const std::string csv = formats::WeightsCsv(counted.value());
  CHECK(csv.find("\n2,2,0,7,") != std::string::npos);
  CHECK(csv.find("\n3,5,1,8,") != std::string::npos);
}

TEST_CASE("perfetto shows samples at their times with weight and cluster") {
  const model::Profile profile = TwoDevices();
  const model::Plan plan = PlanOf(profile, {2, 5});
  const json trace = json::parse(Exports("perfetto", profile, plan).files[0].content);
  std::map<std::pair<int, int>, std::string> tracks;
  Indices samples;
  Indices launches;
  for (const json& event : trace.at("traceEvents")) {
    const std::pair<int, int> track = {event.at("pid"), event.value("tid", 0)};
    if (event.at("ph") == "M") {
      if (event.at("name") == "thread_name") tracks[track] = event.at("args").at("name");
      continue;
    }
    REQUIRE(event.at("ph") == "X");
    const std::uint64_t index = event.at("args").at("index");
    const shm::KernelRecord& r = profile.records[index];
    CHECK(event.at("pid") == r.device);
    CHECK(std::llround(event.at("ts").get<double>() * 1000) ==
          static_cast<long long>(r.start_ns - 5000));
    CHECK(std::llround(event.at("dur").get<double>() * 1000) ==
          static_cast<long long>(r.duration_ns));
    const bool sample = event.at("cat") == "sample";
    CHECK(tracks.at(track) ==
          "stream " + std::to_string(r.stream) + (sample ? ", samples" : ", every launch"));
    if (index % 2 == 0) CHECK(event.at("name") == "void f<int, 2>(\"a\")");
    if (sample) CHECK(event.at("args").at("weight") == 3.0);
    CHECK((sample ? samples : launches).insert(index).second);
  }
  CHECK(samples == Indices{2, 5});
  CHECK(launches == Indices{0, 1, 2, 3, 4, 5});

  formats::ExportOptions few;
  few.timeline_launches = 5;
  const formats::Exported alone = Exports("perfetto", profile, plan, few);
  CHECK(alone.files[0].content.find("\"cat\":\"launch\"") == std::string::npos);
  CHECK(alone.files[0].content.find("\"cat\":\"sample\"") != std::string::npos);
  CHECK(alone.notes.size() == 1);
}

TEST_CASE("perfetto reports launches without start times and rejects samples without start times") {
  model::Profile profile = TwoDevices();
  const model::Plan plan = PlanOf(profile, {2});
  profile.records[0].start_ns = shm::kUnknownTime;
  CHECK(Exports("perfetto", profile, plan).notes[0].find("1 launch has no start time; not shown") !=
        std::string::npos);
  profile.records[2].start_ns = shm::kUnknownTime;
  CHECK(RefusalOf("perfetto", profile, plan).find("launch 2 has no start time") !=
        std::string::npos);
}

TEST_CASE("perfetto shows the samples that have a start time and reports the others") {
  model::Profile profile = TwoDevices();
  const model::Plan plan = PlanOf(profile, {2, 5});
  profile.records[2].start_ns = shm::kUnknownTime;
  const formats::Exported exported = Exports("perfetto", profile, plan);
  CHECK(exported.notes.back().find("1 sample has no start time; not shown") != std::string::npos);
  const std::string& text = exported.files[0].content;
  const std::size_t first = text.find("\"cat\":\"sample\"");
  CHECK(first != std::string::npos);
  CHECK(text.find("\"cat\":\"sample\"", first + 1) == std::string::npos);
}

TEST_CASE("perfetto exports of recorded runs are valid traces") {
  for (const char* name :
       {"nsysai_mfu_2gpu_before", "hta_sampled_2rank", "gtls_transit_search_a"}) {
    const auto path = SharedPath(std::string("data/profiles/") + name + ".csv.gz");
    STEMTAP_SKIP_WITHOUT(path);
    const model::Profile profile = Load(path.string());
    const model::Plan plan = MakePlan(profile);
    const json trace = json::parse(Exports("perfetto", profile, plan).files[0].content);
    Indices samples;
    std::size_t launches = 0;
    for (const json& event : trace.at("traceEvents")) {
      if (event.at("ph") != "X") continue;
      if (event.at("cat") == "sample")
        samples.insert(event.at("args").at("index").get<std::uint64_t>());
      if (event.at("cat") == "launch") ++launches;
    }
    CHECK(samples == Planned(plan));
    CHECK(launches == profile.records.size());
  }
}

TEST_CASE("--explain agrees with the export") {
  const model::Profile profile = TwoDevices();
  const model::Plan plan = PlanOf(profile, {2, 5});
  const auto reader = model::ReadProfile(profile);
  const formats::Consumer& consumer = *formats::FindConsumer("accelsim");
  const auto counted = formats::CountLaunches(plan, reader.get(), "", consumer.model, "it", {});
  REQUIRE(counted.ok());
  const std::string text = formats::Explain(consumer, counted.value(), 1);
  CHECK(text.find("from      1, in each CUDA context") != std::string::npos);
  CHECK(text.find("3 on device 0, 3 on device 1") != std::string::npos);
  CHECK(text.find("           2       0            2  void f<int") != std::string::npos);
  CHECK(text.find("1 more") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::formats
