// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/metric_join.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_source.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

std::unique_ptr<model::ProfileReader> Open(std::string_view text) {
  auto reader = OpenProfile(std::make_unique<MemorySource>("x.csv", text));
  if (!reader.ok()) FAIL(reader.error().message);
  return std::move(reader).value();
}

Result<model::Profile> Join(std::string_view profile, std::string_view metrics) {
  auto joined = JoinMetrics(Open(profile), "run.csv", Open(metrics), "ncu.csv");
  if (!joined.ok()) return joined.error();
  return model::LoadProfile(*joined.value());
}

model::Profile MustJoin(std::string_view profile, std::string_view metrics) {
  Result<model::Profile> joined = Join(profile, metrics);
  if (!joined.ok()) FAIL(joined.error().message);
  return std::move(joined).value();
}

std::string ErrorOf(std::string_view profile, std::string_view metrics) {
  const Result<model::Profile> joined = Join(profile, metrics);
  REQUIRE_FALSE(joined.ok());
  CHECK(joined.error().message.find("expected") != std::string::npos);
  return joined.error().message;
}

constexpr double kNone = -1.0;

std::vector<double> Column(const model::Profile& profile, std::size_t column = 0) {
  std::vector<double> values = profile.metrics.at(column);
  for (double& value : values) value = std::isnan(value) ? kNone : value;
  return values;
}

TEST_CASE("the n-th launch of a name gets the metrics of its n-th launch in the metrics file") {
  const model::Profile p = MustJoin("name,duration_ns,own\na,10,1\nb,20,2\na,30,3\nb,40,4\n",
                                    "name,duration_ns,inst\nb,1,200\nb,1,201\na,1,100\na,1,101\n");
  CHECK(p.metric_names == std::vector<std::string>{"own", "inst"});
  CHECK(Column(p, 0) == std::vector{1.0, 2.0, 3.0, 4.0});
  CHECK(Column(p, 1) == std::vector{100.0, 200.0, 101.0, 201.0});
  CHECK(p.records[2].duration_ns == 30);
  CHECK(p.names.name(p.records[3].name_id) == "b");
  CHECK(p.warnings.empty());
}

TEST_CASE("launches keep their ranges and steps, which do not affect the join") {
  const model::Profile p =
      MustJoin("name,duration_ns,range,step\na,1,x,0\nb,1,,\na,1,y,1\na,1,x,1\n",
               "name,duration_ns,m\na,1,1\na,1,2\na,1,3\nb,1,4\n");
  CHECK(Column(p) == std::vector{1.0, 4.0, 2.0, 3.0});
  CHECK(p.warnings.empty());
  CHECK(p.marks == model::ProfileMarks{true, true});
  CHECK(p.steps == std::vector<std::uint64_t>{0, shm::kNoStep, 1, 1});
  CHECK(p.names.range(p.records[2].name_id) == "y");
  CHECK(p.names.name(p.records[2].name_id) == "a");
  CHECK(p.names.range(p.records[1].name_id).empty());
}

TEST_CASE("different names and counts are counted") {
  const model::Profile p =
      MustJoin("name,duration_ns\na,1\na,1\na,1\nb,1\nc,1\nc,1\n",
               "name,duration_ns,m\na,1,1\na,1,2\nc,1,3\nc,1,4\nc,1,5\nd,1,6\n");
  CHECK(Column(p) == std::vector{1.0, 2.0, kNone, kNone, 3.0, 4.0});
  REQUIRE(p.warnings.size() == 3);
  CHECK(p.warnings[0].starts_with(
      "ncu.csv: 2 kernels were launched a different number of times, such "
      "as 'a' 2 times, 3 in run.csv; the first launches of both files are joined"));
  CHECK(p.warnings[1] == "ncu.csv: 1 kernel name is not in run.csv (1 launch); skipped");
  CHECK(p.warnings[2] ==
        "ncu.csv: 4 of the 6 launches of run.csv have metrics; 2 have none, 1 of them in 1 kernel "
        "without any metrics");
}

TEST_CASE("names with different spellings are joined if no names are equal") {
  const model::Profile spaces = MustJoin("name,duration_ns\n\"void f<int>(int*, float)\",1\n",
                                         "name,duration_ns,m\n\"void f<int>(int *,float)\",1,7\n");
  CHECK(Column(spaces) == std::vector{7.0});
  REQUIRE(spaces.warnings.size() == 1);
  CHECK(spaces.warnings[0] == "ncu.csv: 1 kernel name is joined despite different spelling");

  const model::Profile mangled = MustJoin("name,duration_ns\n_Z4axpyPfi,1\n",
                                          "name,duration_ns,m\n\"axpy(float *, int)\",1,7\n");
  CHECK(Column(mangled) == std::vector{7.0});
}

TEST_CASE("names of the same function are joined last and counted together") {
  const model::Profile p = MustJoin(
      "name,duration_ns\n"
      "\"void at::native::scale<int, (bool)1>(int*, std::pair<int, int>)\",1\n"
      "\"std::enable_if<(1), void>::type (anonymous namespace)::scale<float>(float*)\",1\n"
      "exact,1\n"
      "\"void at::native::scale<int, (bool)1>(int*, std::pair<int, int>)\",1\n",
      "name,duration_ns,m\nscale,1,1\nscale,1,2\nexact,1,3\nscale,1,4\n");
  CHECK(Column(p) == std::vector{1.0, 2.0, 3.0, 4.0});
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] == "ncu.csv: 1 kernel is joined by function name alone, such as 'scale'");
  // An equal name has priority: f(int) does not also match f by its function name.
  const model::Profile mixed = MustJoin("name,duration_ns\nf(int),1\nf(float),1\n",
                                        "name,duration_ns,m\nf,1,1\nf(int),1,2\n");
  CHECK(Column(mixed) == std::vector{2.0, 1.0});
}

