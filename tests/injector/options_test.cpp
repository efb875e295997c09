// SPDX-License-Identifier: Apache-2.0
#include "startup/options.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "shm/session_env.h"

namespace stemtap::inject {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Environment adds variables to an environment without stemtap variables, and restores it.
class Environment {
 public:
  explicit Environment(const Variables& variables) {
    for (const shm::EnvSpec& spec : shm::kEnvTable) unsetenv(spec.name);
    for (const auto& [name, value] : variables) {
      setenv(name.c_str(), value.c_str(), 1);
      set_.push_back(name);
    }
  }
  ~Environment() {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::string> set_;
};

TEST_CASE("unset variables have the defaults of the table") {
  const Environment environment(Variables{});
  const Options options = ReadOptions();
  CHECK(options.session == nullptr);
  CHECK(options.level == Level::kKernels);
  CHECK_FALSE(options.profiler);
  CHECK(std::string(options.actuator) == "log");
  CHECK(options.actuator_library == nullptr);
  CHECK(options.captures_per_second == 0);
  CHECK(options.watchdog_ms == 30'000);
  CHECK(options.flush_ms == 0);
  CHECK(options.max_overhead == 0);
  CHECK(options.buffer_bytes == 512 * 1024);
  CHECK(options.cupti == nullptr);
  CHECK(options.collector == nullptr);
  CHECK(options.collector_options == nullptr);
  CHECK_FALSE(Disabled());
  CHECK(ToolInProcess() == nullptr);
}

TEST_CASE("all variables can be set") {
  const Environment environment(Variables{{"STEMTAP_SESSION", "/a/session"},
                                          {"STEMTAP_LEVEL", "gate"},
                                          {"STEMTAP_ACTUATOR", "profiler"},
                                          {"STEMTAP_FLUSH_MS", "10"},
                                          {"STEMTAP_MAX_OVERHEAD", "2.5"},
                                          {"STEMTAP_BUFFER_KB", "16384"},
                                          {"STEMTAP_CHAIN", "/another/tool.so"},
                                          {"STEMTAP_CUPTI", "/a/libcupti.so"},
                                          {"STEMTAP_COLLECTOR", "/a/stemtap"},
                                          {"STEMTAP_OPTIONS", "--epsilon 0.02"}});
  const Options options = ReadOptions();
  CHECK(std::string(options.session) == "/a/session");
  CHECK(options.level == Level::kGate);
  CHECK(options.profiler);
  CHECK(options.flush_ms == 10);
  CHECK(options.max_overhead == 2500);
  CHECK(options.buffer_bytes == 16384 * 1024);
  CHECK(std::string(options.chain) == "/another/tool.so");
  CHECK(std::string(options.cupti) == "/a/libcupti.so");
  CHECK(std::string(options.collector) == "/a/stemtap");
  CHECK(std::string(options.collector_options) == "--epsilon 0.02");
}

TEST_CASE("an invalid or out-of-range number falls back to the default") {
  for (const char* bad : {"", "x", "-1", "+50", " 50", "50 ", "50ms", "0x40", "1e3", "9", "10001",
                          "4294967496", "18446744073709551816", "99999999999999999999999999"}) {
    const Environment environment(Variables{{"STEMTAP_FLUSH_MS", bad}, {"STEMTAP_BUFFER_KB", bad}});
    CAPTURE(bad);
    CHECK(ReadOptions().flush_ms == 0);
  }
  for (const char* bad : {"15", "16385", "0", "big"}) {
    const Environment environment(Variables{{"STEMTAP_BUFFER_KB", bad}});
    CAPTURE(bad);
    CHECK(ReadOptions().buffer_bytes == 512 * 1024);
  }
  const Environment least(Variables{{"STEMTAP_BUFFER_KB", "16"}, {"STEMTAP_FLUSH_MS", "10000"}});
  CHECK(ReadOptions().buffer_bytes == 16 * 1024);
  CHECK(ReadOptions().flush_ms == 10000);
}

TEST_CASE("an empty variable is an unset variable") {
  const Environment environment(
      {{"STEMTAP_SESSION", ""}, {"STEMTAP_LEVEL", ""}, {"STEMTAP_CUPTI", ""}});
  CHECK(ReadOptions().session == nullptr);
  CHECK(ReadOptions().level == Level::kKernels);
  CHECK(ReadOptions().cupti == nullptr);
}

TEST_CASE("an unknown level or actuator falls back to the default") {
  const Environment environment(Variables{{"STEMTAP_LEVEL", "Gate"}, {"STEMTAP_ACTUATOR", "nsys"}});
  CHECK(ReadOptions().level == Level::kKernels);
  CHECK_FALSE(ReadOptions().profiler);
}

TEST_CASE("every level is parsed from its name") {
  for (const Level level : {Level::kGraph, Level::kKernels, Level::kGate}) {
    const Environment environment(Variables{{"STEMTAP_LEVEL", LevelName(level)}});
    CAPTURE(LevelName(level));
    CHECK(ReadOptions().level == level);
  }
}

TEST_CASE("the budget is a percentage of up to three decimals") {
  using Case = std::pair<std::string, std::uint32_t>;
  for (const Case& c :
       std::vector<Case>{{"1", 1'000},      {"0.001", 1},   {"0.5", 500},
                         {".25", 250},      {"3.", 3'000},  {"100", 100'000},
                         {"5%", 5'000},     {"%", 0},       {"100.000", 100'000},
                         {"0", 0},          {"100.001", 0}, {"101", 0},
                         {"0.0001", 0},     {"-1", 0},      {"1e1", 0},
                         {"1,5", 0},        {"1.2.3", 0},   {"5 %", 0},
                         {"4294967297", 0}, {"", 0},        {"99999999999999999999", 0}}) {
    const Environment environment(Variables{{"STEMTAP_MAX_OVERHEAD", c.first}});
    CAPTURE(c.first);
    CHECK(ReadOptions().max_overhead == c.second);
  }
}

TEST_CASE("an unknown actuator has the name of the default") {
  const Environment environment(Variables{{"STEMTAP_ACTUATOR", "nsys"}});
  CHECK(std::string(ReadOptions().actuator) == "log");
}

TEST_CASE("library:PATH selects a library for any path") {
  const Environment environment(Variables{{"STEMTAP_ACTUATOR", "library:/a b/log:x.so"}});
  const Options options = ReadOptions();
  CHECK_FALSE(options.profiler);
  CHECK(std::string(options.actuator_library) == "/a b/log:x.so");
  CHECK(std::string(options.actuator) == "library:/a b/log:x.so");
  const Environment empty(Variables{{"STEMTAP_ACTUATOR", "library:"}});
  CHECK(std::string(ReadOptions().actuator_library).empty());
  CHECK(std::string(ReadOptions().actuator) == "log");
}

TEST_CASE("actuators that affect launches have a default limit of 100 captures per second") {
  struct Case {
    std::string actuator, limit;
    std::uint32_t expected;
  };
  for (const Case& c : std::vector<Case>{{"log", "", 0},
                                         {"profiler", "", 100},
                                         {"library:x", "", 100},
                                         {"profiler", "0", 0},
                                         {"profiler", "7", 7},
                                         {"log", "7", 7},
                                         {"log", "1000000", 1'000'000},
                                         {"log", "1000001", 0},
                                         {"profiler", "1000001", 100},
                                         {"profiler", "-1", 100},
                                         {"profiler", "many", 100}}) {
    const Environment environment(
        Variables{{"STEMTAP_ACTUATOR", c.actuator}, {"STEMTAP_MAX_CAPTURES_PER_SECOND", c.limit}});
    CAPTURE(c.actuator);
    CAPTURE(c.limit);
    CHECK(ReadOptions().captures_per_second == c.expected);
  }
}

TEST_CASE("the watchdog's limit can be set and disabled") {
  using Case = std::pair<std::string, std::uint32_t>;
  for (const Case& c : std::vector<Case>{
           {"0", 0}, {"1", 1}, {"3600000", 3'600'000}, {"3600001", 30'000}, {"soon", 30'000}}) {
    const Environment environment(Variables{{"STEMTAP_WATCHDOG_MS", c.first}});
    CAPTURE(c.first);
    CHECK(ReadOptions().watchdog_ms == c.second);
  }
}

TEST_CASE("STEMTAP_DISABLE applies unless it is 0 or empty") {
  using Case = std::pair<std::string, bool>;
  for (const Case& c :
       std::vector<Case>{{"1", true}, {"yes", true}, {"00", true}, {"0", false}, {"", false}}) {
    const Environment environment(Variables{{"STEMTAP_DISABLE", c.first}});
    CAPTURE(c.first);
    CHECK(Disabled() == c.second);
  }
}

TEST_CASE("other tools are recognized by the names of their variables") {
  using Case = std::pair<std::string, std::string>;
  for (const Case& c :
       std::vector<Case>{{"NSYS_PROFILING_SESSION_ID", "Nsight Systems (nsys)"},
                         {"QUADD_INJECTION_PROXY", "Nsight Systems (nsys)"},
                         {"NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "Nsight Compute (ncu)"},
                         {"NV_SANITIZER_INJECTION_TRANSPORT_TYPE", "compute-sanitizer"}}) {
    const Environment environment(Variables{{c.first, "x"}});
    CAPTURE(c.first);
    REQUIRE(ToolInProcess() != nullptr);
    CHECK(ToolInProcess() == c.second);
  }
  // Users may have these settings of the same tools in a shell profile.
  const Environment environment(
      Variables{{"NSYS_NVTX_PROFILER_REGISTER_ONLY", "0"}, {"NV_SOMETHING", "1"}});
  CHECK(ToolInProcess() == nullptr);
}

}  // namespace
}  // namespace stemtap::inject
