// SPDX-License-Identifier: Apache-2.0
#include "results/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/text.h"

namespace stemtap {
namespace {

constexpr std::size_t kMaxRow = std::size_t{4} * 1024 * 1024;

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Whether every comma stands before a group of three digits, as in 12,345,678.9.
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

Result<std::vector<std::string>> SplitRow(LineReader& lines) {
  const std::string where = lines.Where();
  std::string text(lines.line());
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 0;;) {
    cell.clear();
    if (i < text.size() && text[i] == '"') {
      for (++i;; ++i) {
        if (i == text.size()) {
          const Result<bool> more = lines.Next();
          if (!more.ok()) return more.error();
          if (!more.value() || text.size() > kMaxRow) {
            return Error{fmt::format("{}: a quote that is not closed, expected '\"'", where)};
          }
          text += '\n';
          text += lines.line();
        }
        if (text[i] == '"') {
          ++i;
          if (i == text.size() || text[i] != '"') break;
        }
        cell += text[i];
      }
      if (i < text.size() && text[i] != ',') {
        return Error{fmt::format("{}: text behind a closing quote, expected a comma", where)};
      }
    } else {
      const std::size_t stop = std::min(text.find(',', i), text.size());
      cell.assign(text, i, stop - i);
      i = stop;
    }
    cells.push_back(std::move(cell));
    if (i >= text.size()) return cells;
    ++i;  // the comma
  }
}

std::optional<double> ParseCell(std::string_view cell) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr std::array<std::string_view, 8> kNone = {"",    "n/a",  "N/A", "nan",
                                                     "NaN", "-nan", "-",   "(!) n/a"};
  cell = Trimmed(cell);
  if (std::find(kNone.begin(), kNone.end(), cell) != kNone.end()) return kNaN;
  std::string plain;
  if (cell.find(',') != std::string_view::npos) {
    if (!GroupedByThree(cell)) return {};
    plain = cell;
    std::erase(plain, ',');
    cell = plain;
  }
  double value = 0.0;
  const auto [rest, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc{} || rest != cell.data() + cell.size() || !std::isfinite(value)) return {};
  return value;
}

std::optional<std::uint64_t> ParseWhole(std::string_view cell) {
  cell = Trimmed(cell);
  std::uint64_t value = 0;
  const auto [rest, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc{} || rest != cell.data() + cell.size()) return {};
  return value;
}

}  // namespace stemtap
