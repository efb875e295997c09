// SPDX-License-Identifier: Apache-2.0
//
// Draws the frames of `stemtap top`. Only visible rows are formatted.
#pragma once

#include <cstddef>
#include <string>

#include "base/wrap.h"
#include "ui/top/frame.h"
#include "ui/top/model.h"

namespace stemtap::ui {

// Draws the screen in at most `height` lines of at most `width` columns. `unicode`: the locale has
// bar characters and an ellipsis.
Frame DrawScreen(Model& model, int width, int height, bool unicode);

// Returns everything as plain text in the model's order. Lines of unlimited width have whole names;
// otherwise names are as short as on the screen.
std::string Snapshot(const Model& model, bool unicode, std::size_t width = kUnlimitedWidth);

}  // namespace stemtap::ui
