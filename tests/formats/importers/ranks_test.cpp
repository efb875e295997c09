// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/ranks.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "model/profile.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

Result<model::Profile> Load(const std::vector<std::string>& paths) {
  Result<std::unique_ptr<model::ProfileReader>> reader = OpenRanks(paths);
  if (!reader.ok()) return reader.error();
  return model::LoadProfile(*reader.value());
}

TEST_CASE("several files are consecutive ranks of one run with renumbered devices") {
  const test::TempDir directory;
  const std::string a = directory.Write("a.csv",
                                        "start_ns,duration_ns,device,m,name\n"
                                        "900,1,3,0.5,x\n950,2,1,,y\n960,3,3,2,x\n");
  const std::string b = directory.Write("b.csv",
                                        "start_ns,duration_ns,device,other,name\n"
                                        "5,4,3,7,y\n6,5,,8,z\n");
  const Result<model::Profile> read = Load({a, b});
  REQUIRE(read.ok());
  const model::Profile& run = read.value();
  REQUIRE(run.records.size() == 5);
  const auto column = [&](auto of) {
    std::vector<std::uint64_t> values;
    for (const shm::KernelRecord& record : run.records) values.push_back(of(record));
    return values;
  };
  using Values = std::vector<std::uint64_t>;
  CHECK(column([](const auto& r) { return r.duration_ns; }) == Values{1, 2, 3, 4, 5});
  CHECK(column([](const auto& r) { return r.start_ns; }) == Values{900, 950, 960, 5, 6});
  // Rank 0 uses devices 3 and 1 in either order. Rank 1 uses device 3 and an unknown device.
  CHECK(column([](const auto& r) { return r.device; }) == Values{1, 0, 1, 2, shm::kUnknown16});
  std::string names;
  for (const shm::KernelRecord& record : run.records) names += run.names.name(record.name_id);
  CHECK(names == "xyxyz");
  REQUIRE(run.metric_names == std::vector<std::string>{"m", "other"});
  CHECK(run.metrics[0][2] == 2.0);
  CHECK(std::isnan(run.metrics[0][3]));
  CHECK(std::isnan(run.metrics[1][0]));
  CHECK(run.metrics[1][4] == 8.0);
}

TEST_CASE("ranks have the ranges and steps that their files contain") {
  const test::TempDir directory;
  const std::vector<std::string> paths = {
      directory.Write("a.csv", "duration_ns,device,name\n1,0,k\n"),
      directory.Write("b.csv", "duration_ns,device,name,range,step\n2,0,k,x/y,3\n3,0,k,,\n")};
  model::LaunchSelection whole;
  whole.by_range = true;
  const auto reader = OpenRanks(paths, {}, whole);
  REQUIRE(reader.ok());
  CHECK(reader.value()->marks() == model::ProfileMarks{true, true});
  const Result<model::Profile> run = model::LoadProfile(*reader.value());
  REQUIRE(run.ok());
  REQUIRE(run.value().records.size() == 3);
  CHECK(run.value().names.range(run.value().records[1].name_id) == "x/y");
  CHECK(run.value().records[2].name_id == run.value().records[0].name_id);
  CHECK(run.value().steps == std::vector<std::uint64_t>{shm::kNoStep, 3, shm::kNoStep});

  const Result<model::Profile> plain = Load(paths);
  REQUIRE(plain.ok());
  CHECK(plain.value().marks == model::ProfileMarks{false, true});
  CHECK(plain.value().names.size() == 1);
}

TEST_CASE("a file is read without its marks unless launches are grouped or selected by them") {
  const test::TempDir directory;
  constexpr std::string_view kTrace =
      R"([{"ph":"X","cat":"user_annotation","name":"r","pid":1,"tid":1,"ts":0,"dur":9,"args":{}},)"
      R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":9},)"
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":1,)"
      R"("args":{"correlation":5}},)"
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2,"dur":1,)"
      R"("args":{"correlation":5,"device":0,"stream":7}}])";
  const std::string trace(kTrace);
  model::LaunchSelection by_step;
  by_step.steps.first = 1;
  using Paths = std::vector<std::string>;
  for (const Paths& paths :
       {Paths{directory.Write("a.json", trace)},
        Paths{directory.Write("b.json", trace), directory.Write("c.json", trace)}}) {
    CHECK(OpenRanks(paths).value()->marks() == model::ProfileMarks{false, false});
    CHECK(OpenRanks(paths, {}, by_step).value()->marks() == model::ProfileMarks{false, true});
  }
}

