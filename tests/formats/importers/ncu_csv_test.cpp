// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_source.h"
#include "damage.h"
#include "formats/importers/importers.h"
#include "formats/importers/metric_join.h"
#include "formats/importers/ncu_page.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "parse_text.h"

namespace stemtap::formats {
namespace {

// Reads only metrics, with or without durations.
model::Profile Metrics(std::string_view text) {
  auto reader = OpenNcuMetrics(std::make_unique<MemorySource>("t.csv", text));
  if (!reader.ok()) FAIL(reader.error().message);
  return model::LoadProfile(*reader.value()).value();
}

const std::string kLaunchColumns =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\"";
const std::string kRawHeader = kLaunchColumns +
                               ",\"dram__bytes_read.sum\",\"gpu__time_duration.sum\","
                               "\"launch__func_cache_config\",\"smsp__inst_executed.sum\"\n";
const std::string kRawUnits =
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"Kbyte\",\"us\",\"\",\"inst\"\n";

std::string Launch(const std::string& id, const std::string& name) {
  return "\"" + id + "\",\"42\",\"app\",\"127.0.0.1\",\"" + name +
         "\",\"1\",\"7\",\"(256, 2, 1)\",\"(4096, 1, 1)\",\"0\",\"9.0\"";
}

const std::string kDetailsHeader =
    kLaunchColumns + ",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";

std::string Detail(const std::string& id, const std::string& name, const std::string& metric,
                   const std::string& unit, const std::string& value,
                   const std::string& section = "Command line profiler metrics") {
  return Launch(id, name) + ",\"" + section + "\",\"" + metric + "\",\"" + unit + "\",\"" + value +
         "\"\n";
}

TEST_CASE("ncu raw page: launches, units and metrics are read between other lines") {
  const std::string text =
      "==PROF== Connected to process 42\n"
      "a \"quoted\" word, \"and one that is open\n"
      "==PROF== Profiling \"axpy\" - 0: 0%....50%....100% - 9 passes\n"
      "no line end at the last" +
      kRawHeader + kRawUnits + Launch("0", "void axpy<float>(float *, int)") +
      ",\"1,024.25\",\"4.19\",\"CachePreferNone\",\"1,234,567\"\n"
      "==WARNING== Launching the workload is taking more time than expected\n"
      "the program goes on\n" +
      Launch("1", "copy") + ",\"n/a\",\"2,000.50\",\"CachePreferNone\",\"8\"\n" +
      "==PROF== Disconnected from process 42\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{13}, kReadBytes}) {
    const model::Profile p = MustParse(text, piece);
    REQUIRE(p.records.size() == 2);
    const shm::KernelRecord& r = p.records[0];
    CHECK(p.names.name(r.name_id) == "void axpy<float>(float *, int)");
    CHECK(r.duration_ns == 4190);
    CHECK(p.records[1].duration_ns == 2000500);
    CHECK(r.start_ns == shm::kUnknownTime);
    CHECK(r.grid[0] == 4096);
    CHECK(r.block[1] == 2);
    CHECK(r.stream == 7);
    CHECK(r.device == 0);
    CHECK(p.records[1].correlation_id == 1);
    REQUIRE(p.metric_names == std::vector<std::string>{"dram__bytes_read.sum",
                                                       "gpu__time_duration.sum",
                                                       "smsp__inst_executed.sum"});
    CHECK(p.metrics[0][0] == doctest::Approx(1024250.0));
    CHECK(std::isnan(p.metrics[0][1]));
    CHECK(p.metrics[1][0] == doctest::Approx(4190.0));
    CHECK(p.metrics[2][0] == 1234567.0);
    REQUIRE(p.warnings.size() == 4);
    CHECK(p.warnings[0].starts_with("t.csv:7: ncu reports '==WARNING== Launching the workload"));
    CHECK(p.warnings[1] == "t.csv: 2 lines are outside the table; skipped");
    CHECK(
        p.warnings[2] ==
        "t.csv: 1 metrics contain no numbers and are ignored, such as 'launch__func_cache_config'");
    CHECK(p.warnings[3].starts_with("t.csv: durations are not printed in ns"));
  }
}

TEST_CASE("ncu: a device or stream that is not a number is unknown, with a warning") {
  const auto replaced = [](std::string text, const std::string& what, const std::string& by) {
    return text.replace(text.find(what), what.size(), by);
  };
  const std::string row = Launch("0", "a") + ",\"1\",\"4.19\",\"x\",\"8\"\n";
  const model::Profile p =
      MustParse(kRawHeader + kRawUnits + replaced(row, "\"7\"", "\"0x7f21\"") +
                replaced(replaced(row, "\"0\"", "\"1\""), "\"0\",\"9.0\"", "\"65535\",\"9.0\""));
  REQUIRE(p.records.size() == 2);
  CHECK(p.records[0].stream == shm::kUnknown32);
  CHECK(p.records[0].device == 0);
  CHECK(p.records[1].stream == 7);
  CHECK(p.records[1].device == shm::kUnknown16);
  CHECK(p.warnings[0] ==
        "t.csv:3: Stream is '0x7f21', which is not a number (2 such cells); treated as unknown");
}

TEST_CASE("ncu details page: each row is one metric") {
  const model::Profile p = MustParse(
      kDetailsHeader + Detail("0", "a", "Duration", "us", "3.52", "GPU Speed Of Light") +
      Detail("0", "a", "Memory Throughput", "%", "45.70", "GPU Speed Of Light") +
      Detail("0", "a", "", "", "", "GPU Speed Of Light") +
      Detail("0", "a", "Memory Throughput", "Gbyte/second", "1.50", "Memory Workload Analysis") +
      Detail("1", "b", "Duration", "ms", "1.25", "GPU Speed Of Light") +
      Detail("1", "b", "Memory Throughput", "Mbyte/s", "2.50", "Memory Workload Analysis") +
      Detail("2", "a", "Duration", "ns", "992", "GPU Speed Of Light") +
      Detail("2", "a", "DRAM Frequency", "cycle/nsecond", "1.75", "GPU Speed Of Light"));
  REQUIRE(p.records.size() == 3);
  CHECK(p.records[0].duration_ns == 3520);
  CHECK(p.records[1].duration_ns == 1250000);
  CHECK(p.records[2].duration_ns == 992);
  REQUIRE(p.metric_names == std::vector<std::string>{"Duration", "Memory Throughput",
                                                     "Memory Workload Analysis: Memory Throughput",
                                                     "DRAM Frequency"});
  CHECK(p.metrics[1][0] == doctest::Approx(45.7));
  CHECK(std::isnan(p.metrics[1][1]));
  CHECK(p.metrics[2][0] == doctest::Approx(1.5e9));
  CHECK(p.metrics[2][1] == doctest::Approx(2.5e6));
  CHECK(p.metrics[3][2] == doctest::Approx(1.75e9));
  REQUIRE(p.warnings.size() == 2);
  CHECK(p.warnings[0] == "t.csv: 1 row has no metric (advice); skipped");
  CHECK(p.warnings[1].starts_with("t.csv: durations are not printed in ns"));
}

// Returns a row as written by ncu 2024: an empty cell replaces the rule columns.
std::string ShortDetail(const std::string& id, const std::string& metric, const std::string& unit,
                        const std::string& value, const std::string& section = "S") {
  std::string row = Detail(id, "a", metric, unit, value, section);
  row.insert(row.size() - 1, ",");
  return row;
}

const std::string kRuleColumns =
    ",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\",\"Estimated "
    "Speedup\"\n";

std::string RulesHeader() {
  return kDetailsHeader.substr(0, kDetailsHeader.size() - 1) + kRuleColumns;
}

TEST_CASE("ncu details page: metric rows may omit the rule columns") {
  std::string rule = Detail("0", "a", "", "", "", "SpeedOfLight");
  rule.insert(rule.size() - 1,
              ",\"SOLBottleneck\",\"INF\",\"Look at \"\"L1\"\", first\",\"\",\"\"");
  const std::string rows = ShortDetail("0", "Duration", "ns", "992") + rule +
                           ShortDetail("0", "Executed Instructions", "inst", "8");
  const model::Profile p = MustParse(RulesHeader() + rows);
  REQUIRE(p.records.size() == 1);
  CHECK(p.records[0].duration_ns == 992);
  REQUIRE(p.metric_names == std::vector<std::string>{"Duration", "Executed Instructions"});
  CHECK(p.metrics[1][0] == 8.0);
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] == "t.csv: 1 row has no metric (advice); skipped");
  // A row without a value or with more columns than the header is rejected.
  CHECK(ErrorOf(RulesHeader() + Launch("0", "a") + ",\"S\",\"Duration\",\"ns\"\n") ==
        "t.csv:2: 14 cells; expected 15 to 20");
  std::string long_rule = rule;
  long_rule.insert(long_rule.size() - 1, ",\"\"");
  CHECK(ErrorOf(RulesHeader() + rows + long_rule) == "t.csv:5: 21 cells; expected 15 to 20");
  test::CheckDamage(RulesHeader() + rows);
}

