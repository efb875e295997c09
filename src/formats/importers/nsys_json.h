// SPDX-License-Identifier: Apache-2.0
//
// Reports of `nsys stats --format json`: an array with one object per row, whose keys are the
// columns.
#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"

namespace stemtap::formats::nsys {

// Returns whether a report that lists kernels starts in `leading`, after any output of nsys.
bool LooksLikeJson(std::string_view leading);

// Returns the same report as CSV. Each row is in the line in which its object starts, so that
// errors contain the line of the JSON file, if no two objects start in one line, as nsys writes
// them.
std::unique_ptr<ByteSource> TableOfJson(std::unique_ptr<ByteSource> source);

}  // namespace stemtap::formats::nsys
