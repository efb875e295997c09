// SPDX-License-Identifier: Apache-2.0
#include "importers/csv_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "base/text.h"

namespace stemtap {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// A longer line is no text. The raw page of Nsight Compute has a few thousand columns: 100 KB.
constexpr std::size_t kMaxLineBytes = std::size_t{4} * 1024 * 1024;

}  // namespace

Error CsvLines::At(const std::string& what) const {
  return Error{fmt::format("{}:{}: {}", name(), std::max<std::uint64_t>(line_, 1), what)};
}

Result<bool> CsvLines::Next() {
  ++line_;
  for (;;) {
    const std::size_t newline = buffer_.find('\n', searched_);
    if (newline != std::string::npos || (at_end_ && begin_ < buffer_.size())) {
      ended_ = newline != std::string::npos;
      const std::size_t end = ended_ ? newline : buffer_.size();
      text_ = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = ended_ ? end + 1 : end;
      searched_ = begin_;
      if (text_.ends_with('\r')) text_.remove_suffix(1);
      if (line_ == 1 && text_.starts_with(kByteOrderMark)) {
        text_.remove_prefix(kByteOrderMark.size());
      }
      return true;
    }
    if (at_end_) return false;
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t held = buffer_.size();
    searched_ = held;
    if (held > kMaxLineBytes) {
      return At(fmt::format("a line of more than {} bytes, expected text", kMaxLineBytes));
    }
    buffer_.resize(held + kReadBytes);
    const Result<std::size_t> count = source_->Read(buffer_.data() + held, kReadBytes);
    if (!count.ok()) return count.error();
    buffer_.resize(held + count.value());
    at_end_ = count.value() == 0;
  }
}

bool CsvLines::Split(std::size_t from) {
  cells_.clear();
  char* const data = buffer_.data() + (text_.data() - buffer_.data());
  const std::size_t size = text_.size();
  for (std::size_t at = from;; ++at) {
    if (at < size && data[at] == '"') {
      const std::size_t begin = ++at;
      std::size_t out = begin;  // doubled quotes shrink in place
      for (;; ++at) {
        if (at >= size) return false;
        if (data[at] == '"' && (at + 1 >= size || data[at + 1] != '"')) break;
        if (data[at] == '"') ++at;
        data[out++] = data[at];
      }
      cells_.emplace_back(data + begin, out - begin);
      if (++at < size && data[at] != ',') return false;
    } else {
      const std::size_t end = std::min(text_.find(',', at), size);
      cells_.emplace_back(data + at, end - at);
      at = end;
    }
    if (at >= size) return true;
  }
}

std::optional<std::size_t> FindCell(const std::vector<std::string_view>& cells,
                                    std::string_view name) {
  const auto at = std::find(cells.rbegin(), cells.rend(), name);
  if (at == cells.rend()) return std::nullopt;
  return static_cast<std::size_t>(cells.rend() - at) - 1;
}

std::optional<std::uint64_t> WholeNumber(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc{} || rest != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ScaledDecimal(std::string_view text, int exponent) {
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    int value = 0;
    const char* const end = power.data() + power.size();
    const auto [rest, code] = std::from_chars(power.data(), end, value);
    if (code != std::errc{} || rest != end || value < -1000 || value > 1000) return std::nullopt;
    exponent += value;
    text = text.substr(0, e);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  if (point < text.size()) digits += text.substr(point + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  // The value is 0.digits times 10^places.
  const auto places = static_cast<std::int64_t>(point) + exponent;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t value = 0;
  for (std::int64_t i = 0; i < places; ++i) {
    const bool given = i < static_cast<std::int64_t>(digits.size());
    if (!given && value == 0) break;
    const auto digit =
        static_cast<std::uint64_t>(given ? digits[static_cast<std::size_t>(i)] - '0' : 0);
    if (value > (kMost - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  const bool has_next = places >= 0 && places < static_cast<std::int64_t>(digits.size());
  if (has_next && digits[static_cast<std::size_t>(places)] >= '5') {
    if (value == kMost) return std::nullopt;
    ++value;
  }
  return value;
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

}  // namespace stemtap
