// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes cells.json: the distribution of durations in the clusters of a plan. plan.json
// does not contain it, but the bound of a merged plan depends on it. See docs/formats/cells.md.
//
// UNITS: ns.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap::model {

inline constexpr const char* kCellsFileName = "cells.json";

// Returns the content of cells.json: the cells of all clusters of `plan` in order, with a newline
// at the end.
std::string CellsToJson(const Plan& plan);

// Room for twenty million cells of about 50 bytes.
inline constexpr std::size_t kMaxCellsBytes = std::size_t{1} << 30;

// Parses the cells in `text` into the clusters of `plan`. Fails if the cells are from another plan
// with different clusters or launches. `name` is the name of the text in error messages.
Status ParseCells(const std::string& text, const std::string& name, Plan& plan);

// Like ParseCells, but reads a file, which may be compressed with gzip or zstd.
Status LoadCells(const std::string& path, Plan& plan);

}  // namespace stemtap::model
