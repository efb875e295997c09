// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/decimal.h"
#include "base/text.h"
#include "formats/importers/ncu_page.h"

namespace stemtap::formats {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool AllDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

double ReadNumber(std::string_view text, char group, char mark) {
  std::string plain;
  if (text.starts_with('-')) {
    plain += '-';
    text.remove_prefix(1);
  }
  const std::size_t exponent = std::min(text.find_first_of("eE"), text.size());
  const std::size_t end = std::min(text.find(mark), exponent);
  std::string_view whole = text.substr(0, end);
  if (const std::size_t first = whole.find(group); first != std::string_view::npos) {
    // Groups of three digits follow a first group of one to three digits that does not start with
    // 0.
    if (first == 0 || first > 3 || whole[0] == '0') return kNone;
    plain += whole.substr(0, first);
    for (whole.remove_prefix(first); !whole.empty(); whole.remove_prefix(4)) {
      if (whole[0] != group || whole.size() < 4) return kNone;
      if (!AllDigits(whole.substr(1, 3))) return kNone;
      if (whole.size() > 4 && whole[4] != group) return kNone;
      plain += whole.substr(1, 3);
    }
  } else {
    plain += whole;
  }
  if (!AllDigits(std::string_view(plain).substr(plain.starts_with('-') ? 1 : 0))) return kNone;
  if (end < exponent) {
    const std::string_view decimals = text.substr(end + 1, exponent - end - 1);
    if (!decimals.empty() && !AllDigits(decimals)) return kNone;
    plain += '.';
    plain += decimals.empty() ? "0" : decimals;
  }
  std::string power(text.substr(exponent));
  if (power.size() > 1 && power[1] == '+') power.erase(1, 1);
  plain += power;
  double value = 0.0;
  const auto [rest, code] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (code != std::errc{} || rest != plain.data() + plain.size()) return kNone;
  return value;
}

}  // namespace

bool NcuReading::IsText() const {
  return std::isnan(point) && std::isnan(comma);
}

bool IsNcuMissing(std::string_view text) {
  constexpr std::array<std::string_view, 8> kMissing = {"",    "n/a",  "N/A", "nan",
                                                        "NaN", "-nan", "-",   "(!) n/a"};
  return std::find(kMissing.begin(), kMissing.end(), text) != kMissing.end();
}

NcuReading ReadNcuNumber(std::string_view text) {
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) return {};
  // Group separators of other locales (no-break spaces and apostrophes) do not identify the decimal
  // mark.
  std::string stripped(text);
  for (const std::string_view mark : {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x99", "'"}) {
    for (std::size_t at = stripped.find(mark); at != std::string::npos; at = stripped.find(mark)) {
      stripped.erase(at, mark.size());
    }
  }
  return {ReadNumber(stripped, ',', '.'), ReadNumber(stripped, '.', ',')};
}

NcuUnit ParseNcuUnit(std::string_view text) {
  NcuUnit unit;
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::string_view top = text.substr(0, slash);
  if (const std::optional<int> exponent = TimeExponent(top)) {
    unit.factor = std::pow(10.0, *exponent);
    unit.base = "ns";
  } else {
    // 1.02 Kbyte are 1024 bytes: prefixes are powers of 1000.
    constexpr std::array<std::string_view, 13> kPlain = {
        "byte",    "B",      "hz",   "Hz",    "inst", "sector", "cycle",
        "request", "thread", "warp", "block", "op",   "flop"};
    constexpr std::string_view kPrefixes = "KMGTP";
    const std::size_t prefix =
        top.empty() ? std::string_view::npos : kPrefixes.find(top[0] == 'k' ? 'K' : top[0]);
    if (prefix != std::string_view::npos) {
      for (const std::string_view plain : kPlain) {
        if (top.substr(1) != plain) continue;
        unit.factor = std::pow(1000.0, static_cast<double>(prefix + 1));
        top.remove_prefix(1);
        break;
      }
    }
    unit.base = top == "B" ? "byte" : top;
  }
  if (slash < text.size()) {
    const std::string_view below = text.substr(slash + 1);
    if (const std::optional<int> exponent = TimeExponent(below)) {
      unit.factor *= std::pow(10.0, 9 - *exponent);
      unit.base += "/s";
    } else {
      unit.base += text.substr(slash);
    }
  }
  return unit;
}

NcuValues NcuValuesOf(std::string_view metric, std::string_view unit) {
  for (const char* launch : {"launch__grid_size", "launch__block_size", "launch__thread_count"}) {
    if (metric == launch) return NcuValues::kCounts;
  }
  if (!metric.ends_with(".sum") && !metric.ends_with(".max") && !metric.ends_with(".min")) {
    return NcuValues::kAny;
  }
  for (const char* event : {"inst", "sector", "request", "thread", "warp", "block", "cycle"}) {
    if (unit == event) return NcuValues::kCounts;
  }
  for (const char* scaled : {"byte", "nsecond", "ns"}) {
    if (unit == scaled) return NcuValues::kWhole;
  }
  return NcuValues::kAny;
}

void NcuDecimalMark::Note(const NcuReading& reading, NcuValues values, std::string_view text,
                          std::uint64_t line) {
  const auto note = [&](Place& place) {
    if (place.line == 0) place = {line, std::string(text.substr(0, 40))};
  };
  const bool point = !std::isnan(reading.point);
  const bool comma = !std::isnan(reading.comma);
  if (point && comma && reading.point != reading.comma) {
    const bool whole_point = std::trunc(reading.point) == reading.point;
    const bool whole_comma = std::trunc(reading.comma) == reading.comma;
    if (values != NcuValues::kAny && whole_point != whole_comma) {
      note(whole_point ? point_ : comma_);
    } else if (values == NcuValues::kCounts && whole_point) {
      // 1,000 without decimals is not 1.000: the mark separates thousands.
      note(std::abs(reading.point) > std::abs(reading.comma) ? point_ : comma_);
    } else {
      note(either_);
    }
  } else if (point != comma) {
    note(point ? point_ : comma_);
  }
}

Result<bool> NcuDecimalMark::IsComma(const std::string& name) const {
  if (point_.line != 0 && comma_.line != 0) {
    return Error{
        fmt::format("{}:{}: '{}' has a decimal comma, but '{}' in line {} has a decimal point; "
                    "expected one of them",
                    name, comma_.line, EscapeForTerminal(comma_.text),
                    EscapeForTerminal(point_.text), point_.line)};
  }
  if (either_.line != 0 && point_.line == 0 && comma_.line == 0) {
    return Error{
        fmt::format("{}:{}: '{}' has a decimal mark or a thousands separator, and no number of the "
                    "file shows which; expected a page that was printed with LC_ALL=C ncu ...",
                    name, either_.line, EscapeForTerminal(either_.text))};
  }
  return comma_.line != 0;
}

}  // namespace stemtap::formats
