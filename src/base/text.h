// SPDX-License-Identifier: Apache-2.0
//
// Small text helpers that several modules use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stemtap {

// Returns the candidate closest to `word` in edit distance (insertions, deletions, replacements and
// swaps of adjacent characters), or "" if none is a likely typo: distance at most 1 + length / 3.
std::string_view NearestName(std::string_view word, std::span<const std::string> candidates);

// TextUnit is one character of UTF-8 text, or one byte that is not part of a character.
struct TextUnit {
  char32_t code = 0;  // the character, or the byte
  std::size_t bytes = 1;
  bool is_utf8 = false;
  // False for control characters, line separators, bidirectional controls, zero-width and other
  // invisible characters, and stray bytes: terminals interpret them, or they hide or reorder text.
  bool is_visible = false;
};

// Returns the first unit of `text`. REQUIRES: !text.empty().
TextUnit FirstUnit(std::string_view text);

// Returns the escape sequence of `unit`: \xHH for ASCII and stray bytes, otherwise \u{H...}.
std::string Escaped(const TextUnit& unit);

// Returns `text` with all invisible units escaped. All external text must be escaped before it is
// written to a terminal: kernel, file and program names, and messages of other tools. Escaping is
// idempotent.
std::string EscapeForTerminal(std::string_view text);

// Like EscapeForTerminal, but returns at most `max_bytes` bytes; "..." replaces the end of a longer
// text. REQUIRES: max_bytes > 6.
std::string ShortText(std::string_view text, std::size_t max_bytes);

// Like EscapeForTerminal, but keeps line feeds.
std::string EscapeLines(std::string_view text);

// Returns a count with its noun: "1 kernel", "2 kernels", "2 launches". The default of `many` is
// `one` with an s.
std::string Plural(std::uint64_t count, std::string_view one, std::string_view many = {});

// Returns a time in a unit that suits it: "12.3 s", "42 min", "7.5 h", "29.2 days".
std::string ShownSeconds(double seconds);

// Returns a size in a unit that suits it, with three digits: "512 B", "45.1 MB", "2.54 TB".
std::string ShownBytes(double bytes);

// Returns `text` without leading and trailing spaces and tabs.
std::string_view Trimmed(std::string_view text);

// Returns `text` with ASCII letters in lower case.
std::string LowerCase(std::string_view text);

// Returns the beginning of a cell for an error message: escaped, with "..." if it is shortened.
std::string ShownCell(std::string_view cell);

// Returns whether arrays and objects in a JSON text are nested more than `most` levels deep.
// Parsers spend memory or stack on each level.
bool NestsDeeper(std::string_view json, std::size_t most);

}  // namespace stemtap
