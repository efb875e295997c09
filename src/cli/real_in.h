// SPDX-License-Identifier: Apache-2.0
//
// RealIn is CLI::Range of real numbers without NaN, which every comparison lets through.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

namespace stemtap::cli {

inline CLI::Validator RealIn(double least, double most) {
  CLI::Validator range = CLI::Range(least, most);
  CLI::Validator real = range;
  real.operation([range](std::string& text) {
    double value = 0.0;
    if (CLI::detail::lexical_cast(text, value) && std::isnan(value)) {
      return "Value " + text + " not " + range.get_description();
    }
    return range(text);
  });
  return real;
}

}  // namespace stemtap::cli