TEST_CASE("ncu: a header that is longer than the bytes used for detection is recognized") {
  std::string header = kLaunchColumns;
  std::string units(10, ',');
  std::string row = Launch("0", "a");
  std::size_t count = 0;
  while (header.size() < 2 * kDetectBytes) {
    header += ",\"metric_with_a_long_name_" + std::to_string(count++) + "\"";
    units += ",\"\"";
    row += ",\"" + std::to_string(count) + "\"";
  }
  header += ",\"gpu__time_duration.sum\"\n";
  units = "\"\"" + units + ",\"ns\"\n";
  row += ",\"992\"\n";
  const model::Profile p = MustParse(header + units + row);
  REQUIRE(p.records.size() == 1);
  CHECK(p.records[0].duration_ns == 992);
  REQUIRE(p.metrics.size() == count + 1);
  for (std::size_t i = 0; i < count; ++i) CHECK(p.metrics[i][0] == static_cast<double>(i + 1));
  // An ncu page without durations is still valid as metrics for a profile.
  header.replace(header.find("gpu__time_duration"), 18, "gpu__time_absent__");
  const auto metrics = OpenMetrics(std::make_unique<MemorySource>("t.csv", header + units + row));
  REQUIRE(metrics.ok());
  CHECK(model::LoadProfile(*metrics.value()).value().metrics.size() == count + 1);
}