TEST_CASE("the same recording given twice is reported") {
  const test::TempDir directory;
  const std::string rows = "start_ns,duration_ns,name\n0,7,x\n9,5,y\n";
  const std::string a = directory.Write("a.csv", rows).string();
  const std::string b = directory.Write("b.csv", rows).string();
  const std::string c =
      directory.Write("c.csv", "start_ns,duration_ns,name\n0,7,x\n9,6,y\n").string();
  CHECK(Load({a, c}).value().warnings.empty());
  const std::vector<std::string> warnings = Load({a, c, b}).value().warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == b + ": contains the same launches as " + a +
                           "; if it is the same recording, totals are doubled");
  CHECK(Load({a, a}).value().warnings.size() == 1);
}

TEST_CASE("the sum of the durations of all ranks must fit 63 bits") {
  const test::TempDir directory;
  const std::string half = "duration_ns,name\n4611686018427387904,x\n";
  const std::string a = directory.Write("a.csv", half).string();
  const std::string b = directory.Write("b.csv", half).string();
  CHECK(Load({a}).ok());
  const Result<model::Profile> both = Load({a, b});
  REQUIRE_FALSE(both.ok());
  CHECK(both.error().message.starts_with(a + ", " + b + ": launch 1: duration_ns is"));
}

std::vector<std::uint16_t> DevicesOf(const model::Profile& run) {
  std::vector<std::uint16_t> devices;
  for (const shm::KernelRecord& record : run.records) devices.push_back(record.device);
  return devices;
}

TEST_CASE("the devices of a rank keep their order however its file is read") {
  const test::TempDir directory;
  // One profile is read from a file; the other is in memory.
  const std::string csv =
      directory.Write("a.csv", "duration_ns,device,name\n1,7,x\n2,2,x\n3,7,x\n4,5,x\n").string();
  const std::string held =
      directory
          .Write("b.csv",
                 "\"Kernel_Name\",\"Agent_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
                 "\"y\",\"GPU 1\",10,11\n\"y\",\"GPU 0\",20,22\n")
          .string();
  const Result<model::Profile> read = Load({csv, held, csv});
  if (!read.ok()) FAIL(read.error().message);
  CHECK(DevicesOf(read.value()) == std::vector<std::uint16_t>{2, 0, 2, 1, 4, 3, 7, 5, 7, 6});
  CHECK(read.value().names.size() == 2);
}

TEST_CASE("devices of a rank from a pipe are numbered in order of first use, with a warning") {
  const test::TempDir directory;
  const std::string csv = directory.Write("a.csv", "duration_ns,device,name\n1,3,x\n").string();
  for (const bool ascends : {true, false}) {
    const std::string pipe = (directory / (ascends ? "up" : "down")).string();
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    const std::string content =
        std::string("duration_ns,device,name\n") + (ascends ? "1,2,x\n2,4,x\n" : "1,4,x\n2,2,x\n");
    std::thread writer([&] { std::ofstream(pipe) << content; });
    const Result<model::Profile> read = Load({csv, pipe});
    writer.join();
    if (!read.ok()) FAIL(read.error().message);
    CHECK(DevicesOf(read.value()) == std::vector<std::uint16_t>{0, 1, 2});
    REQUIRE(read.value().warnings.size() == (ascends ? 0 : 1));
    if (!ascends)
      CHECK(read.value().warnings[0].find("in order of first use") != std::string::npos);
  }
}

TEST_CASE("a single file is read unchanged") {
  const test::TempDir directory;
  const std::string a = directory.Write("a.csv", "duration_ns,device,name\n1,3,x\n");
  const Result<model::Profile> read = Load({a});
  REQUIRE(read.ok());
  CHECK(read.value().records[0].device == 3);
}

TEST_CASE("a rank without launches is a warning, and an unreadable rank is an error") {
  const test::TempDir directory;
  const std::string a = directory.Write("a.csv", "duration_ns,device,name\n1,3,x\n");
  const std::string empty = directory.Write("empty.csv", "duration_ns,device,name\n");
  const std::string bad = directory.Write("bad.csv", "duration_ns,device,name\n1,3,x\nx,3,x\n");
  const Result<model::Profile> read = Load({a, empty});
  REQUIRE(read.ok());
  REQUIRE(read.value().warnings.size() == 1);
  CHECK(read.value().warnings[0] == empty + ": no launches; rank 1 is empty");
  const Result<model::Profile> damaged = Load({a, bad});
  REQUIRE_FALSE(damaged.ok());
  CHECK(damaged.error().message.find("bad.csv:3: ") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::formats
