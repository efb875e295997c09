// SPDX-License-Identifier: Apache-2.0
//
// Small text helpers that several rooms need.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace stemtap {

// The candidate closest to `word` in edit distance (insert, delete, replace, swap of neighbours), or ""
// if none is close enough to be a likely slip of the finger: distance at most 1 + length / 3.
std::string_view NearestName(std::string_view word, std::span<const std::string> candidates);

// A character of UTF-8 text, or one byte that is not part of any.
struct TextUnit {
  char32_t code = 0;  // the character, or the byte
  std::size_t bytes = 1;
  bool is_utf8 = false;
  // False for control characters, line separators, bidirectional controls, zero-width and other
  // invisible characters, and stray bytes: a terminal obeys them, or they hide or reorder other text.
  bool is_visible = false;
};

// The first unit of `text`. REQUIRES: !text.empty().
TextUnit FirstUnit(std::string_view text);

// A unit that must not be printed as it is: \xHH for ASCII and stray bytes, else \u{H...}.
std::string Escaped(const TextUnit& unit);

// `text` with every unit that is not visible escaped. All text that is not stemtap's own goes through
// here before it reaches a terminal: kernel, file and program names, and other tools' messages.
// Escaping twice changes nothing.
std::string EscapeForTerminal(std::string_view text);

// The same for text of several lines: their line feeds stay.
std::string EscapeLines(std::string_view text);

// `text` without the spaces and tabs around it.
std::string_view Trimmed(std::string_view text);

// The beginning of a cell of somebody's file, for an error message: escaped, "..." where it is cut.
std::string ShownCell(std::string_view cell);

// Whether arrays and objects in a JSON text stand in more than `most` of them: each costs a parser memory,
// or stack.
bool NestsDeeper(std::string_view json, std::size_t most);

}  // namespace stemtap
