// SPDX-License-Identifier: Apache-2.0
//
// Reads the environment variables that control the simulated libraries. A value that is not a
// number is an error in the test and ends the process.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace fake_env {

inline std::string Text(const char* name, const char* fallback = "") {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

inline std::uint64_t Number(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return fallback;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(value, &end, 0);
  if (*end != '\0') {
    std::fprintf(stderr, "fake GPU: %s=%s is not a number\n", name, value);
    std::abort();
  }
  return number;
}

inline double Real(const char* name, double fallback) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return fallback;
  char* end = nullptr;
  const double number = std::strtod(value, &end);
  if (*end != '\0') {
    std::fprintf(stderr, "fake GPU: %s=%s is not a number\n", name, value);
    std::abort();
  }
  return number;
}

}  // namespace fake_env
