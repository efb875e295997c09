// SPDX-License-Identifier: Apache-2.0
#include "importers/json_decimal.h"

#include <algorithm>
#include <limits>

namespace stemtap {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// An exponent beyond this decides alone whether the number is 0 or too large, unless the text has
// about as many digits, which no number in memory has.
constexpr std::int64_t kFarExponent = std::int64_t{1} << 40;

// Takes the digits at the front of `text`.
std::string_view TakeDigits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool TakeOne(std::string_view& text, std::string_view of) {
  if (text.empty() || of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<JsonDecimal> ParseDecimal(std::string_view text, int shift) {
  JsonDecimal result;
  result.negative = TakeOne(text, "-");
  const std::string_view whole = TakeDigits(text);
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return {};
  std::string_view fraction;
  if (TakeOne(text, ".")) {
    fraction = TakeDigits(text);
    if (fraction.empty()) return {};
  }
  std::int64_t exponent = 0;
  if (TakeOne(text, "eE")) {
    const bool negative = !text.empty() && text.front() == '-';
    TakeOne(text, "+-");
    const std::string_view digits = TakeDigits(text);
    if (digits.empty()) return {};
    for (const char digit : digits) {
      exponent = std::min(exponent * 10 + (digit - '0'), kFarExponent);
    }
    if (negative) exponent = -exponent;
  }
  if (!text.empty()) return {};

  // Digits at positions before `point` are whole, the one at it decides about rounding.
  const auto size = static_cast<std::int64_t>(whole.size() + fraction.size());
  const std::int64_t point = static_cast<std::int64_t>(whole.size()) + exponent + shift;
  const auto digit = [&](std::int64_t i) -> std::uint64_t {
    const auto at = static_cast<std::size_t>(i);
    const char c = at < whole.size() ? whole[at] : fraction[at - whole.size()];
    return static_cast<std::uint64_t>(c - '0');
  };
  std::int64_t i = 0;
  for (; i < std::min(point, size); ++i) {
    const std::uint64_t next = digit(i);
    if (result.magnitude > (kMost - next) / 10) return {};
    result.magnitude = result.magnitude * 10 + next;
  }
  if (result.magnitude != 0) {
    for (; i < point; ++i) {
      if (result.magnitude > kMost / 10) return {};
      result.magnitude *= 10;
    }
  }
  const bool round_up = point >= 0 && point < size && digit(point) >= 5;
  for (i = std::max<std::int64_t>(point, 0); i < size && result.exact; ++i) {
    result.exact = digit(i) == 0;
  }
  if (round_up) {
    if (result.magnitude == kMost) return {};
    ++result.magnitude;
  }
  return result;
}

}  // namespace stemtap
