// SPDX-License-Identifier: Apache-2.0
//
// Runs one scenario of fake_gpu_probe and parses its output.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/paths.h"
#include "support/process.h"

namespace stemtap::test {

using Environment = std::vector<std::pair<std::string, std::string>>;

inline ProcessResult Probe(const std::string& scenario, const Environment& env = {}) {
  ProcessOptions options;
  options.env = env;
  return RunProcess({STEMTAP_TEST_FAKE_GPU_PROBE, scenario}, options);
}

// Returns the output of a scenario by key.
inline std::map<std::string, std::string> Values(const std::string& scenario,
                                                 const Environment& env = {}) {
  const ProcessResult result = Probe(scenario, env);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  std::map<std::string, std::string> values;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    values[line.substr(0, space)] = line.substr(space + 1);
  }
  return values;
}

const inline Environment kReal = {{"FAKE_GPU_CLOCK", "real"}};

}  // namespace stemtap::test
