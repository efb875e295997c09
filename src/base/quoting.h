// SPDX-License-Identifier: Apache-2.0
//
// Text from outside as a part of JSON, without the units that a terminal would interpret (TextUnit
// in text.h).
#pragma once

#include <string>
#include <string_view>

namespace stemtap {

// Returns JSON of the same value in which invisible units are escaped as \uHHHH. Keeps line feeds,
// which are between values. REQUIRES: `json` is UTF-8, and has no tabs between values.
std::string EscapeJson(std::string_view json);

}  // namespace stemtap
