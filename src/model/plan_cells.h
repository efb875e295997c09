// SPDX-License-Identifier: Apache-2.0
//
// cells.json: how the durations of a plan's clusters are distributed, which no plan.json says and the
// bound of several plans together depends on. See docs/formats/cells.md.
//
// UNITS: ns.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap {

inline constexpr const char* kCellsFileName = "cells.json";

// The cells of every cluster of `plan`, in its order, ending in a newline.
std::string CellsToJson(const Plan& plan);

// A cell takes some 50 bytes: twenty million of them.
inline constexpr std::size_t kMaxCellsBytes = std::size_t{1} << 30;

// Reads the cells in `text`, which errors call `name`, into the clusters of `plan`. Cells of another
// plan are an error: other clusters, or other launches in them.
Status ParseCells(const std::string& text, const std::string& name, Plan& plan);

// The same from a file, plain, .gz or .zst.
Status LoadCells(const std::string& path, Plan& plan);

}  // namespace stemtap
