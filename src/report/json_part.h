// SPDX-License-Identifier: Apache-2.0
//
// Looks through a JSON text that will be shown as it stands: nothing is kept of it but the answer.
#pragma once

#include <string_view>

#include "base/result.h"

namespace stemtap {

// Arrays and objects stand in at most so many others. Ours nest seven deep; later versions may go further.
inline constexpr int kMostJsonDepth = 64;

// Whether `text` is one whole JSON object in UTF-8 whose "schema" is `schema`. `name` is what errors call
// it, and they say line and column; `expected` is what it should have been.
Status CheckJsonPart(std::string_view text, std::string_view name, std::string_view schema,
                     std::string_view expected);

}  // namespace stemtap
