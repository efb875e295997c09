// SPDX-License-Identifier: Apache-2.0
//
// Draws the lines above the tables: title, messages and totals.
#pragma once

#include <vector>

#include "ui/top/canvas.h"
#include "ui/top/model.h"

namespace stemtap::ui {

std::vector<Line> Header(const Model& model, const Canvas& canvas);

}  // namespace stemtap::ui