TEST_CASE("ncu: a label that occurs in several items of a section is several metrics") {
  const std::string header =
      kLaunchColumns +
      ",\"Section Name\",\"Body Item Label\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
  const auto row = [](const std::string& section, const std::string& item, const std::string& label,
                      const std::string& value) {
    return Launch("0", "a") + ",\"" + section + "\",\"" + item + "\",\"" + label + "\",\"%\",\"" +
           value + "\"\n";
  };
  const model::Profile p =
      Metrics(header + row("Pipes", "", "FMA", "1.5") + row("Pipes", "of active", "FMA", "2.5") +
              row("Pipes", "of peak", "FMA", "3.5") + row("Pipes", "", "FMA", "1.5") +
              row("Pipes", "of peak", "FMA", "4.5"));
  REQUIRE(p.metric_names == std::vector<std::string>{"FMA", "Pipes: FMA", "Pipes: of peak: FMA"});
  CHECK(p.metrics[0][0] == 1.5);
  CHECK(p.metrics[1][0] == 2.5);
  CHECK(p.metrics[2][0] == 3.5);
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] ==
        "t.csv: Pipes: of peak: FMA of launch 0 has another value in a later row; the first is "
        "kept (1 such values)");
}

TEST_CASE("ncu: a cell may contain a line ending") {
  std::string row = Detail("0", "a", "Duration", "ns", "992");
  row.replace(row.find("app"), 3, "a\nb");
  const model::Profile p =
      MustParse(kDetailsHeader + row + Detail("1", "a", "Duration", "ns", "993"));
  REQUIRE(p.records.size() == 2);
  CHECK(p.records[1].duration_ns == 993);
  CHECK(p.warnings.size() == 0);
}

