// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/session_env.h"

namespace stemtap::inject {
namespace {

const char* Text(const wire::EnvSpec& spec) noexcept {
  const char* value = ::getenv(spec.name);
  if (value == nullptr || *value == 0) value = spec.fallback;
  return *value == 0 ? nullptr : value;
}

// strtoul and its kin are renamed by newer headers (GLIBC_2.38); digits are easily read.
bool ParseNumber(const char* text, std::uint32_t least, std::uint32_t most,
                 std::uint32_t& number) noexcept {
  std::uint64_t value = 0;
  if (*text == 0) return false;
  for (const char* c = text; *c != 0; ++c) {
    if (*c < '0' || *c > '9' || value > most) return false;
    value = value * 10 + static_cast<std::uint64_t>(*c - '0');
  }
  if (value < least || value > most) return false;
  number = static_cast<std::uint32_t>(value);
  return true;
}

std::uint32_t Number(const wire::EnvSpec& spec, std::uint32_t least, std::uint32_t most) noexcept {
  std::uint32_t number = 0;
  const char* text = Text(spec);
  if (text == nullptr || !ParseNumber(text, least, most, number)) {
    ParseNumber(spec.fallback, least, most, number);
  }
  return number;
}

}  // namespace

Options ReadOptions() noexcept {
  Options options;
  options.session = Text(wire::kEnvSession);
  options.gate = ::strcmp(Text(wire::kEnvLevel), "gate") == 0;
  options.profiler = ::strcmp(Text(wire::kEnvActuator), "profiler") == 0;
  options.flush_ms = Number(wire::kEnvFlushMs, 10, 10000);
  options.buffer_bytes = Number(wire::kEnvBufferKb, 16, 16384) * 1024;
  options.cupti = Text(wire::kEnvCupti);
  options.collector = Text(wire::kEnvCollector);
  options.collector_options = Text(wire::kEnvOptions);
  options.chain = Text(wire::kEnvChain);
  return options;
}

bool Disabled() noexcept {
  const char* value = ::getenv(wire::kEnvDisable.name);
  return value != nullptr && *value != 0 && ::strcmp(value, "0") != 0;
}

const char* ToolInProcess() noexcept {
  struct Sign {
    const char* prefix;
    const char* tool;
  };
  static constexpr Sign kSigns[] = {{"NSYS_PROFILING_SESSION_ID=", "Nsight Systems (nsys)"},
                                    {"QUADD_INJECTION_PROXY=", "Nsight Systems (nsys)"},
                                    {"NV_NSIGHT_INJECTION_", "Nsight Compute (ncu)"},
                                    {"NV_SANITIZER_INJECTION_", "compute-sanitizer"}};
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    for (const Sign& sign : kSigns) {
      if (::strncmp(*variable, sign.prefix, ::strlen(sign.prefix)) == 0) return sign.tool;
    }
  }
  return nullptr;
}

}  // namespace stemtap::inject
