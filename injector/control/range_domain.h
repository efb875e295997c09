// SPDX-License-Identifier: Apache-2.0
//
// RangeDomain is one interface through which the program opens and closes ranges: the functions of
// stemtap/control.h, NVTX's default domain, or a named NVTX domain. The ranges of all domains nest
// in their thread, but closing a range affects only the ranges of its domain.
//
// RangeName is the name of a range in its domain. Neither type owns its text.
#pragma once

#include <string.h>

#include <cstdint>

namespace stemtap::inject {

struct RangeDomain {
  std::uint32_t id;
  // Precedes the names of its ranges, separated by ':'. Empty if they are used as they are.
  const char* name;
  std::uint32_t name_bytes;

  std::uint32_t prefix_bytes() const noexcept { return name_bytes == 0 ? 0 : name_bytes + 1; }
};

inline constexpr RangeDomain kProgramDomain = {0, "", 0};      // stemtap/control.h
inline constexpr RangeDomain kDefaultNvtxDomain = {1, "", 0};  // NVTX functions without a domain
inline constexpr std::uint32_t kFirstNamedDomain = 2;

// Maximum bytes of the name of one range, with the prefix of its domain; a longer name is cut.
inline constexpr std::uint32_t kMaxRangeNameBytes = 250;

struct RangeName {
  const char* text;
  std::uint32_t bytes;
};

// Returns the length of a text, cut to `max` at the beginning of a UTF-8 character. `max` is not 0.
inline std::uint32_t CutLength(const char* text, std::uint32_t bytes, std::uint32_t max) noexcept {
  if (bytes <= max) return bytes;
  while (max > 1 && (static_cast<unsigned char>(text[max]) & 0xC0) == 0x80) --max;
  return max;
}

// Returns the name in a 0-terminated text, cut to the maximum. An empty or null text is
// "(unnamed)".
inline RangeName NameOf(const char* text) noexcept {
  if (text == nullptr || *text == 0) text = "(unnamed)";
  const auto bytes = static_cast<std::uint32_t>(::strnlen(text, kMaxRangeNameBytes + 1));
  return {text, CutLength(text, bytes, kMaxRangeNameBytes)};
}

}  // namespace stemtap::inject