TEST_CASE("ncu: tables with other columns inside the page are skipped") {
  const std::string other =
      "\"GPU ID\",\"GPU Name\",\"CPU Affinity\"\n"
      "\"0\",\"Quadro\",\"0-15\"\n"
      "\"1\",\"RTX\",\"0-15\"\n";
  const std::string rows = ShortDetail("0", "Duration", "ns", "992");
  const std::string more = ShortDetail("0", "Executed Instructions", "inst", "8");
  const model::Profile p = MustParse(RulesHeader() + rows + other + more);
  REQUIRE(p.metric_names == std::vector<std::string>{"Duration", "Executed Instructions"});
  REQUIRE(p.warnings.size() == 1);
  CHECK(p.warnings[0] == "t.csv: 3 lines are outside the table; skipped");
  // The rows of such a table must follow its header and have its columns.
  CHECK(ErrorOf(RulesHeader() + rows + other + more + "\"1\",\"RTX\",\"0-15\"\n") ==
        "t.csv:7: 3 cells; expected 15 to 20");
  CHECK(ErrorOf(RulesHeader() + rows + other + "\"1\",\"RTX\"\n") ==
        "t.csv:6: 2 cells; expected 15 to 20");
}

TEST_CASE("ncu: values of metric instances are not used as values of the launch") {
  const model::Profile p = Metrics(kDetailsHeader + Detail("0", "a", "m", "", "4096 (1024; 3072)") +
                                   Detail("0", "a", "sampled", "", "(1; 2; 3)") +
                                   Detail("1", "a", "sampled", "", "7 (1: 3; 2: 4)"));
  REQUIRE(p.metric_names == std::vector<std::string>{"m", "sampled"});
  CHECK(p.metrics[0][0] == 4096.0);
  CHECK(std::isnan(p.metrics[1][0]));
  CHECK(p.metrics[1][1] == 7.0);
  CHECK(p.warnings.empty());
}

TEST_CASE("ncu: old versions have no grid and no block") {
  const model::Profile p = MustParse(
      "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Kernel Time\","
      "\"Context\",\"Stream\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
      "\"0\",\"20798\",\"x\",\"h\",\"gemm\",\"2024-Nov-13 18:14:36\",\"1\",\"7\",\"Command\","
      "\"gpu__time_duration.sum\",\"nsecond\",\"152192\"\n"
      "\"0\",\"20798\",\"x\",\"h\",\"gemm\",\"2024-Nov-13 18:14:36\",\"1\",\"7\",\"Command\","
      "\"launch__grid_size\",\"\",\"1,728\"\n");
  REQUIRE(p.records.size() == 1);
  CHECK(p.records[0].duration_ns == 152192);
  CHECK(p.records[0].grid[0] == shm::kUnknownExtent);
  CHECK(p.records[0].device == shm::kUnknown16);
  CHECK(p.metrics[1][0] == 1728.0);
  CHECK(p.warnings.empty());
}

