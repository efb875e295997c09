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

// `text` with everything a terminal could obey (control characters, invalid UTF-8) written as \xHH.
// Kernel names come from the traced program: they are data.
std::string EscapeForTerminal(std::string_view text);

// `text` without the spaces and tabs around it.
std::string_view Trimmed(std::string_view text);

// The beginning of a cell of somebody's file, for an error message: escaped, "..." where it is cut.
std::string ShownCell(std::string_view cell);

// Whether arrays and objects in a JSON text stand in more than `most` of them: each costs a parser memory,
// or stack.
bool NestsDeeper(std::string_view json, std::size_t most);

}  // namespace stemtap
