// SPDX-License-Identifier: Apache-2.0
#include "ui/top/canvas.h"

#include <wchar.h>

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace stemtap::ui {

namespace {

// Cell is the display form of the first character of `text` and its size in bytes.
struct Cell {
  std::string text;
  int columns = 0;
  std::size_t bytes = 1;
};

Cell CellOf(std::string_view text, bool unicode) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte >= 0x20 && byte < 0x7F) return {std::string(1, text[0]), 1, 1};
  const TextUnit unit = FirstUnit(text);
  if (unit.is_visible && unicode) {
    const int columns = ::wcwidth(static_cast<wchar_t>(unit.code));
    if (columns > 0) return {std::string(text.substr(0, unit.bytes)), columns, unit.bytes};
  }
  // Without Unicode, escape each byte separately.
  const TextUnit shown = unicode ? unit : TextUnit{byte};
  Cell cell{Escaped(shown), 0, shown.bytes};
  cell.columns = static_cast<int>(cell.text.size());
  return cell;
}

}  // namespace

std::string ShownText(std::string_view text, bool unicode, int max) {
  std::string shown;
  for (int columns = 0; !text.empty() && columns <= max;) {
    const Cell cell = CellOf(text, unicode);
    shown += cell.text;
    columns += cell.columns;
    text.remove_prefix(cell.bytes);
  }
  return shown;
}

int ColumnsOf(std::string_view shown) {
  int columns = 0;
  while (!shown.empty()) {
    const Cell cell = CellOf(shown, true);
    columns += cell.columns;
    shown.remove_prefix(cell.bytes);
  }
  return columns;
}

std::string Cut(std::string_view shown, int columns, bool unicode) {
  std::size_t fits = 0;  // bytes that leave a column for the ellipsis
  std::size_t taken = 0;
  int used = 0;
  while (taken < shown.size()) {
    const Cell cell = CellOf(shown.substr(taken), true);
    if (used + cell.columns > columns) {
      if (columns == 0) return "";
      return std::string(shown.substr(0, fits)) + (unicode ? "\u2026" : "~");
    }
    used += cell.columns;
    taken += cell.bytes;
    if (used < columns) fits = taken;
  }
  return std::string(shown);
}

std::string_view LastColumns(std::string_view shown, int columns) {
  for (int left = ColumnsOf(shown); left > columns;) {
    const Cell cell = CellOf(shown, true);
    left -= cell.columns;
    shown.remove_prefix(cell.bytes);
  }
  return shown;
}

std::vector<std::string> Wrapped(std::string_view shown, int columns, std::size_t max,
                                 bool unicode) {
  std::vector<std::string> lines;
  while (!shown.empty()) {
    std::size_t taken = 0;
    for (int used = 0; taken < shown.size();) {
      const Cell cell = CellOf(shown.substr(taken), true);
      used += cell.columns;
      if (used > columns) break;
      taken += cell.bytes;
    }
    // The last line, or a character wider than a whole line.
    if (lines.size() + 1 == max || taken == 0) {
      lines.push_back(Cut(shown, columns, unicode));
      break;
    }
    lines.emplace_back(shown.substr(0, taken));
    shown.remove_prefix(taken);
  }
  return lines;
}

std::string FitLeft(std::string_view shown, int columns, bool unicode) {
  std::string text = Cut(shown, columns, unicode);
  text.append(static_cast<std::size_t>(std::max(0, columns - ColumnsOf(text))), ' ');
  return text;
}

std::string FitRight(std::string_view shown, int columns, bool unicode) {
  const std::string text = Cut(shown, columns, unicode);
  return std::string(static_cast<std::size_t>(std::max(0, columns - ColumnsOf(text))), ' ') + text;
}

std::string Utf8(char32_t c) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
  if (c >= 0xD800 && c < 0xE000) return {};
  if (c < 0x10000) return {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
  if (c > 0x10FFFF) return {};
  return {static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0)};
}

}  // namespace stemtap::ui
