// SPDX-License-Identifier: Apache-2.0
// Tests which values are read from each source and which inputs are rejected.
#include "formats/results/kernel_results.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>

#include "base/memory_source.h"
#include "base/rng.h"

namespace stemtap::formats {
namespace {

Result<KernelResults> Read(const std::string& text, ResultsOptions options = {}) {
  // Reads small pieces so that lines span reads.
  return ReadResults(std::make_unique<MemorySource>("log", text, 7), options);
}

KernelResults Good(const std::string& text, ResultsOptions options = {}) {
  Result<KernelResults> read = Read(text, std::move(options));
  REQUIRE_MESSAGE(read.ok(), (read.ok() ? "" : read.error().message));
  return std::move(read).value();
}

void Refused(const std::string& text, const std::string& word, ResultsOptions options = {}) {
  const Result<KernelResults> read = Read(text, std::move(options));
  REQUIRE(!read.ok());
  CAPTURE(read.error().message);
  CHECK(read.error().message.find(word) != std::string::npos);
  CHECK(read.error().message.find('\n') == std::string::npos);
}

double Value(const KernelResults& results, std::size_t row, const std::string& metric) {
  for (std::size_t i = 0; i < results.metrics.size(); ++i) {
    if (results.metrics[i].name == metric) return results.rows[row].values[i];
  }
  return std::nan("");
}

std::string Kernel(int id, int uid, int cycles, int total, int l2, const char* name = "_Z3addv") {
  const std::string n = std::to_string(id);
  return "Processing kernel t/kernel-" + n +
         "-ctx_0x1f.traceg.xz\n-kernel name = x\n-kernel id = " + n +
         "\nlaunching kernel name: " + name + " uid: " + std::to_string(uid) +
         " cuda_stream_id: 0\nkernel_name = " + name +
         " \nkernel_launch_uid = " + std::to_string(uid) +
         " \ngpu_sim_cycle = " + std::to_string(cycles) +
         "\ngpu_sim_insn = 640\ngpu_ipc =       1.2345\ngpu_tot_sim_cycle = " +
         std::to_string(total) +
         "\ngpu_occupancy = 12.5000% \ngpgpu_n_load_insn  = " + std::to_string(3 * l2) +
         "\nL2_total_cache_accesses = " + std::to_string(l2) + "\n";
}
const std::string kExit = "GPGPU-Sim: *** exit detected ***\n";

TEST_CASE("an impossibly large value is treated as missing, with a warning") {
  const KernelResults csv = Good("id,a,b\n0,1e31,0\n1,-1e300,1e-300\n2,1e30,-1e-30\n");
  CHECK(std::isnan(Value(csv, 0, "a")));
  CHECK(Value(csv, 0, "b") == 0.0);
  CHECK(std::isnan(Value(csv, 1, "a")));
  CHECK(std::isnan(Value(csv, 1, "b")));
  CHECK(Value(csv, 2, "a") == 1e30);
  CHECK(Value(csv, 2, "b") == -1e-30);
  REQUIRE(csv.warnings.size() == 1);
  CHECK(csv.warnings[0] ==
        "log: a of log:2 is 1e+31; expected 0 or a size from 1e-30 to 1e+30 (3 such values); "
        "treated as missing");
  // A unit can scale a number beyond the range of double.
  const KernelResults ncu =
      Good("\"ID\",\"Kernel Name\",\"dram\"\n\"\",\"\",\"Gbyte\"\n\"0\",\"a\",\"1e308\"\n");
  CHECK(std::isnan(Value(ncu, 0, "dram")));
  CHECK(ncu.warnings.size() == 1);
}

TEST_CASE("an Accel-Sim uid is mapped to the id of the n-th trace") {
  const KernelResults results = Good("   Accel-Sim [build x]\n" + Kernel(7, 1, 100, 100, 10) +
                                     Kernel(41, 2, 300, 400, 35) + kExit);
  CHECK(results.source == ResultsSource::kAccelsim);
  REQUIRE(results.rows.size() == 2);
  CHECK(results.rows[0].id == 7);
  CHECK(results.rows[1].id == 41);
  CHECK(results.rows[1].name == "_Z3addv");
  CHECK(Value(results, 1, "gpu_sim_cycle") == 300.0);
  CHECK(Value(results, 0, "gpu_sim_insn") == 640.0);
  CHECK(Value(results, 0, "gpu_occupancy") == 12.5);
  // Cumulative counts become differences. Running totals of per-kernel values are omitted.
  CHECK(Value(results, 0, "L2_total_cache_accesses") == 10.0);
  CHECK(Value(results, 1, "L2_total_cache_accesses") == 25.0);
  CHECK(Value(results, 1, "gpgpu_n_load_insn") == 75.0);  // printed with two spaces before the '='
  CHECK(std::isnan(Value(results, 0, "gpu_tot_sim_cycle")));
}

TEST_CASE("Accel-Sim kernels that end out of order keep their ids") {
  const std::string two =
      "Processing kernel t/kernel-5.traceg\nlaunching kernel name: a uid: 1\n"
      "Processing kernel t/kernel-9.traceg\nlaunching kernel name: b uid: 2\n"
      "kernel_name = b \nkernel_launch_uid = 2 \ngpu_sim_cycle = 20\n"
      "kernel_name = a \nkernel_launch_uid = 1 \ngpu_sim_cycle = 10\n" +
      kExit;
  const KernelResults results = Good(two);
  REQUIRE(results.rows.size() == 2);
  CHECK(results.rows[0].id == 9);
  CHECK(results.rows[1].id == 5);
}

TEST_CASE("an Accel-Sim run that reached its limit omits its last kernel, with a warning") {
  const std::string broken =
      Kernel(7, 1, 100, 100, 10) + Kernel(8, 2, 50, 150, 20) +
      "GPGPU-Sim: ** break due to reaching the maximum cycles (or instructions) **\n";
  for (const std::string& end : {std::string(), kExit}) {
    const KernelResults results = Good(broken + end);
    REQUIRE(results.rows.size() == 1);
    CHECK(results.rows[0].id == 7);
    REQUIRE(results.warnings.size() == 1);
    CHECK(results.warnings[0].find("kernel id 8") != std::string::npos);
  }
}

TEST_CASE("an Accel-Sim run that reached its limit in a kernel skips statistics without a uid") {
  const std::string unfinished =
      "Processing kernel t/kernel-8.traceg\nlaunching kernel name: b uid: 2 cuda_stream_id: 0\n"
      "kernel_name = \nkernel_launch_uid = \ngpu_sim_cycle = 50\ngpu_sim_insn = 9\n"
      "gpu_tot_sim_cycle = 150\nL2_total_cache_accesses = 12\n"
      "GPGPU-Sim: ** break due to reaching the maximum cycles (or instructions) **\n";
  ResultsOptions cut;
  cut.allow_cut = true;
  for (const std::string& end : {std::string(), kExit}) {
    for (const ResultsOptions& options : {ResultsOptions(), cut}) {
      const KernelResults results = Good(Kernel(7, 1, 100, 100, 10) + unfinished + end, options);
      REQUIRE(results.rows.size() == 1);
      CHECK(results.rows[0].id == 7);
      CHECK(Value(results, 0, "gpu_sim_cycle") == 100.0);
      REQUIRE(results.warnings.size() == 2);
      CHECK(results.warnings[0] ==
            "log:16: statistics without a kernel_launch_uid are skipped: no kernel finished");
      CHECK(results.warnings[1] ==
            "log:22: the simulation stopped at its limit of cycles or instructions; 1 of the 2 "
            "kernels launched had finished");
    }
  }
}

TEST_CASE("an Accel-Sim configuration without occupancy causes no warning") {
  std::string log = Kernel(7, 1, 100, 100, 10) + Kernel(8, 2, 50, 150, 20) + kExit;
  for (std::size_t at = log.find("12.5000%"); at != std::string::npos; at = log.find("12.5000%")) {
    log.replace(at, 8, "-nan%");
  }
  const KernelResults results = Good(log);
  CHECK(results.rows.size() == 2);
  CHECK(results.warnings.empty());
  CHECK(std::isnan(Value(results, 0, "gpu_occupancy")));
  // Any other non-numeric statistic is missing.
  CHECK(Good("Processing kernel t/kernel-5.traceg\nkernel_name = a\nkernel_launch_uid = 1\n"
             "gpu_sim_cycle = -nan\n" +
             kExit)
            .warnings.size() == 1);
}

TEST_CASE("a truncated Accel-Sim log is an error") {
  const std::string log = Kernel(7, 1, 100, 100, 10) + Kernel(8, 2, 50, 150, 20);
  Refused(log, "exit detected");
  ResultsOptions cut;
  cut.allow_cut = true;
  const KernelResults results = Good(log, cut);
  CHECK(results.rows.size() == 1);
  CHECK(results.warnings.size() == 1);
  // A log truncated at any point is never accepted as complete.
  const std::string whole = log + kExit;
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    CHECK_FALSE(Read(whole.substr(0, size)).ok());
  }
}

TEST_CASE("a restarted Accel-Sim run ends the previous run") {
  ResultsOptions cut;
  cut.allow_cut = true;
  const std::string first = Kernel(7, 1, 100, 100, 10) + Kernel(8, 2, 50, 150, 20);
  const std::string second = Kernel(8, 1, 60, 60, 12) + Kernel(9, 2, 70, 130, 20) + kExit;
  for (const char* header : {"", "Accel-Sim [build x]\n", "gpgpu_n_loAccel-Sim [build x]\n"}) {
    CAPTURE(header);
    const std::string log = first + header + second;
    Refused(log, "exit detected");
    const KernelResults results = Good(log, cut);
    REQUIRE(results.rows.size() == 3);
    CHECK(results.rows[0].id == 7);
    CHECK(results.rows[1].id == 8);
    CHECK(results.rows[2].id == 9);
    CHECK(Value(results, 1, "gpu_sim_cycle") == 60.0);
    CHECK(Value(results, 1, "L2_total_cache_accesses") == 12.0);
    REQUIRE(results.warnings.size() == 1);
    CHECK(results.warnings[0].find("kernel id 8") != std::string::npos);
  }
  // If the earlier run was killed before its first launch or while a kernel ran, no partial results
  // are used and nothing is skipped.
  const std::string begun = "Processing kernel t/kernel-5.traceg\n";
  CHECK(Good(begun + "Accel-Sim [build x]\n" + second, cut).rows.size() == 2);
  const std::string running = begun + "launching kernel name: a uid: 1\n";
  Refused(running + second, "exit detected");
  const KernelResults ran = Good(running + second, cut);
  REQUIRE(ran.rows.size() == 2);
  CHECK(ran.rows[0].id == 8);
  // The log does not show which of the two kernels the earlier run started.
  Refused(running + begun + second, "2 lines 'Processing kernel'", cut);
  // A run that reached its limit reports the limit.
  const std::string limit =
      "GPGPU-Sim: ** break due to reaching the maximum cycles (or instructions) **\n";
  CHECK(Good(first + limit + second).rows.size() == 3);
}

TEST_CASE("a kernel at the end of a truncated Accel-Sim log is skipped only if it has statistics") {
  ResultsOptions cut;
  cut.allow_cut = true;
  const std::string one = Kernel(7, 1, 100, 100, 10);
  const std::string two = Kernel(8, 2, 50, 150, 20);
  const std::size_t uid = two.find("kernel_launch_uid");
  REQUIRE(Good(one + two.substr(0, uid), cut).rows.size() == 1);
  CHECK(Good(one + two.substr(0, uid), cut).rows[0].id == 7);
  CHECK(Good(one + two.substr(0, two.find("kernel_name")), cut).rows.size() == 1);
  CHECK(Good(one + two.substr(0, two.find("gpu_sim_insn")), cut).rows.size() == 1);
}

TEST_CASE("an Accel-Sim log with unusable kernel ids or statistics is rejected") {
  const std::string one = Kernel(7, 1, 100, 100, 10);
  Refused(
      "Processing kernel t/kernel-5.traceg\nProcessing kernel t/kernel-6.traceg\n"
      "kernel_name = a b \nkernel_launch_uid = 1 2 \ngpu_sim_cycle = 1\n" +
          kExit,
      "log:4: statistics of several kernels");
  Refused(one + "kernel_name = a\nkernel_launch_uid = 2\n" + kExit, "uid 2 after 1 lines");
  Refused("Processing kernel t/x.traceg\nkernel_name = a\nkernel_launch_uid = 1\n" + kExit,
          "log:1: no kernel id");
  Refused("Processing kernel t/kernel-5.traceg\n-kernel id = 6\n" + kExit, "expected 5");
  const KernelResults odd = Good(
      "Processing kernel t/kernel-5.traceg\nkernel_name = a\n"
      "kernel_launch_uid = 1\ngpu_sim_cycle = 1e999\n" +
      kExit);
  CHECK(odd.warnings.size() == 1);
}

const std::string kMacsim =
    "src/process_manager.cc:427: (I=0  C=0):  setup_process:0 t/Kernel7/trace.txt current_index:0 "
    "(2)\n"
    "**Core 00 Thread 00 Finished:   insts:40          cycles:90          (90)  seconds:0\n"
    "**Core 01 Thread 00 Finished:   insts:60          cycles:100         (100)  seconds:0\n"
    "src/process_manager.cc:427: (I=1  C=100):  setup_process:0 t/Kernel12/trace.txt "
    "current_index:1 (2)\n"
    "**Core 00 Thread 01 Finished:   insts:45          cycles:350         (350)  seconds:0\n";

TEST_CASE("MacSim cycles are differences, identified by the kernel in the path") {
  const KernelResults results = Good(kMacsim);
  CHECK(results.source == ResultsSource::kMacsim);
  REQUIRE(results.rows.size() == 2);
  CHECK(results.rows[0].id == 7);
  CHECK(results.rows[1].id == 12);
  CHECK(Value(results, 0, "cycles") == 100.0);
  CHECK(Value(results, 1, "cycles") == 250.0);
  CHECK(Value(results, 0, "insts") == 100.0);
  CHECK(Value(results, 1, "insts") == 45.0);
}

TEST_CASE("MacSim instructions are the sum over the warps of a kernel") {
  const std::string total = " Core_Total  Finished:   insts:";
  const std::string log =
      "setup_process:0 t/Kernel0/trace.txt current_index:0 (2)\n"
      "**Core 00 Thread 00 Finished:   insts:40          cycles:90          (90)  seconds:0\n"
      "**Core 00 Thread 01 Finished:   insts:40          cycles:95          (95)  seconds:0\n"
      "**Core 00 Thread 02 Finished:   insts:10          cycles:99          (99)  seconds:0\n"
      "**Core 01 Thread 00 Finished:   insts:30          cycles:80          (80)  seconds:0\n"
      "setup_process:0 t/Kernel1/trace.txt current_index:1 (2)\n"
      "**Core 01 Thread 01 Finished:   insts:7           cycles:180         (180)  seconds:0\n"
      "**Core 01 Thread 02 Finished:   insts:30          cycles:150         (150)  seconds:0\n";
  const auto check = [](const KernelResults& results) {
    REQUIRE(results.rows.size() == 2);
    CHECK(Value(results, 0, "insts") == 120.0);
    CHECK(Value(results, 1, "insts") == 37.0);
    CHECK(Value(results, 0, "cycles") == 99.0);
    CHECK(Value(results, 1, "cycles") == 81.0);
  };
  check(Good(log));
  // The core totals at the end are not warps.
  const KernelResults whole = Good(log + "**Core 00" + total + "90   cycles:190 (190) seconds:0\n" +
                                   "**Core 01" + total + "67   cycles:190 (190) seconds:0\n");
  check(whole);
  CHECK(whole.warnings.empty());
  const KernelResults lacking =
      Good(log + "**Core 00" + total + "90   cycles:190 (190) seconds:0\n" + "**Core 01" + total +
           "69   cycles:190 (190) seconds:0\n");
  check(lacking);
  REQUIRE(lacking.warnings.size() == 1);
  CHECK(lacking.warnings[0] ==
        "log:10: core 1 counted 69 instructions, but its warps 67; lines of warps are missing (1 "
        "such cores)");
}

TEST_CASE("a truncated MacSim log is an error") {
  const std::size_t second = kMacsim.rfind("src/");
  Refused(kMacsim.substr(0, second), "1 of 2 kernels");
  Refused(kMacsim.substr(0, kMacsim.rfind("**Core")), "2 of 2 kernels, and the last is incomplete");
  ResultsOptions cut;
  cut.allow_cut = true;
  CHECK(Good(kMacsim.substr(0, kMacsim.rfind("**Core")), cut).rows.size() == 1);
  Refused(kMacsim.substr(second), "kernel 1 of 2 begins after 0");
  Refused("CORE_0_X 1\nCYC_COUNT_TOT 350\n", "standard output");
}

TEST_CASE("the raw page of ncu has a row of units and numbers with commas") {
  const KernelResults results = Good(
      "==PROF== Connected to process 12\nhello, \"world\"\n"
      "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"sm__cycles.sum\","
      "\"gpu__time.sum\",\"l1__hit_rate.pct\",\"text\"\r\n"
      "\"\",\"\",\"\",\"\",\"\",\"cycle\",\"us\",\"%\",\"\"\r\n"
      "\"0\",\"12\",\"add(int*, int)\",\"(256, 1, 1)\",\"(64, 2, 1)\",\"1,234,567\",\"3.5\","
      "\"50\",\"x\"\r\n");
  CHECK(results.source == ResultsSource::kNcu);
  REQUIRE(results.rows.size() == 1);
  CHECK(results.rows[0].name == "add(int*, int)");
  CHECK(results.rows[0].config.grid[1] == 2);
  CHECK(results.rows[0].config.block[0] == 256);
  CHECK(Value(results, 0, "sm__cycles.sum") == 1234567.0);
  CHECK(Value(results, 0, "gpu__time.sum") == 3500.0);
  REQUIRE(results.metrics.size() == 3);
  CHECK(results.metrics[1].unit == "ns");
  CHECK(results.metrics[2].kind == MetricKind::kMean);
  CHECK(results.warnings.size() == 2);  // the line of the program, a text value
}

TEST_CASE("the details page of ncu has a row per metric, and the unit prefix may change") {
  const std::string header =
      "\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\","
      "\"Metric Value\"\n";
  const KernelResults results = Good(header +
                                     "\"0\",\"1\",\"f\",\"S\",\"Duration\",\"usecond\",\"2.5\"\n"
                                     "\"0\",\"1\",\"f\",\"S\",\"Elapsed Cycles\",\"cycle\",\"9\"\n"
                                     "\"0\",\"1\",\"f\",\"Rule\",\"\",\"\",\"\"\n"
                                     "\"1\",\"1\",\"f\",\"S\",\"Duration\",\"msecond\",\"1.5\"\n");
  REQUIRE(results.rows.size() == 2);
  CHECK(Value(results, 0, "Duration") == 2500.0);
  CHECK(Value(results, 1, "Duration") == 1.5e6);
  Refused(header + "\"0\",\"1\",\"f\",\"S\",\"Dur", "not closed");
  Refused(header + "\"0\",\"1\",\"f\"\n", "log:2: 3 cells; expected 7");
  Refused(header + "\"0\",\"1\",\"f\",\"S\",\"Duration\",\"us\",12", "no line end");
  // The first line of the row ends in a newline.
  Refused(header + "\"0\",\"1\",\"f\",\"S\n\",\"Duration\",\"us\",12", "log:2: no line end");
  CHECK(Good(header + "\"0\",\"1\",\"f\",\"S\n\",\"Duration\",\"us\",\"12\"").rows.size() == 1);
  // ncu prints a name in two sections. The section does not determine the kind of the metric.
  const KernelResults two = Good(header +
                                 "\"0\",\"1\",\"f\",\"S\",\"D\",\"%\",\"12\"\n"
                                 "\"0\",\"1\",\"f\",\"Throughput\",\"D\",\"Gbyte\",\"3\"\n"
                                 "\"0\",\"1\",\"f\",\"S\",\"D\",\"%\",\"13\"\n");
  CHECK(Value(two, 0, "D") == 12.0);
  CHECK(Value(two, 0, "Throughput: D") == 3e9);
  CHECK(two.metrics[1].unit == "byte");
  CHECK(two.metrics[1].kind == MetricKind::kSum);
  CHECK(two.warnings.size() == 1);
}

TEST_CASE("ncu numbers with an ambiguous separator are rejected") {
  const std::string header = "\"ID\",\"Kernel Name\",\"m\"\n\"\",\"\",\"\"\n";
  Refused(header + "\"0\",\"f\",\"1,234\"\n",
          "'1,234' has a decimal mark or a thousands separator");
  const KernelResults results = Good(header + "\"0\",\"f\",\"1,234\"\n\"1\",\"f\",\"0.5\"\n");
  CHECK(Value(results, 0, "m") == 1234.0);
  const KernelResults comma = Good(header + "\"0\",\"f\",\"1.234\"\n\"1\",\"f\",\"0,5\"\n");
  CHECK(Value(comma, 0, "m") == 1234.0);
}

TEST_CASE("the details page of ncu may have rows shorter than its header") {
  const KernelResults results = Good(
      "\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\","
      "\"Metric Value\",\"Rule Name\",\"Rule Type\"\n"
      "\"0\",\"1\",\"f\",\"S\",\"Duration\",\"us\",\"2.5\",\n"
      "\"0\",\"1\",\"f\",\"S\",\"\",\"\",\"\",\"Advice\",\"OPT\"\n");
  REQUIRE(results.rows.size() == 1);
  CHECK(Value(results, 0, "Duration") == 2500.0);
  CHECK(results.warnings == std::vector<std::string>{"log: 1 row has no metric (advice); skipped"});
}

TEST_CASE("any CSV with an id column is a table of results") {
  const KernelResults results = Good("note,id,cycles,ipc\nx,7,100,1.5\ny,9,,2\n");
  CHECK(results.source == ResultsSource::kCsv);
  REQUIRE(results.rows.size() == 2);
  CHECK(results.rows[1].id == 9);
  CHECK(Value(results, 0, "cycles") == 100.0);
  CHECK(std::isnan(Value(results, 1, "cycles")));
  CHECK(results.metrics[1].kind == MetricKind::kMean);
  CHECK(results.warnings.size() == 1);  // the note column
  ResultsOptions other;
  other.id_column = "k";
  CHECK(Good("id,k,v\n1,2,3\n", other).rows[0].id == 2);
  Refused("a,b\n1,2\n", "log:1: no column");
  CHECK(Good("id,v\n1,2\n").warnings.empty());
  const KernelResults cut = Good("id,v\n1,2\n2,20");
  REQUIRE(cut.warnings.size() == 1);
  CHECK(cut.warnings[0] == "log:3: the last row has no line end; it may be incomplete");
  Refused("id,v\n1,2,3\n", "log:2: 3 cells");
  Refused("id,v\n-1,2\n", "log:2: id is '-1'");
  Refused("id,v\n99999999999999999999,2\n", "expected a whole number");
  Refused("id,v,v\n1,2,3\n", "occurs twice");
  Refused("index,cycles\n3,\n4,abc\n", "log:3: cycles is 'abc'; expected a number");
  Refused("index,cycles\n", "log: no results");
}

TEST_CASE("the kind of a metric is determined by whole words of its name") {
  for (const char* sum :
       {"Duration", "duration_ns", "gpu__time_duration.sum", "iterations", "operations",
        "Operations", "loop_tripcount", "smsp__inst_executed.avg", "sm__cycles_elapsed.max",
        "L2_total_cache_accesses", "period", "superpowers", "generated", "Grid Size"}) {
    CAPTURE(sum);
    CHECK(GuessKind(sum, "") == MetricKind::kSum);
  }
  for (const char* mean : {"sm__warps_active.avg.per_cycle_active",
                           "cpi",
                           "CPI",
                           "rate",
                           "Block Limit SM",
                           "ipc",
                           "gpu_ipc",
                           "Executed Ipc Active",
                           "L1 Hit Rate",
                           "l1tex__t_sector_hit_rate.pct",
                           "hitRate",
                           "SM Frequency",
                           "Registers Per Thread",
                           "launch__registers_per_thread",
                           "Block Size",
                           "device__attribute_clock_rate",
                           "device__attribute_warp_size",
                           "utilization",
                           "busy %",
                           "dram__throughput.avg",
                           "Achieved Occupancy",
                           "power"}) {
    CAPTURE(mean);
    CHECK(GuessKind(mean, "") == MetricKind::kMean);
  }
  CHECK(GuessKind("x", "byte/second") == MetricKind::kMean);
}

TEST_CASE("text that is not UTF-8, or of an unknown kind, is rejected") {
  Refused("", "empty");
  Refused(std::string("i\0d\0,\0v\0", 8), "NUL");
  Refused("hello\nworld\n", "not recognized");
  Refused(std::string("NVR\0\1\0\0\0", 8), "ncu --import FILE --page raw --csv");
  ResultsOptions csv;
  csv.source = ResultsSource::kCsv;
  Refused(std::string(5 << 20, 'a'), "4194304 bytes", csv);
  Refused("id,v\n1,\"" + std::string(200, 'a'), "log:2: a quote is not closed", csv);
}

TEST_CASE("damaged results give an error or a warning and do not crash") {
  const std::string texts[] = {Kernel(7, 1, 100, 100, 10) + Kernel(8, 2, 50, 150, 20) + kExit,
                               kMacsim, "note,id,cycles\n\"x, y\",7,\"1,000\"\ny,9,5\n",
                               "\"ID\",\"Kernel Name\",\"v\"\n\"\",\"\",\"Kbyte\"\n"
                               "\"0\",\"f\",\"1,234\"\n"};
  Rng rng(1);
  std::size_t refused = 0;
  for (const std::string& text : texts) {
    for (int i = 0; i < 200; ++i) {
      std::string damaged = text.substr(0, 1 + rng.Below(text.size()));
      for (std::uint64_t flips = rng.Below(4); flips > 0; --flips) {
        damaged[rng.Below(damaged.size())] = static_cast<char>(rng.Next());
      }
      const Result<KernelResults> read = Read(damaged);
      if (read.ok()) continue;
      ++refused;
      CHECK(read.error().message.find('\n') == std::string::npos);
    }
  }
  CHECK(refused > 400);
}

}  // namespace
}  // namespace stemtap::formats
