// SPDX-License-Identifier: Apache-2.0
#include "startup/options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "shm/profiling_tools.h"
#include "shm/session_env.h"
#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

// Values of OverrideOptions: NAME=VALUE, each ends in a 0, and an empty one at the end.
char g_overrides[4096];

// A variable without its description, which would make the library larger.
struct Variable {
  const char* name;
  const char* fallback;
  consteval Variable(const shm::EnvSpec& spec) : name(spec.name), fallback(spec.fallback) {}
};

const char* ValueOf(const char* name) noexcept {
  const std::size_t length = ::strlen(name);
  for (const char* at = g_overrides; *at != 0; at += ::strlen(at) + 1) {
    if (::strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
  }
  return ::getenv(name);
}

const char* Text(Variable variable) noexcept {
  const char* value = ValueOf(variable.name);
  if (value == nullptr || *value == 0) value = variable.fallback;
  return *value == 0 ? nullptr : value;
}

// Returns the variable's number. If it is not from `least` to `most`, returns the fallback, or 0 if
// the variable has none.
std::uint32_t Number(Variable variable, std::uint32_t least, std::uint32_t most) noexcept {
  std::uint32_t number = 0;
  const char* text = Text(variable);
  if (text == nullptr || !ParseNumber(text, least, most, number)) {
    ParseNumber(variable.fallback, least, most, number);
  }
  return number;
}

// Returns a decimal number with up to three decimals, and a percent sign after it or none, in
// thousandths. Returns 0 if it is not a number from 0.001 to 100.
std::uint32_t Thousandths(const char* text) noexcept {
  constexpr std::uint32_t kMax = 100'000;
  std::uint32_t value = 0;
  std::uint32_t decimals = 0;
  bool point = false;
  if (text == nullptr) return 0;
  for (const char* c = text; *c != 0; ++c) {
    if (*c == '.' && !point) {
      point = true;
      continue;
    }
    if (*c == '%' && c[1] == 0) break;
    if (*c < '0' || *c > '9' || value > kMax) return 0;
    if (point && ++decimals > 3) return 0;
    value = value * 10 + static_cast<std::uint32_t>(*c - '0');
  }
  if (value > kMax) return 0;
  for (; decimals < 3; ++decimals) value *= 10;
  return value <= kMax ? value : 0;
}

bool IsSet(Variable variable) noexcept {
  const char* value = Text(variable);
  return value != nullptr && ::strcmp(value, "0") != 0;
}

Level LevelNamed(const char* name) noexcept {
  if (::strcmp(name, LevelName(Level::kGate)) == 0) return Level::kGate;
  return ::strcmp(name, LevelName(Level::kGraph)) == 0 ? Level::kGraph : Level::kKernels;
}

void ReadActuator(Options& options) noexcept {
  options.actuator = Text(shm::kEnvActuator);
  constexpr std::size_t kPrefix = sizeof(shm::kLibraryActuator) - 1;
  if (::strncmp(options.actuator, shm::kLibraryActuator, kPrefix) == 0) {
    options.actuator_library = options.actuator + kPrefix;
    // The collector does not accept an empty path. Loading the actuator reports the error.
    if (*options.actuator_library == 0) options.actuator = shm::kEnvActuator.fallback;
  } else if (::strcmp(options.actuator, "profiler") == 0) {
    options.profiler = true;
  } else {
    options.actuator = shm::kEnvActuator.fallback;
  }
  const char* text = Text(shm::kEnvMaxCaptures);
  if (text == nullptr ||
      !ParseNumber(text, 0, shm::kMaxCapturesPerSecond, options.captures_per_second)) {
    const bool acts = options.profiler || options.actuator_library != nullptr;
    options.captures_per_second = acts ? shm::kDefaultCapturesPerSecond : 0;
  }
}

}  // namespace

const char* LevelName(Level level) noexcept {
  if (level == Level::kGate) return "gate";
  return level == Level::kGraph ? "graph" : "kernels";
}

bool MarksLaunches() noexcept {
  const Level level = LevelNamed(Text(shm::kEnvLevel));
  if (level != Level::kKernels) return level == Level::kGate;
  return IsSet(shm::kEnvRanges) || IsSet(shm::kEnvOnlyRange) || IsSet(shm::kEnvSkipSteps) ||
         IsSet(shm::kEnvSteps);
}

Options ReadOptions() noexcept {
  Options options;
  options.session = Text(shm::kEnvSession);
  options.level = LevelNamed(Text(shm::kEnvLevel));
  ReadActuator(options);
  options.watchdog_ms = Number(shm::kEnvWatchdogMs, 0, 3'600'000);
  options.flush_ms = Number(shm::kEnvFlushMs, 10, 10000);
  options.max_overhead = Thousandths(Text(shm::kEnvMaxOverhead));
  options.buffer_bytes = Number(shm::kEnvBufferKb, 16, 16384) * 1024;
  options.cupti = Text(shm::kEnvCupti);
  options.collector = Text(shm::kEnvCollector);
  options.collector_options = Text(shm::kEnvOptions);
  options.chain = Text(shm::kEnvChain);
  options.by_range = IsSet(shm::kEnvRanges);
  options.only_range = Text(shm::kEnvOnlyRange);
  options.steps = {Number(shm::kEnvSkipSteps, 0, shm::kMaxSteps),
                   Number(shm::kEnvSteps, 0, shm::kMaxSteps)};
  return options;
}

void OverrideOptions(const char* text) noexcept {
  std::size_t length = ::strnlen(text, sizeof(g_overrides) - 2);
  ::memcpy(g_overrides, text, length);
  // The last value must end in two zeros.
  while (length != 0 && g_overrides[length - 1] == '\n') --length;
  g_overrides[length] = g_overrides[length + 1] = 0;
  for (std::size_t i = 0; i < length; ++i) {
    if (g_overrides[i] == '\n') g_overrides[i] = 0;
  }
}

bool Paused() noexcept {
  return IsSet(shm::kEnvPaused);
}

bool Disabled() noexcept {
  return IsSet(shm::kEnvDisable);
}

const char* ToolInProcess() noexcept {
  const char* variable = nullptr;
  const shm::ProfilingTool* tool = shm::ToolInEnvironment(environ, variable);
  return tool == nullptr ? nullptr : tool->name;
}

const char* ToolOfProcess() noexcept {
  // For a script, this is the path of the script.
  const auto* path = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  const shm::ProfilingTool* tool = path == nullptr ? nullptr : shm::ToolOfProgram(path);
  return tool == nullptr ? nullptr : tool->name;
}

}  // namespace stemtap::inject