TEST_CASE("ncu: the decimal mark is detected per file") {
  const auto values = [](const std::vector<std::string>& cells, const std::string& metric = "m",
                         const std::string& unit = "") {
    std::string text = kDetailsHeader;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += Detail(std::to_string(i), "a", metric, unit, cells[i]);
    }
    return text;
  };
  const auto read = [&](const std::vector<std::string>& cells, const std::string& metric = "m",
                        const std::string& unit = "") {
    return Metrics(values(cells, metric, unit)).metrics.at(0);
  };
  CHECK(read({"1,234", "1,234.5"}) == std::vector{1234.0, 1234.5});
  CHECK(read({"1.234", "1.234,5"}) == std::vector{1234.0, 1234.5});
  CHECK(read({"1.234", "27.595.520"}) == std::vector{1234.0, 27595520.0});
  CHECK(read({"1,234", "27,595,520"}) == std::vector{1234.0, 27595520.0});
  CHECK(read({"1.234", "0.5"}) == std::vector{1.234, 0.5});
  CHECK(read({"1,234", "45,70"}) == std::vector{1.234, 45.7});
  CHECK(read({"1,234", "0,123"}) == std::vector{1.234, 0.123});
  CHECK(read({"1,234", "1234.5"}) == std::vector{1234.0, 1234.5});
  CHECK(read({"1\xE2\x80\xAF"
              "234,5",
              "1'000"}) == std::vector{1234.5, 1000.0});
  CHECK(read({"-1,5", "4,0e-05"}) == std::vector{-1.5, 4.0e-05});
  CHECK(read({"12", "123456"}) == std::vector{12.0, 123456.0});
  CHECK(read({"1e+3", "1.5"}) == std::vector{1000.0, 1.5});
  // 2.816 bytes is impossible, so the comma is not a decimal mark.
  CHECK(read({"2,816"}, "dram__bytes_read.sum", "byte") == std::vector{2816.0});
  CHECK(read({"2.816"}, "smsp__inst_executed.sum", "inst") == std::vector{2816.0});
  CHECK(read({"2,816"}, "sm__cycles_elapsed.max", "cycle") == std::vector{2816.0});
  // Numbers of events have no decimals.
  CHECK(read({"2,000", "12,000"}, "smsp__inst_executed.sum", "inst") ==
        std::vector{2000.0, 12000.0});
  CHECK(read({"2.000"}, "smsp__inst_executed.sum", "inst") == std::vector{2000.0});

  const auto error = [&](const std::vector<std::string>& cells, const std::string& metric = "m",
                         const std::string& unit = "") {
    auto reader =
        OpenNcuMetrics(std::make_unique<MemorySource>("t.csv", values(cells, metric, unit)));
    REQUIRE_FALSE(reader.ok());
    return reader.error().message;
  };
  CHECK(error({"12", "1,234", "1,235"}) ==
        "t.csv:3: '1,234' has a decimal mark or a thousands separator, and no number of the file "
        "shows which; expected a page that was printed with LC_ALL=C ncu ...");
  CHECK(error({"2,816"}, "dram__bytes_read.sum", "Kbyte").starts_with("t.csv:2: '2,816'"));
  CHECK(error({"1.000"}, "dram__bytes_read.sum", "byte").starts_with("t.csv:2: '1.000'"));
  CHECK(error({"1,5", "2", "1.5"}) ==
        "t.csv:2: '1,5' has a decimal comma, but '1.5' in line 4 has a decimal point; expected one "
        "of them");
}

TEST_CASE("ncu: a missing value may have no unit") {
  const model::Profile p =
      Metrics(kDetailsHeader + Detail("0", "a", "m", "", "n/a") +
              Detail("1", "a", "m", "%", "5.5") + Detail("2", "a", "m", "", "nan"));
  CHECK(std::isnan(p.metrics.at(0)[0]));
  CHECK(p.metrics[0][1] == 5.5);
  CHECK(std::isnan(p.metrics[0][2]));
  CHECK(p.warnings.empty());
}

TEST_CASE("ncu: text that is not a number has no value") {
  const model::Profile p =
      Metrics(kDetailsHeader + Detail("0", "a", "m", "", "1.5") +
              Detail("1", "a", "m", "", "1,23,4.5") + Detail("2", "a", "m", "", "") +
              Detail("3", "a", "m", "", "(1)") + Detail("3", "a", "t", "", "yes"));
  REQUIRE(p.metric_names == std::vector<std::string>{"m"});
  for (std::size_t i = 1; i < 4; ++i) CHECK(std::isnan(p.metrics[0][i]));
  REQUIRE(p.warnings.size() == 2);
  CHECK(p.warnings[0] == "t.csv:3: m is not a number (1 such cells); treated as empty");
  CHECK(p.warnings[1] == "t.csv: 1 metrics contain no numbers and are ignored, such as 't'");
}