TEST_CASE("paired launches have the same grid and block if both files contain them") {
  const std::string run = "name,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z\n";
  const std::string metrics = "name,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,m\n";
  CHECK(MustJoin(run + "a,1,1,2,3,4,5,6\n", metrics + "a,1,1,2,3,4,5,6,7\n").metrics[0][0] == 7.0);
  CHECK(MustJoin(run + "a,1,,,,4,5,6\n", metrics + "a,1,1,2,3,,,,7\n").metrics[0][0] == 7.0);
  CHECK(ErrorOf(run + "b,1,,,,,,\na,1,1,2,3,4,5,6\n", metrics + "a,1,1,2,4,4,5,6,7\n") ==
        "ncu.csv: launch 0 has grid 1x2x4 and block 4x5x6; expected grid 1x2x3 and block 4x5x6 as "
        "in its counterpart (launch 1 of run.csv, number 0 of 'a')");
  CHECK(ErrorOf(run + "a,1,1,2,3,4,5,6\n", metrics + "a,1,1,2,3,4,5,7,7\n")
            .starts_with("ncu.csv: launch 0 has grid 1x2x3 and block 4x5x7"));
}

TEST_CASE("files that cannot belong together are errors") {
  CHECK(ErrorOf("name,duration_ns\na,1\n", "name,duration_ns,m\nb,1,7\n") ==
        "ncu.csv: no kernel of run.csv, but for example 'b'; expected the same kernels, for "
        "example 'a'");
  CHECK(ErrorOf("name,duration_ns\na,1\n", "name,duration_ns,m\n")
            .starts_with("ncu.csv: no kernel of run.csv"));
  CHECK(ErrorOf("name,duration_ns\na,1\n", "name,duration_ns\na,1\n") ==
        "ncu.csv: no metrics; expected at least one");
  CHECK(ErrorOf("name,duration_ns,m\na,1,2\n", "name,duration_ns,m\na,1,7\n") ==
        "ncu.csv: run.csv also has the metric 'm'; expected it in one of them");
}

TEST_CASE("a joined profile can be read in parts") {
  auto joined = JoinMetrics(Open("name,duration_ns\na,1\na,2\na,3\n"), "run.csv",
                            Open("name,duration_ns,m\na,1,1\na,1,2\na,1,3\n"), "ncu.csv");
  REQUIRE(joined.ok());
  model::ProfileBatch batch;
  CHECK(joined.value()->Read(batch, 2).value() == 2);
  CHECK(joined.value()->Read(batch, 2).value() == 1);
  CHECK(batch.records[0].duration_ns == 3);
  CHECK(batch.metrics[0] == std::vector{3.0});
  CHECK(joined.value()->Read(batch, 2).value() == 0);
}

TEST_CASE("files, including ncu pages without durations, are joined by path") {
  const test::TempDir directory;
  const std::string run = (directory.path() / "run.csv").string();
  const std::string ncu = (directory.path() / "ncu.csv").string();
  std::ofstream(run) << "name,duration_ns\na,1\nb,5\n";
  std::ofstream(ncu) << "==PROF== Connected\n\"ID\",\"Process ID\",\"Kernel Name\",\"Metric "
                        "Name\",\"Metric Unit\",\"Metric Value\"\n\"0\",\"1\",\"b\","
                        "\"smsp__inst_executed.sum\",\"inst\",\"1,234\"\n";
  const auto join = [&](const std::string& metrics) {
    return JoinMetricsFile(std::move(OpenProfile(run)).value(), run, metrics);
  };
  auto joined = join(ncu);
  REQUIRE(joined.ok());
  const Result<model::Profile> profile = model::LoadProfile(*joined.value());
  REQUIRE(profile.ok());
  CHECK(Column(profile.value()) == std::vector{kNone, 1234.0});
  CHECK(profile.value().records[1].duration_ns == 5);
  CHECK_FALSE(join(run).ok());
  CHECK_FALSE(join((directory.path() / "none.csv").string()).ok());
}

TEST_CASE("the n-th launch is counted per device if both files contain the same devices") {
  const test::TempDir directory;
  const std::string header = "duration_ns,device,name";
  const std::string run =
      directory.Write("run.csv", header + "\n1,0,k\n2,1,k\n3,0,k\n4,1,k\n").string();
  const auto joined = [&](const std::string& metrics) {
    auto reader = JoinMetricsFile(std::move(OpenProfile(run)).value(), run,
                                  directory.Write("m.csv", header + ",m\n" + metrics).string());
    REQUIRE(reader.ok());
    Result<model::Profile> profile = model::LoadProfile(*reader.value());
    REQUIRE(profile.ok());
    return std::move(profile).value();
  };
  CHECK(Column(joined("1,0,k,10\n3,0,k,30\n2,1,k,20\n4,1,k,40\n")) ==
        std::vector{10.0, 20.0, 30.0, 40.0});
  // Different devices are matched in order, with a warning.
  const model::Profile other = joined("1,5,k,10\n3,5,k,30\n2,5,k,20\n4,5,k,40\n");
  CHECK(Column(other) == std::vector{10.0, 30.0, 20.0, 40.0});
  REQUIRE_FALSE(other.warnings.empty());
  CHECK(other.warnings[0].find("other devices") != std::string::npos);
}

}  // namespace
}  // namespace stemtap::formats
