// SPDX-License-Identifier: Apache-2.0
//
// The frames that `stemtap top` shows. Only rows that are seen are made into text.
#pragma once

#include <string>

#include "ui/top/frame.h"
#include "ui/top/model.h"

namespace stemtap::top {

// The screen, at most `height` lines of at most `width` columns each. `unicode`: the locale has bars and
// an ellipsis.
Frame DrawScreen(Model& model, int width, int height, bool unicode);

// All of it as plain text, as wide as it is, in the model's order.
std::string Snapshot(const Model& model, bool unicode);

}  // namespace stemtap::top
