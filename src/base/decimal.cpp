// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/text.h"

namespace stemtap {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Exponents are clamped to this magnitude. No text in memory has this many digits, so a number with
// such an exponent is 0 or too large in any case.
constexpr std::int64_t kFarExponent = std::int64_t{1} << 40;

// Removes the leading digits from `text` and returns them.
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

// Written is the syntax of a decimal number. `whole`, `fraction` or both may be empty.
struct Written {
  bool negative = false;
  std::string_view whole;
  bool has_point = false;
  std::string_view fraction;
  std::int64_t exponent = 0;
};

std::optional<Written> TakeApart(std::string_view text) {
  Written number;
  number.negative = TakeOne(text, "-");
  number.whole = TakeDigits(text);
  number.has_point = TakeOne(text, ".");
  if (number.has_point) number.fraction = TakeDigits(text);
  if (TakeOne(text, "eE")) {
    const bool negative = !text.empty() && text.front() == '-';
    TakeOne(text, "+-");
    const std::string_view digits = TakeDigits(text);
    if (digits.empty()) return {};
    for (const char digit : digits) {
      number.exponent = std::min(number.exponent * 10 + (digit - '0'), kFarExponent);
    }
    if (negative) number.exponent = -number.exponent;
  }
  if (!text.empty()) return {};
  return number;
}

// Returns `number` times 10^shift, or nullopt if the magnitude does not fit in 64 bits.
std::optional<JsonDecimal> Scaled(const Written& number, int shift) {
  JsonDecimal result;
  result.negative = number.negative;
  // Digits before position `point` form the integer; the digit at `point` determines rounding.
  const std::string_view whole = number.whole;
  const auto size = static_cast<std::int64_t>(whole.size() + number.fraction.size());
  const std::int64_t point = static_cast<std::int64_t>(whole.size()) + number.exponent + shift;
  const auto digit = [&](std::int64_t i) -> std::uint64_t {
    const auto at = static_cast<std::size_t>(i);
    const char c = at < whole.size() ? whole[at] : number.fraction[at - whole.size()];
    return static_cast<std::uint64_t>(c - '0');
  };
  std::int64_t i = 0;
  for (; i < std::min(point, size); ++i) {
    const std::uint64_t next = digit(i);
    if (result.magnitude > (kMax - next) / 10) return {};
    result.magnitude = result.magnitude * 10 + next;
  }
  if (result.magnitude != 0) {
    for (; i < point; ++i) {
      if (result.magnitude > kMax / 10) return {};
      result.magnitude *= 10;
    }
  }
  const bool round_up = point >= 0 && point < size && digit(point) >= 5;
  for (i = std::max<std::int64_t>(point, 0); i < size && result.exact; ++i) {
    result.exact = digit(i) == 0;
  }
  if (round_up) {
    if (result.magnitude == kMax) return {};
    ++result.magnitude;
  }
  return result;
}

// Returns whether every comma precedes a group of three digits, as in 12,345,678.9.
bool GroupedByThree(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::string_view whole = text.substr(0, text.find('.'));
  if (text.substr(whole.size()).find(',') != std::string_view::npos) return false;
  std::size_t digits = 0;
  bool first = true;
  for (const char c : whole) {
    if (c == ',') {
      if (digits == 0 || digits > 3 || (!first && digits != 3)) return false;
      first = false;
      digits = 0;
    } else {
      ++digits;
    }
  }
  return first || digits == 3;
}

}  // namespace

std::optional<std::uint64_t> WholeNumber(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc{} || rest != end) return std::nullopt;
  return value;
}

std::optional<JsonDecimal> ParseDecimal(std::string_view text, int shift) {
  const std::optional<Written> number = TakeApart(text);
  if (!number || number->whole.empty()) return {};
  if (number->whole.size() > 1 && number->whole.front() == '0') return {};
  if (number->has_point && number->fraction.empty()) return {};
  return Scaled(*number, shift);
}

std::optional<std::uint64_t> ScaledDecimal(std::string_view text, int shift) {
  const std::optional<Written> number = TakeApart(text);
  if (!number || number->negative) return {};
  if (number->whole.empty() && number->fraction.empty()) return {};
  const std::optional<JsonDecimal> scaled = Scaled(*number, shift);
  if (!scaled || scaled->magnitude > std::numeric_limits<std::int64_t>::max()) return {};
  return scaled->magnitude;
}

std::optional<int> TimeExponent(std::string_view unit) {
  struct Unit {
    std::string_view name;
    int exponent;
  };
  constexpr std::array kUnits = {Unit{"s", 9},       Unit{"second", 9},  Unit{"sec", 9},
                                 Unit{"ms", 6},      Unit{"msecond", 6}, Unit{"us", 3},
                                 Unit{"usecond", 3}, Unit{"ns", 0},      Unit{"nsecond", 0}};
  for (const Unit& known : kUnits) {
    if (unit == known.name) return known.exponent;
  }
  return std::nullopt;
}

bool DropThousands(std::string_view& number, std::string& plain) {
  if (number.find(',') == std::string_view::npos) return true;
  if (!GroupedByThree(number)) return false;
  plain = number;
  std::erase(plain, ',');
  number = plain;
  return true;
}

std::optional<double> CellNumber(std::string_view cell) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr std::array<std::string_view, 8> kNone = {"",    "n/a",  "N/A", "nan",
                                                     "NaN", "-nan", "-",   "(!) n/a"};
  cell = Trimmed(cell);
  if (std::find(kNone.begin(), kNone.end(), cell) != kNone.end()) return kNaN;
  std::string plain;
  if (!DropThousands(cell, plain)) return {};
  double value = 0.0;
  const auto [rest, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc{} || rest != cell.data() + cell.size() || !std::isfinite(value)) return {};
  return value;
}

std::optional<Share> ParseShare(std::string_view text) {
  Share share;
  share.is_percent = text.ends_with('%');
  if (share.is_percent) text.remove_suffix(1);
  const std::optional<Written> number = TakeApart(text);
  const bool is_plain = number && (number->whole.size() + number->fraction.size()) > 0;
  if (!is_plain) return {};
  // Shifts the exponent of the text, because a division by 100 rounds again.
  const std::size_t mantissa = std::min(text.find_first_of("eE"), text.size());
  const std::string shifted =
      fmt::format("{}e{}", text.substr(0, mantissa), number->exponent - (share.is_percent ? 2 : 0));
  const auto [rest, code] =
      std::from_chars(shifted.data(), shifted.data() + shifted.size(), share.value);
  if (code != std::errc{} || rest != shifted.data() + shifted.size()) return {};
  return share;
}

}  // namespace stemtap
