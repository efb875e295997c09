// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace stemtap {
namespace {

// Returns the Damerau-Levenshtein distance, restricted to swaps of adjacent characters.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_rows_up(b.size() + 1), row_up(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row_up[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({row_up[j] + 1, row[j - 1] + 1, row_up[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_rows_up[j - 2] + 1);
      }
    }
    std::swap(two_rows_up, row_up);
    std::swap(row_up, row);
  }
  return row_up[b.size()];
}

struct CodeRange {
  char32_t first;
  char32_t last;
};

// Characters that terminals interpret, or that are invisible and can hide or reorder text: control
// characters, line and paragraph separators, interlinear annotation marks and Unicode's
// Default_Ignorable_Code_Point (DerivedCoreProperties.txt), which includes all bidirectional and
// zero-width characters. Ascending.
constexpr CodeRange kHidden[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},
    {0x115F, 0x1160}, {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F}, {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

bool IsHidden(char32_t code) {
  const auto* range = std::ranges::lower_bound(kHidden, code, {}, &CodeRange::last);
  return range != std::end(kHidden) && code >= range->first;
}

std::string Escape(std::string_view text, bool keep_line_feeds) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const TextUnit unit = FirstUnit(text);
    if (unit.is_visible || (keep_line_feeds && unit.code == '\n')) {
      escaped.append(text.substr(0, unit.bytes));
    } else {
      escaped += Escaped(unit);
    }
    text.remove_prefix(unit.bytes);
  }
  return escaped;
}

}  // namespace

std::string_view NearestName(std::string_view word, std::span<const std::string> candidates) {
  std::string_view nearest;
  std::size_t nearest_distance = 2 + word.size() / 3;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < nearest_distance) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return nearest;
}

TextUnit FirstUnit(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const TextUnit stray = {lead, 1, false, false};
  if (lead < 0x80) return {lead, 1, true, !IsHidden(lead)};
  const std::size_t bytes = lead < 0xC2   ? 0
                            : lead < 0xE0 ? 2
                            : lead < 0xF0 ? 3
                            : lead < 0xF5 ? 4
                                          : 0;
  if (bytes == 0 || bytes > text.size()) return stray;
  char32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return stray;
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return stray;
  return {code, bytes, true, !IsHidden(code)};
}

std::string Escaped(const TextUnit& unit) {
  const auto code = static_cast<std::uint32_t>(unit.code);
  return unit.is_utf8 && code >= 0x80 ? fmt::format("\\u{{{:X}}}", code)
                                      : fmt::format("\\x{:02X}", code);
}

std::string EscapeForTerminal(std::string_view text) {
  return Escape(text, false);
}

std::string ShortText(std::string_view text, std::size_t max_bytes) {
  std::string shown = EscapeForTerminal(text);
  if (shown.size() <= max_bytes) return shown;
  std::size_t end = max_bytes - 3;
  while ((static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;  // do not split UTF-8
  return shown.substr(0, end) + "...";
}

std::string EscapeLines(std::string_view text) {
  return Escape(text, true);
}

std::string Plural(std::uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

std::string ShownSeconds(double seconds) {
  if (seconds < 120.0) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200.0) return fmt::format("{:.0f} min", seconds / 60.0);
  if (seconds < 172800.0) return fmt::format("{:.1f} h", seconds / 3600.0);
  return fmt::format("{:.1f} days", seconds / 86400.0);
}

std::string ShownBytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  // 999.5 would be shown as 1e+03.
  for (; bytes >= 999.5 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000.0;
  const int digits = unit == 0 || bytes >= 99.95 ? 0 : bytes < 9.995 ? 2 : 1;
  return fmt::format("{:.{}f} {}", bytes, digits, kUnits[unit]);
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string ShownCell(std::string_view cell) {
  constexpr std::size_t kMax = 40;  // enough to find the cell in its file
  return EscapeForTerminal(cell.substr(0, kMax)) + (cell.size() > kMax ? "..." : "");
}

bool NestsDeeper(std::string_view json, std::size_t most) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace stemtap