TEST_CASE("ncu: a profile requires durations, and metrics do not") {
  const std::string text = kDetailsHeader + Detail("0", "a", "m", "", "1.5");
  CHECK(ErrorOf(text) ==
        "t.csv: no durations; expected the metric gpu__time_duration.sum (or use the file with "
        "--metrics and a profile)");
  CHECK(Metrics(text).records[0].duration_ns == 0);
  CHECK(ErrorOf(kDetailsHeader + Detail("0", "a", "Duration", "us", "1.5") +
                Detail("7", "a", "m", "", "1.5")) ==
        "t.csv:3: launch 7 has no Duration; expected its duration");
  CHECK(ErrorOf(kDetailsHeader + Detail("0", "a", "Duration", "us", "-1.5"))
            .starts_with("t.csv:2: launch 0 has no Duration"));
  CHECK(ErrorOf(kDetailsHeader + Detail("0", "a", "Duration", "us", "1e300"))
            .starts_with("t.csv:2: launch 0 has no Duration"));
  CHECK(ErrorOf(kDetailsHeader + Detail("0", "a", "Duration", "", "5")) ==
        "t.csv: Duration has the unit ''; expected a time");
  // .avg is also accepted, but .sum takes precedence.
  CHECK(MustParse(kDetailsHeader + Detail("0", "a", "gpu__time_duration.avg", "ns", "7") +
                  Detail("0", "a", "gpu__time_duration.sum", "ns", "8"))
            .records[0]
            .duration_ns == 8);
  CHECK(MustParse(kDetailsHeader + Detail("0", "a", "gpu__time_duration.avg", "ns", "7"))
            .records[0]
            .duration_ns == 7);
}

TEST_CASE("ncu: consecutive tables are read") {
  const std::string one = kDetailsHeader + Detail("0", "a", "Duration", "ns", "5");
  CHECK(MustParse(one + one).records.size() == 2);
  CHECK(ErrorOf(one + kRawHeader) ==
        "t.csv:3: a second table with other columns; expected the columns of the first");
  CHECK(ErrorOf(one + Detail("1", "a", "Duration", "ns", "5") + Detail("0", "a", "m", "", "5")) ==
        "t.csv:4: launch 0 again (first in line 2); expected its rows together");
  const std::string raw = kRawHeader + kRawUnits + Launch("4", "a") + ",\"1\",\"5.5\",\"\",\"8\"\n";
  const model::Profile merged = MustParse(raw + Launch("3", "a") + ",\"1\",\"5.5\",\"\",\"8\"\n" +
                                          Launch("4", "a") + ",\"1\",\"5.5\",\"\",\"8\"\n");
  CHECK(merged.records.size() == 3);
  REQUIRE(merged.warnings.size() == 3);
  CHECK(merged.warnings[0].starts_with("t.csv: the ID does not increase (2 such rows)"));
  CHECK(MustParse(raw + raw).records.size() == 2);
}

