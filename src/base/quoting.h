// SPDX-License-Identifier: Apache-2.0
//
// Text from outside as a part of JSON or of a shell command, without the units that a terminal
// would interpret (TextUnit in text.h).
#pragma once

#include <string>
#include <string_view>

namespace stemtap {

// Returns JSON of the same value in which invisible units are escaped as \uHHHH. Keeps line feeds,
// which are between values. REQUIRES: `json` is UTF-8, and has no tabs between values.
std::string EscapeJson(std::string_view json);

// Returns `text` as one word of a shell command that a user can copy from a terminal: unchanged if
// it has no special characters, in single quotes, or, if it contains invisible units or '!', as
// $'...' (bash, zsh, ksh), which needs none of them.
std::string ShellWord(std::string_view text);

// Like ShellWord, but returns a path that no program takes for an option or for "-".
std::string ShellPath(const std::string& path);

}  // namespace stemtap
