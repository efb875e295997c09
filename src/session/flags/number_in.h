// SPDX-License-Identifier: Apache-2.0
//
// CLI11 validators for numeric options: decimal, the whole word, within a range. CLI11's own
// conversion accepts -1 as 2^64 - 1, 010 as 8 and 2^64 as 2^64 - 1, and its ranges accept NaN.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

#include "base/decimal.h"
#include "base/text.h"

namespace stemtap::session {

// For transform(): removes leading zeros, which CLI11 would read as octal.
inline CLI::Validator WholeIn(std::uint64_t least = 0,
                              std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  const std::string range = fmt::format("{} to {}", least, most);
  const bool any = least == 0 && most == std::numeric_limits<std::uint64_t>::max();
  return CLI::Validator(
      [least, most, range](std::string& text) {
        const auto value = WholeNumber(text);
        if (!value || *value < least || *value > most) {
          return fmt::format("expected a whole number of {}, found '{}'", range, ShownCell(text));
        }
        text = std::to_string(*value);
        return std::string();
      },
      any ? "" : range);
}

// For check().
inline CLI::Validator RealIn(double least, double most) {
  const std::string range = fmt::format("{} to {}", least, most);
  return CLI::Validator(
      [least, most, range](std::string& text) {
        double value = 0.0;
        const char* const end = text.data() + text.size();
        const auto [rest, code] = std::from_chars(text.data(), end, value);
        if (code == std::errc{} && rest == end && value >= least && value <= most) {
          return std::string();
        }
        return fmt::format("expected a number of {}, found '{}'", range, ShownCell(text));
      },
      range);
}

}  // namespace stemtap::session
