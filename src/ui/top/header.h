// SPDX-License-Identifier: Apache-2.0
//
// The lines above the tables: what is shown, what has to be known of it, its figures.
#pragma once

#include <vector>

#include "ui/top/canvas.h"
#include "ui/top/model.h"

namespace stemtap::top {

std::vector<Line> Header(const Model& model, const Canvas& canvas);

}  // namespace stemtap::top