TEST_CASE("ncu: damage is an error with its line") {
  const std::string raw = kRawHeader + kRawUnits + Launch("0", "a") + ",\"1\",\"5.5\",\"\",\"8\"\n";
  CHECK(MustParse(raw).records.size() == 1);
  CHECK(MustParse(raw.substr(0, raw.size() - 1)).records.size() == 1);
  CHECK(ErrorOf(raw.substr(0, raw.size() - 2)) == "t.csv:3: a quote is not closed; expected '\"'");
  CHECK(ErrorOf(raw.substr(0, raw.size() - 5)) == "t.csv:3: 14 cells; expected 15");
  CHECK(ErrorOf(raw + "\"").starts_with("t.csv:4: a quote is not closed"));
  CHECK(ErrorOf(raw + "\"1").starts_with("t.csv:4: a quote is not closed"));
  CHECK(ErrorOf(raw + "\"1\",\"2\"\n") == "t.csv:4: 2 cells; expected 15");
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string text = raw;
    text.replace(text.find(what), what.size(), by);
    return ErrorOf(text);
  };
  CHECK(with("\n\"0\"", "\n\"0x\"") == "t.csv:3: ID is '0x'; expected the number of a launch");
  CHECK(with("\"a\"", "\"\"") == "t.csv:3: Kernel Name is ''; expected the name of a kernel");
  CHECK(with("(256, 2, 1)", "(256, 2") ==
        "t.csv:3: Block Size is '(256, 2'; expected '(256, 1, 1)'");
  CHECK(with("(256, 2, 1)", "(65536, 2, 1)").starts_with("t.csv:3: Block Size is"));
  CHECK(with("(4096, 1, 1)", "(0, 1, 1)").starts_with("t.csv:3: Grid Size is"));
  CHECK(with("\"smsp__inst_executed.sum\"", "\"gpu__time_duration.sum\"") ==
        "t.csv:1: the column 'gpu__time_duration.sum' occurs twice; expected once");
  CHECK(ErrorOf("==PROF== Connected to process 42\n==ERROR== The application crashed\n") ==
        "t.csv:3: no table; expected a line \"ID\",\"Process ID\",... (ncu --csv)");
  CHECK(ErrorOf(kDetailsHeader + Detail("0", "a", "m", "us", "1.5") +
                Detail("1", "a", "m", "byte", "1.5")) ==
        "t.csv:3: m has the unit 'byte'; expected 'ns' as before");
  std::string many = kDetailsHeader;
  for (int i = 0; i <= 16384; ++i) many += Detail("0", "a", "m" + std::to_string(i), "", "1");
  CHECK(ErrorOf(many) == "t.csv:16386: more than 16384 metrics; expected a page of ncu");
  // If every launch had its own metric, the table would have quadratic size.
  std::string sparse = kDetailsHeader;
  for (int i = 0; i < 3000; ++i) {
    sparse += Detail(std::to_string(i), "a", "m" + std::to_string(i), "", "1");
  }
  CHECK(ErrorOf(sparse).starts_with("t.csv:"));
  CHECK(ErrorOf(sparse).find("3000 launches of 3000 metrics with 3000 values in all") !=
        std::string::npos);
}

TEST_CASE("ncu: other files are not recognized as ncu pages") {
  CHECK(LooksLikeNcuCsv("==PROF== Connected to process 42\n"));
  CHECK(LooksLikeNcuCsv("ID,Process ID,Kernel Name,m\n"));
  CHECK_FALSE(LooksLikeNcuCsv("==42== NVPROF is profiling process 42\n"));
  CHECK(LooksLikeNcuCsv("\"ID\",\"Kernel Name\",\"cut here"));
  CHECK_FALSE(LooksLikeNcuCsv("\"ID\",\"Name\",\"Kernel Na"));
  CHECK_FALSE(LooksLikeNcuCsv("\"ID\",\"Name\"\n"));
  CHECK_FALSE(LooksLikeNcuCsv("index,duration_ns,name\n"));
  CHECK_FALSE(LooksLikeNcuCsv(""));
}

TEST_CASE("ncu: a page without quotes is read") {
  const model::Profile p = MustParse(
      "ID,Process ID,Kernel Name,gpu__time_duration.sum\n,,,ns\n0,1,\"f(int, int)\",5\n1,1,g,6\n");
  REQUIRE(p.records.size() == 2);
  CHECK(p.names.name(0) == "f(int, int)");
  CHECK(p.records[1].duration_ns == 6);
  CHECK(ErrorOf("ID,Process ID,Kernel Name,gpu__time_duration.sum\n,,,ns\n0,1,g,5")
            .starts_with("t.csv:3: no line end after the last row"));
}

TEST_CASE("ncu: a damaged page is read or rejected") {
  const std::string rows = Launch("0", "a") + ",\"1\",\"5.5\",\"\",\"8\"\n" + Launch("1", "b") +
                           ",\"1\",\"1,005.5\",\"\",\"8\"\n";
  test::CheckDamage("==PROF== Connected\n" + kRawHeader + kRawUnits + rows);
  test::CheckDamage(kDetailsHeader + Detail("0", "a", "Duration", "us", "3.52") +
                    Detail("1", "b", "Duration", "us", "4.5"));
}

}  // namespace
}  // namespace stemtap::formats
